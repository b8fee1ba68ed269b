// SPDX-License-Identifier: GPL-2.0-only
//! What each backend can do, known before anything runs: [`runnable`] says which contestants and
//! workloads it can execute, [`machines`] which fields of a machine's file it cannot take over.

pub mod machines;
pub mod runnable;
