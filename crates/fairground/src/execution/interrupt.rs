// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C: the first one ends what runs cleanly, the second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit code of a program that was interrupted: 128 and the signal's number.
pub const EXIT_CODE: u8 = 130;

/// A flag that becomes true at the first SIGINT, SIGTERM or SIGHUP, which also ends a compiler that
/// runs; the second ends the program.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: at the first signal the flag is still false, so the first hook does
        // nothing.
        flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), stop.clone())
            .and_then(|_| flag::register(signal, stop.clone()))
            .context("cannot handle signals")?;
    }
    compile::stop_at(stop.clone());
    Ok(stop)
}
