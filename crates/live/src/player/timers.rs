// SPDX-License-Identifier: GPL-2.0-only
//! A task's timers: releases, and the deadlines that follow from them.
//!
//! A timer's releases are its task's start + k periods, k ≥ 1. The job of a release ends when the
//! task comes back to the timer. A deadline, one period after the release, is counted once it has
//! passed inside the run.

use std::sync::atomic::Ordering::SeqCst;

use crate::player::run_state::GroupTally;
use crate::player::score::{MAX_TIMERS, TimerPlan};

/// The timers of one task.
pub struct Timers([State; MAX_TIMERS]);

#[derive(Clone, Copy)]
struct State {
    /// The release that the task works on or waits for; its start, before the first.
    release_ns: u64,
    /// Whether `release_ns` is a real release.
    released: bool,
    /// The finished job whose deadline has not been counted yet, and whether it missed it.
    owed: Option<(u64, bool)>,
    /// Steps that the task had played when the release was seen; `None` while it waits.
    steps_at_release: Option<u64>,
}

impl Timers {
    /// All timers of a task that starts at `start_ns`.
    pub fn new(start_ns: u64) -> Timers {
        let state =
            State { release_ns: start_ns, released: false, owed: None, steps_at_release: None };
        Timers([state; MAX_TIMERS])
    }

    /// The task has come back at `now_ns`: ends its job and returns its next release.
    pub fn arrive(
        &mut self,
        number: usize,
        plan: TimerPlan,
        now_ns: u64,
        counting: bool,
        tally: &GroupTally,
    ) -> u64 {
        let state = &mut self.0[number];
        let deadline_ns = state.release_ns + plan.period_ns;
        if state.released {
            if counting {
                tally.response.record(now_ns.saturating_sub(state.release_ns));
            }
            state.owed = Some((deadline_ns, now_ns > deadline_ns));
        }
        state.release_ns = deadline_ns;
        if plan.relative && now_ns > deadline_ns {
            state.release_ns = now_ns + plan.period_ns;
        }
        if plan.skip && !plan.relative {
            let passed = now_ns.saturating_sub(deadline_ns) / plan.period_ns;
            state.release_ns += passed * plan.period_ns;
            if counting {
                count(tally, passed, passed);
            }
        }
        state.released = true;
        state.steps_at_release = None;
        state.release_ns
    }

    /// The task has seen its release at `now_ns`: the deadline of the job before has passed.
    pub fn release(
        &mut self,
        number: usize,
        now_ns: u64,
        counting: bool,
        steps: u64,
        tally: &GroupTally,
    ) {
        let state = &mut self.0[number];
        state.steps_at_release = Some(steps);
        if !counting {
            return;
        }
        tally.lateness.record(now_ns.saturating_sub(state.release_ns));
        if let Some((_, missed)) = state.owed.take() {
            count(tally, 1, u64::from(missed));
        }
    }

    /// The run was ended at `end_ns`: everything whose deadline had passed and that was not
    /// finished has missed it, the releases that the task never came to see included.
    pub fn stop(&mut self, plans: &[TimerPlan], end_ns: u64, tally: &GroupTally) {
        for (state, plan) in self.0.iter_mut().zip(plans) {
            if let Some((_, missed)) = state.owed.take().filter(|&(due_ns, _)| due_ns <= end_ns) {
                count(tally, 1, u64::from(missed));
            }
            let first_ns =
                if state.released { state.release_ns } else { state.release_ns + plan.period_ns };
            let due = end_ns.saturating_sub(first_ns) / plan.period_ns;
            let due = if plan.relative { due.min(1) } else { due };
            count(tally, due, due);
        }
    }

    /// The task has ended by itself at `now_ns`: so have its jobs, unless it did nothing since
    /// their release. `end_ns` is when the run will end, if that is known.
    pub fn finish(
        &mut self,
        plans: &[TimerPlan],
        now_ns: u64,
        end_ns: Option<u64>,
        steps: u64,
        tally: &GroupTally,
    ) {
        for (state, plan) in self.0.iter_mut().zip(plans) {
            let inside = |due_ns: u64| end_ns.is_none_or(|end_ns| due_ns <= end_ns);
            if let Some((_, missed)) = state.owed.take().filter(|&(due_ns, _)| inside(due_ns)) {
                count(tally, 1, u64::from(missed));
            }
            let worked = state.steps_at_release.is_some_and(|before| before < steps);
            let due_ns = state.release_ns + plan.period_ns;
            if state.released && worked {
                tally.response.record(now_ns.saturating_sub(state.release_ns));
                if inside(due_ns) {
                    count(tally, 1, u64::from(now_ns > due_ns));
                }
            }
        }
    }
}

