// SPDX-License-Identifier: GPL-2.0-only
//! What happens next: a 4-ary heap of moments.
//!
//! Four children per node fit two cache lines, and the heap of a thousand CPUs is six levels deep.
//! Events cannot be taken back; the one who made them checks on arrival whether they still hold.

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A CPU's task has done its current piece of work. Index: CPU.
    Work,
    /// A scheduler tick. Index: CPU.
    Tick,
    /// An interrupt that asks a CPU to schedule. Index: CPU.
    Resched,
    /// Kicks and deferred work of a CPU (`irq_work`). Index: CPU.
    IrqWork,
    /// A sleeping task's time is over. Index: task.
    Wake,
    /// A scheduler's timer. Index: timer.
    SchedulerTimer,
    /// The watchdog looks round.
    Watchdog,
    /// A deadline task gets a new budget. Index: task.
    Replenish,
    /// A CPU's reservation for sched_ext tasks begins. Index: CPU.
    Server,
    /// The workload's duration is over.
    End,
}

/// One event on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, ns.
    pub time: u64,
    /// The order among events of the same time: the seed's part, then the order of making.
    order: u64,
    /// Whose.
    pub index: u32,
    /// The maker's counter, by which it recognises events that no longer hold.
    pub generation: u32,
    /// What.
    pub kind: Kind,
}

/// The events to come.
pub struct Events {
    heap: Vec<Event>,
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
    pub fn push(&mut self, time: u64, kind: Kind, index: u32, generation: u32) {
        self.made += 1;
        // Multiplicative hashing by the seed: a different, repeatable order for each seed.
        let chance = self.made.wrapping_mul(self.seed) >> 13 & ((1 << (64 - MADE_BITS)) - 1);
        let order = chance << MADE_BITS | self.made;
        self.heap.push(Event { time, order, index, generation, kind });
        self.up(self.heap.len() - 1);
    }

    /// Takes the earliest one.
    pub fn pop(&mut self) -> Option<Event> {
        let last = self.heap.pop()?;
        let Some(first) = self.heap.first_mut() else { return Some(last) };
        let first = std::mem::replace(first, last);
        self.down();
        Some(first)
    }

    /// How many have been made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    fn up(&mut self, mut at: usize) {
        let moving = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !before(&moving, &self.heap[parent]) {
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
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= heap.len() {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + ARITY).min(heap.len()) {
                if before(&heap[child], &heap[least]) {
                    least = child;
                }
            }
            if !before(&heap[least], &moving) {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = moving;
    }
}

fn before(a: &Event, b: &Event) -> bool {
    (a.time, a.order) < (b.time, b.order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(seed: u64, times: &[u64]) -> Vec<(u64, u32)> {
        let mut events = Events::new(seed);
        for (index, &time) in times.iter().enumerate() {
            events.push(time, Kind::Wake, index as u32, 0);
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
