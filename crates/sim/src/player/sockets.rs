// SPDX-License-Identifier: GPL-2.0-only
//! Messages through stream sockets of the Unix domain, as `unix_stream_sendmsg` and
//! `unix_stream_read_generic` move them. What one call writes is a buffer of its own, which counts
//! with the memory that it takes. Who finds more of them than the limit sleeps until three quarters
//! have been read; then all that sleep there are woken, the last one first.
//!
//! DIVERGES: tasks that read one socket do not wait for its mutex (`iolock`).

use std::collections::VecDeque;

use model::play::CALL_BYTES;

use super::objects::Waiters;
use super::pipes::CALL;
use super::workload_state::Flow;
use crate::core::task::State;
use crate::core::{Core, TaskId};
use crate::flags::WAKE_SYNC;

/// How far a task is with a message after [`CALL`]. It has spent the time of the way in.
const IN_CALL: u8 = 2;
/// It has memory for its message, and has spent the time of copying.
const COPIED: u8 = 3;

/// One direction of a pair of sockets.
#[derive(Default)]
pub struct Socket {
    buffers: VecDeque<Buffer>,
    /// The memory of all of them, and of those that are being copied into (`sk_wmem_alloc`).
    memory: u64,
    /// The tasks that wait for bytes, the first to be woken first.
    readers: Waiters,
    /// The tasks that wait for memory, likewise.
    writers: Waiters,
}

/// A socket buffer: the bytes that are still to be read, and the memory that it takes.
struct Buffer {
    left: u64,
    memory: u64,
}

impl Socket {
    /// The memory that a socket's unread messages may take (`net.core.wmem_default`): 256 times a
    /// buffer of 256 bytes.
    const LIMIT: u64 = 256 * (256 + Socket::DESCRIPTION + Socket::TRAILER);
    /// `struct sk_buff`, rounded up to whole cache lines.
    const DESCRIPTION: u64 = 256;
    /// `struct skb_shared_info`, which follows the data.
    const TRAILER: u64 = 320;
    /// The data that fit into a page with it (`SKB_MAX_HEAD`).
    const HEAD: u64 = Socket::PAGE - Socket::TRAILER;
    const PAGE: u64 = 4096;

    /// The memory of a buffer of this size (`truesize`): the data and the trailer are one piece of
    /// the allocator, whose sizes are powers of two; what does not fit into it is in whole pages.
    fn memory_of(bytes: u64) -> u64 {
        let in_pages = bytes.saturating_sub(Socket::HEAD).next_multiple_of(Socket::PAGE);
        let head = bytes.saturating_sub(in_pages).next_multiple_of(64) + Socket::TRAILER;
        Socket::DESCRIPTION + head.next_power_of_two() + in_pages
    }

    fn has_room(&self) -> bool {
        self.memory < Socket::LIMIT
    }

    /// Whether so much has been read that writers are woken (`unix_writable`).
    fn is_writable(&self) -> bool {
        4 * self.memory <= Socket::LIMIT
    }

    /// The number of bytes that a read of `bytes` returns now, and of buffers that it frees.
    fn holds(&self, bytes: u64) -> (u64, u64) {
        // What is asked for ends in one of the first buffers, however long the queue is.
        let (mut missing, mut free) = (bytes, 0);
        for buffer in &self.buffers {
            if missing == 0 {
                break;
            }
            free += u64::from(buffer.left <= missing);
            missing = missing.saturating_sub(buffer.left);
        }
        (bytes - missing, free)
    }

    /// Removes up to `bytes` bytes. Returns the number of bytes removed and of buffers freed.
    fn read(&mut self, bytes: u64) -> (u64, u64) {
        let (mut missing, mut free) = (bytes, 0);
        while missing > 0
            && let Some(first) = self.buffers.front_mut()
        {
            let moved = first.left.min(missing);
            first.left -= moved;
            missing -= moved;
            if first.left == 0 {
                self.memory -= first.memory;
                self.buffers.pop_front();
                free += 1;
            }
        }
        (bytes - missing, free)
    }
}

impl Core {
    /// One message to each of `fan` members, one socket after the other.
    pub(super) fn send_by_socket(
        &mut self,
        cpu: u32,
        task: TaskId,
        channel: usize,
        bytes: u64,
        fan: u32,
    ) -> Flow {
        let number = self.written_member(task, channel, bytes, fan);
        let play = &mut self.workload.progress[task.0 as usize];
        let piece = play.left.min(CALL_BYTES);
        if play.phase == CALL {
            play.phase = IN_CALL;
            if let Err(flow) = self.spend(cpu, self.machine.costs.syscall_ns) {
                return flow;
            }
        }
        if *self.phase(task) == IN_CALL {
            let socket = &mut self.workload.objects.sockets[number];
            if !socket.has_room() {
                socket.writers.push_front(task);
                return Flow::Sleep(State::Sleeping);
            }
            socket.memory += Socket::memory_of(piece);
            let at_hand = &mut self.workload.objects.buffers_at_hand;
            *at_hand = at_hand.saturating_sub(1);
            *self.phase(task) = COPIED;
            let ns = self.machine.costs.socket_write_ns + self.copy_ns(piece);
            if let Err(flow) = self.spend(cpu, ns) {
                return flow;
            }
        }
        let socket = &mut self.workload.objects.sockets[number];
        socket.buffers.push_back(Buffer { left: piece, memory: Socket::memory_of(piece) });
        let play = &mut self.workload.progress[task.0 as usize];
        (play.phase, play.left) = (CALL, play.left - piece);
        if play.left == 0 {
            (play.phase, play.member, play.left) = (CALL, play.member + 1, bytes);
        }
        let is_done = play.member >= fan;
        self.wake_all(number, |socket| &mut socket.readers);
        if is_done { Flow::Next } else { Flow::Again }
    }

