// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::event::{Attributes, Task};
use model::Tape;

pub(super) fn t(task: u32) -> TaskIndex {
    TaskIndex(task)
}

pub(super) fn switch(at_ns: u64, cpu: u32, out: Option<(u32, Leaves)>, next: Option<u32>) -> Event {
    let leaves = out.map_or(Leaves::Runnable, |(_, leaves)| leaves);
    let what = What::Switch { out: out.map(|(task, _)| t(task)), leaves, next: next.map(t) };
    Event { at_ns, cpu, what }
}

pub(super) fn wake(at_ns: u64, task: u32, waker: Waker) -> Event {
    Event { at_ns, cpu: 0, what: What::Wake { task: t(task), waker } }
}

pub(super) const SLEEPS: Leaves = Leaves::Sleeps(SleepsFor::Unknown);

/// The tapes of tasks as text; empty for those that are not kept.
pub(super) fn tapes(events: Vec<Event>, keeps: &[bool]) -> Vec<String> {
    let tasks = vec![Task::default(); keeps.len()];
    let recording = Recording { cpus: 2, length_ns: 1000, tasks, events, ..Recording::default() };
    texts(write(&recording, |task| keeps[task.0 as usize]))
}

fn texts(written: Written) -> Vec<String> {
    let text = |ops| model::tape::write(&[Tape { ops, ..Tape::default() }]);
    let without_head = |text: String| text.lines().skip(1).collect::<Vec<_>>().join(" ");
    written.tapes.into_iter().map(text).map(without_head).collect()
}

#[test]
fn a_wait_has_its_post_where_the_waker_was() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(10, 1, Some((1, SLEEPS)), None),
        wake(300, 1, Waker::Task(t(0))),
        switch(310, 1, None, Some(1)),
        switch(400, 1, Some((1, Leaves::Runnable)), None),
        switch(500, 1, None, Some(1)),
        switch(550, 1, Some((1, Leaves::Ended)), None),
        switch(700, 0, Some((0, SLEEPS)), None),
    ];
    let expected = ["r300 p1 r400", "r10 w0 r140"];
    assert_eq!(tapes(events, &[true, true]), expected);
}

#[test]
fn a_sleep_in_a_pipe_is_a_wait_of_its_own_kind() {
    for (reason, expected) in [
        (SleepsFor::Pipe, "r10 m0 r20 m0 r10"),
        (SleepsFor::Child, "r10 m0 r20 m0 r10"),
        (SleepsFor::Futex, "r10 w0 r20 w0 r10"),
    ] {
        let sleeps = Leaves::Sleeps(reason);
        // The second time the waker is faster than the switch.
        let events = vec![
            switch(0, 0, None, Some(0)),
            switch(10, 1, Some((1, sleeps)), None),
            wake(20, 1, Waker::Task(t(0))),
            switch(30, 1, None, Some(1)),
            wake(40, 1, Waker::Task(t(0))),
            switch(50, 1, Some((1, sleeps)), None),
            switch(60, 1, None, Some(1)),
            switch(70, 1, Some((1, Leaves::Ended)), None),
        ];
        assert_eq!(tapes(events, &[true, true])[1], expected, "{reason:?}");
    }
}

#[test]
fn a_nap_is_relative_however_long() {
    let naps = Leaves::Sleeps(SleepsFor::Nap);
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(10, 0, Some((0, naps)), None),
        wake(40, 0, Waker::Timer),
        switch(50, 0, None, Some(0)),
        switch(60, 0, Some((0, Leaves::Sleeps(SleepsFor::Timer))), None),
        wake(400, 0, Waker::Timer),
        switch(410, 0, None, Some(0)),
        switch(420, 0, Some((0, Leaves::Ended)), None),
    ];
    assert_eq!(tapes(events, &[true]), ["r10 s30 r10 u400 r10"]);
}

