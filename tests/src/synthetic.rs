// SPDX-License-Identifier: GPL-2.0-only
//! Synthetic records with the shape of a real experiment: several kernels and schedulers, a
//! workload ramp, latency tails, failures, one traced trial. No number here was measured.

use std::collections::BTreeMap;

use model::histogram::lowest_equivalent;
use model::series::Counts;
use model::trace::{TraceTask, What};
use model::*;

/// A contestant's name, kernel, how it multiplies tail latency and run time, and its `.bpf.c` file.
const CONTESTANTS: [(&str, &str, f64, f64, &str); 8] = [
    ("eevdf-7", "7.3.4+deb13-cloud-amd64", 1.0, 1.0, ""),
    ("cfs-6.1", "6.1.0-50-cloud-amd64", 1.45, 0.93, ""),
    ("eevdf-6.12", "6.12.107+deb13-cloud-amd64", 1.0, 0.99, ""),
    ("vtime", "7.3.4+deb13-cloud-amd64", 0.32, 1.12, "vtime"),
    ("fifo", "7.3.4+deb13-cloud-amd64", 9.5, 1.31, "fifo"),
    ("rr", "7.3.4+deb13-cloud-amd64", 2.6, 1.004, "rr"),
    ("scx_bpfland", "7.3.4+deb13-cloud-amd64", 0.71, 0.84, "program"),
    ("sched_batch", "7.3.4+deb13-cloud-amd64", 1.01, 1.0, "policy"),
];

pub const BLOCKS: u32 = 8;

/// Numbers of one record, drawn from its own seed.
struct Draw(Seed);

