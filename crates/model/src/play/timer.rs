// SPDX-License-Identifier: GPL-2.0-only
//! A task's timers: releases, and the deadlines that follow from them.
//!
//! A timer's releases are its task's start + k periods, k ≥ 1. Each step that uses the timer has a
//! period of its own. The job of a release ends when the task comes back to the timer. A deadline,
//! one period after the release, is counted once it has passed within the trial.

/// A timer's constants; see [`crate::workload::Timer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerPlan {
    /// The time between two releases; not 0.
    pub period_ns: u64,
    /// Whether a late job is followed by the next release at once, from which later ones count.
    pub relative: bool,
    /// Whether releases that have wholly passed are skipped.
    pub skip: bool,
    /// The number of the timer among those that tasks share, if it is one.
    pub shared: Option<usize>,
}

impl TimerPlan {
    /// The release after the one at `last_ns` for a task that comes at `now_ns`, and how many are
    /// skipped.
    pub fn release_after(&self, last_ns: u64, now_ns: u64) -> (u64, u64) {
        let next_ns = last_ns + self.period_ns;
        if self.relative {
            return (next_ns.max(now_ns), 0);
        }
        let passed = now_ns.saturating_sub(next_ns) / self.period_ns;
        let skipped = if self.skip { passed } else { 0 };
        (next_ns + skipped * self.period_ns, skipped)
    }
}

pub trait Tally {
    /// A job has ended this long after its release.
    fn response(&mut self, ns: u64);
    /// A task has seen its release this late.
    fn lateness(&mut self, ns: u64);
    /// This many deadlines have passed, and `missed` of them were missed.
    fn deadlines(&mut self, passed: u64, missed: u64);
    /// A frame has taken this long.
    fn frame(&mut self, ns: u64, is_stutter: bool);
}

#[derive(Clone, Copy, Debug)]
pub struct TimerState {
    /// The release that the task works on or waits for; its start, before the first.
    release_ns: u64,
    /// Whether `release_ns` is a real release.
    released: bool,
    /// The deadline of the finished job that has not been counted yet, and whether it was missed.
    owed: Option<(u64, bool)>,
    /// Steps that the task had played when the release was seen; `None` while it waits.
    steps_at_release: Option<u64>,
    /// The period that was last waited for; 0: none yet.
    period_ns: u64,
}

impl TimerState {
    /// A timer of a task that starts at `start_ns`.
    pub fn new(start_ns: u64) -> TimerState {
        let release_ns = start_ns;
        TimerState { release_ns, released: false, owed: None, steps_at_release: None, period_ns: 0 }
    }

    /// The time from its release to the deadline of a job that has not come back.
    fn period_ns(&self, plan: TimerPlan) -> u64 {
        if self.period_ns == 0 { plan.period_ns } else { self.period_ns }
    }

    /// Its last release; its start, before the first.
    pub fn last_ns(&self) -> u64 {
        self.release_ns
    }

    /// The task has come back at `now_ns`: ends its job and returns its next release, the one after
    /// `last_ns`, which is its own last one, or that of all tasks with a shared timer. There is no
    /// tally before the measured part of the trial and after it.
    pub fn arrive(
        &mut self,
        plan: TimerPlan,
        last_ns: u64,
        now_ns: u64,
        mut tally: Option<&mut impl Tally>,
    ) -> u64 {
        if self.released {
            let deadline_ns = self.release_ns + plan.period_ns;
            if let Some(tally) = &mut tally {
                tally.response(now_ns.saturating_sub(self.release_ns));
            }
            self.owed = Some((deadline_ns, now_ns > deadline_ns));
        }
        let (release_ns, skipped) = plan.release_after(last_ns, now_ns);
        if skipped > 0
            && let Some(tally) = tally
        {
            tally.deadlines(skipped, skipped);
        }
        (self.release_ns, self.period_ns) = (release_ns, plan.period_ns);
        (self.released, self.steps_at_release) = (true, None);
        release_ns
    }

