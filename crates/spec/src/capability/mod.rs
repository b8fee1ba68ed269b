// SPDX-License-Identifier: GPL-2.0-only
//! The capabilities of each backend, known before anything runs: which contestants and workloads it
//! can execute, and which fields of a machine's file it ignores.

mod machines;
mod runnable;

pub use machines::{ignored_fields, why_impossible};
pub use runnable::{left_out, on_every_backend, runnable, why_not};
