// SPDX-License-Identifier: GPL-2.0-only
//! From slots and buckets to the numbers of a group.

use model::Histogram;
use model::histogram::filled_buckets;
use model::series::{self, Counts, PLACES, bounds};

use super::maps::{
    BUCKETS, BUSY, MEASURES, ProbeSeries, ProbeTally, ProbeTask, ProbeTotals, SharedMap, WAITED,
    activity, add_tally, smallest_ns,
};

/// One group's counts between start and finish.
#[derive(Clone, Debug, Default)]
pub struct GroupReadings {
    /// `wakeup_latency_ns`, with the group's name.
    pub wakeup_latency: Histogram,
    /// `run_delay_ns`, with the group's name.
    pub run_delay: Histogram,
    /// Switches away from a task that blocked.
    pub voluntary_switches: u64,
    /// Switches away from a task that could have run on.
    pub involuntary_switches: u64,
    /// Times that a task ran on another CPU than before.
    pub migrations: u64,
    /// CPU time of the group's tasks.
    pub cpu_time_ns: u64,
    /// The longest time that a task was runnable without running; waits that had not ended are
    /// included.
    pub longest_wait_ns: u64,
    pub tasks: u64,
    /// The CPU time of each task, ascending; tasks whose number was given away again are missing.
    pub cpu_times_ns: Vec<u64>,
}

/// The span of the counting, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub start_ns: u64,
    pub finish_ns: u64,
}

impl Window {
    /// The part of an unfinished interval that lies inside the span.
    fn open_interval(&self, since_ns: u64) -> u64 {
        self.finish_ns.saturating_sub(since_ns.max(self.start_ns))
    }
}

/// Adds up a group: the counts of its tasks, and of tasks whose slots are in use again. Besides
/// the sums, the tallies of its waits: after wake-ups, and for other reasons.
pub fn group<'a>(
    tasks: impl Iterator<Item = &'a ProbeTask>,
    retired: &ProbeTotals,
    window: Window,
) -> (GroupReadings, ProbeTally, ProbeTally) {
    let (mut wakeups, mut other_waits) = (retired.wakeups, retired.other_waits);
    let mut sum = GroupReadings {
        voluntary_switches: retired.voluntary_switches,
        involuntary_switches: retired.involuntary_switches,
        migrations: retired.migrations,
        cpu_time_ns: retired.cpu_time_ns,
        tasks: retired.tasks,
        ..GroupReadings::default()
    };
    for task in tasks {
        let cpu_time_ns = cpu_time_ns(task, window);
        sum.voluntary_switches += task.voluntary_switches;
        sum.involuntary_switches += task.involuntary_switches;
        sum.migrations += task.migrations;
        sum.cpu_time_ns += cpu_time_ns;
        sum.longest_wait_ns = sum.longest_wait_ns.max(open_wait(task, window));
        add_tally(&mut wakeups, &task.wakeups);
        add_tally(&mut other_waits, &task.other_waits);
        if cpu_time_ns > 0 || task.wakeups.count + task.other_waits.count > 0 {
            sum.tasks += 1;
            sum.cpu_times_ns.push(cpu_time_ns);
        }
    }
    sum.cpu_times_ns.sort_unstable();
    sum.longest_wait_ns = sum.longest_wait_ns.max(wakeups.max_ns).max(other_waits.max_ns);
    (sum, wakeups, other_waits)
}

/// A task's CPU time, with that of an unfinished interval.
pub fn cpu_time_ns(task: &ProbeTask, window: Window) -> u64 {
    let is_running = task.activity == activity::RUNNING;
    task.cpu_time_ns + if is_running { window.open_interval(task.since_ns) } else { 0 }
}

/// Adds up the counts of all CPUs over time, and the unfinished intervals.
pub fn over_time<'a>(
    cpus: impl Iterator<Item = ProbeSeries>,
    tasks: impl Iterator<Item = &'a ProbeTask>,
    window: Window,
) -> Counts {
    let mut sums = vec![series::Interval::default(); PLACES];
    let mut filled = vec![[0_i64; 2]; PLACES];
    for cpu in cpus {
        for (place, at) in cpu.intervals.iter().enumerate() {
            sums[place].busy_ns += at.ns[BUSY];
            sums[place].waiting_ns += at.ns[WAITED];
            sums[place].switches += at.switches;
            sums[place].forks += at.forks;
            (0..2).for_each(|what| filled[place][what] += at.filled[what]);
        }
    }
    let mut counts = Counts::default();
    let mut full = [0_i64; 2];
    for (place, sum) in sums.iter_mut().enumerate() {
        let (begin_ns, end_ns) = bounds(place);
        (0..2).for_each(|what| full[what] += filled[place][what]);
        let [busy, waiting] = full.map(|spans| spans.max(0) as u64 * (end_ns - begin_ns));
        sum.busy_ns += busy;
        sum.waiting_ns += waiting;
        if *sum != series::Interval::default() {
            counts.add(place, sum);
        }
    }
    let run_ns = window.finish_ns - window.start_ns;
    for task in tasks {
        if task.activity == activity::RUNNING {
            counts.runs_at_end(run_ns - window.open_interval(task.since_ns), run_ns);
        }
        counts.waited(run_ns - open_wait(task, window), run_ns);
    }
    counts
}