    /// The task has seen its release at `now_ns`, after `steps` steps, so the deadline of the
    /// previous job has passed. Without a tally it stays uncounted until [`TimerState::stop`].
    pub fn release(&mut self, now_ns: u64, steps: u64, tally: Option<&mut impl Tally>) {
        self.steps_at_release = Some(steps);
        let Some(tally) = tally else { return };
        tally.lateness(now_ns.saturating_sub(self.release_ns));
        if let Some((_, missed)) = self.owed.take() {
            tally.deadlines(1, u64::from(missed));
        }
    }

    /// The trial ended at `end_ns`: every unfinished job whose deadline had passed has missed it,
    /// including releases that the task never saw.
    pub fn stop(&mut self, plan: TimerPlan, end_ns: u64, tally: &mut impl Tally) {
        if let Some((_, missed)) = self.owed.take().filter(|&(due_ns, _)| due_ns <= end_ns) {
            tally.deadlines(1, u64::from(missed));
        }
        let period_ns = self.period_ns(plan);
        let unseen_ns = if self.released { 0 } else { period_ns };
        let due = end_ns.saturating_sub(self.release_ns + unseen_ns) / period_ns;
        let due = if plan.relative { due.min(1) } else { due };
        tally.deadlines(due, due);
    }

    /// The task has ended by itself at `now_ns`, after `steps` steps, and so have its jobs, unless
    /// it did nothing since their release. `end_ns` is the end of the trial, if known.
    pub fn finish(
        &mut self,
        plan: TimerPlan,
        now_ns: u64,
        end_ns: Option<u64>,
        steps: u64,
        tally: &mut impl Tally,
    ) {
        let inside = |due_ns: u64| end_ns.is_none_or(|end_ns| due_ns <= end_ns);
        if let Some((_, missed)) = self.owed.take().filter(|&(due_ns, _)| inside(due_ns)) {
            tally.deadlines(1, u64::from(missed));
        }
        let worked = self.steps_at_release.is_some_and(|before| before < steps);
        let due_ns = self.release_ns + self.period_ns(plan);
        if self.released && worked {
            tally.response(now_ns.saturating_sub(self.release_ns));
            if inside(due_ns) {
                tally.deadlines(1, u64::from(now_ns > due_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000;
    const PERIOD: u64 = 100;

    /// Tallied and the largest times.
    #[derive(Default)]
    struct Tallied {
        deadlines: u64,
        missed: u64,
        longest_response: u64,
        largest_lateness: u64,
    }

    impl Tally for Tallied {
        fn response(&mut self, ns: u64) {
            self.longest_response = self.longest_response.max(ns);
        }

        fn lateness(&mut self, ns: u64) {
            self.largest_lateness = self.largest_lateness.max(ns);
        }

        fn deadlines(&mut self, passed: u64, missed: u64) {
            self.deadlines += passed;
            self.missed += missed;
        }

        fn frame(&mut self, _: u64, _: bool) {}
    }

    /// Plays jobs that come back to the timer at these times and see each release at once (or at
    /// the arrival, if that is later), stops at `end_ns`; returns the releases, deadlines and
    /// misses.
    fn play(plan: TimerPlan, arrivals: &[u64], end_ns: u64) -> (Vec<u64>, u64, u64) {
        let (mut timer, mut tally) = (TimerState::new(START), Tallied::default());
        let mut releases = Vec::new();
        for &arrival in arrivals {
            let release = timer.arrive(plan, timer.last_ns(), arrival, Some(&mut tally));
            if release.max(arrival) < end_ns {
                timer.release(release.max(arrival), 0, Some(&mut tally));
            }
            releases.push(release - START);
        }
        timer.stop(plan, end_ns, &mut tally);
        (releases, tally.deadlines, tally.missed)
    }

    fn plan(relative: bool, skip: bool) -> TimerPlan {
        TimerPlan { period_ns: PERIOD, relative, skip, shared: None }
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
        // The job of 100 came back at 350, which is the next release; that job was due at 450.
        let relative = play(plan(true, false), &[1_000, 1_350, 1_440], 1_500);
        assert_eq!(relative, (vec![100, 350, 450], 2, 1));
        let late_again = play(plan(true, false), &[1_000, 1_350, 1_460], 1_500);
        assert_eq!(late_again, (vec![100, 350, 460], 2, 2));
    }

    #[test]
    fn each_use_of_a_timer_has_its_own_period() {
        let (mut timer, mut tally) = (TimerState::new(START), Tallied::default());
        let short = plan(false, false);
        let long = TimerPlan { period_ns: 4 * PERIOD, ..short };
        assert_eq!(timer.arrive(short, START, 1_000, Some(&mut tally)), 1_100);
        timer.release(1_100, 1, Some(&mut tally));
        assert_eq!(timer.arrive(long, 1_100, 1_300, Some(&mut tally)), 1_500);
        timer.release(1_500, 2, Some(&mut tally));
        // The job of 1 500 has four periods' time.
        timer.stop(short, 1_899, &mut tally);
        assert_eq!((tally.deadlines, tally.missed), (1, 0));
    }

    #[test]
    fn starved_jobs_miss_their_deadlines() {
        // One job lasts from its release at 100 to the end: 100, 200, 300 were due by 400.
        assert_eq!(play(plan(false, false), &[1_000], 1_450), (vec![100], 3, 3));
        // A task that never came to its timer misses the same ones.
        assert_eq!(play(plan(false, false), &[], 1_450), (vec![], 3, 3));
        assert_eq!(play(plan(true, false), &[1_000], 1_450).2, 1);
    }

    #[test]
    fn tasks_take_the_releases_of_a_shared_timer_in_turns() {
        let (mut one, mut two) = (TimerState::new(START), TimerState::new(START));
        let (mut tally, plan) = (Tallied::default(), plan(false, false));
        assert_eq!(one.arrive(plan, START, 1_000, Some(&mut tally)), 1_100);
        assert_eq!(two.arrive(plan, 1_100, 1_001, Some(&mut tally)), 1_200);
        one.release(1_100, 1, Some(&mut tally));
        // Its job has one period, although another task gets the release between.
        assert_eq!(one.arrive(plan, 1_200, 1_190, Some(&mut tally)), 1_300);
        one.release(1_300, 2, Some(&mut tally));
        assert_eq!((tally.deadlines, tally.missed, tally.longest_response), (1, 0, 90));
    }

    #[test]
    fn a_task_that_ends_ends_its_jobs() {
        let (mut timer, mut tally, plan) =
            (TimerState::new(START), Tallied::default(), plan(false, false));
        timer.arrive(plan, START, 1_000, Some(&mut tally));
        timer.release(1_101, 5, Some(&mut tally));
        timer.finish(plan, 1_150, None, 6, &mut tally);
        assert_eq!((tally.deadlines, tally.missed), (1, 0));
        assert_eq!((tally.longest_response, tally.largest_lateness), (50, 1));
    }

    #[test]
    fn what_happens_after_the_run_is_counted_when_the_task_stops() {
        let (mut timer, mut tally, plan) =
            (TimerState::new(START), Tallied::default(), plan(false, false));
        timer.arrive(plan, START, 1_000, Some(&mut tally));
        timer.release(1_100, 0, Some(&mut tally));
        timer.arrive(plan, 1_100, 1_250, None::<&mut Tallied>);
        timer.release(1_300, 0, None::<&mut Tallied>);
        assert_eq!((tally.deadlines, tally.longest_response), (0, 0));
        timer.stop(plan, 1_240, &mut tally);
        assert_eq!((tally.deadlines, tally.missed), (1, 1));
    }
}
