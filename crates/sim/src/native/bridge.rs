// SPDX-License-Identifier: GPL-2.0-only
//! The engine's view of a native scheduler: its callbacks as [`Ops`].

use std::ffi::CString;

use model::When;

use super::callbacks::number;
use super::maps::kinds;
use super::scheduler::NativeScheduler;
use super::simulator::memory;
use super::{abi, bpf_timers, place};
use crate::core::kernel::{ExitInfo, Ops, OpsPresent};
use crate::core::{Core, TaskId};

/// Defines callbacks whose arguments are tasks (passed as pointers) and numbers. An absent one does
/// nothing.
macro_rules! plain {
    ($($name:ident($($task:ident: TaskId),*; $($plain:ident: $type:ty),*);)*) => {
        $(fn $name(&self, core: &mut Core, $($task: TaskId,)* $($plain: $type),*) {
            if let Some(callback) = self.callbacks.$name {
                let of: [TaskId; _] = [$($task),*];
                $(let $task = core.task_memory($task);)*
                // SAFETY: the scheduler's function with the types that the kernel gives it.
                self.call_of(core, const { number(stringify!($name)) }, of.first(), |_| unsafe {
                    callback($($task,)* $($plain),*)
                })
            }
        })*
    };
}

impl<const RACES: bool, const INSIDE: bool> Ops for NativeScheduler<RACES, INSIDE> {
    fn present(&self) -> OpsPresent {
        let present = self.callbacks.present();
        OpsPresent { set_cpumask: present.set_cpumask || present.set_cmask, ..present }
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

    fn cid_shard_size(&self) -> u32 {
        self.settings().cid_shard_size
    }

    fn place(&self) -> String {
        place::place(&self.object)
    }

    plain! {
        disable(task: TaskId;);
        enqueue(task: TaskId; flags: u64);
        dequeue(task: TaskId; flags: u64);
        tick(task: TaskId;);
        runnable(task: TaskId; flags: u64);
        running(task: TaskId;);
        stopping(task: TaskId; runnable: bool);
        quiescent(task: TaskId; flags: u64);
        set_weight(task: TaskId; weight: u32);
        update_idle(; cpu: i32, idle: bool);
        cpu_online(; cpu: i32);
        cpu_offline(; cpu: i32);
    }

    fn traces(&self) -> bool {
        !self.programs.is_empty()
    }

    fn sched_switch(&self, core: &mut Core, preempted: bool, from: TaskId, to: TaskId, state: u32) {
        let tasks = [from, to].map(|task| core.task_memory(task) as u64);
        let arguments = [u64::from(preempted), tasks[0], tasks[1], u64::from(state)];
        self.event(core, "sched_switch", arguments);
    }

    fn sched_wakeup(&self, core: &mut Core, task: TaskId, is_new: bool) {
        let event = if is_new { "sched_wakeup_new" } else { "sched_wakeup" };
        let task = core.task_memory(task) as u64;
        self.event(core, event, [task, 0, 0, 0]);
    }

    fn init(&self, core: &mut Core) -> i32 {
        let number = const { number("init") };
        let mut result = self.make_calls(core, When::Loaded, number);
        if let Some(callback) = self.callbacks.init.filter(|_| result == 0) {
            // SAFETY: here and below: the scheduler's function with the types that the kernel gives
            // it.
            result = self.call(core, number, |_| unsafe { callback() });
        }
        if result == 0 { self.make_calls(core, When::Enabled, number) } else { result }
    }

    fn init_cids(&self, core: &mut Core) -> i32 {
        let Some(callback) = self.callbacks.init_cids else { return 0 };
        self.call(core, const { number("init_cids") }, |_| unsafe { callback() })
    }

    fn cgroup_init(&self, core: &mut Core, group: u32) -> i32 {
        let Some(callback) = self.callbacks.cgroup_init else { return 0 };
        let state = &core.machine.groups[group as usize];
        let mut args = abi::CgroupInit {
            weight: state.weight,
            bw_period_us: state.period_us,
            bw_quota_us: state.quota_us,
            bw_burst_us: state.burst_us,
            sched_idle: state.is_idle,
        };
        let cgroup = state.places.cgroup;
        self.call(core, const { number("cgroup_init") }, |_| unsafe { callback(cgroup, &mut args) })
    }

    fn cgroup_exit(&self, core: &mut Core, group: u32) {
        if let Some(callback) = self.callbacks.cgroup_exit {
            let cgroup = cgroup(core, group);
            self.call(core, const { number("cgroup_exit") }, |_| unsafe { callback(cgroup) });
        }
        self.forget_owner(kinds::CGRP_STORAGE, group);
    }

    fn cgroup_prep_move(&self, core: &mut Core, task: TaskId, from: u32, to: u32) -> i32 {
        let Some(callback) = self.callbacks.cgroup_prep_move else { return 0 };
        let (task, from, to) = (core.task_memory(task), cgroup(core, from), cgroup(core, to));
        self.call(core, const { number("cgroup_prep_move") }, |_| unsafe {
            callback(task, from, to)
        })
    }

    fn cgroup_move(&self, core: &mut Core, task: TaskId, from: u32, to: u32) {
        let Some(callback) = self.callbacks.cgroup_move else { return };
        let (task, from, to) = (core.task_memory(task), cgroup(core, from), cgroup(core, to));
        self.call(core, const { number("cgroup_move") }, |_| unsafe { callback(task, from, to) })
    }

    fn cgroup_set_weight(&self, core: &mut Core, group: u32, weight: u32) {
        let Some(callback) = self.callbacks.cgroup_set_weight else { return };
        let cgroup = cgroup(core, group);
        self.call(core, const { number("cgroup_set_weight") }, |_| unsafe {
            callback(cgroup, weight)
        })
    }

    fn cgroup_set_bandwidth(&self, core: &mut Core, group: u32, us: (u64, u64, u64)) {
        let Some(callback) = self.callbacks.cgroup_set_bandwidth else { return };
        let (cgroup, (period, quota, burst)) = (cgroup(core, group), us);
        self.call(core, const { number("cgroup_set_bandwidth") }, |_| unsafe {
            callback(cgroup, period, quota, burst)
        })
    }

    fn cgroup_set_idle(&self, core: &mut Core, group: u32, is_idle: bool) {
        let Some(callback) = self.callbacks.cgroup_set_idle else { return };
        let cgroup = cgroup(core, group);
        self.call(core, const { number("cgroup_set_idle") }, |_| unsafe {
            callback(cgroup, is_idle)
        })
    }

    fn enable(&self, core: &mut Core, task: TaskId) {
        let Some(callback) = self.callbacks.enable else { return };
        let cmask = self.cmask(core, task);
        let (of, task) = (task, core.task_memory(task));
        let mut args = abi::Enable { cmask };
        self.call_of(core, const { number("enable") }, Some(&of), |_| unsafe {
            callback(task, &mut args)
        })
    }

    fn exit(&self, core: &mut Core, info: &ExitInfo) {
        let Some(callback) = self.callbacks.exit else { return };
        let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let reason = text(&info.reason);
        let message = text(&info.message);
        let mut info = abi::KernelExitInfo {
            kind: info.kind as u32,
            exit_cpu: -1,
            exit_code: info.code,
            flags: 0,
            reason: reason.as_ptr(),
            bt: std::ptr::null(),
            bt_len: 0,
            msg: message.as_ptr(),
            dump: c"".as_ptr(),
        };
        self.call(core, const { number("exit") }, |_| unsafe { callback(&mut info) });
    }

    fn init_task(&self, core: &mut Core, task: TaskId, fork: bool) -> i32 {
        let Some(callback) = self.callbacks.init_task else { return 0 };
        let of = task;
        let cgroup = cgroup(core, core.machine.task(task).control_group).cast_const().cast();
        let task = core.task_memory(task);
        let mut args = abi::InitTask { fork, cgroup };
        self.call_of(core, const { number("init_task") }, Some(&of), |_| unsafe {
            callback(task, &mut args)
        })
    }

    fn exit_task(&self, core: &mut Core, task: TaskId, cancelled: bool) {
        if let Some(callback) = self.callbacks.exit_task {
            let (of, task) = (task, core.task_memory(task));
            let mut args = abi::ExitTask { cancelled };
            self.call_of(core, const { number("exit_task") }, Some(&of), |_| unsafe {
                callback(task, &mut args)
            });
        }
        self.forget_owner(kinds::TASK_STORAGE, task.0);
    }

    fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        let Some(callback) = self.callbacks.select_cpu else { return prev_cpu };
        let (of, task) = (task, core.task_memory(task));
        self.call_of(core, const { number("select_cpu") }, Some(&of), |_| unsafe {
            callback(task, prev_cpu, wake_flags)
        })
    }

