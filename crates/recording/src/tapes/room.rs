// SPDX-License-Identifier: GPL-2.0-only
//! Streams that have room for so much.
//!
//! A stream in which a sender has slept for room has a size: for each sender, the most that it had
//! there. In the replay it may have no more there under any scheduler. A pipe in which nobody has
//! slept has the size that the kernel says.

use std::collections::BTreeMap;

use model::TapeOp;

use super::Writer;
use super::messages::{Delivery, NOTHING};
use crate::event::TaskIndex;

impl Writer {
    /// The replay finds out by itself when a stream is full.
    pub fn forget_sleeps(&mut self, reader: TaskIndex, full: &[Delivery]) {
        for slept in full.iter().filter(|slept| slept.by == reader) {
            self.task(slept.to).ops[slept.wait] = NOTHING;
            self.task(reader).ops[slept.post] = NOTHING;
        }
    }

    /// A sender waits before each message that has no room but for an earlier one that was taken,
    /// and the reader says where it takes that one. `room` is what there is, if not only what the
    /// sender had there at most.
    pub fn bound(&mut self, sent: &[Delivery], room: u64, (waits, taken): (TapeOp, TapeOp)) {
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
}

/// The messages of each sender, in order.
pub fn by_sender(deliveries: Vec<Delivery>) -> BTreeMap<TaskIndex, Vec<Delivery>> {
    let mut senders: BTreeMap<TaskIndex, Vec<Delivery>> = BTreeMap::new();
    for delivery in deliveries {
        senders.entry(delivery.by).or_default().push(delivery);
    }
    senders
}

#[cfg(test)]
mod tests {
    use crate::event::{Event, Leaves, SleepsFor, Waker, What};
    use crate::tapes::messages::tests::{sent, taken};
    use crate::tapes::tests::{switch, t, tapes, wake};

    #[test]
    fn a_stream_that_was_full_has_a_size() {
        let events = |room| {
            vec![
                switch(0, 0, None, Some(0)),
                sent(10, 0, 5),
                sent(20, 0, 5),
                switch(30, 0, Some((0, Leaves::Sleeps(room))), Some(1)),
                wake(40, 0, Waker::Task(t(1))),
                taken(41, 1, 5),
                taken(50, 1, 5),
                switch(60, 0, Some((1, Leaves::Sleeps(SleepsFor::Pipe))), Some(0)),
                wake(70, 1, Waker::Task(t(0))),
                sent(71, 0, 5),
                sent(80, 0, 5),
                switch(90, 0, Some((0, Leaves::Ended)), Some(1)),
                taken(100, 1, 5),
                taken(110, 1, 5),
                switch(120, 0, Some((1, Leaves::Ended)), None),
            ]
        };
        let found = tapes(events(SleepsFor::Room), &[true, true]);
        let writer = "r10 d1.1 r10 d1.1 r20 b1.1 p1.1 r10 b1.1 d1.1 r10";
        let reader = "r11 t0.1 d0.1 r9 t0.1 d0.1 r10 m0.1 r20 t0.1 r10";
        assert_eq!(found, [writer, reader]);
        // Asleep for something else, it waits only there.
        let found = tapes(events(SleepsFor::Futex), &[true, true]);
        assert_eq!(found[0], "r10 d1.1 r10 d1.1 r10 w1 r10 p1.1 r10 d1.1 r10");
    }

    #[test]
    fn a_pipe_that_was_never_full_has_the_size_that_is_told() {
        let sent = |at_ns| {
            let what = What::Send { task: t(0), stream: 7, bytes: 4, room: 8 };
            Event { at_ns, cpu: 0, what }
        };
        let events = vec![
            switch(0, 0, None, Some(0)),
            switch(0, 1, None, Some(1)),
            sent(10),
            taken(20, 1, 4),
            sent(30),
            taken(40, 1, 4),
            sent(50),
            taken(60, 1, 4),
        ];
        let found = tapes(events, &[true; 2]);
        assert_eq!(found[0], "r10 d1.1 r20 d1.1 r20 b1.1 d1.1 r950");
        assert_eq!(found[1], "r20 t0.1 d0.1 r20 t0.1 r20 t0.1 r940");
    }

    #[test]
    fn each_sender_has_its_share_of_a_full_stream() {
        let events = vec![
            switch(0, 0, None, Some(0)),
            sent(10, 0, 5),
            sent(20, 0, 3),
            switch(30, 0, Some((0, Leaves::Sleeps(SleepsFor::Room))), Some(2)),
            sent(40, 2, 1),
            switch(50, 0, Some((2, Leaves::Runnable)), Some(1)),
            wake(60, 0, Waker::Task(t(1))),
            taken(70, 1, 9),
            switch(80, 0, Some((1, Leaves::Sleeps(SleepsFor::Futex))), Some(0)),
            sent(90, 0, 8),
            switch(100, 0, Some((0, Leaves::Sleeps(SleepsFor::Futex))), Some(2)),
            wake(105, 1, Waker::Task(t(2))),
            switch(110, 0, Some((2, Leaves::Ended)), Some(1)),
            taken(120, 1, 8),
        ];
        let found = tapes(events, &[true; 3]);
        assert_eq!(found[0], "r10 d1.1 r10 d1.1 r20 b1.1 b1.1 d1.1 r10");
        assert_eq!(found[2], "r10 d1.1 r15 p1 r5");
        assert_eq!(found[1], "r20 t0.1 d0.1 t0.1 d0.1 t2.1 r10 w2 r10 t0.1 r880");
    }
}
