// SPDX-License-Identifier: GPL-2.0-only
//! Why a scheduler ended: from its own `uei` variable, or from the kernel's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use libbpf_rs::Object;

use compile::variables::Global;
use model::{Member, ValueKind};

use super::variable::section;

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
