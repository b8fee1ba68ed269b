// SPDX-License-Identifier: GPL-2.0-only
//! Tests that fork. A forked process inherits every lock that another thread holds at that moment,
//! those of the standard library for new threads and for panics among them, and waits for them for
//! ever. The harness starts threads and reports panics at any time, so such a test runs alone in a
//! process with one thread.

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{env, thread};

/// The first line of a test that forks: it runs again, alone.
#[macro_export]
macro_rules! alone {
    () => {
        if !$crate::alone::is_alone() {
            return;
        }
    };
}

/// In the process that is alone: the test's name.
pub const ALONE: &str = "FAIRGROUND_TEST_ALONE";

/// Whether the calling test is alone in its process. If not, it has run in another one and has
/// passed there; one at a time, because such tests measure times.
pub fn is_alone() -> bool {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let thread = thread::current();
    // With one test at a time the harness runs them in the first thread.
    let Some(name) = thread.name().filter(|name| *name != "main") else { return true };
    let test = env::current_exe().expect("the test's program");
    let alone = Command::new(test)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        // A skipped test says so there.
        .stderr(Stdio::inherit())
        .output()
        .expect("the test's program starts");
    let said = String::from_utf8_lossy(&alone.stdout);
    assert!(alone.status.success() && said.contains("1 passed"), "{said}");
    false
}
