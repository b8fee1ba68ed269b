// SPDX-License-Identifier: GPL-2.0-only
//! What is known of one task while events are handled, and its tape in the end.
//!
//! Tasks that could have gone on for longer with what they did.

use std::collections::BTreeSet;

use model::TapeOp;

use super::messages::{Delivery, NOTHING};
use super::spins::YieldLoop;
use crate::event::{SleepsFor, TaskIndex, Waker};

/// What is known of a task while events are handled.
#[derive(Default)]
pub struct TaskWriter {
    pub keeps: bool,
    /// When it was made; 0: it was there before.
    pub made_ns: u64,
    pub ended_ns: Option<u64>,
    pub state: State,
    pub ops: Vec<TapeOp>,
    /// Computed since the last operation.
    pub ran_ns: u64,
    /// What the tracer and preemptions took of that, and of what is computed next.
    pub not_work_ns: u64,
    /// A wake-up while it ran: either it was not asleep, or the waker was faster than its switch.
    pub early: Option<EarlyWake>,
    /// The places in `ops` of posts that may turn out to have woken nobody.
    pub doubtful: Vec<usize>,
    pub timer_sleeps: Vec<TimerSleep>,
    pub yield_loops: Vec<YieldLoop>,
    /// Operations that come before those of these places in `ops`.
    pub inserted: Vec<(usize, TapeOp)>,
    /// What ended its last sleep, until it has taken what was sent.
    pub woken: Option<Delivery>,
}

#[derive(Clone, Copy, Default)]
pub enum State {
    /// No event has named it.
    #[default]
    Unseen,
    Running {
        since_ns: u64,
        cpu: u32,
    },
    Runnable,
    Asleep {
        since_ns: u64,
        reason: SleepsFor,
    },
    Ended,
}

#[derive(Clone, Copy)]
pub struct EarlyWake {
    pub waker: Waker,
    pub at_ns: u64,
    /// The place of the doubtful post on the waker's tape.
    pub post: Option<usize>,
}

impl TaskWriter {
    /// Whether it was there for more than half of the recording, and in its last tenth.
    pub fn lasts(&self, end_ns: u64) -> bool {
        let ended_ns = self.ended_ns.unwrap_or(end_ns);
        ended_ns >= end_ns - end_ns / 10 && ended_ns - self.made_ns > end_ns / 2
    }

    /// Sleeps of equal lengths are relative. The first one may have begun before the recording.
    pub fn relative_timers(&mut self) {
        let sleeps = self.timer_sleeps.get(1..).unwrap_or_default();
        if !self.keeps || !are_relative(sleeps) {
            return;
        }
        for sleep in sleeps {
            self.ops[sleep.place] = TapeOp::Sleep(sleep.length_ns());
        }
    }

    /// The operations without posts for nobody; what was computed around these is one. They are
    /// moved in place: there may be millions.
    pub fn tape(self, keeps: &[bool]) -> Vec<TapeOp> {
        if !self.keeps {
            return Vec::new();
        }
        let (mut ops, mut kept) = (self.ops, 0);
        self.doubtful.iter().for_each(|place| ops[*place] = NOTHING);
        if !self.inserted.is_empty() {
            ops = with_inserted(&ops, self.inserted);
        }
        let is_heard = |woken: u32| keeps.get(woken as usize).copied().unwrap_or(false);
        for place in 0..ops.len() {
            let op = ops[place];
            match (ops[..kept].last_mut(), op) {
                (_, TapeOp::Post(woken, ..) | TapeOp::Fork(woken)) if !is_heard(woken) => {}
                (Some(TapeOp::Run(sum)), TapeOp::Run(ns)) => *sum += ns,
                _ => {
                    ops[kept] = op;
                    kept += 1;
                }
            }
        }
        ops.truncate(kept);
        ops
    }
}