impl Draw {
    /// Uniform in 0 … 1.
    fn uniform(&mut self) -> f64 {
        self.0.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    /// Log-normal around 1 with this spread.
    fn noisy(&mut self, spread: f64) -> f64 {
        let normal = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        (normal * spread).exp()
    }
}

pub fn experiment() -> Vec<Record> {
    let mut records = Vec::new();
    for block in 0..BLOCKS {
        for (cell, workload) in workloads().into_iter().enumerate() {
            for contestant in 0..CONTESTANTS.len() {
                let position = records.len() as u32;
                records.push(record(contestant, &workload, cell, block, position));
            }
        }
    }
    fail(&mut records);
    records
}

/// The experiment again and again: more than 5,000 trials, traced once.
pub fn five_thousand() -> Vec<Record> {
    let once = experiment();
    let mut records = Vec::new();
    for session in 0..8u32 {
        for record in once.iter().filter(|record| session == 0 || record.trace.is_none()) {
            let mut record = record.clone();
            record.trial.block += session * BLOCKS;
            record.trial.boot += session * 100;
            records.push(record);
        }
    }
    assert!(records.len() > 5_000);
    records
}

/// Hundreds of cells, and failures with long dumps, no two alike.
pub fn huge() -> Vec<Record> {
    let once: Vec<Record> =
        experiment().into_iter().filter(|record| record.trial.block < 2).collect();
    let mut records = Vec::new();
    for size in 0..30i64 {
        for record in &once {
            let mut record = record.clone();
            record.trial.workload.parameters.insert("size".into(), size);
            record.trace = record.trace.filter(|_| size == 0);
            if records.len() % 9 == 0 {
                let reason = format!("stall number {}", records.len());
                let dump = format!("{reason}: runnable task stall\n").repeat(400);
                record.outcome = Outcome::Ejected { reason, dump };
            }
            records.push(record);
        }
    }
    records
}

/// The same on two backends: the simulator answers too, for the contestants that are files, except
/// for the real program, and errs by a few percent.
pub fn on_both_backends() -> Vec<Record> {
    let mut records = experiment();
    let simulated = |record: &&Record| {
        let file = matches!(record.trial.contestant.scheduler, SchedulerChoice::File { .. });
        file && record.trial.workload.name != "hackbench"
    };
    let mut twins: Vec<Record> = records.iter().filter(simulated).cloned().collect();
    for (index, twin) in twins.iter_mut().enumerate() {
        twin.trial.backend = Backend::Sim;
        let factor = 1.0 + 0.04 * (index % 5) as f64;
        for metric in &mut twin.measured.metrics {
            metric.value = metric.value.map(|value| value * factor);
        }
    }
    records.extend(twins);
    records
}

fn workloads() -> Vec<Workload> {
    let mut workloads = Vec::new();
    for hogs in [0, 3, 24, 32] {
        let about = "A 1 kHz timer task against CPU hogs, fair and real-time wakers side by side.";
        let headline = ["wakeup_latency_ns.p99 fair_waker", "wakeup_latency_ns.p99 rt_waker"];
        workloads.push(workload("wake_under_hogs", about, &headline, &[("hogs", hogs)]));
    }
    for background in [0, 10, 20, 40, 60] {
        let about = "A 24 fps player that drops late frames, against background tasks.";
        let headline = ["deadline_miss_ratio player"];
        workloads.push(workload("frames", about, &headline, &[("background", background)]));
    }
    let about = "Hackbench's pattern: groups of senders and receivers.";
    workloads.push(workload("messaging", about, &["completion_ns all"], &[("groups", 4)]));
    workloads.push(workload("hackbench", "The real program.", &["completion_ns all"], &[]));
    workloads
}

fn workload(name: &str, about: &str, headline: &[&str], parameters: &[(&str, i64)]) -> Workload {
    Workload {
        name: name.into(),
        about: about.into(),
        parameters: parameters.iter().map(|&(name, value)| (name.into(), value)).collect(),
        headline: headline.iter().map(|&name| name.into()).collect(),
        ..Workload::default()
    }
}

fn record(index: usize, workload: &Workload, cell: usize, block: u32, position: u32) -> Record {
    let (name, kernel, tail, time, file) = CONTESTANTS[index];
    let machine = Machine {
        name: "one".into(),
        cpus: 1,
        memory_mib: 256,
        clock: Clock::Real,
        ..Machine::default()
    };
    let seed = Seed(u64::from(block) * 1_000 + cell as u64).derive("block");
    let trial = Trial {
        schema: 1,
        experiment: "quick".into(),
        backend: Backend::Vm,
        contestant: Contestant {
            name: name.into(),
            kernel: Some(series(kernel).into()),
            scheduler: scheduler(file),
            stands_for_kernel: false,
        }
        .into(),
        workload: workload.clone().into(),
        machine: machine.into(),
        seed,
        block,
        boot: block * 3 + [0, 1, 2, 0, 0, 0, 0, 0][index],
        position,
        timeout_ms: 60_000,
        probes: true,
        trace: block == 0 && cell == 2 && index < 4,
        ..Trial::default()
    };
    let mut draw = Draw(Seed(u64::from(position) + 77));
    let mut measured = measured(workload, index, tail, time, &mut draw);
    measured.series = over_time(index as u64, u64::from(block), workload.name != "hackbench");
    let trace = trial.trace.then(|| trace(&mut draw, index));
    Record {
        provenance: provenance(kernel, file, block, cell),
        outcome: Outcome::Ok,
        measured,
        trace,
        trial,
    }
}

fn series(kernel: &str) -> &str {
    if kernel.starts_with('7') { "7" } else { kernel.split(".1").next().unwrap_or("6") }
}

fn scheduler(file: &str) -> SchedulerChoice {
    match file {
        "" => SchedulerChoice::Kernel,
        "program" => SchedulerChoice::Program {
            command: vec!["scx_bpfland".into(), "-s".into(), "5000".into()],
            in_simulator: None,
        },
        "policy" => {
            let policy = Policy { class: PolicyClass::Batch, ..Policy::default() };
            SchedulerChoice::Policy { policy }
        }
        file => SchedulerChoice::File {
            file: file.into(),
            sha256: model::trial::sha256_hex(file.as_bytes()),
            knobs: BTreeMap::from([("slice_us".into(), KnobValue::Int(4_000))]),
            settings: BTreeMap::new(),
        },
    }
}

fn measured(workload: &Workload, index: usize, tail: f64, time: f64, draw: &mut Draw) -> Measured {
    let mut measured = Measured::default();
    let load = workload.parameters.values().copied().max().unwrap_or(4) as f64;
    let number = |name: &str, group: &str, value: f64| Metric::number(name, group, value);
    let speed = draw.noisy(0.02);
    match workload.name.as_str() {
        "wake_under_hogs" => {
            let fair = 30e3 * (1.0 + load * load * tail / 3.0) * draw.noisy(0.12);
            measured.histograms.push(latencies(
                "wakeup_latency_ns",
                "fair_waker",
                fair,
                1_000,
                draw,
            ));
            measured.histograms.push(latencies(
                "wakeup_latency_ns",
                "rt_waker",
                5_200.0 * draw.noisy(0.03),
                1_000,
                draw,
            ));
            measured.histograms.push(latencies("run_delay_ns", "hog", fair * 2.0, 4_000, draw));
            measured.metrics.push(number("cpu_share", "hog", 0.9 * speed));
            measured.metrics.push(number("cpu_share", "fair_waker", 0.04 * speed));
            measured.metrics.push(number("cpu_share", "rt_waker", 0.03 * speed));
        }
        "frames" => {
            let ratio = ((load * tail.sqrt() - 12.0).max(0.0) / 70.0 * draw.noisy(0.08)).min(1.0);
            measured.metrics.push(number("deadline_miss_ratio", "player", ratio));
            measured.metrics.push(number("cpu_share", "player", 0.3 / (1.0 + load / 30.0) * speed));
            measured.metrics.push(number(
                "cpu_share",
                "background",
                1.0 - 0.3 / (1.0 + load / 30.0),
            ));
            measured.histograms.push(latencies(
                "response_time_ns",
                "player",
                8e6 * (1.0 + load * tail / 10.0),
                240,
                draw,
            ));
        }
        _ => {
            let spread = if index == 5 { 0.06 } else { 0.015 };
            measured.metrics.push(number(
                "completion_ns",
                "all",
                1.13e9 * time * draw.noisy(spread),
            ));
            measured.histograms.push(latencies(
                "wakeup_latency_ns",
                "receiver",
                60e3 * tail,
                4_000,
                draw,
            ));
            measured.metrics.push(number("cpu_share", "sender", 0.4 * speed));
            measured.metrics.push(number("cpu_share", "receiver", 0.5 * speed));
        }
    }
    measured.metrics.push(number("voluntary_switches", "all", (41_000.0 * speed).round()));
    measured.metrics.push(number("involuntary_switches", "all", (9_000.0 / tail * speed).round()));
    measured.metrics.push(number("jain_index", "all", 0.98 * draw.noisy(0.004)));
    measured.metrics.push(Metric::missing("deadlines_missed", "all", "no task has a timer"));
    measured.sort();
    measured
}

/// Activity that rises and falls, a little differently in each trial.
fn over_time(index: u64, block: u64, probes: bool) -> Vec<Series> {
    const MS: u64 = 1_000_000;
    if !probes {
        return model::series::missing("no probes <here>");
    }
    let mut counts = Counts::default();
    for nth in 0..300 + 10 * block {
        let from_ns = nth * 4 * MS;
        counts.ran(from_ns, from_ns + (nth + index + block) % 40 * MS / 10);
        counts.waited(from_ns, from_ns + (nth * (index + 1)) % 60 * MS);
    }
    counts.series((1_200 + 40 * block) * MS, 1)
}

fn latencies(name: &str, group: &str, typical_ns: f64, count: u64, draw: &mut Draw) -> Histogram {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut min, mut max) = (u64::MAX, 0);
    for _ in 0..count {
        let late = if draw.uniform() < 0.02 { 6.0 } else { 1.0 };
        let sample = (typical_ns * 0.4 * draw.noisy(0.5) * late) as u64;
        (min, max) = (min.min(sample), max.max(sample));
        *buckets.entry(lowest_equivalent(sample)).or_default() += 1;
    }
    let buckets = buckets.into_iter().collect();
    Histogram { name: name.into(), group: group.into(), count, min, max, buckets }
}

