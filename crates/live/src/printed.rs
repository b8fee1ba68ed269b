// SPDX-License-Identifier: GPL-2.0-only
//! The output of a scheduler's `bpf_printk`, for its author: in a private instance of the kernel's
//! tracer, and only for schedulers that print.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::Object;

/// The first lines are kept; a scheduler that prints in every callback prints millions.
pub const LINES_MAX: usize = 10_000;

const INSTANCES: &str = "/sys/kernel/tracing/instances";
const EVENT: &str = "events/bpf_trace/bpf_trace_printk/enable";
/// The kernel's prefix of each text.
const MARK: &str = "bpf_trace_printk: ";

/// `BPF_JMP | BPF_CALL` of a helper, and the helpers that print.
const CALL: u8 = 0x85;
const TRACE_PRINTK: i32 = 6;
const TRACE_VPRINTK: i32 = 177;

/// An instance of the tracer that listens; it goes when this is dropped.
pub struct Printed {
    instance: PathBuf,
}

/// Keeps a scheduler's output from now on, if it can print.
pub fn listen_to(object: &Object, notes: &mut Vec<String>) -> Option<Printed> {
    let listening = prints(object).then(Printed::listen)?;
    listening.map_err(|why| notes.push(why)).ok()
}

fn prints(object: &Object) -> bool {
    let is_call = |insn: &libbpf_rs::libbpf_sys::bpf_insn| {
        insn.code == CALL
            && insn.src_reg() == 0
            && [TRACE_PRINTK, TRACE_VPRINTK].contains(&insn.imm)
    };
    object.progs().any(|program| program.insns().iter().any(is_call))
}

impl Printed {
    /// Listens from now on. The error says why that is impossible.
    fn listen() -> Result<Printed, String> {
        let instance = Path::new(INSTANCES).join(format!("fairground-{}", std::process::id()));
        let failed = |error: std::io::Error| {
            format!("what it prints is not kept: {}: {error}", instance.display())
        };
        fs::create_dir(&instance).map_err(failed)?;
        let printed = Printed { instance: instance.clone() };
        // A full buffer keeps its first lines.
        fs::write(instance.join("options/overwrite"), "0").map_err(failed)?;
        fs::write(instance.join(EVENT), "1").map_err(failed)?;
        Ok(printed)
    }

    /// The lines so far, the oldest first. The last one says how many were lost, if any.
    pub fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.instance.join("trace")).unwrap_or_default();
        let mut lines = parse(&text);
        let lost = lines.len().saturating_sub(LINES_MAX) as u64 + self.lost();
        lines.truncate(LINES_MAX);
        if lost > 0 {
            lines.push(format!("{lost} further lines of bpf_printk were not kept"));
        }
        lines
    }

    /// Lines for which the kernel had no room.
    fn lost(&self) -> u64 {
        let cpus = fs::read_dir(self.instance.join("per_cpu")).into_iter().flatten().flatten();
        cpus.map(|cpu| lost(&fs::read_to_string(cpu.path().join("stats")).unwrap_or_default()))
            .sum()
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        // Instances are removed like empty folders.
        let _ = fs::remove_dir(&self.instance);
    }
}

/// The texts without the tracer's prefix: task, CPU, flags, time. A text may have several
/// lines.
fn parse(trace: &str) -> Vec<String> {
    let lines = trace.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let text = |line: &str| line.split_once(MARK).map_or(line, |(_, text)| text).to_owned();
    lines.map(text).collect()
}

/// The sum of a CPU's lost lines, of either kind.
fn lost(stats: &str) -> u64 {
    let count = |name| stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    count("overrun:").unwrap_or(0u64) + count("dropped events:").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_is_kept() {
        let trace = "# tracer: nop\n#\n\
            hog-12      [000] d..2.     7.000001: bpf_trace_printk: enqueue hog: 3\n\
            <idle>-0       [001] d..2.     7.000002: bpf_trace_printk: two\nlines\n";
        assert_eq!(parse(trace), ["enqueue hog: 3", "two", "lines"]);
    }

    #[test]
    fn losses_are_counted() {
        assert_eq!(lost("entries: 5\noverrun: 3\ncommit overrun: 0\ndropped events: 4\n"), 7);
        assert_eq!(lost(""), 0);
    }
}