#[test]
fn what_the_tracer_took_is_no_work() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        wake(50, 1, Waker::Task(t(0))),
        switch(100, 0, Some((0, SLEEPS)), Some(1)),
        // Less than one event takes: the next stretch is shorter.
        switch(105, 0, Some((1, SLEEPS)), None),
        wake(200, 1, Waker::Task(t(0))),
        switch(210, 0, None, Some(1)),
        switch(260, 0, Some((1, Leaves::Ended)), None),
    ];
    let tasks = vec![Task::default(); 2];
    let mut recording =
        Recording { cpus: 1, length_ns: 1000, tasks, events, ..Recording::default() };
    recording.event_ns = 8;
    let written = texts(write(&recording, |_| true));
    assert_eq!(written, ["r42 p1 r42 p1", "w0 w0 r39"]);
}

#[test]
fn a_changed_nice_value_stands_where_it_was_changed() {
    let nice = |at_ns, nice| {
        let to = Attributes { nice, ..Attributes::default() };
        Event { at_ns, cpu: 0, what: What::Changed { task: t(0), to: Box::new(to) } }
    };
    let events = vec![
        switch(0, 0, None, Some(0)),
        nice(30, Some(-8)),
        nice(40, None),
        switch(100, 0, Some((0, SLEEPS)), None),
        nice(150, Some(5)),
        wake(200, 0, Waker::Timer),
        switch(210, 0, None, Some(0)),
        switch(250, 0, Some((0, Leaves::Ended)), None),
    ];
    let expected = "r30 n-8 r70 n5 u200 r40";
    assert_eq!(tapes(events, &[true])[0], expected);
}

#[test]
fn what_no_played_task_ends_is_a_timer_or_a_device() {
    let disk = Leaves::Sleeps(SleepsFor::Disk);
    let events = vec![
        switch(100, 0, Some((0, SLEEPS)), None),
        wake(150, 0, Waker::Unknown),
        switch(160, 0, None, Some(0)),
        switch(200, 0, Some((0, disk)), None),
        wake(260, 0, Waker::Unknown),
        switch(270, 0, None, Some(0)),
        switch(300, 0, Some((0, SLEEPS)), None),
        wake(330, 0, Waker::Task(t(1))),
        switch(340, 0, None, Some(0)),
        switch(350, 0, Some((0, disk)), None),
        wake(390, 0, Waker::Timer),
    ];
    assert_eq!(tapes(events, &[true, false]), ["r100 u150 r40 s60 r30 s30 r10 u390", ""]);
}

#[test]
fn a_waker_that_is_faster_than_the_switch_counts() {
    let events = |next_at: u64| {
        vec![
            switch(0, 0, None, Some(0)),
            switch(0, 1, None, Some(1)),
            wake(90, 1, Waker::Task(t(0))),
            switch(100, 1, Some((1, SLEEPS)), None),
            switch(next_at, 1, None, Some(1)),
            switch(200, 1, Some((1, Leaves::Ended)), None),
        ]
    };
    let with = tapes(events(110), &[true, true]);
    assert_eq!(with[0], "r90 p1 r910");
    assert_eq!(with[1], "r100 w0 r90");
    // A second wake-up makes the first one one of a task that did not sleep.
    let mut second = events(150);
    second.insert(4, wake(140, 1, Waker::Timer));
    let without = tapes(second, &[true, true]);
    assert_eq!(without[0], "r1000");
    assert_eq!(without[1], "r100 u140 r50");
}

#[test]
fn a_child_begins_at_its_fork() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        Event { at_ns: 50, cpu: 0, what: What::Fork { parent: t(0), child: t(1) } },
        switch(60, 1, None, Some(1)),
        switch(90, 1, Some((1, Leaves::Ended)), None),
        switch(100, 0, Some((0, Leaves::Ended)), None),
    ];
    let expected = ["r50 f1 r50", "w0 r30"];
    assert_eq!(tapes(events.clone(), &[true, true]), expected);
    let alone = tapes(events, &[true, false]);
    assert_eq!(alone, ["r100", ""]);
}

