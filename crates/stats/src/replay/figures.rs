// SPDX-License-Identifier: GPL-2.0-only
//! The figures of the tasks of a workload, from one trial: from its events, or from its record.

use std::collections::BTreeMap;

use model::metric::ALL;
use model::{Histogram, Measured, Trace};

use crate::explain::About;
use crate::explain::timeline::Timeline;
use crate::number::quantile::samples_needed;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// From the common start to the end of the workload.
    pub wall_ns: u64,
    /// Its groups of like tasks, by their names.
    pub groups: BTreeMap<String, GroupFigures>,
}

/// What a trial says of the tasks of a group, all together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFigures {
    pub cpu_ns: u64,
    pub switches: u64,
    /// How often one of them became runnable: woken, or new.
    pub wakeups: u64,
    /// How long one of them waited for a CPU each time, in ascending order.
    pub waits_ns: Vec<u64>,
}

/// A figure that a program and its replay are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Wall,
    Switches,
    Wakeups,
    Cpu,
    /// The median wait for a CPU, ns.
    DelayP50,
    /// The 99th percentile of the waits for a CPU, ns.
    DelayP99,
    /// The mean wait for a CPU, ns.
    DelayMean,
}

/// The one group of a trial without a trace.
const ALL_TASKS: &str = "all tasks";

/// Groups with a smaller part of the CPU time do not decide anything.
pub const WEIGHT_MIN: f64 = 0.01;

impl Figures {
    /// The groups that decide: those with at least [`WEIGHT_MIN`] of the CPU time.
    pub fn weighty(&self) -> Vec<String> {
        let all_ns: u64 = self.groups.values().map(|group| group.cpu_ns).sum();
        let is_weighty =
            |group: &GroupFigures| group.cpu_ns as f64 >= WEIGHT_MIN * all_ns.max(1) as f64;
        let weighty = self.groups.iter().filter(|(_, group)| is_weighty(group));
        weighty.map(|(name, _)| name.clone()).collect()
    }

    /// A figure of a group; of all together with an empty name. `None` where there are too few
    /// waits, or no such group.
    pub fn value(&self, kind: Kind, group: &str) -> Option<f64> {
        let sum = |of: fn(&GroupFigures) -> u64| {
            let known = self.groups.iter().filter(|(name, _)| group.is_empty() || *name == group);
            Some(known.map(|(_, group)| of(group) as f64).sum())
        };
        match kind {
            Kind::Wall => Some(self.wall_ns as f64),
            Kind::Switches => sum(|group| group.switches),
            Kind::Wakeups => sum(|group| group.wakeups),
            Kind::Cpu => sum(|group| group.cpu_ns),
            Kind::DelayP50 => self.groups.get(group)?.quantile(0.5),
            Kind::DelayP99 => self.groups.get(group)?.quantile(0.99),
            Kind::DelayMean => self.groups.get(group)?.mean(),
        }
    }
}

impl GroupFigures {
    /// Of as many samples as a quantile needs ([`samples_needed`]), by the nearest rank.
    fn quantile(&self, part: f64) -> Option<f64> {
        let count = self.waits_ns.len();
        let rank = ((part * count as f64).ceil() as usize).clamp(1, count.max(1));
        (count as u64 >= samples_needed(part)).then(|| self.waits_ns[rank - 1] as f64)
    }

    fn mean(&self) -> Option<f64> {
        let count = self.waits_ns.len();
        let sum: u128 = self.waits_ns.iter().map(|&ns| u128::from(ns)).sum();
        (count as u64 >= samples_needed(0.5)).then(|| sum as f64 / count as f64)
    }
}

/// The figures of the tasks in `members` (their numbers, with their groups' names) from the common
/// start until `wall_ns`.
pub fn figures(trace: &Trace, members: &BTreeMap<u32, String>, wall_ns: u64) -> Figures {
    let end = trace.events.partition_point(|event| event.time_ns <= wall_ns);
    let about = About { end_ns: wall_ns, ..About::default() };
    let timeline = Timeline::new(&trace.tasks, &trace.events[..end], &about);
    let mut figures = Figures { wall_ns, ..Figures::default() };
    for task in &timeline.tasks {
        let Some(name) = members.get(&task.pid) else { continue };
        if task.switches + task.wakeups + task.running_ns > 0 {
            let group = figures.groups.entry(name.clone()).or_default();
            group.cpu_ns += task.running_ns;
            group.switches += task.switches;
            group.wakeups += task.wakeups;
        }
    }
    for wait in timeline.waits.iter().filter(|wait| !wait.open) {
        let name = members.get(&timeline.tasks[wait.task].pid);
        if let Some(group) = name.and_then(|name| figures.groups.get_mut(name)) {
            group.waits_ns.push(wait.to_ns - wait.from_ns);
        }
    }
    figures.groups.values_mut().for_each(|group| group.waits_ns.sort_unstable());
    figures
}

