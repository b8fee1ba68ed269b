// SPDX-License-Identifier: GPL-2.0-only
//! Frames: the times between them, and what players of games make of these times.
//!
//! One definition serves the players and imported logs: each feeds a [`FrameClock`], and
//! [`measure`] turns the histogram and the count of stutters into measures.

use crate::{Histogram, Measured, Metric};

use crate::play::Tally;

/// Frames whose median says what a task's usual frame is.
const BEFORE: usize = 15;

/// A frame that takes longer than 5/2 of the usual is a stutter: the factor that CapFrameX uses.
const STUTTER: (u64, u64) = (5, 2);

/// Where a task is in its frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameClock {
    /// When it has shown its last frame.
    shown_ns: Option<u64>,
    /// The last frame times, as a ring.
    before: [u64; BEFORE],
    /// Frame times so far.
    frames: usize,
}

impl FrameClock {
    /// The task shows a frame at `now_ns`. The first one has no frame time.
    pub fn show(&mut self, now_ns: u64, tally: &mut impl Tally) {
        if let Some(before_ns) = self.shown_ns.replace(now_ns) {
            self.lasted(now_ns.saturating_sub(before_ns), tally);
        }
    }

    /// A frame has taken `ns`.
    pub fn lasted(&mut self, ns: u64, tally: &mut impl Tally) {
        tally.frame(ns, self.is_stutter(ns));
        self.before[self.frames % BEFORE] = ns;
        self.frames += 1;
    }

    /// The trial ended at `end_ns`; the task had started at `start_ns`. The frame that it works on
    /// counts with its age if it is a stutter already, or if there was none before it.
    pub fn stop(&self, start_ns: u64, end_ns: u64, tally: &mut impl Tally) {
        let age_ns = end_ns.saturating_sub(self.shown_ns.unwrap_or(start_ns));
        let stutters = self.is_stutter(age_ns);
        if stutters || self.frames == 0 {
            tally.frame(age_ns, stutters);
        }
    }

    fn is_stutter(&self, ns: u64) -> bool {
        let known = self.frames.min(BEFORE);
        let mut before = self.before;
        before[..known].sort_unstable();
        let (times, of) = STUTTER;
        known > 0 && ns.saturating_mul(of) > before[known / 2].saturating_mul(times)
    }
}

/// The rates of slow frames, and the part of the frames that are faster. A game that is slower
/// shows fewer frames in the same time, and must not escape by that: where there are too few for
/// the part, the quantile is the slowest frame.
const LOWS: [(&str, f64); 2] = [("one_percent_low_fps", 0.99), ("tenth_percent_low_fps", 0.999)];

pub const MEASURES: [&str; 5] =
    ["frame_time_ns", "one_percent_low_fps", "tenth_percent_low_fps", "stutters", "stutter_ratio"];

/// Adds a group's measures of frames; without frames they are missing.
pub fn measure(measured: &mut Measured, group: &str, times: Histogram, stutters: u64) {
    if times.count == 0 {
        return missing(measured, group, "no frame was shown");
    }
    for (name, quantile) in LOWS {
        let slow_ns = times.quantile(quantile).unwrap_or(0).max(1);
        measured.metrics.push(Metric::number(name, group, 1e9 / slow_ns as f64));
    }
    measured.metrics.push(Metric::number("stutters", group, stutters as f64));
    let ratio = stutters as f64 / times.count as f64;
    measured.metrics.push(Metric::number("stutter_ratio", group, ratio));
    measured.distribution(Histogram { name: "frame_time_ns".into(), group: group.into(), ..times });
}

/// There are no measures of a group's frames.
pub fn missing(measured: &mut Measured, group: &str, why: &str) {
    measured.metrics.extend(MEASURES.map(|name| Metric::missing(name, group, why)));
}

/// The frame times of a log, and how many of them are stutters.
#[derive(Clone, Debug, Default)]
pub struct FrameLog {
    pub times_ns: Vec<u64>,
    pub stutters: u64,
}

impl FrameLog {
    /// A log of one task's frames, in their order.
    pub fn new(times_ns: &[u64]) -> FrameLog {
        let (mut clock, mut log) = (FrameClock::default(), FrameLog::default());
        times_ns.iter().for_each(|ns| clock.lasted(*ns, &mut log));
        log
    }
}