fn count(tally: &GroupTally, deadlines: u64, missed: u64) {
    tally.counts().deadlines.fetch_add(deadlines, SeqCst);
    tally.counts().missed.fetch_add(missed, SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000;
    const PERIOD: u64 = 100;

    fn tally() -> GroupTally {
        GroupTally::new().unwrap()
    }

    /// Plays jobs that come back to the timer at these times and see each release at once (or at
    /// the arrival, if that is later), stops at `end_ns`; returns the releases, deadlines and
    /// misses.
    fn play(plan: TimerPlan, arrivals: &[u64], end_ns: u64) -> (Vec<u64>, u64, u64) {
        let (mut timers, tally) = (Timers::new(START), tally());
        let mut releases = Vec::new();
        for &arrival in arrivals {
            let release = timers.arrive(0, plan, arrival, true, &tally);
            if release.max(arrival) < end_ns {
                timers.release(0, release.max(arrival), true, 0, &tally);
            }
            releases.push(release - START);
        }
        timers.stop(&[plan], end_ns, &tally);
        let counts = tally.counts();
        (releases, counts.deadlines.load(SeqCst), counts.missed.load(SeqCst))
    }

    fn plan(relative: bool, skip: bool) -> TimerPlan {
        TimerPlan { period_ns: PERIOD, relative, skip }
    }

    #[test]
    fn jobs_in_time_miss_nothing() {
        let punctual = play(plan(false, false), &[1_000, 1_110, 1_220, 1_330], 1_400);
        // Releases 100, 200, 300; the one at 400 has its deadline outside.
        assert_eq!(punctual, (vec![100, 200, 300, 400], 3, 0));
    }

    #[test]
    fn lateness_is_caught_up_and_never_forgiven() {
        let late = play(plan(false, false), &[1_000, 1_350, 1_360, 1_370, 1_410], 1_500);
        // The job of 100 (due 200) ended at 350, that of 200 (due 300) at 360; 300's (due 400) in
        // time.
        assert_eq!(late, (vec![100, 200, 300, 400, 500], 4, 2));
    }

    #[test]
    fn skipped_releases_count_as_missed() {
        let dropped = play(plan(false, true), &[1_000, 1_350, 1_390], 1_450);
        // The job of 100 ended at 350: missed. 200 has wholly passed: skipped. 300 was served late.
        assert_eq!(dropped, (vec![100, 300, 400], 3, 2));
    }

    #[test]
    fn a_relative_timer_forgives() {
        let relative = play(plan(true, false), &[1_000, 1_350, 1_460], 1_600);
        assert_eq!(relative, (vec![100, 450, 550], 2, 1));
    }

    #[test]
    fn starved_jobs_miss_their_deadlines() {
        // One job runs from its release at 100 to the end: 100, 200, 300 were due by 400.
        assert_eq!(play(plan(false, false), &[1_000], 1_450).1, 3);
        assert_eq!(play(plan(false, false), &[1_000], 1_450).2, 3);
        // A task that never came to its timer misses the same ones.
        assert_eq!(play(plan(false, false), &[], 1_450).2, 3);
        assert_eq!(play(plan(true, false), &[1_000], 1_450).2, 1);
    }

    #[test]
    fn a_task_that_ends_ends_its_jobs() {
        let (mut timers, tally, plan) = (Timers::new(START), tally(), plan(false, false));
        timers.arrive(0, plan, 1_000, true, &tally);
        timers.release(0, 1_101, true, 5, &tally);
        timers.finish(&[plan], 1_150, None, 6, &tally);
        assert_eq!(tally.counts().deadlines.load(SeqCst), 1);
        assert_eq!(tally.response.histogram("", "").max, 50);
        assert_eq!(tally.lateness.histogram("", "").max, 1);
    }
}
