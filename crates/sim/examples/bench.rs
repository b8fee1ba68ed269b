// SPDX-License-Identifier: GPL-2.0-only
//! Context switches per second of host time, with a policy written in Rust: the floor.
//!
//! `cargo run --release -p fairground-sim --example bench`

use std::rc::Rc;

use model::{
    Backend, Contestant, Costs, Machine, SchedulerChoice, Seed, Step, TaskGroup, Trial, Workload,
};
use sim::{Core, TaskLayout};

fn group(count: u32) -> TaskGroup {
    TaskGroup {
        name: "worker".into(),
        count,
        repeat: None,
        delay_us: 0,
        jitter_us: 1_200,
        policy: None,
        affinity: Vec::new(),
        template: false,
        steps: vec![Step::RunUs(200), Step::SleepUs(1_000)],
    }
}

fn trial(cpus: u32, tasks: u32, duration_us: u64, costs: Costs) -> Trial {
    let machine = Machine { name: format!("m{cpus}"), cpus, costs, ..Machine::default() };
    let workload = Workload {
        name: "bench".into(),
        duration_us: Some(duration_us),
        tasks: vec![group(tasks)],
        ..Workload::default()
    };
    let scheduler = SchedulerChoice::File {
        file: "vtime".into(),
        sha256: String::new(),
        knobs: Default::default(),
    };
    Trial {
        schema: model::trial::SCHEMA,
        experiment: "bench".into(),
        backend: Backend::Sim,
        contestant: Contestant { name: "vtime".into(), kernel: None, scheduler },
        workload,
        machine,
        seed: Seed(1),
        block: 0,
        boot: 0,
        position: 0,
        timeout_ms: 60_000,
        probes: true,
        trace: false,
    }
}

fn measure(cpus: u32, tasks: u32, duration_us: u64, costs: Costs) {
    let trial = trial(cpus, tasks, duration_us, costs);
    let mut core = Core::new(&trial, TaskLayout::compact()).expect("a playable workload");
    let start = cpu_seconds();
    core.perform_trial(Some(Rc::new(sim::reference::Vtime::default())));
    let seconds = cpu_seconds() - start;
    let (switches, events) = (core.switches(), core.events_handled());
    println!(
        "{cpus:>5} CPUs {tasks:>6} tasks: {:>6.2} M switches/s, {:>6.2} M events/s, \
         {:.0} ns per switch ({switches} in {seconds:.2} s)",
        switches as f64 / seconds / 1e6,
        events as f64 / seconds / 1e6,
        seconds * 1e9 / switches as f64,
    );
}

/// Everything that comes before the first event and after the last.
fn start_up(cpus: u32, tasks: u32) {
    let start = cpu_seconds();
    let trial = trial(cpus, tasks, 1, Costs::default());
    let mut core = Core::new(&trial, TaskLayout::compact()).expect("a playable workload");
    core.perform_trial(Some(Rc::new(sim::reference::Vtime::default())));
    let ms = (cpu_seconds() - start) * 1e3;
    println!("{cpus:>5} CPUs {tasks:>6} tasks: {ms:.2} ms to start and end");
}

fn main() {
    for (cpus, tasks) in [(4, 16), (1_024, 4_096), (1_024, 100_000)] {
        start_up(cpus, tasks);
    }
    for costs in [Costs::FREE, Costs::default()] {
        measure(4, 16, 50_000_000, costs);
        measure(64, 256, 5_000_000, costs);
        measure(1_024, 4_096, 500_000, costs);
        measure(1_024, 100_000, 20_000, costs);
    }
}

/// CPU time of this process, so that other programs on the host do not count.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
