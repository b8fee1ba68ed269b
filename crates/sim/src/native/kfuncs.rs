// SPDX-License-Identifier: GPL-2.0-only
//! The kfuncs of sched_ext. Each has the parameters of the kernel's function and the trial as the
//! last one; what it does is a method of the engine's `Core`.
//!
//! Pointers come from the scheduler. BPF's verifier would have proved them valid; here a wrong
//! pointer crashes the trial's process, which is reported (see `fault`).

use super::abi::{DsqIterator, InsertVtime, SelectCpuAnd};
use super::callbacks::{
    ALLOWED, CALLBACKS, DISPATCH, SELECT, SLEEPS, TaskPointer, UNLOCKED, may_call,
};
use super::simulator::{This, core, mask, memory, task};
use crate::core::Core;
use crate::core::mask::CpuMask;

/// Bits of [`DsqIterator::set`].
const SLICE: u64 = 1;
const VTIME: u64 = 2;

/// Instead of a node, for the sets of all nodes: `references.inc.c` has the same.
const ALL_NODES: i32 = i32::MIN;

/// Declares kfuncs and helpers by the kernel's names, and `function`, which finds them by these.
/// Their bodies are unsafe as a whole, for the reason above.
macro_rules! kfuncs {
    ($(
        fn $name:ident($($parameter:ident: $type:ty),*; $this:ident) $(-> $result:ty)? $body:block
    )*) => {
        $(unsafe extern "C" fn $name($($parameter: $type,)* $this: This) $(-> $result)? {
            let _ = ($this, $($parameter,)*);
            // SAFETY: called by the object, inside a callback, with the trial that it was given.
            // Some need none of that.
            #[allow(unused_unsafe)]
            unsafe {
                $body
            }
        })*

        pub(super) fn function(name: &str) -> Option<*const ()> {
            Some(match name {
                $(stringify!($name) => $name as *const (),)*
                _ => return None,
            })
        }
    };
}
pub(super) use kfuncs;

