// SPDX-License-Identifier: GPL-2.0-only
//! The rules that decide between contestants.

pub mod gate;
pub mod leaders;
pub mod recommend;
pub mod replication;
pub mod separation;
pub mod verdict;
