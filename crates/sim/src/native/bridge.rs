// SPDX-License-Identifier: GPL-2.0-only
//! The engine's view of a native scheduler: its callbacks as [`Ops`], and its task layout.

use crate::core::kernel::Ops;
use crate::core::memory::{self, TaskLayout};
use crate::core::{Core, TaskId};
use crate::ops::{ExitInfo, OpsPresent};

use super::scheduler::NativeScheduler;

impl Ops for NativeScheduler {
    fn present(&self) -> OpsPresent {
        let has = self.callbacks();
        OpsPresent {
            select_cpu: has.select_cpu.is_some(),
            enqueue: has.enqueue.is_some(),
            dequeue: has.dequeue.is_some(),
            dispatch: has.dispatch.is_some(),
            tick: has.tick.is_some(),
            runnable: has.runnable.is_some(),
            running: has.running.is_some(),
            stopping: has.stopping.is_some(),
            quiescent: has.quiescent.is_some(),
            r#yield: has.r#yield.is_some(),
            set_weight: has.set_weight.is_some(),
            set_cpumask: has.set_cpumask.is_some(),
            update_idle: has.update_idle.is_some(),
            init_task: has.init_task.is_some(),
            exit_task: has.exit_task.is_some(),
            enable: has.enable.is_some(),
            disable: has.disable.is_some(),
            cpu_online: has.cpu_online.is_some(),
            cpu_offline: has.cpu_offline.is_some(),
        }
    }

    fn name(&self) -> String {
        self.settings().name.clone()
    }

    fn flags(&self) -> u64 {
        self.settings().flags
    }

    fn timeout_ms(&self) -> u32 {
        self.settings().timeout_ms
    }

    fn dispatch_max_batch(&self) -> u32 {
        self.settings().dispatch_max_batch
    }

    fn place(&self) -> String {
        super::fault::place(self.object())
    }

    fn init(&self, core: &mut Core) -> i32 {
        self.init(core)
    }

    fn exit(&self, core: &mut Core, info: &ExitInfo) {
        self.exit(core, info.kind, info.code, &info.reason, &info.message)
    }

    fn init_task(&self, core: &mut Core, task: TaskId, fork: bool) -> i32 {
        self.init_task(core, task, fork)
    }

    fn exit_task(&self, core: &mut Core, task: TaskId, cancelled: bool) {
        self.exit_task(core, task, cancelled)
    }

    fn enable(&self, core: &mut Core, task: TaskId) {
        self.enable(core, task)
    }

    fn disable(&self, core: &mut Core, task: TaskId) {
        self.disable(core, task)
    }

    fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        self.select_cpu(core, task, prev_cpu, wake_flags)
    }

    fn enqueue(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        self.enqueue(core, task, enq_flags)
    }

    fn dequeue(&self, core: &mut Core, task: TaskId, deq_flags: u64) {
        self.dequeue(core, task, deq_flags)
    }

    fn dispatch(&self, core: &mut Core, cpu: i32, prev: Option<TaskId>) {
        self.dispatch(core, cpu, prev)
    }

    fn tick(&self, core: &mut Core, task: TaskId) {
        self.tick(core, task)
    }

    fn runnable(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        self.runnable(core, task, enq_flags)
    }

    fn running(&self, core: &mut Core, task: TaskId) {
        self.running(core, task)
    }

    fn stopping(&self, core: &mut Core, task: TaskId, runnable: bool) {
        self.stopping(core, task, runnable)
    }

    fn quiescent(&self, core: &mut Core, task: TaskId, deq_flags: u64) {
        self.quiescent(core, task, deq_flags)
    }

    fn r#yield(&self, core: &mut Core, from: TaskId, to: Option<TaskId>) -> bool {
        self.r#yield(core, from, to)
    }

    fn set_weight(&self, core: &mut Core, task: TaskId, weight: u32) {
        self.set_weight(core, task, weight)
    }

    fn set_cpumask(&self, core: &mut Core, task: TaskId) {
        self.set_cpumask(core, task)
    }

    fn update_idle(&self, core: &mut Core, cpu: i32, idle: bool) {
        self.update_idle(core, cpu, idle)
    }

    fn cpu_online(&self, core: &mut Core, cpu: i32) {
        self.cpu_online(core, cpu)
    }

    fn cpu_offline(&self, core: &mut Core, cpu: i32) {
        self.cpu_offline(core, cpu)
    }

    fn timer(&self, core: &mut Core, timer: u32) {
        self.timer(core, timer)
    }
}

/// Offsets of the fields in a scheduler's `struct task_struct`.
pub fn layout(scheduler: &NativeScheduler) -> TaskLayout {
    let fields = scheduler.task_fields();
    let at = |name: &str| fields.get(name).copied().unwrap_or(memory::ABSENT);
    TaskLayout {
        size: at("size"),
        slice: at("scx.slice"),
        dsq_vtime: at("scx.dsq_vtime"),
        weight: at("scx.weight"),
        scx_flags: at("scx.flags"),
        selected_cpu: at("scx.selected_cpu"),
        static_prio: at("static_prio"),
        prio: at("prio"),
        normal_prio: at("normal_prio"),
        rt_priority: at("rt_priority"),
        policy: at("policy"),
        flags: at("flags"),
        nr_cpus_allowed: at("nr_cpus_allowed"),
        cpus_ptr: at("cpus_ptr"),
        cpus_mask: at("cpus_mask"),
        cpus_mask_bytes: at("cpus_mask_bytes"),
        pid: at("pid"),
        tgid: at("tgid"),
        comm: at("comm"),
        sum_exec_runtime: at("se.sum_exec_runtime"),
        exec_start: at("se.exec_start"),
        start_time: at("start_time"),
        se_slice: at("se.slice"),
        custom_slice: at("se.custom_slice"),
        real_parent: at("real_parent"),
        parent: at("parent"),
        group_leader: at("group_leader"),
        mm: at("mm"),
        wake_cpu: at("wake_cpu"),
        cpu: at("thread_info.cpu"),
        recent_used_cpu: at("recent_used_cpu"),
        on_cpu: at("on_cpu"),
        state: at("__state"),
        nvcsw: at("nvcsw"),
        nivcsw: at("nivcsw"),
    }
}
