// SPDX-License-Identifier: GPL-2.0-only
//! What is in pipes and sockets, and which task has put it there.
//!
//! If a stream has one reader, the replay hands it messages in the order in which they arrive. With
//! several readers, each waits for the sender that it had in the recording; otherwise one reader
//! could take what another one needs, and the replay would deadlock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::TapeOp;
use model::tape::Stream;

use super::Writer;
use crate::event::TaskIndex;

/// Placeholder receiver; the post is dropped if nobody reads the message.
const NOBODY: TaskIndex = TaskIndex(u32::MAX);

/// What was put into a stream at once.
#[derive(Clone, Copy)]
struct Message {
    by: TaskIndex,
    /// The place of the post on the sender's tape.
    post: usize,
    /// What is left of it.
    bytes: u64,
    /// Whether something was taken.
    is_begun: bool,
}

/// A message or wake-up that has arrived, by its places on two tapes.
#[derive(Clone, Copy)]
pub struct Delivery {
    pub by: TaskIndex,
    /// The place of the post on the sender's tape.
    pub post: usize,
    pub to: TaskIndex,
    /// The place of the wait on the reader's tape.
    pub wait: usize,
    /// Whether anything could have ended the wait.
    pub is_polled: bool,
}

/// What is in a stream.
#[derive(Default)]
pub struct Queue {
    open: VecDeque<Message>,
    /// Bytes that were taken before they were reported as sent: on another CPU the sender had not
    /// left the system call yet.
    owed: u64,
}

impl Queue {
    /// Takes bytes, and returns the messages that are begun by it, and whether there were too few.
    fn take(&mut self, mut bytes: u64) -> (Vec<Message>, bool) {
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
            let taken = first.bytes.min(bytes);
            first.bytes -= taken;
            bytes -= taken;
            if first.bytes == 0 {
                self.open.pop_front();
            }
        }
        (begun, bytes > 0)
    }
}

impl Writer {
    /// A task has put bytes into a stream. A later event says who takes them.
    pub fn send(&mut self, by: TaskIndex, (stream, bytes): (u32, u64), at_ns: u64) {
        let queue = self.queues.entry(stream).or_default();
        let early = bytes.min(queue.owed);
        queue.owed -= early;
        if bytes > early {
            let post = self.post(by, NOBODY, at_ns);
            let message = Message { by, post, bytes: bytes - early, is_begun: false };
            self.queues.entry(stream).or_default().open.push_back(message);
        }
    }

    /// A task has taken bytes out of a stream, those that came first.
    pub fn take(&mut self, task: TaskIndex, (stream, bytes): (u32, u64), at_ns: u64) {
        let (mut begun, was_early) = self.queues.entry(stream).or_default().take(bytes);
        begun.retain(|message| message.by != task);
        let is_reported = !begun.is_empty();
        for Message { by, post, .. } in begun {
            // The one that ended its sleep is on both tapes already.
            if let Some(woken) = self.task(task).woken.take_if(|woken| woken.by == by) {
                self.delivered(stream, woken);
            } else if self.task(by).keeps && self.task(task).keeps {
                self.task(by).ops[post] = TapeOp::Post(task.0, Stream::NONE);
                self.pause(task, at_ns);
                self.keep(task, TapeOp::Receive(by.0, Stream::NONE));
                let wait = self.task(task).ops.len() - 1;
                let delivery = Delivery { by, post, to: task, wait, is_polled: false };
                self.delivered(stream, delivery);
            }
        }
        // The sender, which woke it, has not left the system call yet.
        if let Some(woken) = self.task(task).woken.take_if(|_| was_early && !is_reported) {
            self.delivered(stream, woken);
        }
    }

    fn delivered(&mut self, stream: u32, delivery: Delivery) {
        self.deliveries.entry(stream).or_default().push(delivery);
    }

    /// Numbers the streams of each task that is the only one that reads them. All those of a task
    /// that polls are one, with the events and signals that it polls for: whatever comes first, it
    /// goes on.
    pub fn number_streams(&mut self) {
        let mut last: BTreeMap<TaskIndex, u32> = BTreeMap::new();
        let polled = std::mem::take(&mut self.polled);
        let polls: BTreeSet<TaskIndex> = polled.iter().map(|delivery| delivery.to).collect();
        polled.iter().for_each(|delivery| self.put_into(Stream(1), delivery));
        for deliveries in std::mem::take(&mut self.deliveries).into_values() {
            let to = deliveries[0].to;
            if deliveries.iter().any(|delivery| delivery.to != to) {
                continue;
            }
            let number = last.entry(to).or_default();
            *number = if polls.contains(&to) { 1 } else { *number + 1 };
            deliveries.iter().for_each(|delivery| self.put_into(Stream(*number), delivery));
        }
    }

    fn put_into(&mut self, stream: Stream, delivery: &Delivery) {
        match &mut self.task(delivery.to).ops[delivery.wait] {
            TapeOp::Receive(_, its) => *its = stream,
            TapeOp::Wait(_, its) if delivery.is_polled => *its = stream,
            // It slept for something else.
            _ => return,
        }
        if let TapeOp::Post(_, its) = &mut self.task(delivery.by).ops[delivery.post] {
            *its = stream;
        }
    }
}
