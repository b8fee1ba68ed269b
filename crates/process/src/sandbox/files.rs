// SPDX-License-Identifier: GPL-2.0-only
//! Which files and ports a process may open (Landlock).

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};

/// The newest rules that are asked for; an older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V6;

/// Folders and files that may be opened; whatever lies below a folder belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// To read and to execute.
    pub read: Vec<PathBuf>,
    /// To read, write, make and remove.
    pub write: Vec<PathBuf>,
}

/// Whether the kernel has Landlock and lets this process use it.
pub fn is_known() -> bool {
    const VERSION: libc::c_int = 1;
    // SAFETY: asks for a number; no memory is given.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    version > 0
}

/// Rules that forbid every file except those within reach, all of TCP, and signals and sockets to
/// processes outside. What does not exist is not within reach.
pub fn rules(reach: &Reach) -> Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let reading = reach.read.iter().map(|path| (path, AccessFs::from_read(NEWEST)));
    for (path, access) in reading.chain(reach.write.iter().map(|path| (path, all))) {
        let Ok(open) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules = rules.add_rule(PathBeneath::new(open, access))?;
    }
    Ok(rules)
}
