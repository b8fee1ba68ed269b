// SPDX-License-Identifier: GPL-2.0-only
//! Requirements of loading on the machine.

use std::path::Path;

use super::{LoadError, unsupported};
use crate::active::sched_ext;

/// Whether any sched_ext scheduler can be loaded, and none is.
pub fn check() -> Result<(), LoadError> {
    let state = sched_ext("state").ok_or_else(|| {
        unsupported("this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)".into())
    })?;
    if !nix::unistd::geteuid().is_root() {
        return Err(unsupported("loading a scheduler needs root".into()));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(unsupported("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)".into()));
    }
    if state != "disabled" {
        let ops = sched_ext("root/ops").unwrap_or_default();
        let message = format!("another scheduler is {state} ({ops}): stop it first");
        return Err(message.into());
    }
    Ok(())
}
