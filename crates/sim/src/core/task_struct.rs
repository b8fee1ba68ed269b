// SPDX-License-Identifier: GPL-2.0-only
//! The fields of `struct task_struct`: the core writes them, schedulers read them.

use model::{Policy, PolicyClass};

use super::control_groups::ROOT;
use super::kernel::MachineState;
use super::mask::CpuMask;
use super::memory::{get, put, put_slice, reserve_room};
use super::task::{
    Class, NewTask, SCHED_EXT, State, Task, class_at, load_weight, policy_number, prio_of,
};
use super::{Core, TaskId, process};
use crate::flags::{DSQ_INVALID, PF_IDLE, PF_KTHREAD, SLICE_DFL};

/// Fairground's own: the main task, the one that makes the others, and one that plays no part; and
/// the same for each session.
const OWN_TASKS: usize = 3;

impl MachineState {
    /// Adds a task with its block of memory.
    fn add_task(&mut self, new: &NewTask) -> TaskId {
        let id = TaskId(self.tasks.len() as u32);
        let mut task = Task::new(self.arena.add());
        (task.cpu, task.mask, task.group) = (new.cpu, new.mask, new.group);
        task.asked_mask = new.mask;
        self.tasks.push(task);
        self.stats.push(Default::default());
        self.describe(id, new);
        self.write_policy(id, new.policy);
        self.write_mask(id);
        id
    }

    /// Writes the fields that never change.
    fn describe(&mut self, id: TaskId, new: &NewTask) {
        let (block, at) = (self.tasks[id.0 as usize].memory, self.arena.layout);
        put(block, at.pid, new.pid);
        put(block, at.tgid, new.tgid);
        put(block, at.flags, new.flags);
        put(block, at.cpu, new.cpu);
        put(block, at.wake_cpu, new.cpu);
        put(block, at.start_time, self.now);
        put(block, at.start_boottime, self.now);
        put(block, at.tid, u64::from(id.0) + 1);
        put(block, at.ddsp_dsq, DSQ_INVALID);
        self.set_comm(id, new.comm);
        let parent = new.parent.map_or(block, |parent| self.tasks[parent.0 as usize].memory);
        put(block, at.real_parent, parent);
        put(block, at.parent, parent);
        let leader = if new.pid == new.tgid { block } else { parent };
        put(block, at.group_leader, leader);
        if new.flags & PF_KTHREAD == 0 {
            put(block, at.mm, leader);
        }
        let group = match new.parent {
            Some(parent) => self.tasks[parent.0 as usize].control_group,
            None if new.flags & PF_KTHREAD == 0 => self.own_group(),
            None => ROOT,
        };
        put(block, at.real_cred, at.objects.cred);
        put(block, at.cred, at.objects.cred);
        process::join(block, leader, new.pid, &at);
        let session = new.parent.map_or(0, |parent| self.tasks[parent.0 as usize].session);
        self.write_session(id, session);
        self.write_group(id, group);
    }

    pub(crate) fn write_policy(&mut self, id: TaskId, policy: Policy) {
        let at = self.arena.layout;
        let task = &mut self.tasks[id.0 as usize];
        task.policy = policy;
        let prio = prio_of(&policy);
        let real_time = matches!(policy.class, PolicyClass::Fifo | PolicyClass::Rr);
        let fair = matches!(policy.class, PolicyClass::Other | PolicyClass::Batch);
        let static_prio = 120 + if fair { policy.nice.clamp(-20, 19) } else { 0 };
        put(task.memory, at.static_prio, static_prio);
        put(task.memory, at.normal_prio, prio);
        put(task.memory, at.rt_priority, if real_time { policy.priority } else { 0 });
        let is_ext = fair && self.switches_partially;
        put(task.memory, at.policy, if is_ext { SCHED_EXT } else { policy_number(policy.class) });
        put(task.memory, at.weight, policy.cgroup_weight());
        put(task.memory, at.load_weight, load_weight(&policy));
        put_slice(task.memory, &at, if fair { policy.runtime_us } else { 0 });
        self.write_prio(id, prio);
    }

    /// Writes the priority, and the class that follows from it.
    pub(crate) fn write_prio(&mut self, id: TaskId, prio: i32) {
        let at = self.arena.layout;
        let task = &mut self.tasks[id.0 as usize];
        (task.class, task.prio) = (class_at(prio), prio);
        put(task.memory, at.prio, prio);
        put(task.memory, at.sched_class, at.objects.classes[task.class as usize]);
    }

    pub(crate) fn write_mask(&mut self, id: TaskId) {
        let at = self.arena.layout;
        let task = &mut self.tasks[id.0 as usize];
        let mask = &self.masks[task.mask as usize];
        task.nr_allowed = if task.mask == 0 { self.topology.cpus } else { mask.count() };
        put(task.memory, at.nr_cpus_allowed, task.nr_allowed);
        let words = (at.cpus_mask_bytes / 8) as usize;
        for (index, &word) in mask.words().iter().take(words).enumerate() {
            put(task.memory, at.cpus_mask + index as u32 * 8, word);
        }
        // SAFETY: the mask lies inside the block.
        let inside = unsafe { task.memory.add(at.cpus_mask as usize) };
        put(task.memory, at.cpus_ptr, inside);
    }

    /// The index of a CPU set; equal sets share an index.
    pub(crate) fn intern(&mut self, mask: CpuMask) -> u32 {
        let known = self.masks.iter().position(|known| *known == mask);
        known.unwrap_or_else(|| {
            self.masks.push(mask);
            self.masks.len() - 1
        }) as u32
    }

