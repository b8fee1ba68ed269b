// SPDX-License-Identifier: GPL-2.0-only
//! Traces with known answers, and what must hold for every trace.

use std::collections::BTreeMap;

use model::trace::{Preemption, Queue, TraceEvent, TraceTask, What};
use model::{ControlGroup, Policy, Step, TaskGroup, Trace, Workload};
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn about(cpus: u32, end_ns: u64) -> About {
    let chosen = Chosen { of_each: 3, ..Chosen::default() };
    About { cpus, end_ns, chosen, ..About::default() }
}

/// Tasks 1 … 9: the first of group `waker`, the others of group `hog`.
fn trace(events: Vec<(u64, u32, What)>) -> Trace {
    let group = |pid: u32| if pid == 1 { "waker" } else { "hog" };
    let task = |pid| TraceTask { pid, comm: group(pid).into(), group: group(pid).into() };
    let event = |(time_ns, cpu, what)| TraceEvent { time_ns, cpu, what };
    Trace {
        tasks: (0..10).map(task).collect(),
        events: events.into_iter().map(event).collect(),
        lost: 0,
    }
}

fn switch(prev: u32, state: &str, next: u32) -> What {
    What::Switch {
        prev,
        prev_prio: 120,
        prev_state: state.into(),
        next,
        next_prio: 120,
        reason: None,
    }
}

fn waking(pid: u32) -> What {
    What::Waking { pid, prio: 120, target: 0, interrupt: false, by: None }
}

fn enqueue(pid: u32, queue: Queue, ahead: u32) -> What {
    let (from, vtime, slice_ns) = (None, Some(7), Some(4 * MS));
    What::Enqueue { pid, queue, from, vtime, slice_ns, ahead: Some(ahead), direct: false }
}

/// One CPU: a waker waits for two hogs, runs, and sleeps for the disk.
fn one_cpu() -> Trace {
    trace(vec![
        (0, 0, switch(0, "R", 2)),
        (MS, 0, waking(3)),
        (2 * MS, 0, waking(1)),
        (4 * MS, 0, switch(2, "R+", 3)),
        (7 * MS, 0, switch(3, "S", 1)),
        (8 * MS, 0, switch(1, "D", 0)),
        (9 * MS, 0, switch(0, "R", 2)),
    ])
}

fn spent<'a>(all: &'a [Spent], name: &str) -> &'a Spent {
    all.iter().find(|spent| spent.name == name).expect("it was seen")
}

#[test]
fn where_the_time_went() {
    let explanation = explain_trace(&one_cpu(), &about(1, 12 * MS));
    let waker = spent(&explanation.groups, "waker");
    assert_eq!(waker.lifetime_ns, 10 * MS);
    assert_eq!((waker.running_ns, waker.waiting_ns), (MS, 5 * MS));
    assert_eq!((waker.sleeping_ns, waker.blocked_ns), (0, 4 * MS));
    assert_eq!(waker.instead_ns, BTreeMap::from([("hog".to_owned(), 5 * MS)]));
    let first = spent(&explanation.tasks, "hog/0");
    assert_eq!((first.running_ns, first.waiting_ns), (7 * MS, 5 * MS));
    // While it waited, the other hog ran for 3 ms, the waker for 1, and the CPU idled for 1.
    assert_eq!(first.instead_ns, BTreeMap::from([("hog".into(), 3 * MS), ("waker".into(), MS)]));
    assert_eq!((first.cpu_idle_ns, first.other_idle_ns), (MS, 0));
}

#[test]
fn a_cpu_that_idles_while_a_task_waits_is_found() {
    let explanation = explain_trace(&one_cpu(), &about(2, 12 * MS));
    // CPU 1 never has an event: it idles all the time. Tasks wait from 1 to 9 ms.
    assert_eq!(explanation.idle.time_ns, 8 * MS);
    // From 8 ms on both CPUs idle, but only one task waits.
    assert_eq!(explanation.idle.cpu_ns, 8 * MS);
    let worst = &explanation.idle.worst[0];
    assert_eq!((worst.task.as_str(), worst.idle_cpu, explanation.idle.episodes), ("hog/0", 1, 1));
    assert_eq!(spent(&explanation.groups, "waker").other_idle_ns, 5 * MS);
}

