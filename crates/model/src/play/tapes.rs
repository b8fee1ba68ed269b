// SPDX-License-Identifier: GPL-2.0-only
//! Tapes whose waits and wake-ups are numbers of semaphores.
//!
//! Each pair of a waker and a task that it wakes has a semaphore of its own. So a task goes on when
//! exactly those have woken it that woke it in the recording, however late or early others are. A
//! stream has one semaphore for all senders, and its only reader goes on with whatever comes first.
//! One task waits at each semaphore, so how far a task comes depends on the numbers of posts alone:
//! tapes that can be played to their ends in one order can be played so in every order.
//!
//! Behind the end of a tape that begins again stands what is played each time, with a last
//! operation that goes back there. Each such wait has its post by a tape that begins again, too.

use std::collections::BTreeMap;

use crate::tape::{self, SemaphoreKey, Stream, Tape, TapeFault, TapeOp};
use crate::workload::{Step, TaskGroup, Workload};

use crate::play::Refusal;

/// The tapes of a workload, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tapes {
    /// What each does; the numbers of waits and posts are those of semaphores, of forks those of
    /// tapes. Of a tape whose task is made, the operations after its wait for that.
    pub ops: Vec<Vec<TapeOp>>,
    /// Whether a tape's task is made by another one.
    pub made: Vec<bool>,
    /// The number after the last semaphore.
    pub semaphores: usize,
    /// See [`crate::play::Script::mailboxes`].
    pub mailboxes: Vec<Option<usize>>,
}

impl Tapes {
    /// The tapes of a workload; none if it has no recording. Their semaphores' numbers begin with
    /// `semaphores`.
    pub fn of(workload: &Workload, semaphores: usize) -> Result<Tapes, Refusal> {
        Ok(resolve(tapes(workload)?, semaphores))
    }
}

/// The tapes that a workload's tasks play, in their order.
///
/// # Errors
/// They are not at hand, cannot be played, or are not as many as the tasks.
pub fn tapes(workload: &Workload) -> Result<Vec<Tape>, Refusal> {
    let Some(recorded) = &workload.recording else {
        let hint = "make the file with `fairground import` of a trace";
        return match groups(workload).next() {
            None => Ok(Vec::new()),
            Some(_) => Err(Refusal::new("a step 'tape' and no recording", hint)),
        };
    };
    let text = recorded.text.0.as_deref().ok_or_else(|| {
        let message = format!("the tapes {} are not at hand", recorded.sha256);
        Refusal::new(message, format!("they are in the file {}", recorded.tapes))
    })?;
    let tapes = tape::read(text)
        .and_then(|tapes| check(&tapes).and_then(|()| check_again(&tapes)).map(|()| tapes))
        .map_err(|fault| Refusal::new(fault.to_string(), "import the trace again"))?;
    if workload.duration_us.is_none() && tapes.iter().any(begins_again) {
        let hint = "write duration_us = …, the time for which they are played";
        return Err(Refusal::new("tapes that begin again would do so for ever", hint));
    }
    let players: usize = groups(workload).map(|group| group.count as usize).sum();
    if tapes.len() != players {
        let message = format!("{} tapes for {players} tasks", tapes.len());
        let hint = "the counts of the groups with steps = [\"tape\"] are as many as the tapes";
        return Err(Refusal::new(message, hint));
    }
    Ok(tapes)
}

fn groups(workload: &Workload) -> impl Iterator<Item = &TaskGroup> {
    workload.tasks.iter().filter(|group| group.steps.contains(&Step::Tape))
}

/// A group with a tape has nothing else to do.
pub fn check_group(group: &TaskGroup) -> Result<(), Refusal> {
    let plays_once = group.repeat == Some(1) && !group.template && group.steps == [Step::Tape];
    if plays_once || !has_tape(&group.steps) {
        return Ok(());
    }
    let message = format!("the task '{}' does more than play its tape once", group.name);
    Err(Refusal::new(message, "write steps = [\"tape\"] and repeat = 1, and no template"))
}

fn has_tape(steps: &[Step]) -> bool {
    steps.iter().any(|step| *step == Step::Tape || has_tape(step.inner()))
}

/// Whether tapes can be played to their ends.
///
/// # Errors
/// A task would wait for ever, or is made by mistake.
pub fn check(tapes: &[Tape]) -> Result<(), TapeFault> {
    check_forks(tapes)?;
    let (mut at, mut posted) = (vec![0; tapes.len()], BTreeMap::new());
    let mut open: Vec<usize> = (0..tapes.len()).rev().collect();
    while let Some(tape) = open.pop() {
        while let Some(op) = tapes[tape].ops.get(at[tape]) {
            if let Some(key) = op.posts_to(tape as u32) {
                let posts = posted.entry(key).or_insert(0_u64);
                *posts += 1;
                let other = key.to as usize;
                let next = tapes[other].ops.get(at[other]);
                let waits_for = next.and_then(|op| op.waits_for(key.to));
                if *posts == 1 && waits_for == Some(key) {
                    open.push(other);
                }
            }
            if let Some(key) = op.waits_for(tape as u32) {
                let posts = posted.entry(key).or_insert(0);
                match posts.checked_sub(1) {
                    Some(left) => *posts = left,
                    None => break,
                }
            }
            at[tape] += 1;
        }
    }
    let stuck = (0..tapes.len()).find(|&tape| at[tape] < tapes[tape].ops.len());
    stuck.map_or(Ok(()), |tape| Err(waits_for_ever(tape, &tapes[tape], at[tape])))
}