    fn dispatch(&self, core: &mut Core, cpu: i32, prev: Option<TaskId>) {
        let Some(callback) = self.callbacks.dispatch else { return };
        let prev = memory(core, prev);
        self.call(core, const { number("dispatch") }, |_| unsafe { callback(cpu, prev) })
    }

    fn r#yield(&self, core: &mut Core, from: TaskId, to: Option<TaskId>) -> bool {
        let Some(callback) = self.callbacks.r#yield else { return false };
        let (of, from) = (from, core.task_memory(from));
        let to = memory(core, to);
        self.call_of(core, const { number("yield") }, Some(&of), |_| unsafe { callback(from, to) })
    }

    fn set_cpumask(&self, core: &mut Core, task: TaskId) {
        if let Some(callback) = self.callbacks.set_cmask {
            let mask = self.cmask(core, task);
            let task = core.task_memory(task);
            return self
                .call(core, const { number("set_cmask") }, |_| unsafe { callback(task, mask) });
        }
        let Some(callback) = self.callbacks.set_cpumask else { return };
        let task = core.task_memory(task);
        let mask = task.wrapping_add(self.layout.cpus_mask as usize).cast::<u64>();
        self.call(core, const { number("set_cpumask") }, |_| unsafe { callback(task, mask) })
    }

    fn cpu_acquire(&self, core: &mut Core, cpu: i32) {
        let Some(callback) = self.callbacks.cpu_acquire else { return };
        // The kernel passes no arguments either.
        let arguments = std::ptr::null_mut();
        self.call(core, const { number("cpu_acquire") }, |_| unsafe { callback(cpu, arguments) })
    }

    fn cpu_release(&self, core: &mut Core, cpu: i32, reason: u32, task: TaskId) {
        let Some(callback) = self.callbacks.cpu_release else { return };
        let mut args = abi::CpuRelease { reason, task: core.task_memory(task) };
        self.call(core, const { number("cpu_release") }, |_| unsafe { callback(cpu, &mut args) })
    }

    fn timer(&self, core: &mut Core, timer: u32) {
        self.call(core, const { number("a timer") }, |this| unsafe {
            bpf_timers::expire(this, timer)
        })
    }

    fn workload_has_ended(&self, core: &mut Core) {
        self.look_at_end(core);
    }

    fn leave(&self) -> [u64; 4] {
        self.take_shared()
    }

    fn resume(&self, own: [u64; 4]) {
        self.give_shared(own);
    }
}

/// The address of a group's `struct cgroup`.
fn cgroup(core: &Core, group: u32) -> *mut u8 {
    core.machine.groups[group as usize].places.cgroup
}

impl<const RACES: bool, const INSIDE: bool> NativeScheduler<RACES, INSIDE> {
    /// A task's CPUs as a `struct scx_cmask`, until the next one is made.
    fn cmask(&self, core: &Core, task: TaskId) -> *const u64 {
        let (words, cids) = (core.cpus_allowed(task).words(), u64::from(core.nr_cpu_ids()));
        // SAFETY: ours.
        let cmask = unsafe { &mut (*self.simulator).cmask };
        // `base` is 0; the kernel has a word more for masks that begin inside one.
        cmask.clear();
        cmask.extend([cids << 32, words.len() as u64 + 1]);
        cmask.extend_from_slice(words);
        cmask.push(0);
        cmask.as_ptr()
    }

    fn forget_owner(&self, kind: u32, owner: u32) {
        // SAFETY: ours.
        for map in unsafe { &mut (*self.simulator).maps } {
            map.forget_owner(kind, owner);
        }
    }
}
