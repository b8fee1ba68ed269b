// SPDX-License-Identifier: GPL-2.0-only
//! From native schedulers to the engine: its kfuncs, by the kernel's names.

use crate::core::mask::{CpuMask, next_in_all};
use crate::core::{Core, TaskId, memory};
use crate::flags::{DSQ_LOCAL, PICK_IDLE_IN_NODE};

use super::kernel::{Cursor, Kernel};

/// The kernel's error number for "no idle CPU".
const EBUSY: i32 = -libc::EBUSY;

impl Core {
    /// A set as a scheduler has it in its memory.
    fn bitmap(&self, words: &[u64]) -> CpuMask {
        CpuMask::from_words(self.nr_cpu_ids(), words)
    }

    /// The CPUs of a node; throws the scheduler out if there is none such.
    fn node_mask(&mut self, node: i32) -> Option<CpuMask> {
        let found = self.topology().nodes.get(node as usize).cloned();
        if found.is_none() {
            self.error(format!("invalid node {node}"));
        }
        found
    }

    /// First in the node, then, unless it must be there, anywhere.
    fn pick_from_node(&mut self, cpus: &CpuMask, node: i32, flags: u64) -> i32 {
        let Some(mut near) = self.node_mask(node) else { return -libc::EINVAL };
        near.keep(cpus);
        let rest = flags & !PICK_IDLE_IN_NODE;
        match Core::pick_idle_cpu(self, &near, rest) {
            EBUSY if flags & PICK_IDLE_IN_NODE == 0 => Core::pick_idle_cpu(self, cpus, rest),
            answer => answer,
        }
    }
}

impl Kernel for Core {
    fn now(&self) -> u64 {
        self.now()
    }

    fn jiffies(&self) -> u64 {
        self.now() / self.tick_ns
    }

    fn this_cpu(&self) -> u32 {
        self.this_cpu()
    }

    fn cpus(&self) -> u32 {
        self.nr_cpu_ids()
    }

    fn current(&self) -> TaskId {
        self.current()
    }

    fn memory(&self, task: TaskId) -> *mut u8 {
        self.task_memory(task)
    }

    unsafe fn task_at(&self, memory: *const u8) -> Option<TaskId> {
        if memory.is_null() || !memory.cast::<u64>().is_aligned() {
            return None;
        }
        // SAFETY: a wrong pointer is a crash, which is reported as the scheduler's.
        let task = unsafe { memory::owner(memory) };
        let known = self.tasks.get(task.0 as usize)?;
        std::ptr::eq(known.memory, memory).then_some(task)
    }

    fn task_of_pid(&self, pid: i32) -> Option<TaskId> {
        self.task_from_pid(pid)
    }

    fn error(&mut self, message: String) {
        self.error(message)
    }

    fn error_bpf(&mut self, message: String) {
        self.error_bpf(message)
    }

    fn exit_bpf(&mut self, code: i64, message: String) {
        self.exit_bpf(code, message)
    }

    fn create_dsq(&mut self, dsq: u64, node: i32) -> i32 {
        self.create_dsq(dsq, node)
    }

    fn destroy_dsq(&mut self, dsq: u64) {
        self.destroy_dsq(dsq)
    }

    fn dsq_nr_queued(&mut self, dsq: u64) -> i32 {
        Core::dsq_nr_queued(self, dsq)
    }

    fn dsq_insert(&mut self, task: TaskId, dsq: u64, slice: u64, flags: u64) -> bool {
        self.dsq_insert(task, dsq, slice, flags)
    }

    fn dsq_insert_vtime(
        &mut self,
        task: TaskId,
        dsq: u64,
        slice: u64,
        vtime: u64,
        flags: u64,
    ) -> bool {
        self.dsq_insert_vtime(task, dsq, slice, vtime, flags)
    }

    fn dsq_move_to_local(&mut self, dsq: u64, flags: u64) -> bool {
        self.dsq_move_to_local(dsq, flags)
    }

    fn dsq_move(
        &mut self,
        cursor: Cursor,
        task: TaskId,
        dsq: u64,
        flags: u64,
        slice: Option<u64>,
        vtime: Option<u64>,
    ) -> bool {
        self.dsq_move(cursor, task, dsq, flags, slice, vtime)
    }

    fn dispatch_nr_slots(&mut self) -> u32 {
        Core::dispatch_nr_slots(self)
    }

    fn dispatch_cancel(&mut self) {
        self.dispatch_cancel()
    }

    fn dsq_reenqueue(&mut self, dsq: u64, _flags: u64) {
        match dsq {
            DSQ_LOCAL => drop(self.reenqueue_local()),
            _ => self.error(format!(
                "scx_bpf_dsq_reenq() of 0x{dsq:016x}: the model has it for SCX_DSQ_LOCAL only"
            )),
        }
    }

