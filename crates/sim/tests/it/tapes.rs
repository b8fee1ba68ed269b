// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that the tape of another one makes.

use crate::common::{ran, run_fifo, trial};
use model::tape::{Recorded, TapesText};
use model::trace::What;
use model::{Costs, Record, Trace};
use serde_json::{Value, json};

/// Plays tapes, each as the only one of its group: `a`, `b`, …
fn play(duration_ms: u64, costs: Costs, policies: [Value; 2], tapes: &str) -> Record {
    let [first, second] = policies;
    let tasks = json!([
        {"name": "a", "repeat": 1, "steps": ["tape"], "policy": first},
        {"name": "b", "repeat": 1, "steps": ["tape"], "policy": second},
    ]);
    let mut trial = trial(1, duration_ms, tasks);
    trial.machine.costs = costs;
    let text = TapesText(Some(tapes.into()));
    trial.workload.recording = Some(Recorded { text, ..Recorded::default() });
    run_fifo(&trial)
}

fn pid_of(trace: &Trace, group: &str) -> u32 {
    trace.tasks.iter().find(|task| task.group == group).expect("a task").pid
}

fn other() -> Value {
    json!({"class": "other"})
}

fn plain() -> [Value; 2] {
    [other(), other()]
}

const MAKES: &str = "task 1 a\nr1000000 f1 r2000000\ntask 2 b\nw0 r500000\n";

#[test]
fn a_made_task_begins_where_its_maker_is() {
    let record = play(20, Costs::FREE, plain(), MAKES);
    assert_eq!((ran(&record, "a"), ran(&record, "b")), (vec![(0, 3_000)], vec![(3_000, 3_500)]));
    let trace = record.trace.as_ref().expect("a trace");
    let forks = trace.events.iter().filter(|event| matches!(event.what, What::Fork { .. }));
    assert_eq!(forks.map(|event| event.time_ns).collect::<Vec<_>>(), [1_000_000]);
    let b = pid_of(trace, "b");
    let is_woken = |what: &What| matches!(what, What::Waking { pid, .. } if *pid == b);
    assert!(!trace.events.iter().any(|event| is_woken(&event.what)), "it was never asleep");
    assert_eq!(record.measured.value("completion_ns", "all"), Some(3_500_000.0));
}

#[test]
fn a_sender_waits_for_room() {
    // Room for two messages of four.
    let writer = "r100000 p1.1 r100000 p1.1 r100000 b1.1 p1.1 r100000 b1.1 p1.1";
    let reader = "m0.1 p0.1 r100000 m0.1 p0.1 r100000 m0.1 r100000 m0.1 r100000";
    let record =
        play(20, Costs::FREE, plain(), &format!("task 1 a\n{writer}\ntask 2 b\n{reader}\n"));
    assert_eq!(ran(&record, "a"), [(0, 300), (500, 600)]);
    assert_eq!(ran(&record, "b"), [(300, 500), (600, 800)]);
}

#[test]
fn a_task_yields_until_another_one_is_ready() {
    let looks = "task 1 a\nr100000 l1.10000 r100000\n";
    let record = play(20, Costs::FREE, plain(), &format!("{looks}task 2 b\nr300000 p0 r100000\n"));
    assert_eq!(ran(&record, "a"), [(0, 100), (500, 610)]);
    // Each time that the other one sleeps, it looks again.
    let late = "task 2 b\nr100000 s50000 r100000 s50000 p0\n";
    let record = play(20, Costs::FREE, plain(), &format!("{looks}{late}"));
    assert_eq!(ran(&record, "a"), [(0, 100), (200, 260), (360, 530)]);
}

#[test]
fn a_tape_begins_again_until_the_time_is_over() {
    // 1 ms of computing, then 2 ms until its timer: beside a hog it comes to less.
    let again = "task 1 a\nr1000000 u3000000 a\ntask 2 b\n";
    let rate = |other: &str| {
        let record = play(20, Costs::FREE, plain(), &format!("{again}{other}\n"));
        record.measured.value("iterations_per_second", "a").expect("a rate")
    };
    assert_eq!(rate("r1"), 350.0);
    let beside = rate("r1000000 a");
    assert!(beside < 300.0, "{beside}");
}

#[test]
fn making_a_thread_takes_its_time() {
    let costs = Costs { thread_ns: 100_000, ..Costs::FREE };
    let record = play(20, costs, plain(), MAKES);
    let trace = record.trace.as_ref().expect("a trace");
    let fork = trace.events.iter().find(|event| matches!(event.what, What::Fork { .. }));
    assert_eq!(fork.map(|event| event.time_ns), Some(1_100_000));
    // What the maker has computed less, it computes later.
    assert_eq!(ran(&record, "a"), [(0, 3_000)]);
}