#[test]
fn a_group_that_is_bound_elsewhere_does_not_wait_for_an_idle_cpu() {
    let bound = |cpu| BTreeMap::from([("waker".into(), vec![cpu]), ("hog".into(), vec![0])]);
    let lost = |cpu| {
        let about = About { affinity: bound(cpu), ..about(2, 8 * MS) };
        explain_trace(&one_cpu(), &about).idle.cpu_ns
    };
    // From 8 to 9 ms CPU 0 idles while a hog waits; only if the waker may use CPU 1, which always
    // idles, that is wasted during its wait too.
    assert_eq!((lost(0), lost(1)), (MS, 6 * MS));
}

#[test]
fn the_longest_wait_is_told_with_its_decisions() {
    let mut trace = one_cpu();
    let at = |time_ns, what| TraceEvent { time_ns, cpu: 0, what };
    trace.events.insert(3, at(2 * MS, enqueue(1, Queue::Shared(0), 1)));
    trace.events.insert(4, at(3 * MS, What::Choose { pid: 2, slice_ns: Some(MS) }));
    trace.events.insert(5, at(4 * MS, What::Preempt { pid: 2, why: Preemption::SliceEnd }));
    trace.events.insert(7, at(7 * MS, What::Choose { pid: 1, slice_ns: Some(4 * MS) }));
    let explanation = explain_trace(&trace, &about(1, 12 * MS));
    assert!(explanation.decisions);
    let wait = explanation.waits.iter().find(|wait| wait.task == "waker/0").expect("it waited");
    assert_eq!((wait.from_ns, wait.to_ns, wait.open), (2 * MS, 7 * MS, false));
    assert_eq!(wait.began, Began::Woken { cpu: 0 });
    assert_eq!(wait.placed[0].queue, Queue::Shared(0));
    assert_eq!((wait.placed[0].ahead, wait.slice_ns), (Some(1), Some(4 * MS)));
    let turns: Vec<_> = wait.instead.iter().map(|t| (t.task.as_str(), t.ns, t.renewed)).collect();
    assert_eq!(turns, [("hog/0", 2 * MS, 1), ("hog/1", 3 * MS, 0)]);
    assert_eq!(wait.instead[0].ended, Ended::Left(Some(Preemption::SliceEnd)));
    assert_eq!(wait.instead[1].ended, Ended::Slept);
    let sent_away = explanation.waits.iter().find(|wait| wait.task == "hog/0").expect("it waited");
    let by = Some("hog/1".to_owned());
    let why = Some(Preemption::SliceEnd);
    assert_eq!(sent_away.began, Began::Preempted { cpu: 0, by, why, cause: None });
}

#[test]
fn a_wait_is_charged_to_the_cpu_whose_queue_it_was_in() {
    // Task 1 waits 2 ms in the queue of CPU 0, which runs a hog, then is moved to CPU 1.
    let trace = trace(vec![
        (0, 0, switch(0, "R", 2)),
        (0, 1, switch(0, "R", 3)),
        (MS, 1, waking(1)),
        (MS, 1, enqueue(1, Queue::Local(0), 0)),
        (3 * MS, 1, enqueue(1, Queue::Local(1), 0)),
        (4 * MS, 1, switch(3, "S", 1)),
    ]);
    let explanation = explain_trace(&trace, &about(2, 5 * MS));
    let wait = &explanation.waits[0];
    let turns: Vec<_> = wait.instead.iter().map(|t| (t.task.as_str(), t.ns)).collect();
    assert_eq!(turns, [("hog/0", 2 * MS), ("hog/1", MS)]);
    assert_eq!(wait.cpu, 1);
}

#[test]
fn a_wake_up_before_the_switch_to_sleep_is_a_wait_from_that_switch() {
    let trace = trace(vec![
        (0, 0, switch(0, "R", 1)),
        (MS, 1, waking(1)),
        (2 * MS, 0, switch(1, "S", 2)),
        (5 * MS, 0, switch(2, "R+", 1)),
    ]);
    let waker = explain_trace(&trace, &about(2, 6 * MS)).groups;
    let waker = spent(&waker, "waker");
    assert_eq!((waker.waiting_ns, waker.sleeping_ns), (3 * MS, 0));
}

