// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel writes for the main thread is left alone by forks.
//!
//! A fork makes all private pages of the process read-only, and the next write to each is a page
//! fault. The kernel's own writes, such as the answer of `poll`, wait for the lock of the whole
//! process's mappings there. A task of the workload that is preempted while it has that lock, and
//! starves, would keep the main thread from ever ending the trial.

use std::ptr;
#[cfg(not(target_feature = "crt-static"))]
use std::sync::OnceLock;

const PAGE: usize = 4096;
/// More than the main thread uses above and below the frame from which this is called.
const HEIGHT: usize = 16 * PAGE;
const DEPTH: usize = 64 * PAGE;
/// What the C library keeps at the top of a thread's stack, which a forked process changes.
const TOP: usize = 4 * PAGE;

/// Until this is dropped, forks leave alone what the kernel writes for the calling thread, which
/// must not fork meanwhile.
pub struct ForkIsolation {
    _stack: OwnStack,
    _sequences: Option<NoSequences>,
}

impl ForkIsolation {
    /// From now on, as far as the kernel lets us.
    pub fn begin() -> ForkIsolation {
        ForkIsolation { _stack: OwnStack::keep_out_of_forks(), _sequences: NoSequences::begin() }
    }
}

/// The thread's stack, around and below the present frame, is not copied by forks.
struct OwnStack {
    begin: usize,
    bytes: usize,
}

impl OwnStack {
    fn keep_out_of_forks() -> OwnStack {
        let here = 0_u8;
        let frame = ptr::from_ref(&here) as usize;
        let above = frame / PAGE * PAGE + HEIGHT;
        // The thread's descriptor is inside its stack, unless it is a program's first thread.
        let library = descriptor();
        let end = if library > frame { above.min((library - TOP) / PAGE * PAGE) } else { above };
        let begin = frame / PAGE * PAGE - DEPTH;
        let own = OwnStack { begin, bytes: end.saturating_sub(begin) };
        own.advise(libc::MADV_DONTFORK);
        own
    }

    /// The part that is not there yet comes into being with the same advice.
    fn advise(&self, advice: i32) {
        // SAFETY: the range is a part of this thread's stack. A process that another thread forks
        // does not need it.
        unsafe { libc::madvise(self.begin as *mut libc::c_void, self.bytes, advice) };
    }
}

impl Drop for OwnStack {
    fn drop(&mut self) {
        self.advise(libc::MADV_DOFORK);
    }
}

/// Where a thread's sequences are, from its descriptor; `None`: the C library has none.
///
/// Looking it up takes a lock of the C library. A process that was forked while another thread had
/// that lock would wait for ever, so a process calls this before it forks a player.
#[cfg(not(target_feature = "crt-static"))]
pub fn offset() -> Option<isize> {
    static OFFSET: OnceLock<Option<isize>> = OnceLock::new();
    // SAFETY: a valid C string; the library's variable, if it has it, never changes.
    *OFFSET.get_or_init(|| unsafe {
        libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>().as_ref().copied()
    })
}

/// A static program has one library, in which nothing can be looked up.
#[cfg(target_feature = "crt-static")]
pub fn offset() -> Option<isize> {
    unsafe extern "C" {
        static __rseq_offset: isize;
    }
    // SAFETY: the library's constant.
    Some(unsafe { __rseq_offset })
}

/// The C library's descriptor of the calling thread.
fn descriptor() -> usize {
    // SAFETY: no arguments.
    unsafe { libc::pthread_self() as usize }
}

/// The thread has no restartable sequences (rseq): with them the kernel writes the number of its
/// CPU beside its descriptor whenever it has been switched. The C library does without.
struct NoSequences {
    area: usize,
}

impl NoSequences {
    /// The size with which the C library registers them, and the mark that it chooses, on x86.
    const BYTES: usize = 32;
    const MARK: u32 = 0x5305_3053;
    const UNREGISTER: i32 = 1;

    fn begin() -> Option<NoSequences> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        let area = descriptor().wrapping_add_signed(offset()?);
        let sequences = NoSequences { area };
        sequences.register(NoSequences::UNREGISTER).then_some(sequences)
    }

    fn register(&self, flags: i32) -> bool {
        let (bytes, mark) = (NoSequences::BYTES, NoSequences::MARK);
        // SAFETY: the area lies in the thread's own descriptor, and is of this size.
        unsafe { libc::syscall(libc::SYS_rseq, self.area, bytes, flags, mark) == 0 }
    }
}

impl Drop for NoSequences {
    fn drop(&mut self) {
        self.register(0);
    }
}
