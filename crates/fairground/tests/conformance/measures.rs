// SPDX-License-Identifier: GPL-2.0-only
//! Numbers that both arms must agree on: spans with their time-outs, frames, and series over time. The workloads
//! leave nothing to the scheduler, so a backend that counts differently is wrong.

use std::collections::BTreeMap;
use std::path::Path;

use compile::Source;
use model::{
    Backend, Clock, Contestant, KnobValue, Machine, Record, SchedulerChoice, Trial, Workload,
};
use vm::Kernel;

use super::arm;

/// Spans that are always in time, always late, and never at their end.
const SPANS: &str = r#"
name = "spans"
duration_us = 100000

[[task]]
name = "patient"
repeat = 20
steps = [{ within = { us = 20000, steps = [{ run_us = 100 }, { sleep_us = 2000 }] } }]

[[task]]
name = "late"
repeat = 20
steps = [{ within = { us = 1000, steps = [{ run_us = 100 }, { sleep_us = 2000 }] } }]

[[task]]
name = "unfinished"
steps = [{ within = { us = 10000, steps = [{ sleep_us = 1000000 }] } }]
"#;

/// 120 frames of 2 ms; every fortieth takes 12 ms. The CPU time of a frame is drawn from the seed.
const FRAMES: &str = r#"
name = "frames"
duration_us = 400000

[[task]]
name = "game"
repeat = 3
steps = [
    { loop = { count = 39, steps = [
        { run_between_us = { least = 200, most = 400 } },
        { timer = { period_us = 2000, relative = true } },
        "frame",
    ] } },
    { sleep_us = 12000 },
    "frame",
]
"#;

/// Two tasks that run for 1.5 of 5 ms; one of them waits for the other.
const DUTY_CYCLE: &str = r#"
name = "duty_cycle"
duration_us = 400000

[[task]]
name = "worker"
count = 2
steps = [{ run_us = 1500 }, { timer = { period_us = 5000 } }]
"#;

/// A process every 10 ms.
const FORKS: &str = r#"
name = "forks"
duration_us = 200000

[[task]]
name = "shell"
repeat = 12
steps = [{ fork = { task = "job" } }, "wait_children", { timer = { period_us = 10000 } }]

[[task]]
name = "job"
template = true
steps = [{ run_us = 200 }]
"#;

/// Tasks that end by themselves, long before the trial: nobody can ask them for their CPU time.
const ENDED: &str = r#"
name = "ended"
duration_us = 100000

[[task]]
name = "short"
count = 2
repeat = 3
steps = [{ run_us = 1000 }]

[[task]]
name = "sleeper"
steps = [{ sleep_us = 10000 }]
"#;

/// A task runs jobs of 7 ms while interrupts take 300 µs of each 1000 µs of its CPU.
const INTERRUPTED: &str = r#"
name = "interrupted"
duration_us = 400000

[[interrupt]]
every_us = 1000
length_us = 300

[[task]]
name = "worker"
steps = [{ timer = { period_us = 20000 } }, { run_us = 7000 }]
"#;

/// A task that keeps the CPU: if its slice is long, no thread of the kernel runs either.
const HOG: &str = r#"
name = "hog"
duration_us = 50000

[[task]]
name = "hog"
steps = [{ run_us = 1000000 }]
"#;

/// What the simulator and the kernel say to each workload, in this order.
pub type Arms = [Record; 2];

/// Runs all of them on both arms under `fifo`, on one CPU.
pub fn both_arms(kernel: &Kernel) -> BTreeMap<String, Arms> {
    let source = compile::resolve("fifo", Path::new(".")).expect("a built-in scheduler");
    let workloads = [SPANS, FRAMES, DUTY_CYCLE, FORKS, ENDED, INTERRUPTED];
    let trials = |backend| -> Vec<Trial> {
        workloads.iter().map(|text| trial(text, &source, backend)).collect()
    };
    let simulated = arm::simulated(&trials(Backend::Sim), &source);
    let real = arm::run(&trials(Backend::Vm), std::iter::once(&source), kernel);
    let pair = |one: Record| {
        let name = one.trial.workload.name.clone();
        let other =
            real.iter().find(|record| record.trial.workload.name == name).expect("a record");
        for record in [&one, other] {
            assert!(record.outcome.is_ok(), "{name}: {:?}", record.outcome);
        }
        (name, [one, other.clone()])
    };
    simulated.into_iter().map(pair).collect()
}

fn trial(workload: &str, source: &Source, backend: Backend) -> Trial {
    let workload: Workload = toml::from_str(workload).expect("a workload");
    let scheduler = SchedulerChoice::file(&source.path, &source.sha256);
    let machine = Machine { cpus: 1, clock: Clock::Virtual, memory_mib: 512, ..Machine::default() };
    Trial {
        experiment: "conformance".into(),
        backend,
        contestant: Contestant::new("fifo", scheduler).into(),
        workload: workload.into(),
        machine: machine.into(),
        timeout_ms: 20_000,
        ..Trial::default()
    }
}

pub fn time_outs_are_equal(arms: &Arms) {
    for (group, spans, timeouts) in [("patient", 20, 0), ("late", 20, 20), ("unfinished", 1, 1)] {
        for record in arms {
            let arm = record.trial.backend.word();
            let found = record.measured.value("timeouts", group);
            assert_eq!(found, Some(f64::from(timeouts)), "{arm}: {group}");
            let taken = record.measured.histogram("span_ns", group).expect("spans");
            assert_eq!(taken.count, spans, "{arm}: {group}");
        }
        let [simulated, real] = arms.each_ref().map(|record| {
            let taken = record.measured.histogram("span_ns", group).expect("spans");
            taken.quantile(0.5).expect("not empty") as f64
        });
        assert!((simulated / real - 1.0).abs() < 0.1, "{group}: {simulated} and {real} ns");
    }
}