    /// The index of the set of these CPUs; an empty list means all.
    pub(crate) fn mask_of(&mut self, cpus: &[u32]) -> u32 {
        match cpus {
            [] => 0,
            _ => self.intern(CpuMask::from_cpus(self.topology.cpus, cpus.iter().copied())),
        }
    }

    #[inline]
    pub(crate) fn allowed(&self, task: TaskId, cpu: u32) -> bool {
        let task = &self.tasks[task.0 as usize];
        task.nr_allowed == self.topology.cpus || self.masks[task.mask as usize].test(cpu)
    }

    /// Sets the task's CPU (`set_task_cpu`).
    pub(crate) fn set_task_cpu(&mut self, id: TaskId, cpu: u32) {
        let at = self.arena.layout;
        let task = &mut self.tasks[id.0 as usize];
        task.cpu = cpu;
        put(task.memory, at.cpu, cpu);
        put(task.memory, at.wake_cpu, cpu);
    }

    /// `PR_SET_NAME`.
    pub(crate) fn set_comm(&mut self, id: TaskId, name: &str) {
        let mut comm = [0u8; 16];
        comm.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
        put(self.tasks[id.0 as usize].memory, self.arena.layout.comm, comm);
    }

    /// Sets the task's state, also in `p->__state`.
    pub(crate) fn set_state(&mut self, task: TaskId, state: State) {
        let at = self.arena.layout.state;
        let this = self.task_mut(task);
        this.state = state;
        let number: u32 = match state {
            State::Runnable => 0,
            State::Sleeping => 1,
            State::DiskSleep => 2,
            State::Dead => 0x80,
            State::New => 0x800,
        };
        put(this.memory, at, number);
    }

    pub(crate) fn cpus_allowed(&self, task: TaskId) -> &CpuMask {
        &self.masks[self.tasks[task.0 as usize].mask as usize]
    }
}

impl Core {
    /// Makes room for all tasks that do not begin by a fork, so that nothing is moved while they
    /// are added.
    pub(crate) fn reserve_tasks(&mut self) {
        let starting = self.workload.starting_tasks();
        let own = OWN_TASKS * (1 + self.workload.sessions().len());
        let idle_and_workers = 2 * self.machine.topology.cpus as usize;
        let tasks = idle_and_workers + own + starting;
        reserve_room(&mut self.machine.tasks, tasks);
        reserve_room(&mut self.machine.stats, tasks);
        self.machine.events.reserve(tasks);
        self.machine.arena.reserve(tasks);
        self.ext.reserve_tasks(tasks);
        self.workload.reserve_tasks(tasks);
    }

    /// Creates a task that is not woken yet.
    pub(crate) fn add_task(&mut self, new: &NewTask) -> TaskId {
        let id = self.machine.add_task(new);
        self.ext.add_task();
        self.workload.add_task();
        self.set_slice(id, SLICE_DFL);
        id
    }

    pub(crate) fn add_idle_tasks(&mut self) {
        for cpu in 0..self.machine.topology.cpus {
            let new = NewTask {
                pid: 0,
                tgid: 0,
                comm: "swapper",
                policy: Policy::default(),
                mask: 0,
                parent: None,
                cpu,
                flags: PF_IDLE | PF_KTHREAD,
                group: u32::MAX,
            };
            let id = self.add_task(&new);
            self.machine.task_mut(id).class = Class::Idle;
            let at = self.machine.arena.layout;
            let class = at.objects.classes[Class::Idle as usize];
            put(self.machine.task(id).memory, at.sched_class, class);
        }
    }

    /// `p->scx.slice`.
    #[inline]
    pub fn slice(&self, task: TaskId) -> u64 {
        get(self.machine.tasks[task.0 as usize].memory, self.machine.arena.layout.slice)
    }

    #[inline]
    pub fn set_slice(&mut self, task: TaskId, slice: u64) {
        put(self.machine.tasks[task.0 as usize].memory, self.machine.arena.layout.slice, slice);
    }

    /// `p->scx.dsq_vtime`.
    #[inline]
    pub fn dsq_vtime(&self, task: TaskId) -> u64 {
        get(self.machine.tasks[task.0 as usize].memory, self.machine.arena.layout.dsq_vtime)
    }

    #[inline]
    pub fn set_dsq_vtime(&mut self, task: TaskId, vtime: u64) {
        put(self.machine.tasks[task.0 as usize].memory, self.machine.arena.layout.dsq_vtime, vtime);
    }

    /// `p->scx.weight`.
    pub fn weight(&self, task: TaskId) -> u32 {
        get(self.machine.tasks[task.0 as usize].memory, self.machine.arena.layout.weight)
    }

    /// `p->pid`.
    pub fn pid(&self, task: TaskId) -> i32 {
        get(self.machine.tasks[task.0 as usize].memory, self.machine.arena.layout.pid)
    }

    /// `p->comm`, or the group's name when the layout has no such field.
    pub fn comm(&self, task: TaskId) -> String {
        let group = self.workload.groups().get(self.machine.task(task).group as usize);
        let name = group.map_or("fairground", |group| group.name.as_str());
        name.chars().take(15).collect()
    }

    /// `task->cpus_ptr`.
    pub fn cpus_allowed(&self, task: TaskId) -> &CpuMask {
        self.machine.cpus_allowed(task)
    }

    /// The task's block of `struct task_struct`, at the offsets of the layout given at the start.
    pub fn task_memory(&self, task: TaskId) -> *mut u8 {
        self.machine.tasks[task.0 as usize].memory
    }
}
