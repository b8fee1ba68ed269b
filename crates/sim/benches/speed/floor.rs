// SPDX-License-Identifier: GPL-2.0-only
//! The floor of any simulation: a scheduler's callbacks whose kfuncs return at once.

use sim::native::{Host, NativeScheduler, layout};
use sim::{Core, TaskId};

use crate::one::{Load, cpu_seconds, native, trial};

extern "C" fn zero() -> u64 {
    0
}

extern "C" fn one() -> u64 {
    1
}

/// `scx_bpf_select_cpu_dfl()` that finds the previous CPU idle.
///
/// # Safety
/// `is_idle` must be valid for a write.
unsafe extern "C" fn previous_cpu(_: *const u8, cpu: i32, _: u64, is_idle: *mut bool) -> i32 {
    // SAFETY: the caller's.
    unsafe { is_idle.write(true) };
    cpu
}

/// The function that takes a kfunc's place: one that does nothing. Functions that return a set of
/// CPUs, maps and memory stay what they are.
fn nothing(name: &str) -> Option<*const ()> {
    let is_kfunc = ["scx_bpf_", "__scx_bpf_", "bpf_iter_scx_"].iter().any(|p| name.starts_with(p));
    if !is_kfunc || name.contains("cpumask") || name.contains("smtmask") {
        return None;
    }
    let true_or_one =
        ["insert", "move", "slots", "test_and_clear", "now", "set_", "running", "nr_node"];
    Some(match name {
        "scx_bpf_select_cpu_dfl" => previous_cpu as *const (),
        _ if true_or_one.iter().any(|part| name.contains(part)) => one as *const (),
        _ => zero as *const (),
    })
}

const ROUNDS: u32 = 2_000_000;

/// The callbacks of one round of a task (its CPU is selected, it is enqueued, dispatched, run and
/// stopped), divided by the round's two switches: to the task and away from it. Nanoseconds.
pub fn ns_per_switch(name: &str) -> f64 {
    let native = native(name);
    let host = Host { cpus: 1, hz: 1000, seed: model::Seed(1) };
    let scheduler = NativeScheduler::load_with(&native, &Default::default(), host, &nothing);
    let scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
    let machine = trial(&native, &Load { cpus: 1, tasks: 1, duration_us: 1 });
    let core = &mut Core::new(&machine, layout(&scheduler)).expect("a playable workload");
    // The idle task is there from the start, with all fields that schedulers read.
    let task = TaskId(0);
    scheduler.init(core);
    scheduler.init_task(core, task, false);
    let begin = cpu_seconds();
    for _ in 0..ROUNDS {
        scheduler.select_cpu(core, task, 0, 0);
        scheduler.enqueue(core, task, 0);
        scheduler.dispatch(core, 0, None);
        scheduler.running(core, task);
        scheduler.stopping(core, task, true);
    }
    (cpu_seconds() - begin) * 1e9 / f64::from(ROUNDS) / 2.0
}
