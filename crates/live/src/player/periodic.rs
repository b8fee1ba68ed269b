// SPDX-License-Identifier: GPL-2.0-only
//! A periodic action on the scheduler while the tasks play, such as a reload.

use crate::player::clock::now_ns;

/// An action that is repeated, spread evenly over the trial's duration. A trial does not end before
/// the last repetition.
pub struct Periodic<'a> {
    left: u32,
    /// The time between two of them, and from the start to the first, nanoseconds.
    pause_ns: u64,
    /// When the next one is due; later ones keep their distance from it.
    next_ns: u64,
    action: &'a mut dyn FnMut() -> bool,
}

impl<'a> Periodic<'a> {
    /// Performs `action` `count` times; it returns whether the trial may continue.
    pub fn new(count: u32, duration_ns: u64, action: &'a mut dyn FnMut() -> bool) -> Periodic<'a> {
        let pause_ns = duration_ns / (u64::from(count) + 1);
        Periodic { left: count, pause_ns, next_ns: 0, action }
    }

    pub fn begin(&mut self, start_ns: u64) {
        self.next_ns = start_ns + self.pause_ns;
    }

    /// Performs the next one if it is due. Returns whether the trial may continue.
    pub fn run_if_due(&mut self) -> bool {
        if self.left == 0 || now_ns() < self.next_ns {
            return true;
        }
        self.left -= 1;
        let goes_on = (self.action)();
        // A long action does not shorten the time before the next one.
        self.next_ns = now_ns() + self.pause_ns;
        goes_on
    }

    /// When [`Periodic::run_if_due`] must be called next, on `CLOCK_MONOTONIC`; `None`: never
    /// again.
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
        let mut periodic = Periodic::new(5, 0, &mut play);
        periodic.begin(now_ns() + 60_000_000_000);
        assert!(periodic.run_if_due() && periodic.next_ns().is_some());
        periodic.begin(now_ns());
        assert!(periodic.run_if_due() && periodic.run_if_due());
        // The third one ends the trial.
        assert!(!periodic.run_if_due());
        assert_eq!(played, 3);
    }

    #[test]
    fn none_asked_none_awaited() {
        let mut never = || panic!("nobody asked for it");
        let mut periodic = Periodic::new(0, 1, &mut never);
        periodic.begin(0);
        assert!(periodic.run_if_due() && periodic.next_ns().is_none());
    }
}
