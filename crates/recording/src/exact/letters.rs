// SPDX-License-Identifier: GPL-2.0-only
//! What is in pipes and sockets, and which task has put it there.

use std::collections::VecDeque;

use model::Beat;

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

/// What is in a stream.
#[derive(Default)]
pub struct Letters {
    open: VecDeque<Letter>,
    /// Bytes that were taken before it was told that they had been sent: on another CPU the sender
    /// had not left the system call yet.
    owed: u64,
}

impl Letters {
    /// Takes bytes, and returns the letters that are begun by it.
    fn taken(&mut self, mut bytes: u64) -> Vec<Letter> {
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
        begun
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
        let begun = self.streams.entry(stream).or_default().taken(bytes);
        for letter in begun.into_iter().filter(|letter| letter.by != task) {
            // The one that ended its sleep is on both tapes already.
            if self.part(task).woken_by.take_if(|by| *by == letter.by).is_some() {
                continue;
            }
            if self.part(letter.by).keeps && self.part(task).keeps {
                self.part(letter.by).beats[letter.place] = Beat::Post(task.0);
                self.pause(task, at_ns);
                self.keep(task, Beat::Take(letter.by.0));
            }
        }
    }
}