kfuncs! {
    fn scx_bpf_create_dsq(dsq: u64, node: i32; this) -> i32 {
        let is_allowed = allowed(this, SLEEPS, "scx_bpf_create_dsq");
        if is_allowed { core(this).create_dsq(dsq, node) } else { -libc::EINVAL }
    }

    fn scx_bpf_destroy_dsq(dsq: u64; this) {
        core(this).destroy_dsq(dsq)
    }

    fn scx_bpf_dsq_nr_queued(dsq: u64; this) -> i32 {
        core(this).dsq_nr_queued(dsq)
    }

    fn scx_bpf_dsq_insert(p: TaskPointer, dsq: u64, slice: u64, flags: u64; this) -> bool {
        let task = task(this, p, "scx_bpf_dsq_insert");
        task.is_some_and(|task| core(this).dsq_insert(task, dsq, slice, flags))
    }

    fn __scx_bpf_dsq_insert_vtime(p: TaskPointer, args: *const InsertVtime; this) -> bool {
        let InsertVtime { dsq_id, slice, vtime, enq_flags } = args.read();
        let task = task(this, p, "scx_bpf_dsq_insert_vtime");
        task.is_some_and(|task| core(this).dsq_insert_vtime(task, dsq_id, slice, vtime, enq_flags))
    }

    fn scx_bpf_dsq_move_to_local(dsq: u64, flags: u64; this) -> bool {
        allowed(this, DISPATCH, "scx_bpf_dsq_move_to_local")
            && core(this).dsq_move_to_local(dsq, flags)
    }

    fn scx_bpf_dsq_move_set_slice(iterator: *mut DsqIterator, slice: u64; this) {
        (*iterator).slice = slice;
        (*iterator).set |= SLICE;
    }

    fn scx_bpf_dsq_move_set_vtime(iterator: *mut DsqIterator, vtime: u64; this) {
        (*iterator).vtime = vtime;
        (*iterator).set |= VTIME;
    }

    fn scx_bpf_dsq_move(
        iterator: *mut DsqIterator, p: TaskPointer, dsq: u64, flags: u64;
        this
    ) -> bool {
        move_task(iterator, p, dsq, flags, false, this)
    }

    fn scx_bpf_dsq_move_vtime(
        iterator: *mut DsqIterator, p: TaskPointer, dsq: u64, flags: u64; this
    ) -> bool {
        move_task(iterator, p, dsq, flags, true, this)
    }

    fn scx_bpf_dispatch_nr_slots(; this) -> u32 {
        let is_allowed = allowed(this, DISPATCH, "scx_bpf_dispatch_nr_slots");
        if is_allowed { core(this).dispatch_nr_slots() } else { 0 }
    }

    fn scx_bpf_dispatch_cancel(; this) {
        if allowed(this, DISPATCH, "scx_bpf_dispatch_cancel") {
            core(this).dispatch_cancel()
        }
    }

    fn scx_bpf_dsq_reenq(dsq: u64, flags: u64; this) {
        core(this).dsq_reenqueue(dsq, flags)
    }

    fn scx_bpf_reenqueue_local(; this) -> u32 {
        core(this).reenqueue_local()
    }

    fn scx_bpf_events(events: *mut i64, size: usize; this) {
        let counts = core(this).event_counts();
        let words = (size / 8).min(counts.len());
        std::ptr::copy_nonoverlapping(counts.as_ptr(), events, words);
        events.add(words).write_bytes(0, size / 8 - words);
    }

    fn scx_bpf_tid_to_task(tid: u64; this) -> TaskPointer {
        let task = core(this).tid_to_task(tid);
        memory(core(this), task)
    }

    fn scx_bpf_task_set_lazy_resched(p: TaskPointer, lazy: bool; this) -> bool {
        let task = task(this, p, "scx_bpf_task_set_lazy_resched");
        task.is_some_and(|task| core(this).task_set_lazy_resched(task, lazy))
    }

    fn fairground_cid(cid: i32; this) -> i32 {
        if core(this).cid_valid(cid) { cid } else { -libc::EINVAL }
    }

    fn scx_bpf_cid_topo(cid: i32, out: *mut i32, size: usize; this) {
        let topology = core(this).cid_topo(cid);
        let words = (size / 4).min(topology.len());
        std::ptr::copy_nonoverlapping(topology.as_ptr(), out, words);
    }

    fn fairground_locked_cpu(; this) -> i32 {
        core(this).locked_cpu()
    }

    fn scx_bpf_dsq_peek(dsq: u64; this) -> TaskPointer {
        let first = core(this).dsq_peek(dsq);
        memory(core(this), first)
    }

    fn bpf_iter_scx_dsq_new(iterator: *mut DsqIterator, dsq: u64, flags: u64; this) -> i32 {
        *iterator = DsqIterator { cursor: 0, is_open: 0, slice: 0, vtime: 0, set: 0 };
        match core(this).dsq_iter_new(dsq, flags) {
            Ok(cursor) => {
                ((*iterator).cursor, (*iterator).is_open) = (cursor, 1);
                0
            }
            Err(error) => error,
        }
    }

    fn bpf_iter_scx_dsq_next(iterator: *mut DsqIterator; this) -> TaskPointer {
        let DsqIterator { is_open, cursor, .. } = *iterator;
        let next = if is_open == 1 { core(this).dsq_iter_next(cursor) } else { None };
        memory(core(this), next)
    }

    fn bpf_iter_scx_dsq_destroy(iterator: *mut DsqIterator; this) {
        if std::mem::take(&mut (*iterator).is_open) == 1 {
            core(this).dsq_iter_destroy((*iterator).cursor);
        }
    }

    fn scx_bpf_select_cpu_dfl(
        p: TaskPointer, prev_cpu: i32, wake_flags: u64, is_idle: *mut bool; this
    ) -> i32 {
        if !allowed(this, SELECT | UNLOCKED, "scx_bpf_select_cpu_dfl") {
            return prev_cpu;
        }
        let Some(task) = task(this, p, "scx_bpf_select_cpu_dfl") else { return prev_cpu };
        let (cpu, idle) = core(this).select_cpu_dfl(task, prev_cpu, wake_flags);
        *is_idle = idle;
        cpu
    }

    fn __scx_bpf_select_cpu_and(
        p: TaskPointer, cpus: *const u64, args: *const SelectCpuAnd;
        this
    ) -> i32 {
        if !allowed(this, SELECT | UNLOCKED, "scx_bpf_select_cpu_and") {
            return -libc::EINVAL;
        }
        let SelectCpuAnd { prev_cpu, wake_flags, flags } = args.read();
        let task = task(this, p, "scx_bpf_select_cpu_and");
        let cpus = mask(this, cpus, "scx_bpf_select_cpu_and");
        match (task, cpus) {
            (Some(task), Some(cpus)) => {
                let cpus = core(this).cpu_set(cpus);
                core(this).select_cpu_and(task, prev_cpu, wake_flags, &cpus, flags)
            }
            _ => -libc::EINVAL,
        }
    }

    fn scx_bpf_kick_cpu(cpu: i32, flags: u64; this) {
        core(this).kick_cpu(cpu, flags)
    }

    fn scx_bpf_cpuperf_cap(cpu: i32; this) -> u32 {
        core(this).cpu_capacity(cpu)
    }

    fn scx_bpf_cpuperf_cur(cpu: i32; this) -> u32 {
        FULL_SPEED
    }

    // DIVERGES: CPUs always run at full speed, as under the `performance` governor.
    fn scx_bpf_cpuperf_set(cpu: i32, perf: u32; this) {
    }

    fn scx_bpf_nr_node_ids(; this) -> u32 {
        core(this).topology().nodes.len() as u32
    }

    fn scx_bpf_cpu_node(cpu: i32; this) -> i32 {
        core(this).cpu_node(cpu)
    }

    fn fairground_clock_task(cpu: u32; this) -> u64 {
        core(this).clock_task(cpu)
    }

    fn fairground_clock_pelt(cpu: u32; this) -> u64 {
        core(this).clock_pelt(cpu)
    }

    fn fairground_llc_id(cpu: u32; this) -> u32 {
        core(this).llc(cpu).0
    }

    fn fairground_llc_size(cpu: u32; this) -> u32 {
        core(this).llc(cpu).1
    }

    // DIVERGES: all CPUs are always online.
    fn fairground_possible_cpumask(; this) -> *const u64 {
        (*this).possible.as_ptr()
    }

    fn fairground_idle_cpumask(node: i32; this) -> *const u64 {
        let idle = core(this).idle_words(false, Some(node).filter(|&node| node != ALL_NODES));
        (*this).lend(&idle)
    }

    fn fairground_idle_smtmask(node: i32; this) -> *const u64 {
        let idle = core(this).idle_words(true, Some(node).filter(|&node| node != ALL_NODES));
        (*this).lend(&idle)
    }

    fn scx_bpf_test_and_clear_cpu_idle(cpu: i32; this) -> bool {
        core(this).test_and_clear_cpu_idle(cpu)
    }

    fn scx_bpf_pick_idle_cpu(cpus: *const u64, flags: u64; this) -> i32 {
        let cpus = mask(this, cpus, "scx_bpf_pick_idle_cpu");
        let is_global = core(this).idle_is_global();
        let cpus = cpus.filter(|_| is_global);
        pick(this, cpus, |core, cpus| core.pick_idle_cpu(cpus, flags))
    }

    fn scx_bpf_pick_any_cpu(cpus: *const u64, flags: u64; this) -> i32 {
        let cpus = mask(this, cpus, "scx_bpf_pick_any_cpu");
        let is_global = core(this).idle_is_global();
        let cpus = cpus.filter(|_| is_global);
        pick(this, cpus, |core, cpus| core.pick_any_cpu(cpus, flags))
    }

    fn scx_bpf_pick_idle_cpu_node(cpus: *const u64, node: i32, flags: u64; this) -> i32 {
        let cpus = mask(this, cpus, "scx_bpf_pick_idle_cpu_node");
        pick(this, cpus, |core, cpus| core.pick_idle_cpu_node(cpus, node, flags))
    }

    fn scx_bpf_pick_any_cpu_node(cpus: *const u64, node: i32, flags: u64; this) -> i32 {
        let cpus = mask(this, cpus, "scx_bpf_pick_any_cpu_node");
        pick(this, cpus, |core, cpus| core.pick_any_cpu_node(cpus, node, flags))
    }

    fn scx_bpf_task_running(p: TaskPointer; this) -> bool {
        task(this, p, "scx_bpf_task_running").is_some_and(|task| core(this).task_running(task))
    }

    fn scx_bpf_task_cpu(p: TaskPointer; this) -> i32 {
        task(this, p, "scx_bpf_task_cpu").map_or(0, |task| core(this).task_cpu(task))
    }

    fn scx_bpf_cpu_curr(cpu: i32; this) -> TaskPointer {
        let core = core(this);
        let current = if core.cpu_valid(cpu, "") { core.cpu_curr(cpu) } else { None };
        memory(core, current)
    }

    fn scx_bpf_now(; this) -> u64 {
        core(this).now()
    }

    fn scx_bpf_task_set_slice(p: TaskPointer, slice: u64; this) -> bool {
        let task = task(this, p, "scx_bpf_task_set_slice");
        task.is_some_and(|task| core(this).task_set_slice(task, slice))
    }

    fn scx_bpf_task_set_dsq_vtime(p: TaskPointer, vtime: u64; this) -> bool {
        let task = task(this, p, "scx_bpf_task_set_dsq_vtime");
        task.is_some_and(|task| core(this).task_set_dsq_vtime(task, vtime))
    }

    fn bpf_cpumask_any_distribute(cpus: *const u64; this) -> u32 {
        let cpus = mask(this, cpus, "bpf_cpumask_any_distribute").unwrap_or_default();
        core(this).distribute(cpus, cpus)
    }

    fn bpf_cpumask_any_and_distribute(a: *const u64, b: *const u64; this) -> u32 {
        let a = mask(this, a, "bpf_cpumask_any_and_distribute").unwrap_or_default();
        let b = mask(this, b, "bpf_cpumask_any_and_distribute").unwrap_or_default();
        core(this).distribute(a, b)
    }
}