fn with_inserted(ops: &[TapeOp], mut inserted: Vec<(usize, TapeOp)>) -> Vec<TapeOp> {
    inserted.sort_by_key(|(place, _)| *place);
    let mut inserted = inserted.into_iter().peekable();
    let mut all = Vec::with_capacity(ops.len() + inserted.len());
    for (place, op) in ops.iter().enumerate() {
        while let Some((_, before)) = inserted.next_if(|(before, _)| *before <= place) {
            all.push(before);
        }
        all.push(*op);
    }
    all.extend(inserted.map(|(_, op)| op));
    all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerSleep {
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
///
/// A player that draws a frame each 16.7 ms sets absolute timers: when it is late, it sleeps less.
/// A task that polls each 10 ms sleeps relatively: when it is late, all that follows is late. A
/// trace shows no difference, but the lengths do: if nearly all sleeps are equally long, and the
/// times from one end to the next vary more, the sleeps are relative.
pub fn are_relative(sleeps: &[TimerSleep]) -> bool {
    if sleeps.len() < LEAST {
        return false;
    }
    let lengths: Vec<u64> = sleeps.iter().map(TimerSleep::length_ns).collect();
    let periods: Vec<u64> =
        sleeps.windows(2).map(|pair| pair[1].until_ns.saturating_sub(pair[0].until_ns)).collect();
    are_equal(&lengths) && deviation(&lengths) * 2 < deviation(&periods)
}

/// Whether three quarters are.
pub fn are_equal(lengths: &[u64]) -> bool {
    let usual = median(lengths.to_vec());
    let near = |length: &&u64| length.abs_diff(usual) <= SLACK_NS.max(usual / 50);
    lengths.iter().filter(near).count() * 4 >= lengths.len() * 3
}

/// The median of the distances from the median.
fn deviation(values: &[u64]) -> u64 {
    let middle = median(values.to_vec());
    median(values.iter().map(|value| value.abs_diff(middle)).collect())
}

pub fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// A task waits this often at most, at its start and its end, for tasks that do not go on.
const ONCE_MOST: usize = 3;

/// The tasks that were there for more than half of the recording and in its last tenth, and that
/// need hardly any others. `asleep`: those that sleep when it ends; they need a task that wakes
/// them.
pub fn lasting(
    mut tasks: BTreeSet<TaskIndex>,
    tapes: &[Vec<TapeOp>],
    asleep: &[bool],
) -> BTreeSet<TaskIndex> {
    loop {
        let goes_on = |task: &TaskIndex| {
            let wakers = tapes[task.0 as usize].iter().filter_map(|op| op.waker());
            let (going_on, once): (Vec<u32>, Vec<u32>) =
                wakers.partition(|waker| tasks.contains(&TaskIndex(*waker)));
            once.len() <= ONCE_MOST && (!asleep[task.0 as usize] || !going_on.is_empty())
        };
        let left: BTreeSet<TaskIndex> = tasks.iter().copied().filter(goes_on).collect();
        if left.len() == tasks.len() {
            return left;
        }
        tasks = left;
    }
}

/// Those that were there for that long.
pub fn present(writers: &[TaskWriter], end_ns: u64) -> BTreeSet<TaskIndex> {
    let tasks = (0..).map(TaskIndex).zip(writers);
    tasks.filter(|(_, writer)| writer.lasts(end_ns)).map(|(task, _)| task).collect()
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

    #[test]
    fn who_needs_others_goes_on_only_with_them() {
        let text = "task 0 worker\nw1 r5 p3\ntask 1 main\nr1 w4 w4 w4 w4 p0\ntask 2 idler\nr1\n\
                    task 3 server\nw0 r1\ntask 4 child\nr1 p1 p1 p1 p1";
        let tapes = model::tape::read(text).expect(text);
        let ops: Vec<Vec<TapeOp>> = tapes.into_iter().map(|tape| tape.ops).collect();
        let there: BTreeSet<TaskIndex> = (0..4).map(TaskIndex).collect();
        let asleep = [false, false, true, true, false];
        let found = lasting(there, &ops, &asleep);
        assert_eq!(found, [TaskIndex(0), TaskIndex(3)].into());
    }
}
