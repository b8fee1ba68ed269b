// SPDX-License-Identifier: GPL-2.0-only
//! The programs of a scheduler's object besides its callbacks, by their sections: which of them the
//! simulator starts, and which it leaves out.

use libbpf_rs::OpenObject;
use libbpf_rs::btf::types::{Func, FuncProto, Int, Ptr};
use libbpf_rs::btf::{Btf, BtfType};
use serde::{Deserialize, Serialize};

/// The events of a kernel that the simulator has, by the names of their tracepoints.
pub const EVENTS: &[&str] = &["sched_switch", "sched_wakeup", "sched_wakeup_new"];

/// What kind of program stands in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// The scheduler's own: a callback.
    Callback,
    /// User space calls it.
    Call,
    /// One of [`EVENTS`] calls it, with the arguments of the tracepoint.
    Event(&'a str),
    /// A kernel would call it, and the simulator has no such event.
    Foreign,
}

/// The kind of the programs of a section, which libbpf would load them by.
pub fn kind(section: &str) -> Kind<'_> {
    let section = section.strip_prefix('?').unwrap_or(section);
    let (kind, rest) = section.split_once('/').unwrap_or((section, ""));
    match kind {
        "struct_ops" | "struct_ops.s" => Kind::Callback,
        "syscall" => Kind::Call,
        "tp_btf" | "raw_tp" | "raw_tracepoint" if EVENTS.contains(&rest) => Kind::Event(rest),
        _ => Kind::Foreign,
    }
}

/// Whether libbpf loads the programs of a section only if user space asks for them.
pub fn is_optional(section: &str) -> bool {
    section.starts_with('?')
}

/// Whether the programs of a section are ever started. An optional callback is kept by the table
/// that has it.
pub fn is_started(section: &str, with_optional: bool) -> bool {
    match kind(section) {
        Kind::Foreign => false,
        Kind::Event(_) => with_optional || !is_optional(section),
        Kind::Callback | Kind::Call => !is_optional(section),
    }
}

/// A program that an event calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracer {
    pub name: String,
    /// One of [`EVENTS`].
    pub event: String,
    /// Whether it takes the event's arguments as they are (`BPF_PROG`), and not a pointer to them.
    pub plain: bool,
    /// Whether it runs only if user space asks for it.
    #[serde(default)]
    pub is_optional: bool,
}

/// The programs of an object that events call, and those that are left out, as `name (section)`.
pub fn besides_callbacks(open: &OpenObject, btf: &Btf) -> (Vec<Tracer>, Vec<String>) {
    let (mut tracers, mut left_out) = (Vec::new(), Vec::new());
    for program in open.progs() {
        let section = program.section().to_string_lossy().into_owned();
        let name = program.name().to_string_lossy().into_owned();
        match kind(&section) {
            Kind::Event(event) => {
                let (event, plain) = (event.to_owned(), takes_arguments(btf, &name));
                let is_optional = !program.autoload();
                tracers.push(Tracer { name, event, plain, is_optional });
            }
            Kind::Foreign if program.autoload() && name != HEADERS_PROBE => {
                left_out.push(format!("{name} ({section})"))
            }
            _ => {}
        }
    }
    (tracers, left_out)
}

/// A probe in the ecosystem's header, which tests a property of kernels.
const HEADERS_PROBE: &str = "scx_lib_init_probe";

/// Whether a program was written with `BPF_PROG`, whose context is an `unsigned long long *`; by
/// hand it is `void *`, or a pointer to a `u64` or a structure.
fn takes_arguments(btf: &Btf, program: &str) -> bool {
    let context = || {
        let function = btf.type_by_name::<Func>(program)?;
        let prototype = FuncProto::try_from(function.next_type()?).ok()?;
        let first = btf.type_by_id::<BtfType>(prototype.iter().next()?.ty)?;
        Ptr::try_from(first).ok()?.next_type()
    };
    context().is_some_and(|context| Int::try_from(context).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_say_what_starts_a_program() {
        assert_eq!(kind("struct_ops.s/mine_init"), Kind::Callback);
        assert_eq!(kind("syscall"), Kind::Call);
        assert_eq!(kind("tp_btf/sched_switch"), Kind::Event("sched_switch"));
        assert_eq!(kind("tp_btf/irq_handler_entry"), Kind::Foreign);
        assert_eq!(kind("tracepoint/sched/sched_switch"), Kind::Foreign);
        assert!(is_started("syscall", false) && !is_started("kprobe/nvidia_open", true));
        let optional = "?tp_btf/sched_switch";
        assert!(is_started(optional, true) && !is_started(optional, false));
        assert!(!is_started("?struct_ops/mine_running", true));
    }
}
