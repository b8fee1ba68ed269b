// SPDX-License-Identifier: GPL-2.0-only
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use super::*;
use crate::event::{Attributes, Task, TracerCosts};
use model::Tape;

/// Events as text: `10 0:pipe>2` is a switch on CPU 0, from task 0, which sleeps in a pipe, to task
/// 2; `10 0:ended> on 1` one to nobody on CPU 1; `20 0 by 2` and `20 0 by timer` are wake-ups.
pub(super) fn events(text: &str) -> Vec<Event> {
    let event = |text: &str| event(text).unwrap_or_else(|| panic!("{text}"));
    text.split(", ").map(event).collect()
}

fn event(text: &str) -> Option<Event> {
    let number = |word: &str| word.parse::<u32>().ok();
    let task = |word: &str| number(word).map(TaskIndex);
    let words: Vec<&str> = text.split(' ').collect();
    let cpu = if let [.., "on", cpu] = words[..] { number(cpu)? } else { 0 };
    let what = match words[1..] {
        [by, "sends", bytes, ref to @ ..] => {
            let (bytes, stream) = (number(bytes)?, to.last().map_or(Some(7), |to| number(to))?);
            What::Send { task: task(by)?, stream, bytes, room: 0 }
        }
        [by, "takes", bytes, ref of @ ..] => {
            let (bytes, stream) = (number(bytes)?, of.last().map_or(Some(7), |of| number(of))?);
            What::Take { task: task(by)?, stream, bytes }
        }
        [parent, "forks", child] => What::Fork { parent: task(parent)?, child: task(child)? },
        [of, "nice", nice] => {
            let to = Attributes { nice: nice.parse().ok(), ..Attributes::default() };
            What::Changed { task: task(of)?, to: Box::new(to) }
        }
        [woken, "by", waker] => {
            let named = [("timer", Waker::Timer), ("unknown", Waker::Unknown)];
            let named = named.iter().find(|(name, _)| *name == waker).map(|(_, waker)| *waker);
            let waker = named.or_else(|| task(waker).map(Waker::Task))?;
            What::Wake { task: task(woken)?, waker }
        }
        [switch, ..] => {
            let (out, next) = switch.split_once('>')?;
            let (out, leaves) = out.split_once(':').unwrap_or((out, "runnable"));
            What::Switch { out: task(out), leaves: how(leaves)?, next: task(next) }
        }
        [] => return None,
    };
    Some(Event { at_ns: words[0].parse().ok()?, cpu, what })
}

fn how(word: &str) -> Option<Leaves> {
    let sleeps = |word| SleepsFor::deserialize(StrDeserializer::<Error>::new(word)).ok();
    match word {
        "runnable" => Some(Leaves::Runnable),
        "yields" => Some(Leaves::Yields),
        "ended" => Some(Leaves::Ended),
        "sleeps" => Some(Leaves::Sleeps(SleepsFor::Unknown)),
        word => sleeps(word).map(Leaves::Sleeps),
    }
}

pub(super) fn recording(events: Vec<Event>, tasks: usize) -> Recording {
    let tasks = vec![Task::default(); tasks];
    Recording { cpus: 2, length_ns: 1000, tasks, events, ..Recording::default() }
}

/// The tapes of a recording of `tasks` tasks, as text.
pub(super) fn tapes(text: &str, tasks: usize) -> Vec<String> {
    texts(write(&recording(events(text), tasks), |_| true))
}

/// The tapes where only the first task is played.
pub(super) fn first_tape(text: &str, tasks: usize) -> String {
    let written = texts(write(&recording(events(text), tasks), |task| task.0 == 0));
    assert!(written[1..].iter().all(String::is_empty), "{written:?}");
    written[0].clone()
}

pub(super) fn texts(written: Written) -> Vec<String> {
    let text = |ops| model::tape::write(&[Tape { ops, ..Tape::default() }]);
    let without_head = |text: String| text.lines().skip(1).collect::<Vec<_>>().join(" ");
    written.tapes.into_iter().map(text).map(without_head).collect()
}

#[test]
fn a_wait_has_its_post_where_the_waker_was() {
    let events = "0 >0, 10 1:sleeps> on 1, 300 1 by 0, 310 >1 on 1, 400 1> on 1, 500 >1 on 1, \
                  550 1:ended> on 1, 700 0:sleeps>";
    assert_eq!(tapes(events, 2), ["r300 p1 r400", "r10 w0 r140"]);
}

#[test]
fn a_sleep_in_a_pipe_is_a_wait_of_its_own_kind() {
    for (reason, expected) in [
        ("pipe", "r10 m0 r20 m0 r10"),
        ("child", "r10 m0 r20 m0 r10"),
        ("futex", "r10 w0 r20 w0 r10"),
    ] {
        // The second time the waker is faster than the switch.
        let events = format!(
            "0 >0, 10 1:{reason}> on 1, 20 1 by 0, 30 >1 on 1, 40 1 by 0, 50 1:{reason}> on 1, \
             60 >1 on 1, 70 1:ended> on 1"
        );
        assert_eq!(tapes(&events, 2)[1], expected, "{reason}");
    }
}

#[test]
fn a_nap_is_relative_however_long() {
    let events = "0 >0, 10 0:nap>, 40 0 by timer, 50 >0, 60 0:timer>, 400 0 by timer, 410 >0, \
                  420 0:ended>";
    assert_eq!(tapes(events, 1), ["r10 s30 r10 u400 r10"]);
}

