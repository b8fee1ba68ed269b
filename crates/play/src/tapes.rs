// SPDX-License-Identifier: GPL-2.0-only
//! Tapes whose waits and wake-ups are numbers of semaphores.
//!
//! Each pair of a waker and a task that it wakes has a semaphore of its own. So a task goes on when
//! exactly those have woken it that woke it in the recording, however late or early others are. A
//! stream has one semaphore for all senders, one task that reads it, and for each sender a count of
//! the letters that are in it: the reader goes on with whatever comes first ([`course`]). Tapes
//! that can be played to their ends in one order can be so in every one.
//!
//! A task that another one makes is not there before. So it needs no semaphore to wait for that.

use std::collections::BTreeMap;

use model::tape::{self, Beat, Posts, Stream, Tape, TapeFault};
use model::workload::{Step, TaskGroup, Workload};

use crate::Refusal;
pub use course::{Course, Parts, letters};

mod course;

/// The tapes of a workload, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tapes {
    /// What each does; the numbers of waits and posts are those of semaphores, of forks those of
    /// tapes, and streams stand for [`letters`]. Of one that is made, the beats that follow its
    /// wait for that.
    pub beats: Vec<Vec<Beat>>,
    /// Of each, what it may do in another order.
    pub parts: Vec<Parts>,
    /// Whether a tape's task is made by another one.
    pub made: Vec<bool>,
    /// The number after the last semaphore.
    pub semaphores: usize,
    /// How many counts of letters there are.
    pub letters: usize,
    /// See [`crate::Script::mailboxes`].
    pub mailboxes: Vec<Option<usize>>,
}

impl Tapes {
    /// The tapes of a workload; none if it has no recording. Their semaphores' numbers begin with
    /// `semaphores`.
    pub fn of(workload: &Workload, semaphores: usize) -> Result<Tapes, Refusal> {
        let players: u64 = groups(workload).map(|group| u64::from(group.count)).sum();
        let text = match &workload.recording {
            None if players == 0 => return Ok(Tapes { semaphores, ..Tapes::default() }),
            None => {
                let hint = "make the file with `fairground import` of a trace";
                return Err(Refusal::new("a step 'tape' and no recording", hint));
            }
            Some(recorded) => recorded.tapes.0.as_deref().ok_or_else(|| {
                let message = format!("the tapes {} are not at hand", recorded.sha256);
                Refusal::new(message, format!("they are in the workload's file, {}", recorded.file))
            })?,
        };
        let tapes = tape::read(text)
            .and_then(|tapes| played(&tapes).map(|()| tapes))
            .map_err(|fault| Refusal::new(fault.to_string(), "import the trace again"))?;
        if tapes.len() as u64 != players {
            let message = format!("{} tapes for {players} tasks", tapes.len());
            let hint = "the counts of the groups with steps = [\"tape\"] are as many as the tapes";
            return Err(Refusal::new(message, hint));
        }
        Ok(resolve(tapes, semaphores))
    }
}

/// The groups that play tapes.
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

/// Tapes can be played to their ends, whatever the scheduler does.
///
/// # Errors
/// A task would wait for ever, or is made by mistake.
pub fn played(tapes: &[Tape]) -> Result<(), TapeFault> {
    check_forks(tapes)?;
    let (mut at, mut posted) = (vec![0; tapes.len()], BTreeMap::new());
    let mut open: Vec<usize> = (0..tapes.len()).rev().collect();
    while let Some(tape) = open.pop() {
        while let Some(beat) = tapes[tape].beats.get(at[tape]) {
            if let Some(key) = beat.posts_to(tape as u32) {
                let posts = posted.entry(key).or_insert(0_u64);
                *posts += 1;
                let other = key.to as usize;
                let next = tapes[other].beats.get(at[other]);
                let waits_for = next.and_then(|beat| beat.waits_for(key.to));
                if *posts == 1 && waits_for == Some(key) {
                    open.push(other);
                }
            }
            if let Some(key) = beat.waits_for(tape as u32) {
                let posts = posted.entry(key).or_insert(0);
                match posts.checked_sub(1) {
                    Some(left) => *posts = left,
                    None => break,
                }
            }
            at[tape] += 1;
        }
    }
    let stuck = (0..tapes.len()).find(|&tape| at[tape] < tapes[tape].beats.len());
    stuck.map_or(Ok(()), |tape| {
        let message = match tapes[tape].beats[at[tape]] {
            Beat::Wait(other, _) | Beat::Receive(other, _) | Beat::Take(other, _) => format!(
                "tape {tape} waits for tape {other} at its beat {}, and would wait for ever",
                at[tape] + 1
            ),
            _ => format!("tape {tape} does not end"),
        };
        Err(TapeFault { line: tapes[tape].line, message })
    })
}

