// SPDX-License-Identifier: GPL-2.0-only
//! libbpf's messages, kept instead of printed.

use std::sync::{Mutex, MutexGuard};

use libbpf_rs::{PrintCallback, PrintLevel, set_print};

use super::{LoadError, unsupported};

/// libbpf has one listener for the whole process, so only one object is loaded at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static SAID: Mutex<String> = Mutex::new(String::new());

/// The number of the verifier's last lines that are kept.
const VERIFIER_LINES: usize = 25;

/// Listens to libbpf as long as it lives.
pub struct Listener {
    before: Option<(PrintLevel, PrintCallback)>,
    _alone: MutexGuard<'static, ()>,
}

impl Listener {
    pub fn new() -> Listener {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poison| poison.into_inner());
        said().clear();
        Listener { before: set_print(Some((PrintLevel::Warn, listen))), _alone: alone }
    }

    pub fn text(&self) -> String {
        said().clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        set_print(self.before.take());
    }
}

fn said() -> MutexGuard<'static, String> {
    SAID.lock().unwrap_or_else(|poison| poison.into_inner())
}

fn listen(_level: PrintLevel, line: String) {
    said().push_str(&line);
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    pub program: String,
    pub reason: String,
    /// The line of the source that it had reached, as `file:line: text` if the object has line
    /// information.
    pub source: String,
    /// The last lines of its log.
    pub tail: Vec<String>,
}

/// Kernels from 7.1 on end the verifier's log with a report for people that begins with this.
const REPORT: &str = "Verification failed:";

/// Finds the verifier's log in libbpf's words.
pub fn refusal(said: &str) -> Option<Refusal> {
    let (before, rest) = said.split_once("-- BEGIN PROG LOAD LOG --")?;
    let log = rest.split("-- END PROG LOAD LOG --").next().unwrap_or_default();
    let is_said = |line: &&str| !line.trim().is_empty() && !is_statistics(line);
    let lines: Vec<&str> = log.lines().filter(is_said).collect();
    let report = lines.iter().position(|line| line.starts_with(REPORT)).unwrap_or(lines.len());
    let steps = &lines[..report];
    let last = |count| lines.len().saturating_sub(count);
    let first = if report == lines.len() {
        last(VERIFIER_LINES)
    } else {
        report.saturating_sub(5).max(last(2 * VERIFIER_LINES))
    };
    Some(Refusal {
        program: program(before).unwrap_or_default(),
        reason: steps.last().map(|line| line.trim().to_owned()).unwrap_or_default(),
        source: steps.iter().rev().find_map(|line| source_line(line)).unwrap_or_default(),
        tail: lines[first..].iter().map(|line| (*line).to_owned()).collect(),
    })
}

/// Why an object could not be loaded: the kernel lacks a kfunc, or the verifier refuses it, or
/// libbpf does.
pub fn load_error(error: &str, said: &str) -> LoadError {
    if let Some(name) = missing_kfunc(said) {
        let kernel = nix::sys::utsname::uname();
        let release = kernel.map(|name| name.release().to_string_lossy().into_owned());
        let other = compile::other_name(name)
            .map(|other| format!(", which other versions call {other}()"))
            .unwrap_or_default();
        return unsupported(format!(
            "kernel {} has no {name}(){other}; declare it `__ksym __weak` and call it only if \
             bpf_ksym_exists({name}), or choose a kernel that has it",
            release.unwrap_or_default()
        ));
    }
    let verifier_tail = refusal(said).unwrap_or_default().tail;
    LoadError { verifier_tail, ..LoadError::from(explain(error, said)) }
}

/// In one line: the verifier's reason if it was the verifier, else libbpf's.
pub fn explain(error: &str, said: &str) -> String {
    let Some(found) = refusal(said) else {
        return format!("the object cannot be loaded: {error}; {}", warnings(said));
    };
    let place =
        if found.source.is_empty() { String::new() } else { format!(" at {}", found.source) };
    format!("the verifier refuses {}{place}: {}", found.program, found.reason)
}