#[test]
fn who_was_there_before_its_fork_is_woken() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(0, 1, None, Some(1)),
        switch(20, 1, Some((1, SLEEPS)), None),
        Event { at_ns: 50, cpu: 0, what: What::Fork { parent: t(0), child: t(1) } },
        switch(60, 1, None, Some(1)),
        switch(90, 1, Some((1, Leaves::Ended)), None),
        switch(100, 0, Some((0, Leaves::Ended)), None),
    ];
    let expected = ["r50 p1 r50", "r20 w0 r30"];
    assert_eq!(tapes(events, &[true, true]), expected);
}

#[test]
fn a_sleep_without_a_wake_up_is_counted() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(100, 0, Some((0, SLEEPS)), None),
        switch(160, 0, None, Some(0)),
    ];
    let recording =
        Recording { length_ns: 200, tasks: vec![Task::default()], events, ..Recording::default() };
    let written = write(&recording, |_| true);
    assert_eq!((written.counts.unexplained, written.counts.switches), (1, 3));
    assert_eq!(texts(written), ["r100 u160 r40"]);
}

#[test]
fn a_missing_switch_takes_no_time_from_the_one_that_ran() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(100, 0, Some((0, Leaves::Runnable)), Some(1)),
        // The switch back from task 1 is missing.
        switch(400, 0, Some((0, Leaves::Runnable)), Some(1)),
        switch(450, 0, Some((1, SLEEPS)), Some(0)),
    ];
    let expected = ["r950", "u400 r50"];
    assert_eq!(tapes(events, &[true, true]), expected);
}

#[test]
fn equal_sleeps_are_relative() {
    let mut events = vec![switch(0, 0, None, Some(0))];
    let mut now = 0;
    for work in [3_000_000, 1_000_000, 9_000_000, 2_000_000, 700_000, 4_000_000] {
        now += work;
        events.push(switch(now, 0, Some((0, SLEEPS)), None));
        now += 10_000_000;
        events.extend([wake(now, 0, Waker::Timer), switch(now, 0, None, Some(0))]);
    }
    // The first one may have begun before the recording.
    let rest =
        "s10000000 r9000000 s10000000 r2000000 s10000000 r700000 s10000000 r4000000 s10000000";
    assert_eq!(tapes(events, &[true]), [format!("r3000000 u13000000 r1000000 {rest}")]);
}

#[test]
fn a_yield_is_on_the_tape() {
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(10, 0, Some((0, Leaves::Yields)), Some(1)),
        switch(30, 0, Some((1, Leaves::Runnable)), Some(0)),
        switch(50, 0, Some((0, Leaves::Ended)), None),
    ];
    assert_eq!(tapes(events, &[true, false])[0], "r10 y r20");
}

#[test]
fn a_task_that_polls_goes_on_for_whatever_comes_first() {
    let polls = |reason| Leaves::Sleeps(reason);
    let stream = |at_ns, task, number| {
        let what = What::Send { task: t(task), stream: number, bytes: 8, room: 0 };
        Event { at_ns, cpu: 0, what }
    };
    let take = |at_ns, number| {
        let what = What::Take { task: t(1), stream: number, bytes: 8 };
        Event { at_ns, cpu: 1, what }
    };
    // A signal of task 0 wakes it, then a message of task 2; another one's message is there.
    let events = vec![
        switch(0, 0, None, Some(0)),
        switch(0, 1, Some((1, polls(SleepsFor::Signal))), None),
        wake(10, 1, Waker::Task(t(0))),
        switch(20, 1, None, Some(1)),
        switch(30, 1, Some((1, polls(SleepsFor::Any))), None),
        switch(35, 0, Some((0, SLEEPS)), Some(2)),
        wake(40, 1, Waker::Task(t(2))),
        stream(41, 2, 5),
        stream(42, 2, 6),
        switch(50, 1, None, Some(1)),
        take(60, 5),
        take(70, 6),
        switch(80, 1, Some((1, Leaves::Ended)), None),
    ];
    let written = tapes(events, &[true, true, true]);
    let expected = "w0.1 r10 m2.1 r20 t2.1 r10";
    assert_eq!(written[1], expected);
    let posts = |tape: &str| tape.split(' ').filter(|op| ["p1.1", "d1.1"].contains(op)).count();
    assert_eq!((posts(&written[0]), posts(&written[2])), (1, 2));
}