/// A waker that preempts hogs on two CPUs.
fn trace(draw: &mut Draw, index: usize) -> Trace {
    let task = |pid: u32, comm: &str, group: &str| TraceTask {
        pid,
        comm: comm.into(),
        group: group.into(),
    };
    let mut tasks = vec![task(100, "fair_waker", "fair_waker"), task(200, "kworker/0:1", "")];
    tasks.extend((0..6).map(|hog| task(300 + hog, "hog", "hog")));
    let (mut events, mut time_ns, mut turn) = (Vec::new(), 0, 0);
    let mut running = [300u32, 301];
    for _ in 0..3_000 {
        time_ns += (150_000.0 * draw.noisy(0.7)) as u64;
        let cpu = (turn % 2) as u32;
        let prev = running[cpu as usize];
        let waits = 300 + (turn as u32 % 6);
        let next = if turn % 5 == index { 100 } else { waits };
        turn += 1;
        if next == prev || running.contains(&next) {
            continue;
        }
        if next == 100 {
            let waking =
                What::Waking { pid: 100, prio: 120, target: cpu, interrupt: false, by: None };
            events.push(TraceEvent { time_ns: time_ns.saturating_sub(90_000), cpu, what: waking });
        }
        let prev_state = if prev == 100 { "S" } else { "R+" }.into();
        let what =
            What::Switch { prev, prev_prio: 120, prev_state, next, next_prio: 120, reason: None };
        events.push(TraceEvent { time_ns, cpu, what });
        running[cpu as usize] = next;
    }
    events.sort_by_key(|event| event.time_ns);
    Trace { tasks, events, lost: 0 }
}