/// The kfunc that an object needs and the kernel lacks.
fn missing_kfunc(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("extern (func ksym) '")?;
    let (name, rest) = rest.split_once('\'')?;
    rest.starts_with(": not found in kernel").then_some(name)
}

/// The verifier ends its log with statistics.
fn is_statistics(line: &str) -> bool {
    ["processed ", "verification time ", "stack depth ", "max_states"]
        .iter()
        .any(|s| line.starts_with(s))
}

/// `; statement @ file.bpf.c:12` becomes `file.bpf.c:12: statement`.
fn source_line(line: &str) -> Option<String> {
    let statement = line.trim().strip_prefix("; ")?;
    Some(match statement.rsplit_once(" @ ") {
        Some((statement, place)) if statement.trim().is_empty() => place.trim().to_owned(),
        Some((statement, place)) => format!("{place}: {}", statement.trim()),
        None => statement.trim().to_owned(),
    })
}

/// The last program that libbpf named before the log.
fn program(before: &str) -> Option<String> {
    let (_, name) = before.rsplit_once("prog '")?;
    Some(name.split('\'').next()?.to_owned())
}

/// libbpf's warnings in one line, without its prefix; for failures without the verifier.
pub fn warnings(said: &str) -> String {
    let lines = said.lines().map(|line| line.trim().trim_start_matches("libbpf: "));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "libbpf: prog 'bad_enqueue': BPF program load failed: -EACCES\n\
        libbpf: prog 'bad_enqueue': -- BEGIN PROG LOAD LOG --\n\
        0: R1=ctx() R10=fp0\n\
        ; s32 *cpu = bpf_map_lookup_elem(&cpus, &key); @ bad.bpf.c:20\n\
        0: (85) call bpf_map_lookup_elem#1\n\
        ; *cpu = 1; @ bad.bpf.c:21\n\
        9: (63) *(u32 *)(r0 +0) = r1\n\
        R0 invalid mem access 'map_value_or_null'\n\
        processed 9 insns (limit 1000000) max_states_per_insn 0\n\
        -- END PROG LOAD LOG --\n\
        libbpf: prog 'bad_enqueue': failed to load: -EACCES\n";

    #[test]
    fn a_refusal_names_program_reason_and_line() {
        let found = refusal(SAID).expect("there is a log");
        assert_eq!(found.program, "bad_enqueue");
        assert_eq!(found.reason, "R0 invalid mem access 'map_value_or_null'");
        assert_eq!(found.source, "bad.bpf.c:21: *cpu = 1;");
        assert_eq!(found.tail.len(), 6);
    }

    #[test]
    fn a_line_without_a_statement_is_a_place() {
        let said = SAID.replace("; *cpu = 1; @", ";  @");
        let found = explain("", &said);
        assert!(found.contains("bad_enqueue at bad.bpf.c:21: R0 invalid"), "{found}");
    }

    #[test]
    fn a_report_for_people_is_kept_whole() {
        let report =
            "Verification failed: Type Safety\nReason:\n  R0 may be NULL here.\nprocessed 9";
        let found = refusal(&SAID.replace("processed 9", report)).expect("there is a log");
        assert_eq!(found.reason, "R0 invalid mem access 'map_value_or_null'");
        assert_eq!(found.source, "bad.bpf.c:21: *cpu = 1;");
        assert_eq!(found.tail.last().map(|line| line.trim()), Some("R0 may be NULL here."));
    }

    #[test]
    fn a_kfunc_that_the_kernel_lacks_has_a_name() {
        let said =
            "libbpf: extern (func ksym) 'scx_bpf_late': not found in kernel or module BTFs\n";
        assert_eq!(missing_kfunc(said), Some("scx_bpf_late"));
        assert_eq!(missing_kfunc(SAID), None);
    }

    #[test]
    fn other_failures_have_no_verifier_log() {
        let said = "libbpf: failed to open system Kconfig\nlibbpf: failed to load object 'x'\n";
        assert_eq!(refusal(said), None);
        assert_eq!(warnings(said), "failed to open system Kconfig; failed to load object 'x'");
    }
}
