// SPDX-License-Identifier: GPL-2.0-only
//! Interludes: what happens to the scheduler again and again while the tasks play.

use crate::player::clock::now_ns;

/// Something that happens several times, spread evenly over the run's duration. A run is not over
/// before its last interlude.
pub struct Interludes<'a> {
    /// How many are left.
    left: u32,
    /// The time between two of them, and from the start to the first, nanoseconds.
    pause_ns: u64,
    /// When the next one is due; later ones keep their distance from it.
    next_ns: u64,
    play: &'a mut dyn FnMut() -> bool,
}

impl<'a> Interludes<'a> {
    /// `count` times `play`, which says whether the run may go on.
    pub fn new(count: u32, duration_ns: u64, play: &'a mut dyn FnMut() -> bool) -> Interludes<'a> {
        let pause_ns = duration_ns / (u64::from(count) + 1);
        Interludes { left: count, pause_ns, next_ns: 0, play }
    }

    /// The run begins.
    pub fn begin(&mut self, start_ns: u64) {
        self.next_ns = start_ns + self.pause_ns;
    }

    /// Plays the next one if it is due. Returns whether the run may go on.
    pub fn attend(&mut self) -> bool {
        if self.left == 0 || now_ns() < self.next_ns {
            return true;
        }
        self.left -= 1;
        let goes_on = (self.play)();
        // One that took long does not eat up the tasks' time before the next one.
        self.next_ns = now_ns() + self.pause_ns;
        goes_on
    }

    /// When somebody must attend; `None`: never again.
    pub fn next_ns(&self) -> Option<u64> {
        (self.left > 0).then_some(self.next_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_asked_and_none_before_its_time() {
        let mut played = 0;
        let mut play = || {
            played += 1;
            played < 3
        };
        let mut interludes = Interludes::new(5, 0, &mut play);
        interludes.begin(now_ns() + 60_000_000_000);
        assert!(interludes.attend() && interludes.next_ns().is_some());
        interludes.begin(now_ns());
        assert!(interludes.attend() && interludes.attend());
        // The third one says that the run is over.
        assert!(!interludes.attend());
        assert_eq!(played, 3);
    }

    #[test]
    fn none_asked_none_awaited() {
        let mut never = || panic!("nobody asked for it");
        let mut interludes = Interludes::new(0, 1, &mut never);
        interludes.begin(0);
        assert!(interludes.attend() && interludes.next_ns().is_none());
    }
}