pub fn frames_are_equal(arms: &Arms) {
    let value = |record: &Record, name: &str| record.measured.value(name, "game").expect(name);
    for record in arms {
        let arm = record.trial.backend.word();
        let times = record.measured.histogram("frame_time_ns", "game").expect("frames");
        assert_eq!((times.count, value(record, "stutters")), (119, 3.0), "{arm}");
    }
    for name in ["one_percent_low_fps", "tenth_percent_low_fps"] {
        let [simulated, real] = arms.each_ref().map(|record| value(record, name));
        assert!((simulated / real - 1.0).abs() < 0.1, "{name}: {simulated} and {real}");
    }
}

/// Of an interval and of the whole trial, in parts of the scale.
const OFF: [f64; 2] = [0.02, 0.01];

/// A thread of the kernel may come by, which the simulator does not have; so many intervals may be
/// further off than the others.
const DISTURBED: usize = 2;

pub fn series_are_alike(arms: &Arms) {
    let expected = [
        ("busy_share", 0.6, 1.0),
        ("waiting_tasks", 0.3, 1.0),
        ("switches_per_second", 400.0, 1_000.0),
    ];
    for record in arms {
        let arm = record.trial.backend.word();
        for (name, value, scale) in expected {
            let series = record.measured.series(name).expect("it is measured");
            assert_eq!(
                (series.interval_ns, series.values.len()),
                (10_000_000, 40),
                "{arm}: {name}"
            );
            // The start and the end are the lab's.
            let middle = &series.values[1..39];
            let mean = middle.iter().sum::<f64>() / middle.len() as f64;
            let off = |found: &&f64| (*found - value).abs() > OFF[0] * scale;
            let off = middle.iter().filter(off).count();
            println!("{arm}: {name} {mean:.4}, {off} intervals further off");
            assert!((mean - value).abs() <= OFF[1] * scale, "{arm}: {name} is {mean} on average");
            assert!(off <= DISTURBED, "{arm}: {name} is off {off} times: {middle:?}");
        }
    }
}

pub fn forks_are_equal(arms: &Arms) {
    for record in arms {
        let series = record.measured.series("forks_per_second").expect("it is measured");
        let arm = record.trial.backend.word();
        assert!((series.integral() - 12.0).abs() < 0.01, "{arm}: {:?}", series.values);
        assert_eq!(series.values[0], 100.0, "{arm}");
    }
}

/// The probes of a trace are detached only when each task of the kernel has run.
pub fn a_trace_ends_although_others_starve(kernel: &Kernel) {
    let source = compile::resolve("fifo", Path::new(".")).expect("a built-in scheduler");
    let mut traced = Trial { trace: true, ..trial(HOG, &source, Backend::Vm) };
    if let SchedulerChoice::File { knobs, .. } = &mut traced.contestant.scheduler {
        knobs.insert("slice_us".into(), KnobValue::Int(100_000_000));
    }
    let records = arm::run(&[traced], std::iter::once(&source), kernel);
    assert!(records[0].outcome.is_ok(), "{:?}", records[0].outcome);
    assert!(records[0].trace.as_ref().is_some_and(|trace| !trace.events.is_empty()));
}

pub fn the_ended_count(arms: &Arms) {
    for record in arms {
        let arm = record.trial.backend.word();
        let fairness = record.measured.value("jain_index", "short").expect("it is measured");
        assert!(fairness > 0.999, "{arm}: {fairness}");
        let cpu_ns = record.measured.value("cpu_time_ns", "short").expect("it is measured");
        assert!((6e6..6.5e6).contains(&cpu_ns), "{arm}: {cpu_ns} ns");
    }
}

/// A job of 7 ms takes 10 if interrupts take 30 % of the CPU. The task is charged for them.
pub fn interrupts_take_the_same_time(arms: &Arms) {
    for record in arms {
        let arm = record.trial.backend.word();
        let notes = &record.provenance.notes;
        assert!(notes.iter().all(|note| !note.contains("interrupts")), "{arm}: {notes:?}");
        let response = record.measured.histogram("response_time_ns", "worker").expect("a timer");
        let median_ns = response.quantile(0.5).expect("jobs");
        let cpu_ns = record.measured.value("cpu_time_ns", "worker").expect("it is measured");
        println!("{arm}: a job takes {median_ns} ns, all take {cpu_ns} ns of CPU time");
        assert!((9_900_000..10_600_000).contains(&median_ns), "{arm}: {median_ns} ns");
        assert!((0.188e9..0.200e9).contains(&cpu_ns), "{arm}: {cpu_ns} ns");
    }
}

/// What is shown over time adds up to what is measured in all.
pub fn sums_agree(record: &Record) {
    let (arm, name) = (record.trial.backend.word(), &record.trial.workload.name);
    let sum = |series: &str| record.measured.series(series).expect("it is measured").integral();
    let value = |measure: &str| record.measured.value(measure, "all").expect("it is measured");
    let (busy_s, cpu_s) = (sum("busy_share"), value("cpu_time_ns") / 1e9);
    assert!((busy_s - cpu_s).abs() < 1e-6, "{arm}, {name}: busy for {busy_s} of {cpu_s} s");
    let (seen, switches) =
        (sum("switches_per_second"), value("voluntary_switches") + value("involuntary_switches"));
    assert!((seen - switches).abs() < 1e-3, "{arm}, {name}: {seen} of {switches} switches");
}
