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
    use crate::event::What;
    use crate::tapes::tests::{events, recording, tapes, texts};
    use crate::tapes::write;

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
