// SPDX-License-Identifier: GPL-2.0-only
//! Where the scheduler is: the running callback, and the source line of its call.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use compile::native::find_line;

use super::callbacks::CALLBACKS;
use super::fault::{CALLBACK, is_object, offset};

/// Where the call returns to that the next error is about; 0: the call in progress.
static CALLER: AtomicU64 = AtomicU64::new(0);

/// The next error is about a call that returns to this address.
pub fn called_from(address: u64) {
    CALLER.store(address, Relaxed);
}

/// The running callback, and the source line of its call of the kfunc that is in progress:
/// `enqueue (mine.bpf.c:31)`. Empty outside callbacks.
pub fn place(object: &[u8]) -> String {
    let callback = CALLBACKS.get(CALLBACK.load(Relaxed) as usize).copied().unwrap_or_default();
    if callback.is_empty() {
        return String::new();
    }
    let mut caller = CALLER.swap(0, Relaxed);
    if caller == 0 {
        // SAFETY: the callback function writes to `caller` only, which outlives the call.
        unsafe { _Unwind_Backtrace(look_at_frame, (&raw mut caller).cast()) };
    }
    let line = (caller > 0).then(|| find_line(object, offset(caller - 1))).flatten();
    // The shim's own lines are no place for a scheduler's author.
    let line = line.filter(|line| !line.file.starts_with("fairground/"));
    let line = line.map(|line| format!(" ({}:{})", line.file, line.line));
    format!("{callback}{}", line.unwrap_or_default())
}

/// What a callback of the unwinder returns: `_URC_NO_REASON`, `_URC_NORMAL_STOP`.
const CONTINUE: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    /// The unwinder that panics use.
    fn _Unwind_Backtrace(
        look: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

/// Stops at the first frame in the object, so that the unwinder never unwinds the object itself.
extern "C" fn look_at_frame(frame: *mut c_void, caller: *mut c_void) -> c_int {
    // SAFETY: the frame is the unwinder's; `caller` is the number that `place` passed.
    let (address, caller) = unsafe { (_Unwind_GetIP(frame) as u64, &mut *caller.cast::<u64>()) };
    if !is_object(address) {
        return CONTINUE;
    }
    *caller = address;
    STOP
}
