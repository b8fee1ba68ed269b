// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C: the first one ends what runs cleanly, the second one ends the program at once. And the
//! signal of a file that may not grow.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// The exit code of a program that was interrupted: 128 and the signal's number.
pub const EXIT_CODE: u8 = 130;

/// The flags that the signals set, for the whole life of the program.
#[derive(Clone)]
struct Flags {
    stop: Arc<AtomicBool>,
    /// Whether the next signal ends the program.
    at_once: Arc<AtomicBool>,
}

static FLAGS: Mutex<Option<Flags>> = Mutex::new(None);
/// How many [`Watch`]es there are.
static WATCHES: AtomicUsize = AtomicUsize::new(0);

/// Somebody looks at the flag. When nobody does any more, as while what was measured is compared,
/// the first signal ends the program.
pub struct Watch(Flags);

impl Deref for Watch {
    type Target = Arc<AtomicBool>;

    fn deref(&self) -> &Arc<AtomicBool> {
        &self.0.stop
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if WATCHES.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.at_once.store(true, Ordering::SeqCst);
        }
    }
}

/// From now on the first SIGINT, SIGTERM or SIGHUP ends the program with [`EXIT_CODE`], unless
/// somebody [looks](flag). Below `nohup`, everything stays as it is.
pub fn end_at_first() {
    if is_ignored(SIGHUP) {
        return;
    }
    let mut flags = FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
    // Where there can be no handler, the signal ends the program as ever.
    *flags = registered().ok();
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zero is a valid action, which the call replaces.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// A flag that becomes true at the first SIGINT, SIGTERM or SIGHUP, which also ends a compiler or a
/// download that runs; the second ends the program.
pub fn flag() -> Result<Watch> {
    let mut flags = FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
    let flags = match &mut *flags {
        Some(flags) => flags,
        none => none.insert(registered()?),
    };
    if WATCHES.fetch_add(1, Ordering::SeqCst) == 0 {
        flags.stop.store(false, Ordering::SeqCst);
        flags.at_once.store(false, Ordering::SeqCst);
    }
    Ok(Watch(flags.clone()))
}

fn registered() -> Result<Flags> {
    let flags = Flags { stop: Arc::default(), at_once: Arc::new(AtomicBool::new(true)) };
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: at the first signal the flag is still false, so the first hook does
        // nothing.
        flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), flags.at_once.clone())
            .and_then(|_| flag::register(signal, flags.at_once.clone()))
            .and_then(|_| flag::register(signal, flags.stop.clone()))
            .context("cannot handle signals")?;
    }
    process::stop::at(flags.stop.clone());
    Ok(flags)
}

/// From now on a write beyond `ulimit -f` is an error of that write, and not the program's end.
/// Programs that it starts are ended as ever: a handler, unlike an ignored signal, is not theirs.
pub fn survive_file_limit() {
    // Where there can be no handler, the signal ends the program.
    let _ = flag::register(SIGXFSZ, Arc::default());
}
