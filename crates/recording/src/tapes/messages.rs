// SPDX-License-Identifier: GPL-2.0-only
//! What is in pipes and sockets, and which task has put it there.
//!
//! If a stream has one reader, the replay hands it messages in the order in which they arrive. With
//! several readers, each waits for the sender that it had in the recording; otherwise one reader
//! could take what another one needs, and the replay would deadlock.
//!
//! A stream in which a sender has slept for room has a size: for each sender, the most that it had
//! there. In the replay it may have no more there under any scheduler. A pipe in which nobody has
//! slept has the size that the kernel says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::TapeOp;
use model::tape::{Reader, Stream};

use super::Writer;
use super::spins::polls;
use crate::event::{SleepsFor, TaskIndex};

/// Placeholder receiver; the post is dropped if nobody reads the message.
pub const NOBODY: TaskIndex = TaskIndex(u32::MAX);
/// An operation that is dropped.
pub const NOTHING: TapeOp = TapeOp::Post(NOBODY.0, Stream::NONE, Reader::Awake);

/// What was put into a stream at once.
#[derive(Clone, Copy)]
struct StreamMessage {
    by: TaskIndex,
    /// The place of the post on the sender's tape.
    post: usize,
    size: Size,
    bytes: u64,
    /// Whether something was taken.
    is_begun: bool,
}

#[derive(Clone, Copy, Default)]
pub struct Size {
    pub bytes: u64,
    /// The size together with the sender's earlier messages that nobody has begun to take.
    pub with_earlier: u64,
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
    /// What the reader slept for.
    pub reason: SleepsFor,
    /// Nothing if it was taken before it was reported, or is no message.
    pub size: Size,
}

#[derive(Default)]
pub struct Queue {
    open: VecDeque<StreamMessage>,
    /// Bytes that were taken before they were reported as sent: on another CPU the sender had not
    /// left the system call yet.
    owed: u64,
    /// How much each sender has there of which nothing was taken.
    unread: BTreeMap<TaskIndex, u64>,
    /// What it has room for; 0: nobody knows.
    room: u64,
    /// Sleeps of senders for room.
    full: Vec<Delivery>,
}