#[test]
fn what_the_tracer_took_is_no_work() {
    // From 100 to 105 less than one event takes: the next stretch is shorter.
    let events = "0 >0, 50 1 by 0, 100 0:sleeps>1, 105 1:sleeps>, 200 1 by 0, 210 >1, 260 1:ended>";
    let tracer = TracerCosts { switch_ns: 9, wake_ns: 7, message_ns: 0 };
    let recording = Recording { tracer, ..recording(self::events(events), 2) };
    assert_eq!(texts(write(&recording, |_| true)), ["r41 p1 r43 p1", "w0 w0 r37"]);
    let messages = "0 >0, 0 >1 on 1, 10 0 sends 5, 40 1 takes 5";
    let tracer = TracerCosts { message_ns: 4, ..TracerCosts::default() };
    let recording = Recording { tracer, ..self::recording(self::events(messages), 2) };
    assert_eq!(texts(write(&recording, |_| true)), ["r10 d1.1 r986", "r40 t0.1 r956"]);
}

#[test]
fn what_a_preemption_took_is_no_work() {
    let events = "0 >0, 50 0>1, 60 1:sleeps>0, 100 0:yields>, 110 >0, 120 0:ended>";
    let recording = Recording { preemption_ns: 8, ..recording(self::events(events), 2) };
    assert_eq!(texts(write(&recording, |_| true)), ["r82 y r10", "r10"]);
}

#[test]
fn a_changed_nice_value_stands_where_it_was_changed() {
    let events = "0 >0, 30 0 nice -8, 40 0 nice none, 100 0:sleeps>, 150 0 nice 5, 200 0 by timer, \
                  210 >0, 250 0:ended>";
    assert_eq!(tapes(events, 1)[0], "r30 n-8 r70 n5 u200 r40");
}

#[test]
fn what_no_played_task_ends_is_a_timer_or_a_device() {
    let events = "100 0:sleeps>, 150 0 by unknown, 160 >0, 200 0:disk>, 260 0 by unknown, 270 >0, \
                  300 0:sleeps>, 330 0 by 1, 340 >0, 350 0:disk>, 390 0 by timer";
    assert_eq!(first_tape(events, 2), "r100 u150 r40 s60 r30 s30 r10 u390");
}

#[test]
fn a_waker_that_is_faster_than_the_switch_counts() {
    let asleep = "0 >0, 0 >1 on 1, 90 1 by 0, 100 1:sleeps> on 1";
    let rest = ">1 on 1, 200 1:ended> on 1";
    assert_eq!(tapes(&format!("{asleep}, 110 {rest}"), 2), ["r90 p1 r910", "r100 w0 r90"]);
    // A second wake-up makes the first one one of a task that did not sleep.
    let second = tapes(&format!("{asleep}, 140 1 by timer, 150 {rest}"), 2);
    assert_eq!(second, ["r1000", "r100 u140 r50"]);
}

#[test]
fn a_child_begins_at_its_fork() {
    let events = "0 >0, 50 0 forks 1, 60 >1 on 1, 90 1:ended> on 1, 100 0:ended>";
    assert_eq!(tapes(events, 2), ["r50 f1 r50", "w0 r30"]);
    assert_eq!(first_tape(events, 2), "r100");
}

#[test]
fn who_was_there_before_its_fork_is_woken() {
    let events = "0 >0, 0 >1 on 1, 20 1:sleeps> on 1, 50 0 forks 1, 60 >1 on 1, 90 1:ended> on 1, \
                  100 0:ended>";
    assert_eq!(tapes(events, 2), ["r50 p1 r50", "r20 w0 r30"]);
}

#[test]
fn a_sleep_without_a_wake_up_is_counted() {
    let written = write(&recording(events("0 >0, 100 0:sleeps>, 160 >0"), 1), |_| true);
    assert_eq!((written.counts.unexplained, written.counts.switches), (1, 3));
    assert_eq!(texts(written), ["r100 u160 r840"]);
}

#[test]
fn a_missing_switch_takes_no_time_from_the_one_that_ran() {
    // The switch back from task 1 is missing.
    let events = "0 >0, 100 0>1, 400 0>1, 450 1:sleeps>0";
    assert_eq!(tapes(events, 2), ["r950", "u400 r50"]);
}

#[test]
fn equal_sleeps_are_relative() {
    let (mut text, mut now) = ("0 >0".to_owned(), 0);
    for work in [3_000_000, 1_000_000, 9_000_000, 2_000_000, 700_000, 4_000_000] {
        let since = now + work;
        now = since + 10_000_000;
        text += &format!(", {since} 0:sleeps>, {now} 0 by timer, {now} >0");
    }
    // The first one may have begun before the recording.
    let rest =
        "s10000000 r9000000 s10000000 r2000000 s10000000 r700000 s10000000 r4000000 s10000000";
    assert_eq!(tapes(&text, 1), [format!("r3000000 u13000000 r1000000 {rest}")]);
}

#[test]
fn a_yield_is_on_the_tape() {
    assert_eq!(first_tape("0 >0, 10 0:yields>1, 30 1>0, 50 0:ended>", 2), "r10 y r20");
}

#[test]
fn a_task_that_polls_goes_on_for_whatever_comes_first() {
    // A signal of task 0 wakes it, then a message of task 2; another one's message is there.
    let events = "0 >0, 0 1:signal> on 1, 10 1 by 0, 20 >1 on 1, 30 1:any> on 1, 35 0:sleeps>2, \
                  40 1 by 2, 41 2 sends 8 to 5, 42 2 sends 8 to 6, 50 >1 on 1, 60 1 takes 8 of 5, \
                  70 1 takes 8 of 6, 80 1:ended> on 1";
    let written = tapes(events, 3);
    assert_eq!(written[1], "w0.1 r10 m2.1 r20 t2.1 r10");
    let posts = |tape: &str| tape.split(' ').filter(|op| ["p1.1", "d1.1"].contains(op)).count();
    assert_eq!((posts(&written[0]), posts(&written[2])), (1, 2));
}
