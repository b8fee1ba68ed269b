// SPDX-License-Identifier: GPL-2.0-only
//! The words between the main thread and the process of a session.

use std::sync::atomic::{AtomicI32, AtomicU32};

use crate::player::shared_memory::Shareable;

/// What the main thread and the process of a session tell each other. One exists per session.
#[repr(C)]
pub struct SessionState {
    pub process: AtomicI32,
    /// The last of the steps that the process has been told to take, and that it has taken.
    pub order: AtomicU32,
    pub done: AtomicU32,
    /// `errno` of what failed; 0: nothing.
    pub failed: AtomicI32,
    /// The process of the program, if that is in this session.
    pub program: AtomicI32,
}

// SAFETY: it consists of atomics.
unsafe impl Shareable for SessionState {}