impl Queue {
    /// Takes bytes, and returns the messages that are begun by it, and whether there were too few.
    fn take(&mut self, mut bytes: u64) -> (Vec<StreamMessage>, bool) {
        let mut begun = Vec::new();
        while bytes > 0 {
            let Some(first) = self.open.front_mut() else {
                self.owed += bytes;
                break;
            };
            if !first.is_begun {
                begun.push(*first);
                *self.unread.entry(first.by).or_default() -= first.size.bytes;
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
    pub fn send(&mut self, by: TaskIndex, (stream, bytes, room): (u32, u64, u64), at_ns: u64) {
        let queue = self.queues.entry(stream).or_default();
        queue.room = room;
        let early = bytes.min(queue.owed);
        queue.owed -= early;
        if bytes > early {
            let post = self.post(by, NOBODY, at_ns);
            // One that was taken in part needs more room than there is, whatever the scheduler.
            let slept = self.task(by).woken.take_if(|woken| woken.is_for_room() && early == 0);
            let queue = self.queues.entry(stream).or_default();
            queue.full.extend(slept);
            let bytes = bytes - early;
            let unread = queue.unread.entry(by).or_default();
            *unread += bytes;
            let size = Size { bytes, with_earlier: *unread };
            queue.open.push_back(StreamMessage { by, post, size, bytes, is_begun: false });
        }
    }

    /// A task has taken bytes out of a stream, those that came first.
    pub fn take(&mut self, task: TaskIndex, (stream, bytes): (u32, u64), at_ns: u64) {
        let (mut begun, was_early) = self.queues.entry(stream).or_default().take(bytes);
        begun.retain(|message| message.by != task);
        let is_reported = !begun.is_empty();
        for StreamMessage { by, post, size, .. } in begun {
            // The one that ended its sleep is on both tapes already.
            let has_woken = |woken: &mut Delivery| woken.by == by && !woken.is_for_room();
            if let Some(woken) = self.task(task).woken.take_if(has_woken) {
                self.delivered(stream, Delivery { size, ..woken });
            } else if self.task(by).keeps && self.task(task).keeps {
                self.task(by).ops[post] = TapeOp::Post(task.0, Stream::NONE, Reader::Awake);
                self.pause(task, at_ns);
                self.keep(task, TapeOp::Receive(by.0, Stream::NONE, Reader::Awake));
                let wait = self.task(task).ops.len() - 1;
                let reason = SleepsFor::Pipe;
                self.delivered(stream, Delivery { by, post, to: task, wait, reason, size });
            }
        }
        // The sender, which woke it, has not left the system call yet.
        let is_early = was_early && !is_reported;
        if let Some(woken) = self.task(task).woken.take_if(|it| is_early && !it.is_for_room()) {
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
        let mut bounded = Vec::new();
        for (stream, deliveries) in std::mem::take(&mut self.deliveries) {
            let to = deliveries[0].to;
            if deliveries.iter().any(|delivery| delivery.to != to) {
                continue;
            }
            let number = last.entry(to).or_default();
            *number = if polls.contains(&to) { 1 } else { *number + 1 };
            deliveries.iter().for_each(|delivery| self.put_into(Stream(*number), delivery));
            let Some(Queue { full, room, .. }) = self.queues.remove(&stream) else { continue };
            let was_full = full.iter().any(|slept| slept.by == to);
            if was_full || room > 0 {
                self.forget_sleeps(to, &full);
                bounded.push((deliveries, if was_full { 0 } else { room }));
            }
        }
        for (deliveries, room) in bounded {
            let reader = deliveries[0].to;
            let mut by_sender: BTreeMap<TaskIndex, Vec<Delivery>> = BTreeMap::new();
            for delivery in deliveries {
                by_sender.entry(delivery.by).or_default().push(delivery);
            }
            for (by, sent) in by_sender {
                let number = last.entry(by).or_default();
                *number = (*number).max(u32::from(polls.contains(&by))) + 1;
                let stream = Stream(*number);
                let taken = TapeOp::Post(by.0, stream, Reader::Awake);
                let ops = (TapeOp::Room(reader.0, stream), taken);
                self.bound(&sent, room, ops);
            }
        }
    }

    /// The replay finds out by itself when a stream is full.
    fn forget_sleeps(&mut self, reader: TaskIndex, full: &[Delivery]) {
        for slept in full.iter().filter(|slept| slept.by == reader) {
            self.task(slept.to).ops[slept.wait] = NOTHING;
            self.task(reader).ops[slept.post] = NOTHING;
        }
    }

    /// A sender waits before each message that has no room but for an earlier one that was taken,
    /// and the reader says where it takes that one. `room` is what there is, if not only what the
    /// sender had there at most.
    fn bound(&mut self, sent: &[Delivery], room: u64, (waits, taken): (TapeOp, TapeOp)) {
        let there = sent.iter().map(|delivery| delivery.size.with_earlier);
        let most = there.max().unwrap_or(0).max(room);
        let (mut bytes, mut earlier) = (0, sent.iter());
        for delivery in sent {
            bytes += delivery.size.bytes;
            while bytes > most {
                let Some(first) = earlier.next() else { break };
                bytes -= first.size.bytes;
                self.task(delivery.by).inserted.push((delivery.post, waits));
                self.task(first.to).inserted.push((first.wait + 1, taken));
            }
        }
    }

    fn put_into(&mut self, stream: Stream, delivery: &Delivery) {
        match &mut self.task(delivery.to).ops[delivery.wait] {
            TapeOp::Receive(_, its, _) => *its = stream,
            TapeOp::Wait(_, its) if polls(delivery.reason) => *its = stream,
            // It slept for something else.
            _ => return,
        }
        if let TapeOp::Post(_, its, _) = &mut self.task(delivery.by).ops[delivery.post] {
            *its = stream;
        }
    }
}

impl Delivery {
    fn is_for_room(&self) -> bool {
        self.reason == SleepsFor::Room
    }
}

#[cfg(test)]
mod tests {
    use crate::event::What;
    use crate::tapes::tests::{events, first_tape, recording, tapes, texts};
    use crate::tapes::write;

    #[test]
    fn a_message_that_was_there_already_could_have_been_waited_for() {
        // The first one in two parts, the second one with the end of the first.
        let taken = "40 >1 on 1, 50 1 takes 60, 60 1 takes 140, 70 1:ended> on 1, 80 0:ended>";
        let events = format!("0 >0, 10 0 sends 100, 30 0 sends 100, 35 0 sends 100, {taken}");
        // Nobody takes the third one.
        assert_eq!(tapes(&events, 2), ["r10 d1.1 r20 d1.1 r50", "r10 t0.1 r10 t0.1 r10"]);
        assert_eq!(first_tape(&events, 2), "r80");
    }

    #[test]
    fn a_message_that_ended_a_sleep_is_on_the_tape_once() {
        let events = "0 >0, 10 1:pipe> on 1, 20 1 by 0, 21 0 sends 5, 25 0 sends 5, 30 >1 on 1, \
                      40 1 takes 5, 50 1 takes 5, 60 1:ended> on 1";
        assert_eq!(tapes(events, 2), ["r20 p1.1 r5 d1.1 r975", "r10 m0.1 r20 t0.1 r10"]);
    }

    #[test]
    fn what_was_taken_before_it_was_told_is_nobodys() {
        let events = "0 >0, 0 >1 on 1, 10 1 takes 8, 20 0 sends 8, 30 0 sends 8, 40 1 takes 8";
        assert_eq!(tapes(events, 2), ["r30 d1.1 r970", "r40 t0.1 r960"]);
    }

    #[test]
    fn the_waker_whose_message_is_not_told_yet_has_sent_it() {
        let events = "0 >0, 10 1:pipe> on 1, 20 1 by 0, 30 >1 on 1, 40 1 takes 5, 50 0 sends 5";
        assert_eq!(tapes(events, 2), ["r20 p1.1 r980", "r10 m0.1 r970"]);
    }

    #[test]
    fn of_a_stream_with_two_readers_each_waits_for_its_sender() {
        let events = "0 >0, 10 0 sends 5, 20 0 sends 5, 30 >1 on 1, 40 1 takes 5, 50 1:ended>2 on \
                      1, 60 2 takes 5";
        assert_eq!(tapes(events, 3), ["r10 d1 r10 d2 r980", "r10 t0 r10", "r10 t0 r940"]);
    }

    #[test]
    fn a_stream_that_was_full_has_a_size() {
        let found = |room: &str| {
            let events = format!(
                "0 >0, 10 0 sends 5, 20 0 sends 5, 30 0:{room}>1, 40 0 by 1, 41 1 takes 5, \
                 50 1 takes 5, 60 1:pipe>0, 70 1 by 0, 71 0 sends 5, 80 0 sends 5, 90 0:ended>1, \
                 100 1 takes 5, 110 1 takes 5, 120 1:ended>"
            );
            tapes(&events, 2)
        };
        let writer = "r10 d1.1 r10 d1.1 r20 b1.1 p1.1 r10 b1.1 d1.1 r10";
        let reader = "r11 t0.1 d0.1 r9 t0.1 d0.1 r10 m0.1 r20 t0.1 r10";
        assert_eq!(found("room"), [writer, reader]);
        // Asleep for something else, it waits only there.
        assert_eq!(found("futex")[0], "r10 d1.1 r10 d1.1 r10 w1 r10 p1.1 r10 d1.1 r10");
    }

    #[test]
    fn a_pipe_that_was_never_full_has_the_size_that_is_told() {
        let mut events = events(
            "0 >0, 0 >1 on 1, 10 0 sends 4, 20 1 takes 4, 30 0 sends 4, 40 1 takes 4, 50 0 sends \
             4, 60 1 takes 4",
        );
        for event in &mut events {
            if let What::Send { room, .. } = &mut event.what {
                *room = 8;
            }
        }
        let found = texts(write(&recording(events, 2), |_| true));
        assert_eq!(found[0], "r10 d1.1 r20 d1.1 r20 b1.1 d1.1 r950");
        assert_eq!(found[1], "r20 t0.1 d0.1 r20 t0.1 r20 t0.1 r940");
    }

    #[test]
    fn each_sender_has_its_share_of_a_full_stream() {
        let found = tapes(
            "0 >0, 10 0 sends 5, 20 0 sends 3, 30 0:room>2, 40 2 sends 1, 50 2>1, 60 0 by 1, \
             70 1 takes 9, 80 1:futex>0, 90 0 sends 8, 100 0:futex>2, 105 1 by 2, 110 2:ended>1, \
             120 1 takes 8",
            3,
        );
        assert_eq!(found[0], "r10 d1.1 r10 d1.1 r20 b1.1 b1.1 d1.1 r10");
        assert_eq!(found[2], "r10 d1.1 r15 p1 r5");
        assert_eq!(found[1], "r20 t0.1 d0.1 t0.1 d0.1 t2.1 r10 w2 r10 t0.1 r880");
    }
}
