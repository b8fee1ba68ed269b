// SPDX-License-Identifier: GPL-2.0-only
//! Releases and deadlines, counted exactly as the live player counts them: releases are the task's
//! start + k periods, k ≥ 1; a job ends when its task comes back to the timer; a deadline, one
//! period after the release, counts once it has passed inside the run.

use super::score::TimerPlan;
use crate::measure::recorder::GroupTally;

/// A timer of one task.
#[derive(Clone, Copy, Debug)]
pub struct TimerState {
    /// The release that the task works on or waits for; its start, before the first.
    release_ns: u64,
    released: bool,
    /// The finished job whose deadline has not been counted yet, and whether it missed it.
    owed: Option<(u64, bool)>,
    /// Steps played when the release was seen; `None` while the task waits.
    steps_at_release: Option<u64>,
}

impl TimerState {
    /// A timer of a task that starts at `start_ns`.
    pub fn new(start_ns: u64) -> TimerState {
        TimerState { release_ns: start_ns, released: false, owed: None, steps_at_release: None }
    }

    /// The task has come back: ends its job and returns its next release.
    pub fn arrive(&mut self, plan: TimerPlan, now_ns: u64, tally: &mut GroupTally) -> u64 {
        let deadline_ns = self.release_ns + plan.period_ns;
        if self.released {
            tally.response.record(now_ns.saturating_sub(self.release_ns));
            self.owed = Some((deadline_ns, now_ns > deadline_ns));
        }
        self.release_ns = deadline_ns;
        if plan.relative && now_ns > deadline_ns {
            self.release_ns = now_ns + plan.period_ns;
        }
        if plan.skip && !plan.relative {
            let passed = now_ns.saturating_sub(deadline_ns) / plan.period_ns;
            self.release_ns += passed * plan.period_ns;
            tally.count(passed, passed);
        }
        self.released = true;
        self.steps_at_release = None;
        self.release_ns
    }

    /// The task has seen its release: the deadline of the job before has passed.
    pub fn release(&mut self, now_ns: u64, steps: u64, tally: &mut GroupTally) {
        self.steps_at_release = Some(steps);
        tally.lateness.record(now_ns.saturating_sub(self.release_ns));
        if let Some((_, missed)) = self.owed.take() {
            tally.count(1, u64::from(missed));
        }
    }

    /// The run was ended: what was due and is not finished has been missed.
    pub fn stop(&mut self, plan: TimerPlan, end_ns: u64, tally: &mut GroupTally) {
        if let Some((_, missed)) = self.owed.take().filter(|&(due_ns, _)| due_ns <= end_ns) {
            tally.count(1, u64::from(missed));
        }
        let unseen = if self.released { 0 } else { plan.period_ns };
        let due = end_ns.saturating_sub(self.release_ns + unseen) / plan.period_ns;
        let due = if plan.relative { due.min(1) } else { due };
        tally.count(due, due);
    }

    /// The task has ended by itself: so have its jobs, unless it did nothing since their release.
    pub fn finish(
        &mut self,
        plan: TimerPlan,
        now_ns: u64,
        end_ns: Option<u64>,
        steps: u64,
        tally: &mut GroupTally,
    ) {
        let inside = |due_ns: u64| end_ns.is_none_or(|end_ns| due_ns <= end_ns);
        if let Some((_, missed)) = self.owed.take().filter(|&(due_ns, _)| inside(due_ns)) {
            tally.count(1, u64::from(missed));
        }
        let worked = self.steps_at_release.is_some_and(|before| before < steps);
        let due_ns = self.release_ns + plan.period_ns;
        if self.released && worked {
            tally.response.record(now_ns.saturating_sub(self.release_ns));
            if inside(due_ns) {
                tally.count(1, u64::from(now_ns > due_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same scenes as the live player's, with the same answers.
    fn play(relative: bool, skip: bool, arrivals: &[u64], end_ns: u64) -> (Vec<u64>, u64, u64) {
        let plan = TimerPlan { period_ns: 100, relative, skip };
        let (mut timer, mut tally) = (TimerState::new(1_000), GroupTally::default());
        let mut releases = Vec::new();
        for &arrival in arrivals {
            let release = timer.arrive(plan, arrival, &mut tally);
            if release.max(arrival) < end_ns {
                timer.release(release.max(arrival), 0, &mut tally);
            }
            releases.push(release - 1_000);
        }
        timer.stop(plan, end_ns, &mut tally);
        (releases, tally.deadlines, tally.missed)
    }

    #[test]
    fn deadlines_are_counted_as_the_live_player_counts_them() {
        let punctual = play(false, false, &[1_000, 1_110, 1_220, 1_330], 1_400);
        assert_eq!(punctual, (vec![100, 200, 300, 400], 3, 0));
        let late = play(false, false, &[1_000, 1_350, 1_360, 1_370, 1_410], 1_500);
        assert_eq!(late, (vec![100, 200, 300, 400, 500], 4, 2));
        let dropped = play(false, true, &[1_000, 1_350, 1_390], 1_450);
        assert_eq!(dropped, (vec![100, 300, 400], 3, 2));
        let relative = play(true, false, &[1_000, 1_350, 1_460], 1_600);
        assert_eq!(relative, (vec![100, 450, 550], 2, 1));
        assert_eq!(play(false, false, &[1_000], 1_450), (vec![100], 3, 3));
        assert_eq!(play(false, false, &[], 1_450), (vec![], 3, 3));
    }
}
