// SPDX-License-Identifier: GPL-2.0-only
//! Whether a task's timers are absolute or relative.
//!
//! A player that draws a frame each 16.7 ms sets absolute timers: when it is late, it sleeps less.
//! A task that polls each 10 ms sleeps relatively: when it is late, all that follows is late. A
//! trace shows no difference, but the lengths do: if nearly all sleeps are equally long, and the
//! times from one end to the next vary more, the sleeps are relative.

/// A sleep that a timer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerSleep {
    /// The place of its operation on the tape.
    pub place: usize,
    pub since_ns: u64,
    pub until_ns: u64,
}

impl TimerSleep {
    pub fn length_ns(&self) -> u64 {
        self.until_ns.saturating_sub(self.since_ns)
    }
}

/// Fewer sleeps show no pattern.
const LEAST: usize = 4;
/// Lengths that differ by no more than this, or by 2 %, count as equal: a timer's slack.
const SLACK_NS: u64 = 60_000;

/// Whether the timers of one task are relative; they are absolute unless that is shown.
pub fn are_relative(sleeps: &[TimerSleep]) -> bool {
    if sleeps.len() < LEAST {
        return false;
    }
    let lengths: Vec<u64> = sleeps.iter().map(TimerSleep::length_ns).collect();
    let periods: Vec<u64> =
        sleeps.windows(2).map(|pair| pair[1].until_ns.saturating_sub(pair[0].until_ns)).collect();
    let usual = median(lengths.clone());
    let near = |length: &&u64| length.abs_diff(usual) <= SLACK_NS.max(usual / 50);
    let equal = lengths.iter().filter(near).count();
    equal * 4 >= lengths.len() * 3 && deviation(&lengths) * 2 < deviation(&periods)
}

/// The median of the distances from the median.
fn deviation(values: &[u64]) -> u64 {
    let middle = median(values.to_vec());
    median(values.iter().map(|value| value.abs_diff(middle)).collect())
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sleeps that begin where the given microseconds of work end.
    fn sleeps(work_us: &[u64], until_us: impl Fn(usize, u64) -> u64) -> Vec<TimerSleep> {
        let mut now = 0;
        let sleep = |(place, work): (usize, &u64)| {
            let since = now + work;
            now = until_us(place, since).max(since);
            TimerSleep { place, since_ns: since * 1000, until_ns: now * 1000 }
        };
        work_us.iter().enumerate().map(sleep).collect()
    }

    const WORK_US: [u64; 8] = [900, 3000, 400, 2500, 1200, 5000, 100, 2000];

    #[test]
    fn equal_lengths_are_relative_and_a_grid_is_absolute() {
        assert!(are_relative(&sleeps(&WORK_US, |_, since| since + 10_000)));
        assert!(!are_relative(&sleeps(&WORK_US, |place, _| 8_000 * (place as u64 + 1))));
    }

    #[test]
    fn a_grid_with_skipped_releases_stays_absolute() {
        let overloaded = [24_000, 30_000, 9_000, 41_000, 17_000, 33_000];
        assert!(!are_relative(&sleeps(&overloaded, |_, since| since.div_ceil(8_000) * 8_000)));
    }

    #[test]
    fn what_shows_nothing_is_absolute() {
        assert!(!are_relative(&sleeps(&WORK_US[..3], |_, since| since + 10_000)));
        // Equal work: both are regular.
        assert!(!are_relative(&sleeps(&[500; 9], |_, since| since + 10_000)));
        let random = [7_000, 200, 90_000, 1_500, 33_000, 410, 12_000, 5_500];
        assert!(!are_relative(&sleeps(&WORK_US, |place, since| since + random[place])));
    }
}