fn provenance(kernel: &str, file: &str, block: u32, cell: usize) -> Provenance {
    let sched_ext = !matches!(file, "" | "policy");
    let active = ActiveScheduler {
        sched_ext_state: if sched_ext { "enabled" } else { "disabled" }.into(),
        sched_ext_ops: if sched_ext { file.into() } else { String::new() },
        sched_ext_enable_seq: 1,
        fair: if kernel.starts_with("6.1.") { "cfs" } else { "eevdf" }.into(),
    };
    let facts = [("HZ", "250"), ("preempt", "voluntary"), ("sched_ext", "y"), ("autogroup", "0")];
    Provenance {
        fairground: "0.1.0".into(),
        kernel_release: kernel.into(),
        kernel_version: "#1 SMP PREEMPT_DYNAMIC Debian".into(),
        kernel_sha256: model::trial::sha256_hex(kernel.as_bytes()),
        kernel_facts: facts.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
        accelerator: "tcg".into(),
        cpu_model: "QEMU TCG CPU version 2.5+".into(),
        cpus: 1,
        boot_id: format!("boot-{block}-{kernel}"),
        boot_position: cell as u32,
        scheduler_before: active.clone().into(),
        scheduler_after: active.into(),
        probes: "on".into(),
        wall_ms: 1_400,
        ..Provenance::default()
    }
}

/// Makes some trials of `fifo` and `rr` end badly, with a dump that tries to break out of a page.
fn fail(records: &mut [Record]) {
    let dump = "rr[300] triggered exit kind 1026:\n  runnable task stall (hog[304] failed to run \
    for \
                30.2s)\n\nBacktrace:\n  scx_watchdog_workfn+0x139\
                </script><script>alert(1)</script>";
    for record in records.iter_mut().filter(|record| record.trial.block == 5) {
        let hogs = record.trial.workload.parameters.get("hogs").copied();
        let (name, many) = (record.trial.contestant.name.as_str(), hogs == Some(32));
        let outcome = match name {
            "rr" if many => Outcome::Ejected {
                reason: "runnable task stall (hog[304] failed to run for 30.2s)".into(),
                dump: dump.into(),
            },
            "fifo" if many => Outcome::Hung { reason: "the guest said nothing for 60 s".into() },
            _ => continue,
        };
        record.outcome = outcome;
        record.measured = Measured::default();
    }
}
