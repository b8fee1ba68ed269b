// SPDX-License-Identifier: GPL-2.0-only
//! The simulator, scene by scene.

mod anything;
mod arena;
mod common;
mod control_groups;
mod decisions;
mod determinism;
mod errors;
#[cfg(target_arch = "x86_64")]
mod hostile;
mod interface;
mod kfuncs;
mod lent_priorities;
mod linux_examples;
mod messages;
mod native;
mod order;
mod rarer_members;
mod realtime;
mod references;
mod sessions;
mod several_cpus;
mod start_up;
mod steps;
mod strangers;
mod tapes;
mod task_fields;
mod user_space;
