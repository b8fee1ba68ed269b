// SPDX-License-Identifier: GPL-2.0-only
//! Finds lost updates: a callback reads a place in memory, another one writes there, and the first
//! writes what it has made of the old value.

use std::collections::BTreeMap;

/// A callback that runs on a CPU: an index into the callbacks' names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    pub callback: u32,
    pub cpu: u32,
}

/// A place in memory is an address; a line is the address of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostUpdate {
    pub place: u64,
    pub loser: Runs,
    pub read_at: u64,
    pub written_at: u64,
    pub other: Runs,
    pub other_at: u64,
    pub time_ns: u64,
}

/// The last write of a place.
#[derive(Clone, Copy, Default)]
struct Write {
    /// How many there have been.
    number: u64,
    lane: usize,
    by: Runs,
    line: u64,
}

/// What a callback has read: the number of the last write at that time, and the line.
pub type Reads = BTreeMap<u64, (u64, u64)>;

/// Found ones that are kept: each further one would say the same of another line.
const MOST: usize = 8;

#[derive(Default)]
pub struct LostUpdates {
    writes: BTreeMap<u64, Write>,
    pub found: Vec<LostUpdate>,
}

impl LostUpdates {
    pub fn read(&self, reads: &mut Reads, place: u64, line: u64) {
        let seen = self.writes.get(&place).map_or(0, |write| write.number);
        reads.insert(place, (seen, line));
    }

    /// A callback writes on a lane.
    pub fn write(
        &mut self,
        reads: &mut Reads,
        (place, line): (u64, u64),
        (lane, by): (usize, Runs),
        time_ns: u64,
    ) {
        let last = self.writes.entry(place).or_default();
        let before = *last;
        *last = Write { number: before.number + 1, lane, by, line };
        let Some((seen, read_at)) = reads.insert(place, (last.number, line)) else { return };
        let is_known = |one: &LostUpdate| (one.written_at, one.other_at) == (line, before.line);
        if seen == before.number
            || before.lane == lane
            || self.found.len() >= MOST
            || self.found.iter().any(is_known)
        {
            return;
        }
        let (loser, written_at, other, other_at) = (by, line, before.by, before.line);
        let found = LostUpdate { place, loser, read_at, written_at, other, other_at, time_ns };
        self.found.push(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(cpu: u32) -> Runs {
        Runs { callback: 1, cpu }
    }

    #[test]
    fn a_write_of_an_old_value_is_found_once() {
        let (mut lost, mut a, mut b) = (LostUpdates::default(), Reads::new(), Reads::new());
        for _ in 0..2 {
            lost.read(&mut a, 8, 10);
            lost.read(&mut b, 8, 20);
            lost.write(&mut b, (8, 21), (1, on(1)), 5);
            lost.write(&mut a, (8, 11), (0, on(0)), 5);
        }
        let [one] = lost.found[..] else { panic!("{:?}", lost.found) };
        assert_eq!((one.loser, one.read_at, one.written_at), (on(0), 10, 11));
        assert_eq!((one.other, one.other_at), (on(1), 21));
    }

    #[test]
    fn a_write_of_a_new_value_or_of_none_is_right() {
        let (mut lost, mut a, mut b) = (LostUpdates::default(), Reads::new(), Reads::new());
        lost.read(&mut a, 8, 10);
        lost.write(&mut b, (8, 21), (1, on(1)), 5);
        lost.read(&mut a, 8, 10);
        lost.write(&mut a, (8, 11), (0, on(0)), 5);
        lost.write(&mut a, (8, 12), (0, on(0)), 5);
        lost.write(&mut Reads::new(), (8, 13), (2, on(0)), 5);
        assert!(lost.found.is_empty());
    }
}
