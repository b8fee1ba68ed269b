// SPDX-License-Identifier: GPL-2.0-only
//! One loader for every `.bpf.c` scheduler. It knows no scheduler by name.
//!
//! The skeletons of the scx project do the same for one scheduler each. This loader follows the
//! object's own BTF: it writes knobs and enumerators into constants, sets the flags that this
//! kernel has, clears callbacks that it lacks, and makes room for the exit information.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use compile::Compiled;
use compile::variables::{self, Global};
use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, OpenObject, ProgramType};
use model::{Call, Knob, Knobs, Member, When};

pub(crate) mod built_in;
mod inner_maps;
mod inside;
mod kernel;
pub(crate) mod knobs;
pub(crate) mod log;
#[cfg(test)]
mod tests;

use crate::facts::sched_ext;
use crate::printed::{self, Printed};
use inner_maps::Filling;
use inside::Watch;
use kernel::KernelBtf;
pub use kernel::{Obstacle, VERIFIED, obstacles};
use knobs::is_section;
pub use log::ExitInfo;
use log::{DUMP_BYTES, ExitVariables, KernelLog, Listener};

/// Longest time that enabling or disabling may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// As many CPUs as a kernel has at most: the room of arrays for each before the machine is known.
const MOST_CPUS: usize = 8192;

/// Why a scheduler could not be loaded.
#[derive(Clone, Debug, Default, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    /// The failure and a remedy.
    pub message: String,
    /// The verifier's last lines; empty if it did not refuse.
    pub verifier_tail: Vec<String>,
    /// Flags and callbacks that this kernel lacks.
    pub notes: Vec<String>,
    /// Whether this machine cannot load any sched_ext scheduler, or its kernel lacks what this one
    /// calls.
    pub unsupported: bool,
    /// The kernel's reason for ejecting the scheduler while it was being enabled.
    pub exit: Option<Box<ExitInfo>>,
}

impl From<String> for LoadError {
    fn from(message: String) -> LoadError {
        LoadError { message, ..LoadError::default() }
    }
}

/// A loaded and enabled scheduler. Dropping it unloads it.
pub struct LoadedScheduler {
    // Fields are dropped in this order: the scheduler, its helpers, the object.
    scheduler: Option<Link>,
    _helpers: Vec<Link>,
    object: Object,
    ops_name: String,
    notes: Vec<String>,
    variables: Vec<Global>,
    place: Option<ExitVariables>,
    kernel_log: KernelLog,
    printed: Option<Printed>,
    watch: Watch,
}

/// The knobs of a compiled scheduler, constants first. It needs neither sched_ext nor privileges.
pub fn knobs(object: &[u8]) -> Result<Vec<Knob>, LoadError> {
    let listener = Listener::new();
    let mut open = Open::new("object", object, &listener)?;
    open.resize_arrays(MOST_CPUS)?;
    Ok(open.knobs)
}

/// Loads a scheduler, sets its knobs, makes the calls at the start, and waits until the kernel has
/// enabled it.
///
/// # Errors
/// This kernel or process cannot load schedulers, or lacks a kfunc (`unsupported`), a knob is
/// unknown or out of
/// range, the verifier refuses the object, or the scheduler's `init` fails.
pub fn load(compiled: &Compiled, values: &Knobs) -> Result<LoadedScheduler, LoadError> {
    kernel::check()?;
    let listener = Listener::new();
    let fitted = fitted(compiled, values, KernelBtf::read, &listener)?;
    let Open { object, mut notes, mut variables, place, calls, fillings, watch, .. } = fitted;
    variables.retain(|global| global.is_knob() && !global.section.starts_with(".rodata"));
    let object = object.load().map_err(|error| LoadError {
        notes: notes.clone(),
        ..log::load_error(&error.to_string(), &listener.text())
    })?;
    notes.extend(kernel::note(&object));
    let printed = printed::listen_to(&object, &mut notes);
    fillings.iter().try_for_each(|filling| filling.make(&object))?;
    knobs::make(&calls, When::Loaded, &object)?;
    let loaded = LoadedScheduler {
        scheduler: None,
        _helpers: Vec::new(),
        object,
        ops_name: String::new(),
        notes,
        variables,
        place,
        kernel_log: KernelLog::open(),
        printed,
        watch,
    };
    let loaded = loaded.attach(&listener)?;
    knobs::make(&calls, When::Enabled, &loaded.object)?;
    Ok(loaded)
}

/// Opens an object and fits it to a kernel; `read` finds the enumerators that it asks for.
fn fitted(
    compiled: &Compiled,
    values: &Knobs,
    read: impl FnOnce(&BTreeSet<String>) -> Result<KernelBtf, String>,
    listener: &Listener,
) -> Result<Open, LoadError> {
    let mut open = Open::new(&compiled.name, &compiled.object, listener)?;
    open.set_knobs(values)?;
    let kernel_btf = read(&open.wanted()).map_err(unsupported)?;
    open.set_enumerators(&kernel_btf);
    open.set_ops(&kernel_btf);
    open.make_room_for_dump()?;
    Ok(open)
}

