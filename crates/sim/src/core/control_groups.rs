// SPDX-License-Identifier: GPL-2.0-only
//! Control groups: the tree, and the tasks in it.
//!
//! Group 0 is the root. A workload with groups has its tasks in a group of its own, number 1, as
//! the player makes it on a kernel; its `[[group]]` tables are below that. Those that steps make
//! and remove have a number from the beginning.
//!
//! Sessions of tasks, which the kernel's autogroup makes groups of (`kernel/sched/autogroup.c`).
//!
//! Session 0 is that of the player itself, as of a guest's init: its group is the root. The
//! workload's own have the numbers after it. A process is in the session of its parent.

use std::ffi::CString;

use model::play::control_groups::{GroupNode, USUAL_PERIOD_US, USUAL_WEIGHT};
use model::{ControlGroup, Policy, TaskSession};

use super::kernel::MachineState;
use super::memory::put;
use super::task::{State, load_weight};
use super::{TaskId, process};

/// The number of the root.
pub const ROOT: u32 = 0;
/// The name of the workload's own group.
const OWN: &str = "fairground";

/// Where a group is in the scheduler's memory; null pointers for schedulers that are no objects.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GroupPlaces {
    pub cgroup: *mut u8,
    pub css_set: u64,
    pub task_group: u64,
}

/// The shim's `fairground_make_group`.
type MakeGroup = extern "C" fn(u32, u32, *const std::ffi::c_char) -> GroupPlaces;
/// The shim's `fairground_remove_group`.
type RemoveGroup = extern "C" fn(u32);

impl GroupPlaces {
    const NOWHERE: GroupPlaces =
        GroupPlaces { cgroup: std::ptr::null_mut(), css_set: 0, task_group: 0 };
}

pub struct Group {
    pub is_there: bool,
    /// It was removed, and the scheduler is still to be told.
    pub is_dying: bool,
    pub places: GroupPlaces,
    pub parent: Option<u32>,
    /// `cpu.weight`.
    pub weight: u32,
    pub is_idle: bool,
    pub period_us: u64,
    /// `u64::MAX`: no limit.
    pub quota_us: u64,
    pub burst_us: u64,
    /// Its own CPUs, an index into `Core::masks`; 0: those of its parent.
    pub own_mask: u32,
}

impl MachineState {
    /// Makes the root, and the workload's groups if it has some.
    pub(super) fn make_groups(&mut self, tree: &[GroupNode]) {
        self.add_group(None, "", &ControlGroup::default());
        if tree.is_empty() {
            return;
        }
        let own = self.add_group(Some(ROOT), OWN, &ControlGroup::default());
        for node in tree {
            let parent = node.parent.map_or(own, group_number);
            self.add_group(Some(parent), node.own_name(), &node.settings);
        }
    }

    fn add_group(&mut self, parent: Option<u32>, name: &str, settings: &ControlGroup) -> u32 {
        let number = self.groups.len() as u32;
        let group = self.new_group(parent, settings);
        self.groups.push(group);
        if !settings.absent {
            self.make_group(number, name);
        }
        number
    }

    /// A group that is not there yet.
    pub(crate) fn new_group(&mut self, parent: Option<u32>, settings: &ControlGroup) -> Group {
        let own_mask = self.mask_of(&settings.cpus);
        Group {
            is_there: false,
            is_dying: false,
            places: GroupPlaces::NOWHERE,
            parent,
            weight: settings.chosen_weight().unwrap_or(USUAL_WEIGHT),
            is_idle: settings.idle,
            period_us: settings.period_us.unwrap_or(USUAL_PERIOD_US),
            quota_us: settings.quota_us.unwrap_or(u64::MAX),
            burst_us: settings.burst_us,
            own_mask,
        }
    }

    /// Makes a group in the scheduler's memory.
    pub(crate) fn make_group(&mut self, number: u32, name: &str) {
        let name = CString::new(name).unwrap_or_default();
        let parent = self.groups[number as usize].parent.unwrap_or(0);
        let places = match self.arena.layout.objects.make_group {
            0 => GroupPlaces::NOWHERE,
            address => {
                // SAFETY: the address is that of the shim's function, which has this type.
                let make: MakeGroup = unsafe { std::mem::transmute(address as *const ()) };
                make(number, parent, name.as_ptr())
            }
        };
        let group = &mut self.groups[number as usize];
        (group.is_there, group.places) = (true, places);
    }

    pub(crate) fn remove_group(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        (group.is_there, group.is_dying) = (false, false);
        group.places = GroupPlaces::NOWHERE;
        let address = self.arena.layout.objects.remove_group;
        if address != 0 {
            // SAFETY: the address is that of the shim's function, which has this type.
            let remove: RemoveGroup = unsafe { std::mem::transmute(address as *const ()) };
            remove(number);
        }
    }

    pub(crate) fn is_populated(&self, number: u32) -> bool {
        let is_below = |group: &Group| group.is_there && group.parent == Some(number);
        self.groups.iter().any(is_below) || self.has_tasks(number, None)
    }

    /// Whether a task other than `but` is in the group or in one below it (`cgroup_is_populated`).
    pub(crate) fn has_tasks(&self, number: u32, but: Option<TaskId>) -> bool {
        let is_in = |group: u32| {
            let parent = |group: &u32| self.groups[*group as usize].parent;
            std::iter::successors(Some(group), parent).any(|group| group == number)
        };
        self.all_tasks().any(|id| {
            let task = self.task(id);
            Some(id) != but && task.state != State::Dead && is_in(task.control_group)
        })
    }

    /// The group that all tasks of the workload begin in.
    pub(crate) fn own_group(&self) -> u32 {
        if self.groups.len() > 1 { 1 } else { ROOT }
    }

    /// Writes a task's group into its `struct task_struct`.
    pub(crate) fn write_group(&mut self, id: TaskId, group: u32) {
        let at = self.arena.layout;
        let places = self.groups[group as usize].places;
        self.task_mut(id).control_group = group;
        let task_group = self.group_of_session(id).unwrap_or(places.task_group);
        let task = self.task(id);
        put(task.memory, at.cgroups, places.css_set);
        put(task.memory, at.sched_task_group, task_group);
    }

    /// The CPUs of a group, an index into `Core::masks`: its own, else those of its parent.
    pub(crate) fn mask_of_control_group(&self, group: u32) -> u32 {
        let group = &self.groups[group as usize];
        match (group.own_mask, group.parent) {
            (0, Some(parent)) => self.mask_of_control_group(parent),
            (own, _) => own,
        }
    }

    /// The number of the group with this `struct cgroup`.
    pub(crate) fn group_at(&self, cgroup: *const u8) -> Option<u32> {
        let is_it = |group: &Group| !cgroup.is_null() && group.places.cgroup.cast_const() == cgroup;
        let found = self.groups.iter().position(is_it);
        found.map(|number| number as u32)
    }

    /// The numbers of the groups that the scheduler knows, children before their parents
    /// (`css_for_each_descendant_post`).
    pub(crate) fn children_first(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.groups.len());
        self.add_children_first(ROOT, &mut order);
        order
    }

    fn add_children_first(&self, group: u32, order: &mut Vec<u32>) {
        for child in 0..self.groups.len() as u32 {
            let candidate = &self.groups[child as usize];
            if (candidate.is_there || candidate.is_dying) && candidate.parent == Some(group) {
                self.add_children_first(child, order);
            }
        }
        order.push(group);
    }
}

pub(crate) fn group_number(in_tree: usize) -> u32 {
    in_tree as u32 + 2
}

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
