// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use model::tape::{self, Stream, Tape};
use proptest::prelude::*;

use super::*;
use crate::tapes::{Tapes, played, resolve};

fn tapes(text: &str) -> Tapes {
    let tapes = tape::read(text).expect("tapes");
    played(&tapes).expect("they end");
    resolve(tapes, 0)
}

/// Tapes that are played, with a task for each.
struct Stage<'a> {
    tapes: &'a Tapes,
    courses: Vec<Course>,
    semaphores: Vec<u32>,
    letters: Vec<u32>,
    /// What each has played, by the places of beats.
    done: Vec<Vec<u32>>,
}

impl<'a> Stage<'a> {
    fn new(tapes: &'a Tapes) -> Stage<'a> {
        Stage {
            tapes,
            courses: vec![Course::default(); tapes.beats.len()],
            semaphores: vec![0; tapes.semaphores],
            letters: vec![0; tapes.letters],
            done: vec![Vec::new(); tapes.beats.len()],
        }
    }

    /// Plays a task's next beat; whether that could be.
    fn step(&mut self, task: usize) -> bool {
        let (beats, parts) = (&self.tapes.beats[task], &self.tapes.parts[task]);
        let Some(beat) = self.courses[task].beat(beats) else { return false };
        if let Beat::Post(semaphore, _) = beat {
            self.semaphores[semaphore as usize] += 1;
            letters(beat).into_iter().for_each(|number| self.letters[number as usize] += 1);
        } else if let Some(semaphore) = beat.waits_for(0).and(beat.other())
            && !self.waits(task, semaphore as usize, letters(beat).is_some())
        {
            return false;
        }
        self.done[task].push(self.courses[task].at);
        self.courses[task].next(parts);
        true
    }

    fn waits(&mut self, task: usize, semaphore: usize, is_stream: bool) -> bool {
        loop {
            if is_stream {
                let (beats, parts) = (&self.tapes.beats[task], &self.tapes.parts[task]);
                let has_come = |number: u32| self.letters[number as usize] > 0;
                if let Some(number) = self.courses[task].choose(beats, parts, has_come) {
                    self.letters[number as usize] -= 1;
                    return true;
                }
            }
            match self.semaphores[semaphore].checked_sub(1) {
                Some(left) => self.semaphores[semaphore] = left,
                None => return false,
            }
            if !is_stream {
                return true;
            }
            self.courses[task].come(semaphore as u32);
        }
    }

    /// Plays the beats of these tasks, one after the other, as far as each can go.
    fn play(&mut self, tasks: &[usize]) -> &mut Stage<'a> {
        tasks.iter().for_each(|&task| while self.step(task) {});
        self
    }

    fn is_over(&self) -> bool {
        self.tapes.beats.iter().zip(&self.done).all(|(beats, done)| beats.len() == done.len())
    }
}

#[test]
fn the_message_that_comes_first_is_handled_first() {
    let tapes = tapes("task 1 a\nr1 p2.1\ntask 2 b\nr1 p2.1\ntask 3 c\nm0.1 r7 p0 m1.1 r8 p1");
    let mut stage = Stage::new(&tapes);
    assert_eq!(stage.play(&[2, 0, 2, 1, 2]).done[2], [0, 1, 2, 3, 4, 5], "as in the recording");
    let mut stage = Stage::new(&tapes);
    assert_eq!(stage.play(&[2, 1, 2, 0, 2]).done[2], [3, 4, 5, 0, 1, 2], "with what it did for it");
    let mut stage = Stage::new(&tapes);
    assert_eq!(stage.play(&[1, 0, 2]).done[2], [0, 1, 2, 3, 4, 5], "if several are there");
    assert!(stage.is_over());
}

#[test]
fn a_message_that_the_tape_has_later_waits() {
    // In the midst of what c did for b it waits for a.
    let text = "task 1 a\np2.1 r1 p2\ntask 2 b\np2.1\ntask 3 c\nm0.1 r5 m1.1 r6 w0 r7";
    let tapes = tapes(text);
    let mut stage = Stage::new(&tapes);
    assert!(stage.play(&[2, 1, 2]).done[2].is_empty(), "b's turn is after a's");
    assert_eq!(stage.play(&[0, 2]).done[2], [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_last_beat_is_the_one_that_is_played_last() {
    let tapes = tapes("task 1 a\np2.1\ntask 2 b\np2.1\ntask 3 c\nm0.1 r7 m1.1 r8");
    let (beats, parts) = (&tapes.beats[2], &tapes.parts[2]);
    let mut course = Course::default();
    let mut last = Vec::new();
    for sender in [1, 0] {
        course.come(0);
        assert_eq!(course.choose(beats, parts, |number| number == sender), Some(sender));
        course.next(parts);
        last.push((course.beat(beats), course.is_last(beats, parts)));
        course.next(parts);
    }
    assert_eq!(last, [(Some(Beat::Run(8)), false), (Some(Beat::Run(7)), true)]);
    assert_eq!(course.beat(beats), None);
}

#[test]
fn a_first_wait_for_a_message_has_been_one_for_any() {
    let tapes = tapes("task 1 a\np2.1\ntask 2 b\np2.1\ntask 3 c\nm0.1 r7 m1.1 r8");
    let (beats, parts) = (&tapes.beats[2], &tapes.parts[2]);
    let mut course = Course::after_first_wait(beats);
    assert_eq!(course.choose(beats, parts, |number| number == 1), Some(1));
    assert_eq!(course.choose(beats, parts, |_| true), None, "the next one has not come");
    let plain = [Beat::Wait(0, Stream::NONE), Beat::Run(5)];
    assert_eq!(Course::after_first_wait(&plain).beat(&plain), Some(Beat::Run(5)));
}

/// What happens in a recording: tasks that compute, wake others or send them something. Each
/// wake-up and each message finds its reader at once.
fn recording() -> impl Strategy<Value = Vec<Tape>> {
    let happening = (0..4_u32, 0..4_u32, 0..3_u32);
    proptest::collection::vec(happening, 1..60).prop_map(|happenings| {
        let mut tapes = vec![Tape::default(); 4];
        for (from, to, stream) in happenings {
            let stream = Stream(stream);
            if from == to {
                tapes[to as usize].beats.push(Beat::Run(5));
                continue;
            }
            tapes[from as usize].beats.push(Beat::Post(to, stream));
            tapes[to as usize].beats.push(Beat::Receive(from, stream));
        }
        tapes
    })
}

/// What was read of each sender in each stream, in that order.
fn read(beats: &[Beat], order: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let mut read: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &at in order {
        if let Some((_, letters)) = reads(beats[at as usize]) {
            read.entry(letters).or_default().push(at);
        }
    }
    read
}

proptest! {
    /// Whatever order a scheduler finds, all tapes come to their ends, with each beat once, and
    /// each sender's messages in order.
    #[test]
    fn every_order_comes_to_the_end(
        recording in recording(),
        picks in proptest::collection::vec(0..4_usize, 400),
    ) {
        let tapes = resolve(recording, 0);
        let mut stage = Stage::new(&tapes);
        picks.iter().for_each(|&task| { stage.step(task); });
        (0..60).for_each(|_| { stage.play(&[0, 1, 2, 3]); });
        prop_assert!(stage.is_over(), "{:?} of {:?}", stage.done, tapes.beats);
        for (beats, done) in tapes.beats.iter().zip(&stage.done) {
            let mut sorted = done.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.iter().copied().eq(0..beats.len() as u32), "each once");
            for order in read(beats, done).values() {
                prop_assert!(order.is_sorted(), "a sender's messages in order");
            }
        }
    }
}
