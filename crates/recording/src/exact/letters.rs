// SPDX-License-Identifier: GPL-2.0-only
//! What is in pipes and sockets, and which task has put it there.
//!
//! A task that reads a stream alone answers what comes first. Where several tasks read a stream,
//! each waits for the sender of the recording: in another order one of them could take what another
//! one needs to go on, and all would wait for ever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::Beat;
use model::tape::Stream;

use super::Writer;
use crate::event::TaskIndex;

/// A post whose receiver is not known yet. It is left out if no task takes the message.
const NOBODY: TaskIndex = TaskIndex(u32::MAX);

/// What was put into a stream at once.
#[derive(Clone, Copy)]
struct Letter {
    by: TaskIndex,
    /// The place of the post in the sender's beats.
    place: usize,
    /// What is left of it.
    bytes: u64,
    /// Whether something was taken.
    is_begun: bool,
}

/// A message that was taken, by its places on two tapes.
#[derive(Clone, Copy)]
pub struct Message {
    pub by: TaskIndex,
    /// The place of the post in the sender's beats.
    pub post: usize,
    pub to: TaskIndex,
    /// The place of the wait in the reader's beats.
    pub beat: usize,
    /// Whether anything could have ended the wait.
    pub is_polled: bool,
}

/// What is in a stream.
#[derive(Default)]
pub struct Letters {
    open: VecDeque<Letter>,
    /// Bytes that were taken before it was told that they had been sent: on another CPU the sender
    /// had not left the system call yet.
    owed: u64,
}

impl Letters {
    /// Takes bytes, and returns the letters that are begun by it, and whether there were too few.
    fn taken(&mut self, mut bytes: u64) -> (Vec<Letter>, bool) {
        let mut begun = Vec::new();
        while bytes > 0 {
            let Some(first) = self.open.front_mut() else {
                self.owed += bytes;
                break;
            };
            if !first.is_begun {
                begun.push(*first);
            }
            first.is_begun = true;
            let part = first.bytes.min(bytes);
            first.bytes -= part;
            bytes -= part;
            if first.bytes == 0 {
                self.open.pop_front();
            }
        }
        (begun, bytes > 0)
    }
}

impl Writer {
    /// A task has put bytes into a stream. Who takes them is told later.
    pub fn send(&mut self, by: TaskIndex, (stream, bytes): (u32, u64), at_ns: u64) {
        let letters = self.streams.entry(stream).or_default();
        let early = bytes.min(letters.owed);
        letters.owed -= early;
        if bytes > early {
            let place = self.post(by, NOBODY, at_ns);
            let letter = Letter { by, place, bytes: bytes - early, is_begun: false };
            self.streams.entry(stream).or_default().open.push_back(letter);
        }
    }

    /// A task has taken bytes out of a stream, those that came first.
    pub fn take(&mut self, task: TaskIndex, (stream, bytes): (u32, u64), at_ns: u64) {
        let (begun, was_early) = self.streams.entry(stream).or_default().taken(bytes);
        let is_told = begun.iter().any(|letter| letter.by != task);
        for letter in begun.into_iter().filter(|letter| letter.by != task) {
            // The one that ended its sleep is on both tapes already.
            if let Some(woken) = self.part(task).woken.take_if(|woken| woken.by == letter.by) {
                self.message(stream, woken);
            } else if self.part(letter.by).keeps && self.part(task).keeps {
                self.part(letter.by).beats[letter.place] = Beat::Post(task.0, Stream::NONE);
                self.pause(task, at_ns);
                self.keep(task, Beat::Take(letter.by.0, Stream::NONE));
                let beat = self.part(task).beats.len() - 1;
                let (by, post) = (letter.by, letter.place);
                let message = Message { by, post, to: task, beat, is_polled: false };
                self.message(stream, message);
            }
        }
        // The sender, which woke it, has not left the system call yet.
        if let Some(woken) = self.part(task).woken.take_if(|_| was_early && !is_told) {
            self.message(stream, woken);
        }
    }

    fn message(&mut self, stream: u32, message: Message) {
        self.messages.entry(stream).or_default().push(message);
    }

    /// Numbers the streams of each task that is the only one that reads them. All those of a task
    /// that polls are one, with the events and signals that it polls for: whatever comes first, it
    /// goes on.
    pub fn number_streams(&mut self) {
        let mut last: BTreeMap<TaskIndex, u32> = BTreeMap::new();
        let polled = std::mem::take(&mut self.polled);
        let polls: BTreeSet<TaskIndex> = polled.iter().map(|message| message.to).collect();
        polled.iter().for_each(|message| self.put_into(Stream(1), message));
        for messages in std::mem::take(&mut self.messages).into_values() {
            let to = messages[0].to;
            if messages.iter().any(|message| message.to != to) {
                continue;
            }
            let number = last.entry(to).or_default();
            *number = if polls.contains(&to) { 1 } else { *number + 1 };
            messages.iter().for_each(|message| self.put_into(Stream(*number), message));
        }
    }

    fn put_into(&mut self, stream: Stream, message: &Message) {
        let wait = &mut self.part(message.to).beats[message.beat];
        match wait {
            Beat::Receive(_, its) | Beat::Take(_, its) => *its = stream,
            Beat::Wait(_, its) if message.is_polled => *its = stream,
            // It slept for something else.
            _ => return,
        }
        if let Beat::Post(_, its) = &mut self.part(message.by).beats[message.post] {
            *its = stream;
        }
    }
}