/// The figures of a trial without a trace, whose tasks are one group. `None`: the record lacks one
/// of them.
pub fn figures_of_record(measured: &Measured) -> Option<Figures> {
    let number = |name| measured.value(name, ALL).map(|value| value as u64);
    let of_each_group = |name| measured.histograms.iter().filter(move |of| of.name == name);
    let waits = of_each_group("run_delay_ns").flat_map(|of| of.buckets.iter());
    let mut waits_ns: Vec<u64> =
        waits.flat_map(|(ns, count)| std::iter::repeat_n(ns, count as usize)).collect();
    waits_ns.sort_unstable();
    let group = GroupFigures {
        cpu_ns: number("cpu_time_ns")?,
        switches: number("voluntary_switches")? + number("involuntary_switches")?,
        wakeups: of_each_group("wakeup_latency_ns").map(|of: &Histogram| of.count).sum(),
        waits_ns,
    };
    let wall_ns = measured.series("busy_share")?.end_ns;
    Some(Figures { wall_ns, groups: BTreeMap::from([(ALL_TASKS.to_owned(), group)]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::TraceEvent;
    use model::trace::What;

    fn switch(prev: u32, state: &str, next: u32) -> What {
        let prev_state = state.to_owned();
        What::Switch { prev, prev_prio: 120, prev_state, next, next_prio: 120, reason: None }
    }

    fn waking(pid: u32) -> What {
        What::Waking { pid, prio: 120, target: 0, interrupt: false, by: None }
    }

    fn read(events: &[(u64, What)], end_ns: u64) -> Figures {
        let event = |(time_ns, what): &(u64, What)| TraceEvent {
            time_ns: *time_ns,
            cpu: 0,
            what: what.clone(),
        };
        let events = events.iter().map(event).collect();
        let trace = Trace { tasks: Vec::new(), events, lost: 0 };
        let members = BTreeMap::from([(1, "a".to_owned()), (2, "b".to_owned())]);
        figures(&trace, &members, end_ns)
    }

    #[test]
    fn time_on_cpus_and_waits_are_added_up() {
        let seen = read(
            &[
                (10, switch(1, "S", 2)),
                (15, waking(1)),
                (30, switch(2, "R+", 1)),
                (50, switch(1, "S", 2)),
                (90, switch(2, "S", 0)),
                (200, waking(1)),
            ],
            100,
        );
        let (a, b) = (&seen.groups["a"], &seen.groups["b"]);
        assert_eq!((a.cpu_ns, a.switches, a.wakeups), (30, 2, 1));
        assert_eq!(a.waits_ns, [15]);
        assert_eq!((b.cpu_ns, b.switches, b.wakeups), (60, 2, 0));
        assert_eq!(b.waits_ns, [20]);
        assert_eq!(seen.value(Kind::Switches, ""), Some(4.0));
        assert_eq!(seen.value(Kind::DelayP50, "a"), None, "one wait is no median");
    }

    #[test]
    fn a_wake_up_before_its_switch_counts_once() {
        let early = read(&[(5, waking(1)), (7, switch(0, "R", 1)), (10, waking(1))], 8);
        assert_eq!(early.groups["a"].waits_ns, [2]);
        // Woken while it ran, and it slept nevertheless: it was runnable at once.
        let raced = [
            (0, switch(0, "R", 1)),
            (10, waking(1)),
            (12, switch(1, "S", 0)),
            (20, switch(0, "R", 1)),
        ];
        let raced = read(&raced, 30);
        assert_eq!((raced.groups["a"].wakeups, &raced.groups["a"].waits_ns[..]), (1, &[8][..]));
        // The wake-up ended no sleep, and the next sleep is a real one.
        let stale = [
            (0, switch(0, "R", 1)),
            (10, waking(1)),
            (12, switch(1, "S", 0)),
            (18, waking(1)),
            (20, switch(0, "R", 1)),
        ];
        let stale = read(&stale, 30);
        assert_eq!((stale.groups["a"].wakeups, &stale.groups["a"].waits_ns[..]), (1, &[2][..]));
    }

    #[test]
    fn light_groups_do_not_decide() {
        let seen = read(&[(1, switch(1, "S", 2)), (1000, switch(2, "S", 0))], 1000);
        assert_eq!(seen.weighty(), ["b"]);
    }

    #[test]
    fn a_record_has_the_figures_of_all_tasks() {
        let number = |name: &str, value| model::Metric::number(name, ALL, value);
        let delays = |group, samples| Histogram::from_samples("run_delay_ns", group, samples);
        let mut measured = Measured {
            metrics: vec![
                number("cpu_time_ns", 70.0),
                number("voluntary_switches", 4.0),
                number("involuntary_switches", 3.0),
            ],
            histograms: vec![
                delays("a", &[30, 10, 10, 20]),
                delays("b", &[40, 50]),
                Histogram::from_samples("wakeup_latency_ns", "a", &[10, 10]),
            ],
            ..Measured::default()
        };
        assert_eq!(figures_of_record(&measured), None, "nobody knows how long it took");
        let end_ns = 100;
        let series = model::Series { name: "busy_share".into(), end_ns, ..Default::default() };
        measured.series.push(series);
        let seen = figures_of_record(&measured).expect("nothing is missing");
        assert_eq!(seen.value(Kind::Wall, ""), Some(100.0));
        assert_eq!(seen.value(Kind::Switches, ""), Some(7.0));
        assert_eq!(seen.value(Kind::Wakeups, ""), Some(2.0));
        let of_all = |kind| seen.value(kind, ALL_TASKS);
        assert_eq!((of_all(Kind::Cpu), of_all(Kind::DelayP50)), (Some(70.0), Some(20.0)));
        assert_eq!(of_all(Kind::DelayMean), Some(160.0 / 6.0));
    }
}
