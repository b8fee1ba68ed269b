// SPDX-License-Identifier: GPL-2.0-only
//! The event queue, ordered by time: a wheel for near events, and a heap for all that it does not
//! take.
//!
//! Events cannot be removed; their handler checks on arrival whether they are still valid.
//!
//! The wheel has the events of the next two milliseconds in short slots, each an ordered list. Most
//! events are near and spread over the slots, so that adding one and taking the earliest are a few
//! instructions, however many there are. It may refuse an event that is too far away, or that would
//! make a slot's list slow.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::memory::reserve_room;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A CPU's task has finished its current work. Index: CPU.
    Work,
    /// A scheduler tick. Index: CPU.
    Tick,
    /// An interrupt that makes a CPU reschedule. Index: CPU.
    Resched,
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
    /// An interrupt of the workload. Index: its source.
    Interrupt,
    /// A control group that was removed is not used any more. Index: group.
    Offline,
    /// The workload's duration is over; generation 1: the time limit of a workload without
    /// duration.
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub time: u64,
    /// The order among events of the same time: the seed's part, then the order of making.
    pub(super) order: u64,
    /// Index of the task, CPU or timer.
    pub index: u32,
    /// Counter of the task, CPU or timer when the event was made: the event is outdated if the
    /// counter has changed.
    pub generation: u32,
    /// The event after it in its slot of the wheel.
    pub(super) next: u32,
    pub kind: EventKind,
}

impl Event {
    /// Its place among all events: no two have the same.
    #[inline]
    pub(super) fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

/// The earliest event is the greatest, because [`BinaryHeap`] gives that first.
impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Event) -> Ordering {
        other.rank().cmp(&self.rank())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Event {}

pub struct Events {
    near: Wheel,
    far: BinaryHeap<Event>,
    made: u64,
    seed: u64,
}

const MADE_BITS: u32 = 44;

impl Events {
    /// None yet. Seeds differ in the order of simultaneous events.
    pub fn new(seed: u64) -> Events {
        Events { near: Wheel::new(), far: BinaryHeap::new(), made: 0, seed: seed | 1 }
    }

    pub fn reserve(&mut self, more: usize) {
        self.near.reserve(more);
    }

    pub fn push(&mut self, time: u64, kind: EventKind, index: u32, generation: u32) {
        self.made += 1;
        // Multiplicative hashing by the seed: a different, repeatable order for each seed.
        let chance = self.made.wrapping_mul(self.seed) >> 13 & ((1 << (64 - MADE_BITS)) - 1);
        let order = chance << MADE_BITS | self.made;
        let event = Event { time, order, index, generation, next: 0, kind };
        if !self.near.insert(event) {
            self.far.push(event);
        }
    }

    /// Adds one that comes after all others of the same time. It is a single one: the wheel is for
    /// those that are many.
    pub fn push_last(&mut self, time: u64, kind: EventKind, index: u32, generation: u32) {
        self.far.push(Event { time, order: u64::MAX, index, generation, next: 0, kind });
    }

    /// Takes the earliest one.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let event = if self.is_far_first() { self.far.pop()? } else { self.near.pop()? };
        self.near.advance(event.time);
        Some(event)
    }

    #[inline]
    fn is_far_first(&self) -> bool {
        let is_before = |far: &Event| self.near.first().is_none_or(|near| far.rank() < near.rank());
        self.far.peek().is_some_and(|far| self.near.may_follow(far.time) && is_before(far))
    }

    #[inline]
    pub fn first(&self) -> Option<&Event> {
        if self.is_far_first() { self.far.peek() } else { self.near.first() }
    }

    /// An event that comes soon after the earliest, usually the next.
    #[inline]
    pub fn soon(&self) -> Option<&Event> {
        self.near.second()
    }
}

/// 512 ns.
const SLOT_BITS: u32 = 9;
const SLOTS: usize = 4096;
const WORD: usize = 64;
/// The events of a slot that a new one may come after. Without a limit, a thousand timers for the
/// same instant would be a list of a thousand.
const LONGEST: u32 = 16;
const NONE: u32 = u32::MAX;
/// The slot of an event that never comes.
const NEVER: u64 = u64::MAX;

/// Slots are numbered from time zero; a slot's place in the wheel is its number modulo [`SLOTS`].
pub struct Wheel {
    /// Each place's first event, an index into `events`.
    heads: Box<[u32; SLOTS]>,
    filled: [u64; SLOTS / WORD],
    /// The words of `filled` that are not zero.
    words: u64,
    events: Vec<Event>,
    free: u32,
    /// The earliest slot that an event may have.
    begin: u64,
    /// The earliest slot that has one.
    first: u64,
    /// The next slot that has one.
    second: u64,
}

impl Wheel {
    /// Without events, at time zero.
    pub fn new() -> Wheel {
        Wheel {
            heads: Box::new([NONE; SLOTS]),
            filled: [0; SLOTS / WORD],
            words: 0,
            events: Vec::with_capacity(64),
            free: NONE,
            begin: 0,
            first: NEVER,
            second: NEVER,
        }
    }

    /// Makes room for this many more events.
    pub fn reserve(&mut self, more: usize) {
        reserve_room(&mut self.events, more);
    }