/// The time that a runnable task has waited so far.
fn open_wait(task: &ProbeTask, window: Window) -> u64 {
    match task.activity {
        activity::WAITING | activity::ASLEEP if task.woken_ns != 0 => {
            window.open_interval(task.woken_ns)
        }
        activity::WAITING => window.open_interval(task.since_ns),
        _ => 0,
    }
}

pub fn histogram(
    buckets: &SharedMap<u64>,
    group: usize,
    measure: usize,
    tally: &ProbeTally,
) -> Histogram {
    let first = (group * MEASURES + measure) * BUCKETS;
    let samples = (0..BUCKETS).map(|bucket| buckets.get(first + bucket));
    Histogram {
        count: tally.count,
        min: smallest_ns(tally),
        max: tally.max_ns,
        buckets: filled_buckets(samples),
        ..Histogram::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compile::probe_types::ProbeInterval;

    const WINDOW: Window = Window { start_ns: 100, finish_ns: 1000 };

    fn task(activity: u32, since_ns: u64, woken_ns: u64) -> ProbeTask {
        ProbeTask { pid: 1, activity, since_ns, woken_ns, ..ProbeTask::default() }
    }

    fn sum(task: ProbeTask) -> GroupReadings {
        group([task].iter(), &ProbeTotals::default(), WINDOW).0
    }

    #[test]
    fn who_still_runs_is_counted_to_the_end() {
        let sum = sum(task(activity::RUNNING, 50, 0));
        assert_eq!((sum.cpu_time_ns, sum.tasks, sum.longest_wait_ns), (900, 1, 0));
    }

    #[test]
    fn who_still_waits_has_the_longest_wait() {
        assert_eq!(sum(task(activity::WAITING, 300, 0)).longest_wait_ns, 700);
        assert_eq!(sum(task(activity::ASLEEP, 300, 600)).longest_wait_ns, 400);
        assert_eq!(sum(task(activity::ASLEEP, 300, 0)).longest_wait_ns, 0);
        assert_eq!(sum(task(activity::WAITING, 300, 0)).tasks, 0, "it has not run");
    }

    #[test]
    fn spans_that_fill_intervals_are_added_up_over_cpus() {
        const MS: u64 = 1_000_000;
        let none = ProbeSeries {
            begin_ns: 0,
            end_ns: 0,
            place: 0,
            padding: [0; 5],
            intervals: [ProbeInterval::default(); PLACES],
        };
        // One CPU saw the end of a wait from 4 to 47 ms, the other a task that ran from 10 to 12
        // ms.
        let (mut one, mut other) = (none, none);
        (one.intervals[0].ns[WAITED], one.intervals[4].ns[WAITED]) = (6 * MS, 7 * MS);
        (one.intervals[1].filled[WAITED], one.intervals[4].filled[WAITED]) = (1, -1);
        (other.intervals[1].ns[BUSY], other.intervals[1].switches) = (2 * MS, 1);
        other.intervals[1].forks = 3;
        let window = Window { start_ns: 5 * MS, finish_ns: 55 * MS };
        let still = [
            ProbeTask {
                pid: 1,
                since_ns: 53 * MS,
                activity: activity::RUNNING,
                ..ProbeTask::default()
            },
            ProbeTask {
                pid: 2,
                since_ns: 51 * MS,
                activity: activity::WAITING,
                ..ProbeTask::default()
            },
        ];
        let counts = over_time([one, other].into_iter(), still.iter(), window);
        let (_, equal) = counts.equal_intervals(50 * MS);
        let waiting: Vec<u64> = equal.iter().map(|at| at.waiting_ns / MS).collect();
        assert_eq!(waiting, [6, 10, 10, 10, 11]);
        assert_eq!((equal[1].busy_ns, equal[4].busy_ns), (2 * MS, 2 * MS));
        assert_eq!((equal[1].switches, equal[1].forks), (1, 3));
    }

    #[test]
    fn reused_slots_are_not_forgotten() {
        let retired = ProbeTotals {
            tasks: 2,
            cpu_time_ns: 40,
            other_waits: ProbeTally { count: 3, max_ns: 9, min_complement: !2 },
            ..ProbeTotals::default()
        };
        let (sum, _, delay) = group([].iter(), &retired, WINDOW);
        assert_eq!((sum.tasks, sum.cpu_time_ns, sum.longest_wait_ns), (2, 40, 9));
        assert_eq!((delay.count, smallest_ns(&delay)), (3, 2));
    }
}