    fn dsq_peek(&mut self, dsq: u64) -> Option<TaskId> {
        self.dsq_peek(dsq)
    }

    fn iter_new(&mut self, dsq: u64, flags: u64) -> Result<Cursor, i32> {
        self.dsq_iter_new(dsq, flags)
    }

    fn iter_next(&mut self, cursor: Cursor) -> Option<TaskId> {
        self.dsq_iter_next(cursor)
    }

    fn iter_destroy(&mut self, cursor: Cursor) {
        self.dsq_iter_destroy(cursor)
    }

    fn select_cpu_dfl(&mut self, task: TaskId, prev_cpu: i32, wake_flags: u64) -> (i32, bool) {
        self.select_cpu_dfl(task, prev_cpu, wake_flags)
    }

    fn select_cpu_and(
        &mut self,
        task: TaskId,
        prev_cpu: i32,
        wake_flags: u64,
        cpus: &[u64],
        flags: u64,
    ) -> i32 {
        let cpus = self.bitmap(cpus);
        self.select_cpu_and(task, prev_cpu, wake_flags, &cpus, flags)
    }

    fn kick_cpu(&mut self, cpu: i32, flags: u64) {
        self.kick_cpu(cpu, flags)
    }

    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool {
        self.test_and_clear_cpu_idle(cpu)
    }

    fn pick_idle_cpu(&mut self, cpus: &[u64], node: Option<i32>, flags: u64) -> i32 {
        let cpus = self.bitmap(cpus);
        match node {
            None => Core::pick_idle_cpu(self, &cpus, flags),
            Some(node) => self.pick_from_node(&cpus, node, flags),
        }
    }

    fn pick_any_cpu(&mut self, cpus: &[u64], node: Option<i32>, flags: u64) -> i32 {
        let cpus = self.bitmap(cpus);
        let near = node.map(|node| self.pick_from_node(&cpus, node, flags));
        near.filter(|&cpu| cpu >= 0).unwrap_or_else(|| Core::pick_any_cpu(self, &cpus, flags))
    }

    fn idle_cpus(&mut self, whole_cores: bool, node: Option<i32>) -> Vec<u64> {
        if !self.idle_tracked() {
            return vec![0; self.nr_cpu_ids().div_ceil(64) as usize];
        }
        let mask = if whole_cores { self.idle_smtmask() } else { self.idle_cpumask() };
        let mut mask = mask.clone();
        if let Some(near) = node.and_then(|node| self.node_mask(node)) {
            mask.keep(&near);
        }
        mask.words().to_vec()
    }

    fn distribute(&mut self, a: &[u64], b: &[u64]) -> u32 {
        let (a, b) = (self.bitmap(a), self.bitmap(b));
        let here = self.this_cpu;
        let found = next_in_all(&[&a, &b], self.cpus[here as usize].cursor.wrapping_add(1));
        if let Some(cpu) = found {
            self.cpus[here as usize].cursor = cpu;
        }
        found.unwrap_or(self.nr_cpu_ids())
    }

    fn nodes(&self) -> u32 {
        self.topology().nodes.len() as u32
    }

    fn cpu_node(&mut self, cpu: i32) -> i32 {
        let valid = self.cpu_valid(cpu, "");
        if valid { self.topology().node_of[cpu as usize] as i32 } else { -1 }
    }

    fn llc(&mut self, cpu: u32) -> (u32, u32) {
        let topology = self.topology();
        let llc = &topology.llcs[topology.llc_of[cpu as usize] as usize];
        (llc.first().unwrap_or(cpu), llc.count())
    }

    fn cpu_capacity(&mut self, cpu: i32) -> u32 {
        let valid = self.cpu_valid(cpu, "");
        if valid { self.topology().capacity[cpu as usize] as u32 } else { 1024 }
    }

    fn task_running(&self, task: TaskId) -> bool {
        self.task_running(task)
    }

    fn task_cpu(&self, task: TaskId) -> i32 {
        self.task_cpu(task)
    }

    fn cpu_curr(&mut self, cpu: i32) -> Option<TaskId> {
        let valid = self.cpu_valid(cpu, "");
        if valid { Core::cpu_curr(self, cpu) } else { None }
    }

    fn task_set_slice(&mut self, task: TaskId, slice: u64) -> bool {
        self.task_set_slice(task, slice)
    }

    fn task_vtime(&self, task: TaskId) -> u64 {
        self.dsq_vtime(task)
    }

    fn task_set_vtime(&mut self, task: TaskId, vtime: u64) -> bool {
        self.task_set_dsq_vtime(task, vtime)
    }

    fn timer_new(&mut self) -> u32 {
        self.timer_new()
    }

    fn timer_start(&mut self, timer: u32, delay_ns: u64) {
        self.timer_start(timer, delay_ns)
    }

    fn timer_cancel(&mut self, timer: u32) -> bool {
        self.timer_cancel(timer)
    }
}
