// SPDX-License-Identifier: GPL-2.0-only
//! One measurement, in this process.

use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use compile::native::Native;
use model::{Costs, Seed, Trial};
use sim::Core;
use sim::native::{Host, NativeScheduler};

#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub cpus: u32,
    pub tasks: u32,
    pub duration_us: u64,
}

impl Load {
    /// From a command line.
    pub fn parse(cpus: &str, tasks: &str, duration_us: &str) -> Load {
        let number = |text: &str| text.parse().expect("a number");
        let duration_us = duration_us.parse().expect("a number");
        Load { cpus: number(cpus), tasks: number(tasks), duration_us }
    }
}

/// The command line that makes this program measure.
pub fn arguments(scheduler: &str, load: &Load) -> [String; 5] {
    let numbers =
        [load.cpus.into(), load.tasks.into(), load.duration_us].map(|n: u64| n.to_string());
    let [cpus, tasks, duration_us] = numbers;
    ["one".into(), scheduler.into(), cpus, tasks, duration_us]
}

pub struct Answer {
    pub switches: u64,
    pub seconds: f64,
    /// A supervised trial of 1 µs with all that it needs, in wall-clock time: where nothing costs
    /// time, and so the tasks start at once.
    pub start_ms: f64,
    /// The same where waking all tasks takes the kernel's time, in which the first ones play.
    pub costly_start_ms: f64,
    pub peak_kib: i64,
}

impl Answer {
    /// From the line that [`print`] writes.
    pub fn parse(line: &str) -> Answer {
        let words: Vec<f64> =
            line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [switches, seconds, start_ms, costly_start_ms, peak_kib] = words[..] else {
            panic!("{line}")
        };
        let (switches, peak_kib) = (switches as u64, peak_kib as i64);
        Answer { switches, seconds, start_ms, costly_start_ms, peak_kib }
    }

    /// Nanoseconds of CPU time.
    pub fn ns_per_switch(&self) -> f64 {
        self.seconds * 1e9 / self.switches as f64
    }
}

/// Measures and writes one line of numbers.
pub fn print(scheduler: &str, load: &Load) {
    let native = native(scheduler);
    let (switches, seconds) = simulate(&native, load);
    let [free, costly] =
        [Costs::FREE, Costs::default()].map(|costs| start_ms(&native, load, costs));
    println!("{switches} {seconds} {free} {costly} {}", peak_kib());
}

/// Writes how many milliseconds a supervised trial of 1 µs takes in a process that holds so much
/// memory, forked from it or from a fork server.
pub fn print_start(mebibytes: &str, is_served: bool) {
    if is_served {
        sim::native::start_fork_server().expect("a fork server");
    }
    let held = vec![1_u8; mebibytes.parse::<usize>().expect("a number") << 20];
    let load = Load { cpus: 4, tasks: 16, duration_us: 1 };
    println!("{}", start_ms(&native("vtime"), &load, Costs::default()));
    std::hint::black_box(held);
}

/// Simulates and writes the number of switches. This is what valgrind counts: it does not know the
/// system calls of the sandbox, which a supervised trial needs.
pub fn print_switches(scheduler: &str, load: &Load) {
    println!("{}", simulate(&native(scheduler), load).0);
}

/// A built-in scheduler.
pub fn native(name: &str) -> Native {
    let source = compile::resolve(name, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    compile::native::native(&source).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(native: &Native, load: &Load) -> (u64, f64) {
    let trial = trial(native, load);
    let host =
        Host { cpus: model::CpuFacts::of(&trial.machine), hz: trial.machine.hz, seed: Seed(1) };
    let scheduler = NativeScheduler::<false>::load(native, &Default::default(), host);
    let scheduler = Rc::new(scheduler.unwrap_or_else(|error| panic!("{error}")));
    let mut core = Core::new(&trial, scheduler.layout()).expect("a playable workload");
    let begin = cpu_seconds();
    core.perform_trial(Some(scheduler));
    (core.switches(), cpu_seconds() - begin)
}

const LIMIT: Duration = Duration::from_secs(60);

/// The shortest of some: whatever else the host does only adds.
fn start_ms(native: &Native, load: &Load, costs: Costs) -> f64 {
    let mut trial = trial(native, &Load { duration_us: 1, ..*load });
    trial.machine.costs = costs;
    let once = || {
        let begin = Instant::now();
        let record = sim::native::supervise(&trial, Some(native), LIMIT, &AtomicBool::new(false))
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        begin.elapsed().as_secs_f64() * 1e3
    };
    (0..9).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Tasks that run 200 µs and sleep 1 ms.
fn trial(native: &Native, load: &Load) -> Trial {
    let steps = serde_json::json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
    serde_json::from_value(serde_json::json!({
        "schema": model::trial::SCHEMA, "experiment": "speed", "backend": "sim",
        "contestant": { "name": native.name, "scheduler": {
            "kind": "file", "file": native.name, "sha256": "" } },
        "workload": { "name": "sleepers", "duration_us": load.duration_us,
            "task": [{ "name": "sleeper", "count": load.tasks, "jitter_us": 1200,
                "steps": steps }] },
        "machine": { "name": "bench", "cpus": load.cpus },
        "seed": 1, "block": 0, "boot": 0, "position": 0, "timeout_ms": 60_000,
    }))
    .expect("a trial")
}

/// CPU time of this process, so that other programs on the host do not count.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the given structure only.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory that this process has had.
fn peak_kib() -> i64 {
    // SAFETY: all zeros are a valid value, and the call writes to the given structure only.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_maxrss
    }
}