/// An object that is opened but not loaded, so that its constants can still be changed.
struct Open {
    object: OpenObject,
    variables: Vec<Global>,
    knobs: Vec<Knob>,
    calls: Vec<Call>,
    fillings: Vec<Filling>,
    ops_members: Vec<Member>,
    place: Option<ExitVariables>,
    notes: Vec<String>,
    watch: Watch,
}

impl Open {
    fn new(name: &str, bytes: &[u8], listener: &Listener) -> Result<Open, LoadError> {
        let cannot = |error: libbpf_rs::Error| {
            format!("{name} is not a BPF object: {error}; {}", log::warnings(&listener.text()))
        };
        let btf = Btf::from_raw(name, bytes).map_err(cannot)?;
        let btf = btf.ok_or(format!("{name} has no BTF: compile it with -g"))?;
        let variables = variables::globals(&btf);
        let place = ExitVariables::find(&variables);
        let ops_members = variables::ops_members(&btf);
        let object = ObjectBuilder::default().open_memory(bytes).map_err(cannot)?;
        let knobs = knobs::knobs(&object, &btf, &variables, &ops_members);
        let watch = Watch::new(&object, &btf, &ops_members);
        let (calls, fillings, notes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Open { object, variables, knobs, calls, fillings, ops_members, place, notes, watch })
    }

    /// The enumerators that the object refers to (`__SCX_…` variables), and all flags.
    fn wanted(&self) -> BTreeSet<String> {
        let asked = self.enumerator_variables().map(|(name, _)| name.to_owned());
        asked.chain(kernel::FLAGS.map(|(name, _)| name.to_owned())).collect()
    }

    fn enumerator_variables(&self) -> impl Iterator<Item = (&str, &Global)> {
        let constants = self.variables.iter().filter(|variable| variable.section == ".rodata");
        constants.filter_map(|variable| {
            let name = variable.name.strip_prefix("__")?;
            name.starts_with("SCX_").then_some((name, variable))
        })
    }

    /// Writes the kernel's numbers to the weak variables of the headers. A number that this kernel
    /// lacks stays 0.
    fn set_enumerators(&mut self, kernel_btf: &KernelBtf) {
        let known: Vec<(Global, u64)> = self
            .enumerator_variables()
            .filter_map(|(name, variable)| {
                Some((variable.clone(), *kernel_btf.enumerators.get(name)?))
            })
            .collect();
        for (variable, value) in known {
            let bytes = value.to_le_bytes();
            knobs::write(&mut self.object, &variable, &bytes[..variable.ty.size.min(8)]);
        }
    }

    /// Clears members and flags that this kernel lacks, and sets the hot-plug sequence number.
    fn set_ops(&mut self, kernel_btf: &KernelBtf) {
        let hotplug_seq = sched_ext("hotplug_seq").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        for map in self.object.maps_mut() {
            if map.map_type() == MapType::StructOps {
                let mut ops = Ops { map, members: &self.ops_members };
                self.notes.extend(ops.clear_unknown(&kernel_btf.ops_members));
                ops.put("hotplug_seq", hotplug_seq);
                if let Some(bytes) = ops.member("flags") {
                    self.notes.extend(kernel::clear_unknown_flags(bytes, kernel_btf));
                }
            }
        }
    }

    /// Does what `UEI_SET_SIZE` of the scx headers does: enlarges the dump's section, and writes
    /// its size to the scheduler's variable.
    fn make_room_for_dump(&mut self) -> Result<(), LoadError> {
        let Some(place) = self.place.clone() else { return Ok(()) };
        let asked = self.exit_dump_bytes();
        let bytes = if asked == 0 { DUMP_BYTES } else { asked };
        for mut map in self.object.maps_mut() {
            if is_section(&map.name().to_string_lossy(), &place.dump_section) {
                map.set_value_size(bytes).map_err(|e| format!("no room for the exit dump: {e}"))?;
            }
        }
        if let Some(length) = &place.dump_length {
            knobs::write(&mut self.object, length, &bytes.to_le_bytes());
        }
        Ok(())
    }

    fn exit_dump_bytes(&mut self) -> u32 {
        let mut maps = self.object.maps_mut().filter(|map| map.map_type() == MapType::StructOps);
        let ops = maps.next().map(|map| Ops { map, members: &self.ops_members });
        ops.and_then(|mut ops| {
            let bytes = ops.member("exit_dump_len")?;
            Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?))
        })
        .unwrap_or(0)
    }
}

/// The ops table of an opened object. In it, libbpf has replaced function pointers by pointers to
/// its own programs.
struct Ops<'a> {
    map: libbpf_rs::OpenMapMut<'a>,
    members: &'a [Member],
}

