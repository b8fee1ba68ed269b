// SPDX-License-Identifier: GPL-2.0-only
//! libbpf's messages, kept instead of printed.
//!
//! Why a scheduler ended: from its own `uei` variable, or from the kernel's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, MutexGuard};

use compile::variables::Global;
use libbpf_rs::{Object, PrintCallback, PrintLevel, set_print};
use model::{Member, ValueKind};

use super::knobs::section;
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

/// `SCX_EXIT_UNREG`.
const UNREGISTERED: u64 = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitInfo {
    /// The kernel's `enum scx_exit_kind`: 64 … 67 are requested exits, 1024 and more are errors
    /// (1026: a task was not run in time).
    pub kind: u64,
    /// The kernel's reason, e.g. `runnable task stall`.
    pub reason: String,
    /// The details of the reason, e.g. `hog[123] failed to run for 30.2s`.
    pub message: String,
    /// The kernel's debug dump, empty when there is none.
    pub dump: String,
}

impl ExitInfo {
    /// Whether the scheduler left because user space unloaded it: `SCX_EXIT_UNREG`. Otherwise the
    /// kernel ejected it, or it exited by itself.
    pub fn was_asked_for(&self) -> bool {
        self.kind == UNREGISTERED
    }
}

/// `UEI_DUMP_DFL_LEN` of the scx headers: the size of the dump if the ops do not set it.
pub const DUMP_BYTES: u32 = 32768;

/// The places of the scheduler's `UEI_DEFINE` variables.
#[derive(Clone, Debug)]
pub struct ExitVariables {
    pub structure: Global,
    pub members: Vec<Member>,
    pub dump_section: String,
    /// `uei_dump_len`.
    pub dump_length: Option<Global>,
}

impl ExitVariables {
    /// Finds them by their type, whatever their names.
    pub fn find(variables: &[Global]) -> Option<ExitVariables> {
        let is_it = |variable: &&Global| variable.ty.name == "struct user_exit_info";
        let structure = variables.iter().find(is_it)?.clone();
        let ValueKind::Members(members) = structure.ty.kind.clone() else { return None };
        let length = format!("{}_dump_len", structure.name);
        Some(ExitVariables {
            dump_section: format!(".data.{}_dump", structure.name),
            dump_length: variables.iter().find(|variable| variable.name == length).cloned(),
            members,
            structure,
        })
    }

    /// Reads the exit information; `None` while the scheduler runs.
    pub fn read(&self, object: &Object) -> Option<ExitInfo> {
        let own = section(object, &self.structure.section)?;
        let bytes = own.get(self.structure.offset..)?;
        let field = |name: &str| {
            let member = self.members.iter().find(|member| member.name == name)?;
            bytes.get(member.offset..member.offset + member.ty.size)
        };
        let kind = u64::from(u32::from_le_bytes(field("kind")?.get(..4)?.try_into().ok()?));
        (kind != 0).then(|| ExitInfo {
            kind,
            reason: until_zero(field("reason").unwrap_or_default()),
            message: until_zero(field("msg").unwrap_or_default()),
            dump: until_zero(&section(object, &self.dump_section).unwrap_or_default()),
        })
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
}

/// The kernel's log from now on. What has been read is kept, because the file gives every line
/// once.
pub struct KernelLog {
    file: Option<File>,
    lines: Mutex<Vec<String>>,
}

impl KernelLog {
    /// Opens the log at its end; without permission the log stays empty.
    pub fn open() -> KernelLog {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        let at_end = |mut file: File| file.seek(SeekFrom::End(0)).is_ok().then_some(file);
        KernelLog { file: file.ok().and_then(at_end), lines: Mutex::default() }
    }

    /// Exit information from sched_ext's lines since then.
    pub fn exit_info(&self) -> Option<ExitInfo> {
        let mut file = self.file.as_ref()?;
        let mut lines = self.lines.lock().unwrap_or_else(|poison| poison.into_inner());
        let mut record = [0; 8192];
        // Every read gives one record; the log's end is an error (nothing to wait for).
        while let Ok(length) = file.read(&mut record) {
            let text = String::from_utf8_lossy(&record[..length]).into_owned();
            let said = text.split_once(';').and_then(|(_, said)| said.lines().next());
            lines.extend(said.map(str::to_owned));
        }
        from_log(&lines)
    }
}

/// `sched_ext: BPF scheduler "x" disabled (reason)`, then `sched_ext: x: details`.
fn from_log(lines: &[String]) -> Option<ExitInfo> {
    let said = lines.iter().filter_map(|line| line.strip_prefix("sched_ext: "));
    let mut said = said.skip_while(|line| !line.contains("disabled ("));
    let reason = said.next()?.split_once("disabled (")?.1.trim_end_matches(')').to_owned();
    let message = said.next().and_then(|line| Some(line.split_once(": ")?.1.to_owned()));
    Some(ExitInfo {
        kind: kind(&reason),
        reason,
        message: message.unwrap_or_default(),
        ..ExitInfo::default()
    })
}

/// `enum scx_exit_kind` by the kernel's text for it.
fn kind(reason: &str) -> u64 {
    match reason {
        _ if reason.contains("from user space") => 64,
        _ if reason.contains("from BPF") => 65,
        _ if reason.contains("from the main kernel") => 66,
        _ if reason.contains("sysrq") => 67,
        _ if reason.contains("scx_bpf_error") => 1025,
        _ if reason.contains("stall") => 1026,
        _ => 1024,
    }
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

    #[test]
    fn the_kernels_log_tells_why() {
        let lines = [
            "usb 1-1: new device".to_owned(),
            "sched_ext: BPF scheduler \"lazy\" disabled (runnable task stall)".into(),
            "sched_ext: lazy: hog[123] failed to run for 1.024s".into(),
        ];
        let exit = from_log(&lines).expect("it left");
        assert_eq!((exit.kind, exit.was_asked_for()), (1026, false));
        assert_eq!(exit.reason, "runnable task stall");
        assert_eq!(exit.message, "hog[123] failed to run for 1.024s");
        assert_eq!(from_log(&lines[..1]), None);
    }
}