/// A task is made once, by the one that its tape waits for first.
fn check_forks(tapes: &[Tape]) -> Result<(), TapeFault> {
    let mut made = vec![false; tapes.len()];
    for (maker, tape) in tapes.iter().enumerate() {
        for new in forks(tape) {
            let waits = tapes[new].beats.first() == Some(&Beat::Wait(maker as u32, Stream::NONE));
            let message = match std::mem::replace(&mut made[new], true) {
                false if waits => continue,
                false => {
                    format!("tape {maker} makes tape {new}, which does not begin with w{maker}")
                }
                true => format!("tape {maker} makes tape {new}, which has been made already"),
            };
            return Err(TapeFault { line: tape.line, message });
        }
    }
    Ok(())
}

/// The tapes whose tasks a tape's task makes.
fn forks(tape: &Tape) -> impl Iterator<Item = usize> {
    tape.beats.iter().filter_map(|beat| match *beat {
        Beat::Fork(new) => Some(new as usize),
        _ => None,
    })
}

fn receives(beats: &[Beat]) -> bool {
    beats.iter().any(|beat| matches!(beat, Beat::Receive(..) | Beat::Take(..)))
}

fn resolve(mut tapes: Vec<Tape>, first: usize) -> Tapes {
    let mut made = vec![false; tapes.len()];
    tapes.iter().flat_map(forks).for_each(|new| made[new] = true);
    for (tape, _) in tapes.iter_mut().zip(&made).filter(|(_, made)| **made) {
        tape.beats.remove(0);
    }
    let mut numbers = Numbers::default();
    let mut beats = Vec::with_capacity(tapes.len());
    for (own, mut tape) in (0..).zip(tapes) {
        for beat in tape.beats.iter_mut().filter(|beat| !matches!(beat, Beat::Fork(_))) {
            if let Some(key) = beat.posts_to(own).or_else(|| beat.waits_for(own)) {
                let (semaphore, letters) = numbers.of(key);
                *beat = beat.with_other(|_| first as u32 + semaphore).with_stream(letters);
            }
        }
        beats.push(tape.beats);
    }
    let parts = beats.iter().map(|beats| Parts::of(beats)).collect();
    let semaphores = first + numbers.semaphores.len();
    let mut mailboxes = vec![None; semaphores];
    let waiters = numbers.semaphores.iter().map(|(key, &number)| (first + number as usize, key.1));
    for (semaphore, woken) in waiters.filter(|(_, woken)| receives(&beats[*woken as usize])) {
        mailboxes[semaphore] = Some(woken as usize);
    }
    Tapes { beats, parts, made, semaphores, letters: numbers.letters.len(), mailboxes }
}

/// The numbers of semaphores and of counts of letters.
#[derive(Default)]
struct Numbers {
    /// By the waker, which does not matter in a stream, the woken and the stream.
    semaphores: BTreeMap<(Option<u32>, u32, Stream), u32>,
    letters: BTreeMap<Posts, u32>,
}

