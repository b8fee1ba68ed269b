// SPDX-License-Identifier: GPL-2.0-only
//! In which order a task plays its tape.
//!
//! A task that serves others does what has come: of the messages in a stream, the one that is there
//! first. So what follows a message on the tape, up to the stream's next one, belongs to it. Where
//! several tasks send, these parts are played in the order in which messages come, those of one
//! sender in their own order. A part in which the task waits for something else is played in its
//! place: all before it are over then, and those behind it have not begun. So whatever a part waits
//! for depends on nothing that this task has put off, and tapes that can be played in the order of
//! the recording can be so in every other one.

use std::collections::BTreeMap;

use model::Beat;

/// The parts of a tape that need no order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    stretches: Vec<Stretch>,
}

/// Parts that stand side by side, and may be played in the order of their messages.
#[derive(Clone, Debug, PartialEq)]
struct Stretch {
    /// The first part's first beat.
    from: u32,
    /// The beat behind the last part.
    to: u32,
    /// In the order of the tape.
    parts: Vec<Part>,
    /// Each sender's first part.
    first: Vec<Head>,
}

/// A message, and what the task did for it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// The beat behind it.
    to: u32,
    /// The same sender's next one.
    next: Option<Head>,
}

/// The next part of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    /// Its first beat.
    from: u32,
    /// What counts the sender's messages.
    letters: u32,
    /// Its place in the stretch.
    part: u32,
}

/// A part while a tape is divided.
struct Open {
    stream: u32,
    letters: u32,
    from: u32,
    to: u32,
    waits: bool,
}

impl Parts {
    /// Divides a tape whose waits and posts are resolved.
    pub(super) fn of(beats: &[Beat]) -> Parts {
        let mut parts = Parts::default();
        let mut open: Vec<Open> = Vec::new();
        for (at, beat) in (0..).zip(beats) {
            if let Some((stream, letters)) = reads(*beat) {
                if open.last().is_some_and(|last| last.waits || last.stream != stream) {
                    parts.close(&mut open);
                }
                open.push(Open { stream, letters, from: at, to: at + 1, waits: false });
            } else if let Some(mut last) = open.pop() {
                last.to = at + 1;
                last.waits |= waits(*beat);
                if last.waits {
                    parts.close(&mut open);
                }
                open.push(last);
            }
        }
        parts.close(&mut open);
        parts
    }

    /// These parts are a stretch, if there are several senders.
    fn close(&mut self, open: &mut Vec<Open>) {
        let Some((from, to)) = open.first().zip(open.last()).map(|(a, b)| (a.from, b.to)) else {
            return;
        };
        let mut heads: BTreeMap<u32, Head> = BTreeMap::new();
        let mut parts: Vec<Part> = Vec::with_capacity(open.len());
        for (part, it) in (0..open.len() as u32).zip(open.drain(..)).rev() {
            let head = Head { from: it.from, letters: it.letters, part };
            parts.push(Part { to: it.to, next: heads.insert(it.letters, head) });
        }
        if heads.len() > 1 {
            parts.reverse();
            self.stretches.push(Stretch { from, to, parts, first: heads.into_values().collect() });
        }
    }
}

/// What counts the messages that a beat reads or sends, from this sender, if it does.
pub fn letters(beat: Beat) -> Option<u32> {
    match beat {
        Beat::Post(_, stream) => stream.0.checked_sub(1),
        _ => reads(beat).map(|(_, letters)| letters),
    }
}

/// The semaphore of the stream that a beat reads, and what counts its sender's messages.
fn reads(beat: Beat) -> Option<(u32, u32)> {
    match beat {
        Beat::Wait(semaphore, stream)
        | Beat::Receive(semaphore, stream)
        | Beat::Take(semaphore, stream) => Some((semaphore, stream.0.checked_sub(1)?)),
        _ => None,
    }
}