impl Tally for FrameLog {
    fn response(&mut self, _: u64) {}

    fn lateness(&mut self, _: u64) {}

    fn deadlines(&mut self, _: u64, _: u64) {}

    fn frame(&mut self, ns: u64, is_stutter: bool) {
        self.times_ns.push(ns);
        self.stutters += u64::from(is_stutter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn measured(times_ns: &[u64]) -> Measured {
        let (mut measured, log) = (Measured::default(), FrameLog::new(times_ns));
        let times = Histogram::from_samples("frame_time_ns", "game", &log.times_ns);
        measure(&mut measured, "game", times, log.stutters);
        measured
    }

    #[test]
    fn the_one_percent_low_is_the_rate_of_the_99th_percentile() {
        let mut times = vec![10 * MS; 198];
        times.extend([20 * MS, 25 * MS]);
        let measured = measured(&times);
        let low = measured.value("one_percent_low_fps", "game").expect("frames");
        assert!((low - 100.0).abs() < 0.1, "198 of 200 take 10 ms: {low}");
        let low = measured.value("tenth_percent_low_fps", "game").expect("the slowest");
        assert!((low - 40.0).abs() < 0.1, "{low}");
        let few = self::measured(&times[150..]);
        let low = few.value("one_percent_low_fps", "game").expect("the slowest of 50");
        assert!((low - 40.0).abs() < 0.1, "a slow game does not escape: {low}");
    }

    #[test]
    fn a_stutter_is_long_against_the_frames_before_it() {
        let stutters = |times: &[u64]| FrameLog::new(times).stutters;
        assert_eq!(stutters(&[100 * MS, 10 * MS, 10 * MS]), 0, "the first has none before it");
        assert_eq!(stutters(&[10 * MS, 10 * MS, 25 * MS, 26 * MS]), 1, "2.5 times is none yet");
        let mut slower = vec![10 * MS; 20];
        slower.extend([30 * MS; 20]);
        assert_eq!(stutters(&slower), 8, "until it is the usual frame");
        assert_eq!(stutters(&[10 * MS, 50 * MS, 10 * MS, 50 * MS, 50 * MS]), 2);
    }

    #[test]
    fn what_is_unfinished_counts_if_it_stutters() {
        let play = |shown_ms: &[u64], end_ms: u64| {
            let (mut clock, mut log) = (FrameClock::default(), FrameLog::default());
            shown_ms.iter().for_each(|ms| clock.show(ms * MS, &mut log));
            clock.stop(0, end_ms * MS, &mut log);
            (log.times_ns.iter().map(|ns| ns / MS).collect::<Vec<_>>(), log.stutters)
        };
        assert_eq!(play(&[5, 15, 25], 40), (vec![10, 10], 0));
        assert_eq!(play(&[5, 15, 25], 60), (vec![10, 10, 35], 1));
        assert_eq!(play(&[], 60), (vec![60], 0), "a game that shows nothing is not silent");
    }

    #[test]
    fn without_frames_nothing_is_zero() {
        let measured = measured(&[]);
        assert!(MEASURES.iter().all(|name| {
            measured.metrics.iter().any(|metric| metric.name == *name && metric.value.is_none())
        }));
    }

    proptest! {
        /// The players see moments, a log has times; the measures are the same.
        #[test]
        fn moments_and_times_measure_the_same(
            times_ms in proptest::collection::vec(1u64..99, 1..300),
        ) {
            let times: Vec<u64> = times_ms.into_iter().map(|ms| ms * MS).collect();
            let (mut clock, mut log, mut now_ns) =
                (FrameClock::default(), FrameLog::default(), 7 * MS);
            clock.show(now_ns, &mut log);
            for ns in &times {
                now_ns += ns;
                clock.show(now_ns, &mut log);
            }
            prop_assert_eq!(&log.times_ns, &times);
            prop_assert_eq!(log.stutters, FrameLog::new(&times).stutters);
            let measured = measured(&times);
            prop_assert_eq!(measured.value("stutters", "game"), Some(log.stutters as f64));
        }
    }
}