fn waits_for_ever(number: usize, tape: &Tape, at: usize) -> TapeFault {
    let waker = tape.ops[at].waker().unwrap_or_default();
    let message = format!(
        "tape {number} waits for tape {waker} at its operation {}, and would wait for ever",
        at + 1
    );
    TapeFault { line: tape.line, message }
}

fn begins_again(tape: &Tape) -> bool {
    matches!(tape.ops.last(), Some(TapeOp::Again(_)))
}

/// What follows a new beginning would never be played, and one without work would stop the clock.
fn check_again(tapes: &[Tape]) -> Result<(), TapeFault> {
    for (number, tape) in tapes.iter().enumerate() {
        let is_again = |op: &TapeOp| matches!(op, TapeOp::Again(_));
        let Some(at) = tape.ops.iter().position(is_again) else { continue };
        let works = tape.ops.iter().any(|op| matches!(*op, TapeOp::Run(ns) if ns > 0));
        let message = if at + 1 < tape.ops.len() {
            format!("tape {number} begins again at its operation {}, which is not its last", at + 1)
        } else if !works {
            format!("tape {number} begins again and uses no CPU time")
        } else {
            continue;
        };
        return Err(TapeFault { line: tape.line, message });
    }
    Ok(())
}

/// What a tape's task plays each time that it begins again.
fn played_again(tape: &Tape, again: &[bool]) -> Vec<TapeOp> {
    let is_left_out = |op: &TapeOp| match *op {
        TapeOp::Fork(_) | TapeOp::Again(_) => true,
        op => op.waker().is_some_and(|waker| !again[waker as usize]),
    };
    tape.ops.iter().copied().filter(|op| !is_left_out(op)).collect()
}

/// A task is made once, by the one that its tape waits for first. A task does not exist before it
/// is made, so that wait needs no semaphore.
fn check_forks(tapes: &[Tape]) -> Result<(), TapeFault> {
    let mut made = vec![false; tapes.len()];
    for (maker, tape) in tapes.iter().enumerate() {
        for new in forks(tape) {
            let waits = tapes[new].ops.first() == Some(&TapeOp::Wait(maker as u32, Stream::NONE));
            let message = if std::mem::replace(&mut made[new], true) {
                format!("tape {maker} makes tape {new}, which has been made already")
            } else if !waits {
                format!("tape {maker} makes tape {new}, which does not begin with w{maker}")
            } else {
                continue;
            };
            return Err(TapeFault { line: tape.line, message });
        }
    }
    Ok(())
}

/// The tapes whose tasks a tape's task makes.
fn forks(tape: &Tape) -> impl Iterator<Item = usize> {
    tape.ops.iter().filter_map(|op| match *op {
        TapeOp::Fork(new) => Some(new as usize),
        _ => None,
    })
}

fn receives(ops: &[TapeOp]) -> bool {
    ops.iter().any(|op| matches!(op, TapeOp::Receive(..) | TapeOp::Room(..)))
}

