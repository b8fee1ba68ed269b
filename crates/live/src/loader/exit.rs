// SPDX-License-Identifier: GPL-2.0-only
//! Why a scheduler ended, from its own `uei` variable.

use libbpf_rs::{MapCore, MapFlags, Object};

use super::variable::{Member, Variable, VariableKind, is_section};

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
    pub structure: Variable,
    pub members: Vec<Member>,
    pub dump_section: String,
    /// `uei_dump_len`.
    pub dump_length: Option<Variable>,
}

impl ExitVariables {
    /// Finds them by their type, whatever their names.
    pub fn find(variables: &[Variable], members: Option<Vec<Member>>) -> Option<ExitVariables> {
        let kind = VariableKind::Structure("user_exit_info".into());
        let structure = variables.iter().find(|variable| variable.kind == kind)?.clone();
        let length = format!("{}_dump_len", structure.name);
        Some(ExitVariables {
            dump_section: format!(".data.{}_dump", structure.name),
            dump_length: variables.iter().find(|variable| variable.name == length).cloned(),
            members: members?,
            structure,
        })
    }

    /// Reads them; `None` while the scheduler runs.
    pub fn read(&self, object: &Object) -> Option<ExitInfo> {
        let section = section(object, &self.structure.section)?;
        let bytes = section.get(self.structure.offset..)?;
        let field = |name: &str| {
            let member = self.members.iter().find(|member| member.name == name)?;
            bytes.get(member.offset..member.end)
        };
        let kind = u64::from(u32::from_le_bytes(field("kind")?.get(..4)?.try_into().ok()?));
        (kind != 0).then(|| ExitInfo {
            kind,
            reason: until_zero(field("reason").unwrap_or_default()),
            message: until_zero(field("msg").unwrap_or_default()),
            dump: until_zero(&self::section(object, &self.dump_section).unwrap_or_default()),
        })
    }
}

/// The bytes of a section's map.
fn section(object: &Object, name: &str) -> Option<Vec<u8>> {
    let map = object.maps().find(|map| is_section(&map.name().to_string_lossy(), name))?;
    map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
}
