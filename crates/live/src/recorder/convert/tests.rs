// SPDX-License-Identifier: GPL-2.0-only

use recording::event::{Event, TaskIndex, What};

use super::super::object::file;
use super::*;

const READ: u32 = (libc::SYS_read as u32) << 16;
const POLL: u32 = (libc::SYS_ppoll as u32) << 16;
const NAP: u32 = (libc::SYS_clock_nanosleep as u32) << 16;

const FRAME: Frame = Frame {
    source: String::new(),
    cpus: 2,
    start_ns: 100,
    end_ns: 1_000,
    lost_events: 0,
    control_groups: BTreeMap::new(),
};

fn raw(time_ns: u64, cpu: u16, kind: u32, task: u32, other: u32, detail: u32) -> RawEvent {
    RawEvent { time_ns, task, other, detail, cpu, kind: kind as u16 }
}

fn switch(time_ns: u64, cpu: u16, out: u32, next: u32, detail: u32) -> RawEvent {
    raw(time_ns, cpu, kind::SWITCH, out, next, detail)
}

fn wake(time_ns: u64, cpu: u16, task: u32, by: (u32, u32)) -> RawEvent {
    raw(time_ns, cpu, kind::WAKE, task, by.1, by.0)
}

fn made(events: &[RawEvent]) -> Recording {
    recording(Kept { events: events.to_vec(), facts: Vec::new() }, &FRAME)
}

/// Each event in a line, tasks by their number.
fn lines(recording: &Recording) -> Vec<String> {
    let tid = |task: TaskIndex| recording.tasks[task.0 as usize].tid;
    let some = |task: Option<TaskIndex>| task.map_or(0, tid);
    let line = |event: &Event| {
        let what = match &event.what {
            What::Switch { out, leaves, next } => {
                format!("{} {leaves:?} -> {}", some(*out), some(*next))
            }
            What::Wake { task, waker: Waker::Task(by) } => {
                format!("{} by {}", tid(*task), tid(*by))
            }
            What::Wake { task, waker } => format!("{} by {waker:?}", tid(*task)),
            What::Fork { parent, child } => format!("{} forks {}", tid(*parent), tid(*child)),
            What::Send { task, stream, bytes, room } => {
                format!("{} sends {bytes} to {stream} of {room}", tid(*task))
            }
            What::Take { task, stream, bytes } => {
                format!("{} takes {bytes} of {stream}", tid(*task))
            }
            What::Exit { task } => format!("{} exits", tid(*task)),
            What::Changed { task, to } => format!("{} is nice {:?}", tid(*task), to.nice),
            What::Interrupted { ns } => format!("interrupted for {ns}"),
        };
        format!("{} cpu{}: {what}", event.at_ns, event.cpu)
    };
    recording.events.iter().map(line).collect()
}

#[test]
fn streams_have_small_numbers_and_a_yield_is_no_sleep() {
    let made = made(&[
        switch(200, 0, 7, 8, leaves::YIELDING),
        raw(210, 0, kind::SENT, 8, 0xffff_0001, 5),
        raw(220, 0, kind::SENT | 5 << 8, 8, 9, 6),
        raw(230, 1, kind::TAKEN, 7, 0xffff_0001, 5),
        switch(300, 0, 8, 7, 0),
    ]);
    assert_eq!(
        lines(&made)[1..],
        [
            "100 cpu0: 7 Yields -> 8",
            "110 cpu0: 8 sends 5 to 0 of 0",
            &format!("120 cpu0: 8 sends 6 to 1 of {}", bytes_of(16)),
            "130 cpu1: 7 takes 5 of 0",
            "200 cpu0: 8 Runnable -> 7",
        ]
    );
}

#[test]
fn events_of_several_cpus_come_in_order_of_time() {
    let made = made(&[
        switch(300, 0, 7, 0, leaves::WAITING | file::PIPE << 8 | READ),
        switch(200, 1, 0, 8, 0),
        wake(350, 1, 7, (waker::TASK, 8)),
        switch(400, 0, 0, 7, 0),
    ]);
    assert_eq!(
        lines(&made),
        [
            "0 cpu0: 0 Runnable -> 7",
            "100 cpu1: 0 Runnable -> 8",
            "200 cpu0: 7 Sleeps(Pipe) -> 0",
            "250 cpu1: 7 by 8",
            "300 cpu0: 0 Runnable -> 7",
        ]
    );
    assert_eq!((made.length_ns, made.cpus), (900, 2));
}

#[test]
fn a_task_that_gets_the_name_begins_there() {
    let made =
        made(&[raw(250, 0, kind::RUNNING, 7, 0, 1), switch(300, 0, 7, 0, leaves::WAITING | NAP)]);
    assert_eq!(lines(&made)[0], "150 cpu0: 0 Runnable -> 7");
}