impl Numbers {
    fn of(&mut self, key: Posts) -> (u32, Stream) {
        let waker = (key.stream == Stream::NONE).then_some(key.from);
        let next = self.semaphores.len() as u32;
        let semaphore = *self.semaphores.entry((waker, key.to, key.stream)).or_insert(next);
        if waker.is_some() {
            return (semaphore, Stream::NONE);
        }
        let next = self.letters.len() as u32 + 1;
        (semaphore, Stream(*self.letters.entry(key).or_insert(next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tape::Recorded;

    const NONE: Stream = Stream::NONE;

    fn workload(text: &str, count: u32) -> Workload {
        let tapes = tape::Tapes(Some(text.into()));
        let group = TaskGroup { count, ..TaskGroup::once("g", vec![Step::Tape]) };
        let recording = Some(Recorded { tapes, ..Recorded::default() });
        Workload { tasks: vec![group], recording, ..Workload::default() }
    }

    fn refusal(text: &str, count: u32) -> String {
        Tapes::of(&workload(text, count), 0).expect_err(text).to_string()
    }

    #[test]
    fn each_pair_has_a_semaphore_of_its_own() {
        let text = "task 1 a\np1 r5 p2\ntask 2 b\nw0 p2\ntask 3 c\nw1 w0";
        let tapes = Tapes::of(&workload(text, 3), 7).expect("playable");
        let expected = [
            vec![Beat::Post(7, NONE), Beat::Run(5), Beat::Post(8, NONE)],
            vec![Beat::Wait(7, NONE), Beat::Post(9, NONE)],
            vec![Beat::Wait(9, NONE), Beat::Wait(8, NONE)],
        ];
        assert_eq!((tapes.beats.as_slice(), tapes.semaphores), (&expected[..], 10));
    }

    #[test]
    fn who_receives_has_a_mailbox() {
        let text = "task 1 a\np1 r5 p2\ntask 2 b\nm0 p2\ntask 3 c\nw1 w0";
        let tapes = Tapes::of(&workload(text, 3), 0).expect("playable");
        assert_eq!(tapes.beats[1], [Beat::Receive(0, NONE), Beat::Post(2, NONE)]);
        assert_eq!(tapes.mailboxes, [Some(1), None, None]);
        let may = Tapes::of(&workload("task 1 a\ny p1\ntask 2 b\nt0", 2), 0).expect("playable");
        assert_eq!(
            (may.beats[1].as_slice(), may.mailboxes),
            (&[Beat::Take(0, NONE)][..], vec![Some(1)])
        );
        let script = crate::Script::new(
            &workload(text, 3),
            crate::Setting { policy: Default::default(), seed: model::Seed(1), cpus: 1 },
        )
        .expect("playable");
        assert_eq!([0, 1, 2].map(|task| script.first_wait(0, task)), [None, Some(0), Some(2)]);
    }

    #[test]
    fn a_stream_has_one_semaphore_for_all_of_its_senders() {
        let text = "task 1 a\np2.1 p2\ntask 2 b\np2.1 p2.2\ntask 3 c\nm1.1 t0.1 t1.2 w0";
        let tapes = Tapes::of(&workload(text, 3), 0).expect("playable");
        let semaphore = |task: usize, beat: usize| tapes.beats[task][beat].other();
        assert_eq!((tapes.semaphores, semaphore(0, 0)), (3, semaphore(1, 0)));
        assert_eq!(
            [0, 1, 2, 3].map(|beat| semaphore(2, beat)),
            [semaphore(0, 0), semaphore(0, 0), semaphore(1, 1), semaphore(0, 1)]
        );
        // And counts of letters for each of them.
        let counts = |task: usize| tapes.beats[task].iter().map(|beat| letters(*beat));
        assert_eq!(tapes.letters, 3);
        assert!(counts(0).eq([Some(0), None]) && counts(1).eq([Some(1), Some(2)]));
        assert!(counts(2).eq([Some(1), Some(0), Some(2), None]));
        // The second one's message is none of the first one's.
        assert!(refusal("task 1 a\nr1\ntask 2 b\np2.1\ntask 3 c\nt0.1 t0.1", 3).contains("beat 1"));
    }

    #[test]
    fn a_task_that_is_made_waits_for_nobody() {
        let text = "task 1 a\nr5 f1 p1\ntask 2 b\nw0 w0 r7";
        let tapes = Tapes::of(&workload(text, 2), 3).expect("playable");
        let expected = [
            vec![Beat::Run(5), Beat::Fork(1), Beat::Post(3, NONE)],
            vec![Beat::Wait(3, NONE), Beat::Run(7)],
        ];
        assert_eq!((tapes.beats.as_slice(), tapes.made), (&expected[..], vec![false, true]));
        let setting = crate::Setting { policy: Default::default(), seed: model::Seed(1), cpus: 1 };
        let script = crate::Script::new(&workload(text, 2), setting).expect("playable");
        assert_eq!((script.starting_tasks(), script.tasks()), (1, 2));
        assert_eq!((script.player_of(1), script.first_wait(0, 1)), ((0, 1), None));
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
        let why = "line 1: tape 0 waits for tape 1 at its beat 2, and would wait for ever; import \
                   the trace again";
        assert_eq!(refusal(lonely, 2), why);
        let circle = "task 1 a\nw1 p1\ntask 2 b\nw0 p0";
        assert!(refusal(circle, 2).starts_with("line 1: tape 0 waits for tape 1"));
        let stored = "task 1 a\nw1 w1 w1\ntask 2 b\np0 p0 r1 p0";
        assert!(Tapes::of(&workload(stored, 2), 0).is_ok());
    }

    #[test]
    fn tapes_and_tasks_are_as_many() {
        assert!(refusal("task 1 a\nr5", 2).starts_with("1 tapes for 2 tasks;"));
        let mut without = workload("", 1);
        without.recording = None;
        let why = Tapes::of(&without, 0).expect_err("no recording").to_string();
        assert!(why.starts_with("a step 'tape' and no recording;"), "{why}");
        without.recording = Some(Recorded { file: "./mine.toml".into(), ..Recorded::default() });
        let why = Tapes::of(&without, 0).expect_err("no text").to_string();
        assert!(why.ends_with("they are in the workload's file, ./mine.toml"), "{why}");
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
