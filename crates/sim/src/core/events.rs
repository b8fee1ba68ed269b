// SPDX-License-Identifier: GPL-2.0-only
//! The event queue: a 4-ary heap, ordered by time.
//!
//! The four children of a node fit into two cache lines, and the heap of a thousand CPUs has six
//! levels. Events cannot be removed; their handler checks on arrival whether they are still valid.

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A CPU's task has finished its current work. Index: CPU.
    Work,
    /// A scheduler tick. Index: CPU.
    Tick,
    /// An interrupt that makes a CPU reschedule. Index: CPU.
    Resched,
    /// Kicks and deferred work of a CPU (`irq_work`). Index: CPU.
    IrqWork,
    /// A sleeping task's timer expires. Index: task.
    Wake,
    /// A scheduler's timer. Index: timer.
    SchedulerTimer,
    /// The watchdog checks for starving tasks.
    Watchdog,
    /// A deadline task gets a new budget. Index: task.
    Replenish,
    /// A CPU's deadline server for sched_ext tasks starts. Index: CPU.
    Server,
    /// The workload's duration is over; generation 1: the time limit of a workload without
    /// duration.
    End,
}

const KINDS: [EventKind; 10] = [
    EventKind::Work,
    EventKind::Tick,
    EventKind::Resched,
    EventKind::IrqWork,
    EventKind::Wake,
    EventKind::SchedulerTimer,
    EventKind::Watchdog,
    EventKind::Replenish,
    EventKind::Server,
    EventKind::End,
];

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event, ns.
    pub time: u64,
    /// Index of the task, CPU or timer.
    pub index: u32,
    /// Counter of the task, CPU or timer when the event was made: the event is outdated if the
    /// counter has changed.
    pub generation: u32,
    /// What the event does.
    pub kind: EventKind,
}

/// An event in the heap. It is small because moving events takes much of the run time.
#[derive(Clone, Copy)]
struct Packed {
    time: u64,
    /// The order among events of the same time: the seed's part, then the order of making.
    order: u64,
    /// The index in the upper half, then the kind, then 28 bits of the generation.
    what: u64,
}

const GENERATION_BITS: u32 = 28;
/// Generations are compared in these bits only: nothing waits for 2^28 changes of one task.
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

impl Packed {
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }

    #[inline]
    fn event(&self) -> Event {
        Event {
            time: self.time,
            index: (self.what >> 32) as u32,
            generation: self.what as u32 & GENERATION_MASK,
            kind: KINDS[(self.what as u32 >> GENERATION_BITS) as usize % KINDS.len()],
        }
    }
}

/// Whether an event still belongs to its maker's present state.
#[inline]
pub fn holds(event: u32, maker: u32) -> bool {
    (event ^ maker) & GENERATION_MASK == 0
}

/// The events to come.
pub struct Events {
    heap: Vec<Packed>,
    made: u64,
    seed: u64,
}

const ARITY: usize = 4;
const MADE_BITS: u32 = 44;

impl Events {
    /// None yet. Seeds differ in the order of simultaneous events.
    pub fn new(seed: u64) -> Events {
        Events { heap: Vec::with_capacity(1024), made: 0, seed: seed | 1 }
    }

    /// Adds one.
    pub fn push(&mut self, time: u64, kind: EventKind, index: u32, generation: u32) {
        self.made += 1;
        // Multiplicative hashing by the seed: a different, repeatable order for each seed.
        let chance = self.made.wrapping_mul(self.seed) >> 13 & ((1 << (64 - MADE_BITS)) - 1);
        let order = chance << MADE_BITS | self.made;
        let generation = u64::from(generation & GENERATION_MASK);
        let what = u64::from(index) << 32 | (kind as u64) << GENERATION_BITS | generation;
        self.heap.push(Packed { time, order, what });
        self.up(self.heap.len() - 1);
    }

    /// Takes the earliest one.
    pub fn pop(&mut self) -> Option<Event> {
        let last = self.heap.pop()?;
        let Some(first) = self.heap.first_mut() else { return Some(last.event()) };
        let first = std::mem::replace(first, last);
        self.down();
        Some(first.event())
    }

    /// The earliest event, and its children in the heap, which include the second.
    #[inline]
    pub fn soonest(&self) -> impl Iterator<Item = Event> {
        self.heap.iter().take(1 + ARITY).map(Packed::event)
    }

    fn up(&mut self, mut at: usize) {
        let moving = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if moving.rank() >= self.heap[parent].rank() {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = moving;
    }

    fn down(&mut self) {
        let heap = &mut self.heap[..];
        let moving = heap[0];
        let rank = moving.rank();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= heap.len() {
                break;
            }
            let children = &heap[first..(first + ARITY).min(heap.len())];
            let (mut least, mut best) = (0, children[0].rank());
            for (place, child) in children.iter().enumerate().skip(1) {
                let rank = child.rank();
                (least, best) = if rank < best { (place, rank) } else { (least, best) };
            }
            if best >= rank {
                break;
            }
            heap[at] = heap[first + least];
            at = first + least;
        }
        heap[at] = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(seed: u64, times: &[u64]) -> Vec<(u64, u32)> {
        let mut events = Events::new(seed);
        for (index, &time) in times.iter().enumerate() {
            events.push(time, EventKind::Wake, index as u32, 0);
        }
        std::iter::from_fn(|| events.pop().map(|event| (event.time, event.index))).collect()
    }

    #[test]
    fn events_come_in_order_of_time() {
        let mut seed = model::Seed(5);
        let times: Vec<u64> = (0..5_000).map(|_| seed.below(1_000)).collect();
        let order = drain(1, &times);
        assert_eq!(order.len(), times.len());
        assert!(order.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn the_seed_decides_about_simultaneous_events() {
        let same = [7; 50];
        assert_eq!(drain(3, &same), drain(3, &same));
        assert_ne!(drain(3, &same), drain(0x9e37_79b9_7f4a_7c15, &same));
    }
}