#[test]
fn who_runs_all_the_time_is_there_from_the_start() {
    let made = made(&[
        raw(120, 1, kind::RUNNING, 9, 0, 0),
        raw(120, 0, kind::RUNNING, 7, 0, 0),
        switch(300, 0, 7, 0, leaves::WAITING | NAP),
    ]);
    let expected = ["0 cpu1: 0 Runnable -> 9", "0 cpu0: 0 Runnable -> 7"];
    assert_eq!(lines(&made)[..2], expected);
}

#[test]
fn who_wakes_a_task_says_what_it_polled_for() {
    let asleep = |time_ns| switch(time_ns, 0, 7, 0, leaves::WAITING | POLL);
    let wakers = [
        (waker::TIMER, 0, "Sleeps(Timer)"),
        (waker::TASK | file::PIPE << 8, 8, "Sleeps(Any)"),
        (waker::TASK | file::EVENT << 8, 8, "Sleeps(Signal)"),
        (waker::INTERRUPT, 0, "Sleeps(Network)"),
        (waker::TASK, 0, "Sleeps(Other)"),
    ];
    for (how, who, words) in wakers {
        let made = made(&[asleep(200), wake(300, 1, 7, (how, who)), switch(310, 0, 0, 7, 0)]);
        assert!(lines(&made)[1].contains(words), "{words}: {:?}", lines(&made));
    }
    assert!(lines(&made(&[asleep(200)]))[1].contains("Sleeps(Other)"), "never woken");
}

#[test]
fn the_child_of_nobody_that_is_recorded_wakes_up() {
    let made = made(&[raw(200, 1, kind::FORK, 0, 7, 0)]);
    assert_eq!(lines(&made), ["100 cpu1: 7 by Unknown"]);
}

fn facts(time_ns: u64, task: u32, name: &[u8], static_prio: i32) -> TaskFacts {
    let mut facts = TaskFacts { static_prio, ..TaskFacts::default() };
    facts.event = raw(time_ns, 0, kind::TASK, task, 0, 0);
    facts.comm[..name.len()].copy_from_slice(name);
    facts.cpus[0] = 0b11;
    facts
}

#[test]
fn the_first_facts_are_the_tasks_own_and_later_ones_are_changes() {
    let mut kept = Kept::default();
    for facts in
        [facts(150, 7, b"sh", 120), facts(160, 7, b"make", 120), facts(170, 7, b"make", 125)]
    {
        let bytes = (&raw const facts).cast::<u8>();
        // SAFETY: plain data of that size.
        kept.keep(unsafe { std::slice::from_raw_parts(bytes, size_of::<TaskFacts>()) });
    }
    kept.events.push(switch(200, 0, 7, 0, leaves::WAITING | NAP));
    let made = recording(kept, &FRAME);
    let task = &made.tasks[0];
    assert_eq!((task.name.as_str(), task.kernel), ("make", Some(false)));
    assert_eq!(task.attributes.nice, Some(0));
    assert_eq!(lines(&made)[1], "70 cpu0: 7 is nice Some(5)");
    assert_eq!(made.events.len(), 3);
}

#[test]
fn what_comes_after_the_end_is_left_out() {
    let made = made(&[switch(200, 0, 0, 7, 0), switch(1_001, 0, 7, 0, leaves::WAITING | NAP)]);
    assert_eq!(made.events.len(), 1);
}

fn bare_facts(static_prio: i32, policy: u32, cpus: u64) -> TaskFacts {
    let mut facts = TaskFacts { static_prio, policy, ..TaskFacts::default() };
    facts.cpus[0] = cpus;
    facts
}

#[test]
fn all_cpus_are_no_affinity() {
    assert_eq!(attributes(&bare_facts(120, 0, 0b1111), 4).affinity, Some(vec![]));
    assert_eq!(attributes(&bare_facts(120, 0, u64::MAX), 4).affinity, Some(vec![]));
    assert_eq!(attributes(&bare_facts(120, 0, 0b1010), 4).affinity, Some(vec![1, 3]));
    assert_eq!(attributes(&bare_facts(120, 0, 1), 4096).affinity, None);
}

#[test]
fn policies_have_their_own_parameters() {
    let idle = attributes(&bare_facts(125, 5, 1), 1);
    assert_eq!((idle.nice, idle.policy.map(|p| p.class)), (Some(5), Some(PolicyClass::Idle)));
    let fifo = TaskFacts { rt_priority: 40, ..bare_facts(120, 1, 1) };
    assert_eq!(attributes(&fifo, 1).policy.map(|p| p.priority), Some(40));
    let deadline = TaskFacts { dl_runtime_ns: 5_000_000, ..bare_facts(120, 6, 1) };
    assert_eq!(attributes(&deadline, 1).policy.map(|p| p.runtime_us), Some(5_000));
    assert_eq!(attributes(&bare_facts(110, 7, 1), 1).policy.map(|p| p.nice), Some(-10));
    assert_eq!(attributes(&bare_facts(120, 4, 1), 1).policy, None);
}

#[test]
fn names_end_at_their_end() {
    assert_eq!(name(b"sh\0xx\0\0\0\0\0\0\0\0\0\0\0"), "sh");
    assert_eq!(name(b"sixteen letters."), "sixteen letters.");
}