/// Whether the running callback may call this kfunc. Otherwise the scheduler is ejected. Kernels of
/// 7.x refuse it when they load it, older ones when it calls.
#[inline]
unsafe fn allowed(this: This, kinds: u8, kfunc: &str) -> bool {
    let is_allowed = may_call(kinds);
    if !is_allowed {
        // SAFETY: as for the kfuncs.
        refuse_here(unsafe { core(this) }, kinds, kfunc);
    }
    is_allowed
}

#[cold]
fn refuse_here(core: &mut Core, kinds: u8, kfunc: &str) {
    let named = |kind: u8| CALLBACKS.iter().zip(ALLOWED).filter(move |(_, all)| all & kind != 0);
    let names: Vec<&str> = named(kinds).map(|(name, _)| *name).collect();
    let names = names.join(", ");
    core.error(format!("a kernel allows {kfunc}() only in {names}"));
}

/// `SCX_CPUPERF_ONE`.
const FULL_SPEED: u32 = 1024;

/// Picks a CPU of the set; without a set, `-EINVAL`.
unsafe fn pick(
    this: This,
    cpus: Option<&[u64]>,
    pick: impl FnOnce(&mut Core, &CpuMask) -> i32,
) -> i32 {
    let Some(cpus) = cpus else { return -libc::EINVAL };
    // SAFETY: as for the kfuncs.
    let core = unsafe { core(this) };
    let cpus = core.cpu_set(cpus);
    pick(core, &cpus)
}

unsafe fn move_task(
    iterator: *mut DsqIterator,
    p: TaskPointer,
    dsq: u64,
    flags: u64,
    ordered: bool,
    this: This,
) -> bool {
    // SAFETY: as for the kfuncs.
    unsafe {
        if !allowed(this, DISPATCH | UNLOCKED, "scx_bpf_dsq_move") {
            return false;
        }
        let Some(task) = task(this, p, "scx_bpf_dsq_move") else { return false };
        let core = core(this);
        let set = std::mem::take(&mut (*iterator).set);
        let slice = (set & SLICE != 0).then_some((*iterator).slice);
        if set & VTIME != 0 {
            core.task_set_dsq_vtime(task, (*iterator).vtime);
        }
        let vtime = ordered.then(|| core.dsq_vtime(task));
        (*iterator).is_open == 1
            && core.dsq_move((*iterator).cursor, task, dsq, flags, slice, vtime)
    }
}