#[test]
fn a_nice_value_changes_where_the_tape_says() {
    let text = "task 1 a\nr1000000 u2000000 n-8 r1000000\ntask 2 b\nu1500000 r100000\n";
    let record = play(20, Costs::FREE, plain(), text);
    let trace = record.trace.as_ref().expect("a trace");
    let a = pid_of(trace, "a");
    let seen = trace.events.iter().filter_map(|event| match event.what {
        What::Switch { prev, prev_prio, .. } if prev == a => Some((event.time_ns, prev_prio)),
        _ => None,
    });
    assert_eq!(seen.collect::<Vec<_>>(), [(1_000_000, 120), (3_000_000, 112)]);
}

#[test]
fn a_made_task_inherits_a_policy_and_takes_its_own() {
    let fifo = || json!({"class": "fifo", "priority": 5});
    // The kernel's priorities when it begins and when it ends.
    let prios = |policies: [Value; 2]| {
        let record = play(20, Costs::FREE, policies, MAKES);
        let trace = record.trace.as_ref().expect("a trace");
        let pid = pid_of(trace, "b");
        let first = trace.events.iter().find_map(|event| match event.what {
            What::Switch { next, next_prio, .. } if next == pid => Some(next_prio),
            _ => None,
        });
        let last = trace.events.iter().rev().find_map(|event| match event.what {
            What::Switch { prev, prev_prio, .. } if prev == pid => Some(prev_prio),
            _ => None,
        });
        (first, last)
    };
    assert_eq!(prios([other(), fifo()]), (Some(120), Some(94)));
    assert_eq!(prios([fifo(), other()]), (Some(94), Some(120)));
}

#[test]
fn what_is_not_made_in_time_is_no_task() {
    let record = play(2, Costs::FREE, plain(), "task 1 a\nr3000000 f1\ntask 2 b\nw0 r1\n");
    assert!(record.outcome.is_ok());
    assert_eq!(ran(&record, "b"), []);
}

#[test]
fn who_is_early_for_a_message_sleeps_and_who_is_late_does_not() {
    let (writer, reader) = ("r5000000 p{} r1000000", "r1000000 m{} r1000000");
    let play = |first: &str, second: &str| {
        let (first, second) = (first.replace("{}", "1"), second.replace("{}", "0"));
        play(20, Costs::FREE, plain(), &format!("task 1 a\n{first}\ntask 2 b\n{second}\n"))
    };
    assert_eq!(ran(&play(reader, writer), "a"), [(0, 1_000), (7_000, 8_000)]);
    assert_eq!(ran(&play(writer, reader), "b"), [(6_000, 8_000)]);
}

#[test]
fn a_yield_gives_the_cpu_away() {
    let tapes = "task 1 a\nr1000000 y r1000000\ntask 2 b\nr1000000 y r1000000\n";
    let record = play(20, Costs::FREE, plain(), tapes);
    assert_eq!(ran(&record, "a"), [(0, 1_000), (2_000, 3_000)]);
    assert_eq!(ran(&record, "b"), [(1_000, 2_000), (3_000, 4_000)]);
}

#[test]
fn a_reader_goes_on_with_whatever_message_comes_first() {
    let play = |a_us: u64, b_us: u64| {
        let tape = |at_us: u64| format!("u{} r100000 p2.1", at_us * 1000);
        let c = "m0.1 r3000000 m1.1 r5000000";
        let text = format!("task 1 a\n{}\ntask 2 b\n{}\ntask 3 c\n{c}\n", tape(a_us), tape(b_us));
        let tasks =
            ["a", "b", "c"].map(|name| json!({"name": name, "repeat": 1, "steps": ["tape"]}));
        let mut trial = trial(1, 20, json!(tasks));
        trial.machine.costs = Costs::FREE;
        trial.workload.recording =
            Some(Recorded { text: TapesText(Some(text.into())), ..Recorded::default() });
        ran(&run_fifo(&trial), "c")
    };
    assert_eq!(play(0, 6_000), [(100, 3_100), (6_100, 11_100)]);
    assert_eq!(play(6_000, 0), play(0, 6_000));
}

#[test]
fn a_message_costs_what_it_would_have_cost_the_program() {
    let costs =
        Costs { syscall_ns: 100, write_ns: 20, read_ns: 10, wakeup_ns: 1_000, ..Costs::FREE };
    let used = |tapes: &str, group| {
        let record = play(20, costs, plain(), tapes);
        record.measured.value("cpu_time_ns", group).expect("a time") as u64
    };
    let writer = |letter| format!("r100000 {letter}.1 r100000 {letter}.1 r100000");
    let reads = |waits| format!("r1000 {waits}.1 r1000 {waits}.1 r1000");
    // The writer has ended before the reader runs: of two recorded wake-ups there is none.
    let early = |post, wait| format!("task 1 a\n{}\ntask 2 b\n{}\n", writer(post), reads(wait));
    let quiet = used(&early("d1", "t0"), "a");
    assert_eq!(used(&early("p1", "m0"), "a") + 2_000, quiet);
    // The reader sleeps for the first message, and has been woken at the second one.
    let late = |post, wait| format!("task 1 a\n{}\ntask 2 b\n{}\n", reads(wait), writer(post));
    assert_eq!(used(&late("p0", "m1"), "b") + 1_000, quiet);
    assert_eq!(used(&late("d0", "t1"), "b"), quiet + 1_000);
}