impl Ops<'_> {
    fn member(&mut self, name: &str) -> Option<&mut [u8]> {
        let member = self.members.iter().find(|member| member.name == name)?;
        self.map.initial_value_mut()?.get_mut(member.offset..member.offset + member.ty.size)
    }

    fn put(&mut self, name: &str, bits: u64) {
        for (byte, more) in self.member(name).into_iter().flatten().zip(bits.to_le_bytes()) {
            *byte |= more;
        }
    }

    /// Clears members that this kernel lacks, because libbpf refuses others than zero. Returns a
    /// note for each of them.
    fn clear_unknown(&mut self, known: &BTreeSet<String>) -> Vec<String> {
        let unknown: Vec<&Member> =
            self.members.iter().filter(|m| !known.contains(&m.name)).collect();
        let mut notes = Vec::new();
        for member in unknown {
            let bytes = self
                .map
                .initial_value_mut()
                .and_then(|v| v.get_mut(member.offset..member.offset + member.ty.size));
            let Some(bytes) = bytes.filter(|bytes| bytes.iter().any(|byte| *byte != 0)) else {
                continue;
            };
            bytes.fill(0);
            notes.push(format!("this kernel has no ops.{}; left out", member.name));
        }
        notes
    }
}

fn unsupported(message: String) -> LoadError {
    LoadError { message, unsupported: true, ..LoadError::default() }
}

impl LoadedScheduler {
    /// Attaches the helpers (probes and tracepoints of the object), then the scheduler.
    fn attach(mut self, listener: &Listener) -> Result<LoadedScheduler, LoadError> {
        self.attach_helpers();
        let mut maps = self.object.maps_mut();
        let mut ops = maps
            .find(|map| map.map_type() == MapType::StructOps)
            .ok_or_else(|| "the object has no ops table (SCX_OPS_DEFINE)".to_owned())?;
        let attached = ops.attach_struct_ops();
        drop((ops, maps));
        match attached {
            Ok(link) => self.scheduler = Some(link),
            Err(error) => return Err(self.not_enabled(&error.to_string(), &listener.text())),
        }
        if !wait_for(|| sched_ext("state").is_some_and(|state| state == "enabled")) {
            return Err(self.not_enabled("it was not enabled in time", &listener.text()));
        }
        self.ops_name = sched_ext("root/ops").unwrap_or_default();
        Ok(self)
    }

    fn attach_helpers(&mut self) {
        let is_helper = |kind| !matches!(kind, ProgramType::StructOps | ProgramType::Syscall);
        for program in self.object.progs_mut() {
            if !is_helper(program.prog_type()) || !program.autoload() {
                continue;
            }
            match program.attach() {
                Ok(link) => self._helpers.push(link),
                Err(error) => {
                    let name = program.name().to_string_lossy();
                    self.notes.push(format!("program {name} is not attached: {error}"));
                }
            }
        }
    }

    /// The error with the kernel's own reason, if there is one, instead of the error number.
    fn not_enabled(&self, error: &str, said: &str) -> LoadError {
        let exit = self.exit_info();
        let why = match &exit {
            Some(exit) => format!("{} ({})", exit.reason, exit.message),
            None => format!("{error}; {}", log::warnings(said)),
        };
        LoadError {
            message: format!("the kernel does not enable the scheduler: {why}"),
            notes: self.notes.clone(),
            exit: exit.map(Box::new),
            ..LoadError::default()
        }
    }

    /// The scheduler's name in `/sys/kernel/sched_ext/root/ops`.
    pub fn ops_name(&self) -> &str {
        &self.ops_name
    }

    /// Notes about flags and callbacks that this kernel lacks, and about what it has verified.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The buffer with the scheduler's output, to be read after it was unloaded.
    pub(crate) fn take_printed(&mut self) -> Option<Printed> {
        self.printed.take()
    }

    /// Why the scheduler ended; `None` while it runs.
    pub fn exit_info(&self) -> Option<ExitInfo> {
        match &self.place {
            Some(place) => place.read(&self.object),
            None => self.kernel_log.exit_info(),
        }
    }

    /// Unloads the scheduler and waits until the kernel has disabled it. Returns why it ended:
    /// `kind` 64 (`SCX_EXIT_UNREG`) for an unload from user space.
    pub fn unload(mut self) -> Option<ExitInfo> {
        if let Some(link) = self.scheduler.take() {
            // Processes that were forked in the meantime hold the link too, so closing it here may
            // not be enough. A kernel that cannot detach unloads when the last of them ends.
            let _ = link.detach();
        }
        wait_for(|| sched_ext("state").is_none_or(|state| state == "disabled"));
        self.exit_info()
    }
}

/// Checks every millisecond until the condition holds; `false` after [`PATIENCE`].
fn wait_for(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