fn resolve(mut tapes: Vec<Tape>, first: usize) -> Tapes {
    let mut made = vec![false; tapes.len()];
    tapes.iter().flat_map(forks).for_each(|new| made[new] = true);
    for (tape, made) in tapes.iter_mut().zip(&made) {
        if *made {
            tape.ops.remove(0);
        }
    }
    let again: Vec<bool> = tapes.iter().map(begins_again).collect();
    for tape in tapes.iter_mut().filter(|tape| begins_again(tape)) {
        let played = played_again(tape, &again);
        let again = TapeOp::Again(tape.ops.len() as u32);
        tape.ops.pop();
        tape.ops.push(again);
        tape.ops.extend(played);
        tape.ops.push(again);
    }
    let mut numbers: BTreeMap<SemaphoreKey, usize> = BTreeMap::new();
    for (own, tape) in (0..).zip(&mut tapes) {
        for op in tape.ops.iter_mut().filter(|op| !matches!(op, TapeOp::Fork(_))) {
            if let Some(key) = op.posts_to(own).or_else(|| op.waits_for(own)) {
                let next = first + numbers.len();
                let number = *numbers.entry(key).or_insert(next);
                op.other_mut().into_iter().for_each(|other| *other = number as u32);
            }
        }
    }
    let semaphores = first + numbers.len();
    let ops: Vec<Vec<TapeOp>> = tapes.into_iter().map(|tape| tape.ops).collect();
    let mut mailboxes = vec![None; semaphores];
    for (key, number) in numbers {
        let waiter = key.to as usize;
        mailboxes[number] = receives(&ops[waiter]).then_some(waiter);
    }
    Tapes { ops, made, semaphores, mailboxes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Recorded;

    fn workload(text: &str, count: u32) -> Workload {
        let text = tape::TapesText(Some(text.into()));
        let group = TaskGroup { count, ..TaskGroup::once("g", vec![Step::Tape]) };
        let recording = Some(Recorded { text, ..Recorded::default() });
        Workload { tasks: vec![group], recording, ..Workload::default() }
    }

    fn refusal(text: &str, count: u32) -> String {
        Tapes::of(&workload(text, count), 0).expect_err(text).to_string()
    }

    #[test]
    fn a_task_is_made_once_and_waits_for_it() {
        let why = |text: &str| refusal(text, 2);
        let early = "line 1: tape 0 makes tape 1, which does not begin with w0";
        assert!(why("task 1 a\nf1\ntask 2 b\nr7").starts_with(early));
        assert!(why("task 1 a\nf1\ntask 2 b\nr7 w0").starts_with(early));
        let twice = "line 1: tape 0 makes tape 1, which has been made already";
        assert!(why("task 1 a\nf1 f1\ntask 2 b\nw0").starts_with(twice));
        assert!(why("task 1 a\nw1 f1\ntask 2 b\nw0 p0").contains("would wait for ever"));
    }

    #[test]
    fn a_wait_for_ever_is_refused_with_its_line() {
        let lonely = "task 1 a\nr5 w1\ntask 2 b\nr1";
        let why = "line 1: tape 0 waits for tape 1 at its operation 2, and would wait for ever; \
                   import the trace again";
        assert_eq!(refusal(lonely, 2), why);
        let one_message = "task 1 a\nr1\ntask 2 b\np2.1\ntask 3 c\nm0.1 m0.1";
        assert!(refusal(one_message, 3).contains("operation 2"));
        let circle = "task 1 a\nw1 p1\ntask 2 b\nw0 p0";
        assert!(refusal(circle, 2).starts_with("line 1: tape 0 waits for tape 1"));
        let stored = "task 1 a\nw1 w1 w1\ntask 2 b\np0 p0 r1 p0";
        assert!(Tapes::of(&workload(stored, 2), 0).is_ok());
    }

    #[test]
    fn a_tape_that_begins_again_leaves_out_what_is_done_once() {
        let text = "task 1 a\nr5 f1 w1 w2 a\ntask 2 b\nw0 r7 p0 a\ntask 3 c\nr1 p0";
        let mut workload = workload(text, 3);
        let why = Tapes::of(&workload, 0).expect_err("no end").to_string();
        assert!(why.starts_with("tapes that begin again would do so for ever"), "{why}");
        workload.duration_us = Some(1);
        let tapes = Tapes::of(&workload, 0).expect("tapes");
        let (b, c) = (TapeOp::Wait(0, Stream::NONE), TapeOp::Wait(1, Stream::NONE));
        let (run, fork, again) = (TapeOp::Run, TapeOp::Fork(1), TapeOp::Again);
        assert_eq!(tapes.ops[0], [run(5), fork, b, c, again(5), run(5), b, again(5)]);
        let post = TapeOp::Post(0, Stream::NONE, tape::Reader::Asleep);
        assert_eq!(tapes.ops[1], [run(7), post, again(3), run(7), post, again(3)]);
        assert!(refusal("task 1 a\nr5 a r5", 1).contains("its operation 2, which is not its last"));
        assert!(refusal("task 1 a\ns5 a", 1).contains("begins again and uses no CPU time"));
    }

    #[test]
    fn tapes_and_tasks_are_as_many() {
        assert!(refusal("task 1 a\nr5", 2).starts_with("1 tapes for 2 tasks;"));
        let mut without = workload("", 1);
        without.recording = None;
        let why = Tapes::of(&without, 0).expect_err("no recording").to_string();
        assert!(why.starts_with("a step 'tape' and no recording;"), "{why}");
        without.recording = Some(Recorded { tapes: "./mine.tapes".into(), ..Recorded::default() });
        let why = Tapes::of(&without, 0).expect_err("no text").to_string();
        assert!(why.ends_with("they are in the file ./mine.tapes"), "{why}");
    }

    #[test]
    fn a_tape_is_all_that_its_task_does() {
        let mut group = workload("", 1).tasks.remove(0);
        assert_eq!(check_group(&group), Ok(()));
        group.steps = vec![Step::Loop { count: 2, steps: vec![Step::Tape] }];
        assert!(check_group(&group).is_err());
        group.steps = vec![Step::Tape];
        group.repeat = None;
        assert!(check_group(&group).is_err());
    }
}
