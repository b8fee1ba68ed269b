// SPDX-License-Identifier: GPL-2.0-only
//! The events of the next two milliseconds: a wheel of short slots, each an ordered list.
//!
//! Most events are near and spread over the slots, so that adding one and taking the earliest are a
//! few instructions, however many there are. The wheel may refuse an event that is too far away, or
//! that would make a slot's list slow.

use super::events::Event;
use super::memory::reserve_room;

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
    /// The places that have events.
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
