// SPDX-License-Identifier: GPL-2.0-only
//! The `fairground` program. Everything is in the library, so that tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairground::start()
}