    /// Adds an event; false if the wheel does not take it.
    #[inline]
    pub fn insert(&mut self, event: Event) -> bool {
        let slot = event.time >> SLOT_BITS;
        if slot.wrapping_sub(self.begin) >= SLOTS as u64 {
            return false;
        }
        let place = slot as usize % SLOTS;
        let Some((before, after)) = self.neighbours(place, &event) else { return false };
        let new = self.store(Event { next: after, ..event });
        match before {
            NONE => self.heads[place] = new,
            _ => self.events[before as usize].next = new,
        }
        self.filled[place / WORD] |= 1 << (place % WORD);
        self.words |= 1 << (place / WORD);
        if slot < self.first {
            self.second = std::mem::replace(&mut self.first, slot);
        } else if slot > self.first {
            self.second = self.second.min(slot);
        }
        true
    }

    /// The events of a place between which a new one belongs.
    #[inline]
    fn neighbours(&self, place: usize, event: &Event) -> Option<(u32, u32)> {
        let (mut before, mut after) = (NONE, self.heads[place]);
        for _ in 0..LONGEST {
            match self.events.get(after as usize) {
                Some(here) if here.rank() < event.rank() => (before, after) = (after, here.next),
                _ => return Some((before, after)),
            }
        }
        None
    }

    #[inline]
    fn store(&mut self, event: Event) -> u32 {
        let number = self.free;
        match self.events.get_mut(number as usize) {
            Some(place) => {
                self.free = place.next;
                *place = event;
                number
            }
            None => {
                self.events.push(event);
                self.events.len() as u32 - 1
            }
        }
    }

    /// Whether an event of this time may be earlier than all of the wheel.
    #[inline]
    pub fn may_follow(&self, time: u64) -> bool {
        time >> SLOT_BITS <= self.first
    }

    #[inline]
    pub fn first(&self) -> Option<&Event> {
        self.head(self.first)
    }

    /// The event after the earliest one.
    #[inline]
    pub fn second(&self) -> Option<&Event> {
        let same_slot = self.events.get(self.first()?.next as usize);
        same_slot.or_else(|| self.head(self.second))
    }

    /// Without any event all places are empty, also that of [`NEVER`].
    #[inline]
    fn head(&self, slot: u64) -> Option<&Event> {
        self.events.get(self.heads[slot as usize % SLOTS] as usize)
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let place = self.first as usize % SLOTS;
        let number = self.heads[place];
        let here = self.events.get_mut(number as usize)?;
        let event = *here;
        here.next = std::mem::replace(&mut self.free, number);
        self.heads[place] = event.next;
        if event.next == NONE {
            self.filled[place / WORD] &= !(1 << (place % WORD));
            if self.filled[place / WORD] == 0 {
                self.words &= !(1 << (place / WORD));
            }
            self.first = self.second;
            self.second = self.filled_after(self.first);
        }
        Some(event)
    }

    /// No event before this time is left or will be added.
    #[inline]
    pub fn advance(&mut self, time: u64) {
        self.begin = self.begin.max(time >> SLOT_BITS);
    }

    /// The first slot after this one that has events; [`NEVER`] if no other has.
    #[inline]
    fn filled_after(&self, slot: u64) -> u64 {
        let place = slot.wrapping_add(1) as usize % SLOTS;
        let in_word = self.filled[place / WORD] & u64::MAX << (place % WORD);
        let found = if in_word != 0 {
            place / WORD * WORD + in_word.trailing_zeros() as usize
        } else if self.words != 0 {
            // The wheel goes on behind its end: its lowest word comes after its highest.
            let above = self.words & u64::MAX << (place / WORD) << 1;
            let words = if above != 0 { above } else { self.words };
            let word = words.trailing_zeros() as usize % (SLOTS / WORD);
            word * WORD + self.filled[word].trailing_zeros() as usize
        } else {
            return NEVER;
        };
        match found.wrapping_sub(place) % SLOTS + 1 {
            SLOTS => NEVER,
            distance => slot.wrapping_add(distance as u64),
        }
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
    fn near_and_far_events_are_one_queue() {
        let mut seed = model::Seed(7);
        let (mut events, mut now, mut left) = (Events::new(3), 0, 20_000);
        (0..300).for_each(|index| events.push(index % 3 * 1_000_000, EventKind::Work, 0, 0));
        let mut waiting: Vec<u64> = (0..300).map(|index| index % 3 * 1_000_000).collect();
        while let Some(event) = events.pop() {
            let earliest = waiting.iter().enumerate().min_by_key(|(_, time)| **time);
            let (at, &time) = earliest.expect("as many as there are events");
            assert!(event.time == time && (now <= time || event.index == 1));
            (now, left) = (time, left - 1);
            waiting.swap_remove(at);
            for reach in [1, 600, 100_000, 3_000_000].into_iter().filter(|_| left > 300) {
                // Some are in the past, which happens when the end of a trial moves the clock.
                let past = seed.below(20) == 0;
                let time = if past { now / 2 } else { now + seed.below(reach) };
                if seed.below(4) == 0 || waiting.len() < 100 {
                    events.push(time, EventKind::Work, u32::from(past), 0);
                    waiting.push(time);
                }
            }
        }
        assert!(waiting.is_empty() && left <= 300);
    }

    #[test]
    fn the_last_one_is_last_for_every_seed() {
        for seed in 0..50 {
            let mut events = Events::new(seed);
            events.push_last(7, EventKind::End, 9, 0);
            (0..9).for_each(|index| events.push(7, EventKind::Wake, index, 0));
            let last = std::iter::from_fn(|| events.pop()).last();
            assert_eq!(last.map(|event| event.index), Some(9));
        }
    }

    #[test]
    fn the_seed_decides_about_simultaneous_events() {
        let same = [7; 50];
        assert_eq!(drain(3, &same), drain(3, &same));
        assert_ne!(drain(3, &same), drain(0x9e37_79b9_7f4a_7c15, &same));
    }
}