    /// Reads until the message is whole. The kernel gives what there is, and a call sleeps only
    /// while there is nothing.
    pub(super) fn receive_by_socket(
        &mut self,
        cpu: u32,
        task: TaskId,
        channel: usize,
        bytes: u64,
    ) -> Flow {
        let number = self.read_member(task, channel, bytes);
        let play = &mut self.workload.progress[task.0 as usize];
        if play.phase != COPIED {
            let costs = &self.machine.costs;
            // A reader that has slept repeats the whole read, except for entering the system call.
            let enter_ns = if play.phase == CALL { costs.syscall_ns } else { 0 };
            let way_in_ns = enter_ns + costs.socket_read_ns;
            play.phase = COPIED;
            let asked = play.left.min(CALL_BYTES);
            let (there, free) = self.workload.objects.sockets[number].holds(asked);
            let too_many = free.saturating_sub(self.room_for_buffers());
            let free_ns = self.machine.costs.buffer_free_ns * too_many;
            if let Err(flow) = self.spend(cpu, way_in_ns + free_ns + self.copy_ns(there)) {
                return flow;
            }
        }
        let play = &mut self.workload.progress[task.0 as usize];
        let socket = &mut self.workload.objects.sockets[number];
        if socket.buffers.is_empty() {
            play.phase = IN_CALL;
            socket.readers.push_front(task);
            return Flow::Sleep(State::Sleeping);
        }
        let (moved, free) = socket.read(play.left.min(CALL_BYTES));
        (play.phase, play.left) = (CALL, play.left - moved);
        let (is_whole, is_writable) = (play.left == 0, socket.is_writable());
        self.workload.objects.buffers_at_hand += free.min(self.room_for_buffers());
        if is_writable {
            self.wake_all(number, |socket| &mut socket.writers);
        }
        if is_whole { Flow::Next } else { Flow::Again }
    }

    /// How many more free buffers the allocator keeps at hand: two sheaves of each CPU and ten of
    /// their barn (`MAX_FULL_SHEAVES`). Returning others to their slabs is more expensive.
    fn room_for_buffers(&self) -> u64 {
        const SHEAF: u64 = 28;
        let sheaves = 10 + 2 * u64::from(self.nr_cpu_ids());
        (sheaves * SHEAF).saturating_sub(self.workload.objects.buffers_at_hand)
    }

    /// Spends the time. The error: what happens before it is over has its turn first.
    fn spend(&mut self, cpu: u32, ns: u64) -> Result<(), Flow> {
        self.machine.charge(cpu, ns);
        let clock = self.machine.clock(cpu);
        let is_next = self.machine.events.first().is_none_or(|event| event.time >= clock);
        if is_next { Ok(()) } else { Err(Flow::Again) }
    }

    fn wake_all(&mut self, number: usize, queue: impl Fn(&mut Socket) -> &mut Waiters) {
        while let Some(waiter) = queue(&mut self.workload.objects.sockets[number]).pop_front() {
            self.wake(waiter, WAKE_SYNC);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Linux 6.18 takes before a write would sleep.
    #[test]
    fn it_takes_as_many_messages_as_the_kernel() {
        for (bytes, messages) in [(10, 278), (100, 278), (300, 167), (1_000, 93), (3_000, 49)] {
            assert_eq!(taken(bytes), messages, "{bytes}");
        }
        for (bytes, messages) in [(4_000, 44), (5_000, 34), (20_000, 11)] {
            assert_eq!(taken(bytes), messages, "{bytes}");
        }
    }

    fn taken(bytes: u64) -> u64 {
        let mut socket = Socket::default();
        let mut messages = 0;
        while socket.has_room() {
            socket.memory += Socket::memory_of(bytes);
            messages += 1;
        }
        messages
    }

    #[test]
    fn a_buffer_is_free_when_all_of_it_was_read() {
        let mut socket = Socket { memory: 2 * 768, ..Socket::default() };
        socket.buffers.extend([100, 100].map(|left| Buffer { left, memory: 768 }));
        assert_eq!((socket.holds(150), socket.read(60), socket.memory), ((150, 1), (60, 0), 1_536));
        assert_eq!((socket.read(60), socket.memory, socket.holds(500)), ((60, 1), 768, (80, 1)));
    }
}