#[test]
fn the_lanes_show_who_had_the_cpu() {
    let explanation = explain_trace(&one_cpu(), &about(1, 16 * MS));
    assert_eq!(explanation.column_ns, MS / 5);
    let letters = &explanation.lanes[0].letters;
    let expected = format!("{}bbbbb.....{}", "a".repeat(35), "a".repeat(35));
    assert_eq!(explanation.groups[0].name, "hog");
    assert_eq!(letters, &expected);
}

/// A waker in a limited group beside a hog in another one, on one CPU.
fn grouped(limits: &str, steps: Vec<Step>) -> ControlGroups {
    let limited = serde_json::from_str(&format!(r#"{{"name": "a", {limits}}}"#)).expect("a group");
    let free = ControlGroup { name: "b".into(), ..ControlGroup::default() };
    let task = |name: &str, group: &str| TaskGroup {
        group: group.into(),
        ..TaskGroup::once(name, steps.clone())
    };
    let workload = Workload {
        control_groups: vec![limited, free],
        tasks: vec![task("waker", "a"), task("hog", "b")],
        ..Workload::default()
    };
    ControlGroups::of_workload(&workload, 1, Policy::default())
}

/// Why the first of a waker's waits was long that lasts from `ran` to `back`.
fn cause(groups: ControlGroups, [ran, back]: [u64; 2]) -> Option<GroupCause> {
    let events = vec![
        (0, 0, switch(0, "R", 1)),
        (ran * MS, 0, switch(1, "R+", 2)),
        (back * MS, 0, switch(2, "R+", 1)),
    ];
    let about = About { control_groups: groups, ..about(1, 300 * MS) };
    let waits = explain_trace(&trace(events), &about).waits;
    let waker = waits.into_iter().find(|wait| wait.task == "waker/0").expect("it waited");
    waker.control_group
}

#[test]
fn a_group_rests_when_it_has_used_its_quota() {
    let limits = r#""quota_us": 20000, "weight": 10000"#;
    let told = cause(grouped(limits, Vec::new()), [20, 100]).expect("a cause");
    let limit = Limit::Quota { quota_ns: 20 * MS, period_ns: 100 * MS };
    assert_eq!(told, GroupCause { group: "a".into(), ns: 80 * MS, limit });
    // Half of it, or far more than it, or only a moment's rest: it was no quota.
    for span in [[10, 100], [90, 100], [20, 22]] {
        let told = cause(grouped(limits, Vec::new()), span);
        assert!(told.is_none_or(|told| matches!(told.limit, Limit::Share { .. })), "{span:?}");
    }
}

#[test]
fn a_group_waits_when_it_has_had_its_share() {
    let told = cause(grouped(r#""weight": 100"#, Vec::new()), [50, 100]).expect("a cause");
    assert!(told.had_its_share());
    let (used_ns, of_ns, before_ns) = (50 * MS, 100 * MS, 100 * MS);
    let limit = Limit::Share { weight: 100, of: 200, used_ns, of_ns, before_ns };
    assert_eq!(told, GroupCause { group: "a".into(), ns: 50 * MS, limit });
    // A small weight counts before it is used, a large one does not.
    let small = cause(grouped(r#""weight": 50"#, Vec::new()), [20, 100]).expect("a cause");
    assert!(!small.had_its_share());
    assert_eq!(cause(grouped(r#""weight": 200"#, Vec::new()), [50, 100]), None);
    // Nobody knows which weight counted when.
    let change = Step::SetGroup(ControlGroup { name: "a".into(), ..ControlGroup::default() });
    assert_eq!(cause(grouped(r#""weight": 100"#, vec![change]), [50, 100]), None);
}

/// Any events in order of time, plausible or not.
fn any_trace() -> impl Strategy<Value = Trace> {
    let queue = prop_oneof![(0..3u32).prop_map(Queue::Local), Just(Queue::Shared(0))];
    let state = prop_oneof![Just("R"), Just("R+"), Just("S"), Just("D"), Just("X")];
    let what = prop_oneof![
        4 => (0..6u32, state, 0..6u32).prop_map(|(prev, state, next)| switch(prev, state, next)),
        2 => (1..6u32).prop_map(waking),
        1 => (1..6u32, queue).prop_map(|(pid, queue)| enqueue(pid, queue, 0)),
        1 => (1..6u32).prop_map(|pid| What::Preempt { pid, why: Preemption::SliceEnd }),
        1 => (1..6u32).prop_map(|child| What::Fork { parent: 9, child }),
    ];
    proptest::collection::vec((0..50u64, 0..3u32, what), 1..60).prop_map(|steps| {
        let mut now = 0;
        let timed = steps.into_iter().map(|(step, cpu, what)| {
            now += step;
            (now, cpu, what)
        });
        trace(timed.collect())
    })
}

proptest! {
    #[test]
    fn the_parts_sum_to_the_whole(trace in any_trace()) {
        let explanation = explain_trace(&trace, &about(3, 4_000));
        for task in explanation.tasks.iter().chain(&explanation.groups) {
            let states =
                task.running_ns + task.waiting_ns + task.sleeping_ns + task.blocked_ns;
            prop_assert_eq!(states, task.lifetime_ns);
            let instead: u64 = task.instead_ns.values().sum();
            prop_assert_eq!(instead + task.cpu_idle_ns, task.waiting_ns);
            prop_assert!(task.longest_wait_ns <= task.waiting_ns);
        }
        for wait in &explanation.waits {
            let turns: u64 = wait.instead.iter().map(|turn| turn.ns).sum();
            prop_assert_eq!(turns + wait.others_ns + wait.cpu_idle_ns, wait.to_ns - wait.from_ns);
        }
        prop_assert!(explanation.idle.cpu_ns <= 3 * explanation.end_ns);
    }
}

fn choose(pid: u32) -> What {
    What::Choose { pid, slice_ns: None }
}

#[test]
fn a_queue_is_told_by_its_depth_and_by_the_waits_in_it() {
    let (shared, local) = (Queue::Shared(7), Queue::Local(0));
    let told = trace(vec![
        (0, 0, enqueue(1, shared, 0)),
        (0, 0, enqueue(2, shared, 1)),
        // From one queue to the other: it leaves the first one.
        (6 * MS, 0, enqueue(1, local, 0)),
        (7 * MS, 0, choose(1)),
        (7 * MS, 0, switch(0, "R", 1)),
        (9 * MS, 0, enqueue(3, Queue::RealTime(0), 0)),
        (9 * MS, 0, enqueue(4, Queue::Scheduler, 0)),
        (12 * MS, 0, switch(1, "S", 2)),
        (13 * MS, 0, enqueue(5, shared, 0)),
        (13 * MS, 0, choose(5)),
    ]);
    let found = explain_trace(&told, &about(1, 24 * MS)).queues;
    let queues: Vec<Queue> = found.iter().map(|one| one.queue).collect();
    assert_eq!(queues, [shared, Queue::Scheduler, local]);
    let [first, own, second] = &found[..] else { panic!("{found:?}") };
    // Two tasks for 6 ms, one for 6 ms, none for 12 ms, and one for no time at all.
    assert_eq!(first.insertions, 3);
    assert_eq!(first.depth, Quantiles { min: 0, median: 0, p99: 2, max: 2 });
    assert_eq!(first.wait_ns, Quantiles { min: 0, median: 6 * MS, p99: 12 * MS, max: 12 * MS });
    let expected = [[2.0; 6], [1.0; 6], [0.0; 6], [0.0; 6]].concat();
    assert_eq!(first.depth_over_time, expected);
    // It is still there at the end.
    assert_eq!((own.depth.median, own.depth.p99, own.wait_ns.max), (1, 1, 15 * MS));
    assert_eq!((second.depth.max, second.wait_ns.median), (1, MS));
    let untold = explain_trace(&one_cpu(), &about(1, 12 * MS)).queues;
    assert!(untold.is_empty(), "without decisions nobody knows");
}
