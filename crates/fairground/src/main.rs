// SPDX-License-Identifier: GPL-2.0-only
//! The `fairground` program: everything is in the library, for the tests of the whole.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairground::start()
}