/// Whether the task waits for something that is no message of its stream.
fn waits(beat: Beat) -> bool {
    match beat {
        Beat::Wait(..) | Beat::Receive(..) | Beat::Take(..) | Beat::Until(_) => true,
        Beat::Run(_) | Beat::Post(..) | Beat::Fork(_) | Beat::Sleep(_) => false,
        Beat::Nice(_) | Beat::Yield => false,
    }
}

/// How far a task is in its tape.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The next beat.
    at: u32,
    /// The stretch that is open or comes next.
    stretch: usize,
    /// Of the open stretch: the next parts of the senders that have some left.
    heads: Vec<Head>,
    /// Whether a stretch is open.
    is_open: bool,
    /// Where the part ends that is played.
    to: u32,
    /// By streams: messages that have been waited for, and not been chosen yet.
    come: Vec<(u32, u32)>,
}

impl Course {
    /// Of a task that has waited for its tape's first beat already.
    pub fn after_first_wait(beats: &[Beat]) -> Course {
        match beats.first().copied().and_then(reads) {
            Some((stream, _)) => Course { come: vec![(stream, 1)], ..Course::default() },
            None => Course { at: 1, ..Course::default() },
        }
    }

    /// The next beat. One that reads a stream stands for all messages that may come now.
    pub fn beat(&self, beats: &[Beat]) -> Option<Beat> {
        beats.get(self.at as usize).copied()
    }

    /// The next beat is over.
    pub fn next(&mut self, parts: &Parts) {
        self.at = self.following(parts);
        if self.is_open && self.at == parts.stretches[self.stretch].to {
            self.stretch += 1;
            self.is_open = false;
        }
    }

    /// Whether the next beat is the last one.
    pub fn is_last(&self, beats: &[Beat], parts: &Parts) -> bool {
        self.following(parts) as usize == beats.len()
    }

    /// The beat after the next one.
    fn following(&self, parts: &Parts) -> u32 {
        if !self.is_open || self.at + 1 < self.to {
            return self.at + 1;
        }
        let first = self.heads.iter().map(|head| head.from).min();
        first.unwrap_or_else(|| parts.stretches[self.stretch].to)
    }

    /// A message has come into a stream.
    pub fn come(&mut self, stream: u32) {
        match self.come.iter_mut().find(|(known, _)| *known == stream) {
            Some((_, count)) => *count += 1,
            None => self.come.push((stream, 1)),
        }
    }

    /// Goes on with a message that has come, if the tape has it among the next, and returns what
    /// counts those of its sender. Of several it is the one that came first in the recording.
    pub fn choose(
        &mut self,
        beats: &[Beat],
        parts: &Parts,
        has_come: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let (stream, own) = reads(self.beat(beats)?)?;
        let come = self.come.iter().position(|(known, count)| *known == stream && *count > 0)?;
        let next = parts.stretches.get(self.stretch).filter(|stretch| stretch.from == self.at);
        if let Some(stretch) = next.filter(|_| !self.is_open) {
            self.heads.clone_from(&stretch.first);
            self.is_open = true;
        }
        let letters = match self.is_open {
            false => has_come(own).then_some(own)?,
            true => self.begin(&parts.stretches[self.stretch], has_come)?,
        };
        self.come[come].1 -= 1;
        Some(letters)
    }

    fn begin(&mut self, stretch: &Stretch, has_come: impl Fn(u32) -> bool) -> Option<u32> {
        let mut first: Option<(usize, Head)> = None;
        for (place, head) in self.heads.iter().enumerate() {
            let is_earlier = first.is_none_or(|(_, first)| head.from < first.from);
            if is_earlier && has_come(head.letters) {
                first = Some((place, *head));
            }
        }
        let (place, head) = first?;
        let part = stretch.parts[head.part as usize];
        (self.at, self.to) = (head.from, part.to);
        match part.next {
            Some(next) => self.heads[place] = next,
            None => drop(self.heads.swap_remove(place)),
        }
        Some(head.letters)
    }
}

#[cfg(test)]
mod tests;
