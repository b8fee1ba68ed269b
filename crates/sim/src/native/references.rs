// SPDX-License-Identifier: GPL-2.0-only
//! References that a callback does not release, or that it releases without holding them. A
//! kernel's verifier refuses the program; here the scheduler is ejected when it happens.

use std::ffi::{CStr, c_char};

use super::abi::{Holds, SharedState};
use super::place;
use crate::core::Core;

/// The callback has returned, and does not hold the references and spin locks that it found.
///
/// # Safety
/// The state must be the object's.
#[cold]
pub(super) unsafe fn refuse_rest(core: &mut Core, state: &mut SharedState, before: Holds) {
    let now = std::mem::replace(&mut state.holds, before);
    if now.locks != before.locks {
        return core
            .error("a spin lock is locked and not unlocked, which the verifier refuses".into());
    }
    let Some(reference) = state.held.get(before.references as usize) else { return };
    // SAFETY: the shim wrote it: a literal.
    let kfunc = unsafe { name(reference.kfunc) };
    place::called_from(reference.caller);
    core.error(format!("what {kfunc}() acquires is never released, which the verifier refuses"));
}

/// A kfunc releases what the callback does not hold.
///
/// # Safety
/// The name must be the shim's.
#[cold]
pub(super) unsafe fn refuse_release(core: &mut Core, kfunc: *const c_char, caller: u64) {
    // SAFETY: the caller's.
    let kfunc = unsafe { name(kfunc) };
    place::called_from(caller);
    core.error(format!(
        "{kfunc}() releases what this callback has not acquired, which the verifier refuses"
    ));
}

/// As schedulers call it: without the endings of the ecosystem's headers.
///
/// # Safety
/// The pointer must be that of a text that lives as long as the object.
unsafe fn name<'a>(kfunc: *const c_char) -> &'a str {
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(kfunc) }.to_str().unwrap_or_default();
    let name = name.split_once("___").map_or(name, |(name, _)| name);
    name.strip_suffix("_impl").unwrap_or(name)
}
