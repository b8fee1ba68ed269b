// SPDX-License-Identifier: GPL-2.0-only
//! Sessions of tasks, which the kernel's autogroup makes groups of (`kernel/sched/autogroup.c`).
//!
//! Session 0 is that of the player itself, as of a guest's init: its group is the root. The
//! workload's own have the numbers after it. A process is in the session of its parent.

use model::{Policy, TaskSession};

use super::control_groups::ROOT;
use super::machine_state::MachineState;
use super::task::load_weight;
use super::{TaskId, process};

/// Where a session is in the scheduler's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionPlaces {
    autogroup: u64,
    task_group: u64,
}

/// The shim's `fairground_make_session`.
type MakeSession = extern "C" fn(u32, i32, u64) -> SessionPlaces;

impl MachineState {
    pub(super) fn make_sessions(&mut self, sessions: &[TaskSession]) {
        let niceness = std::iter::once(0).chain(sessions.iter().map(|session| session.nice));
        let places = (0..).zip(niceness).map(|(number, nice)| {
            let shares = load_weight(&Policy { nice, ..Policy::default() });
            match self.arena.layout.objects.make_session {
                0 => SessionPlaces::default(),
                address => {
                    // SAFETY: the address is that of the shim's function, which has this type.
                    let make: MakeSession = unsafe { std::mem::transmute(address as *const ()) };
                    make(number, nice, shares)
                }
            }
        });
        self.sessions = places.collect();
    }

    /// The process of this task is in a session. It has no other threads.
    pub(crate) fn write_session(&mut self, leader: TaskId, session: u32) {
        let (at, places) = (self.arena.layout, self.sessions[session as usize]);
        let task = self.task_mut(leader);
        task.session = session;
        process::enter_session(task.memory, places.autogroup, &at);
    }

    /// The address of the group that a task is in because of its session (`autogroup_task_group`).
    pub(super) fn group_of_session(&self, task: TaskId) -> Option<u64> {
        let task = self.task(task);
        let wants = task.control_group == ROOT && !task.exiting;
        (self.autogroup && wants).then(|| self.sessions[task.session as usize].task_group)
    }
}
