// SPDX-License-Identifier: GPL-2.0-only
//! From the counters to the record. The only place with floating-point numbers: the simulation is
//! over.

use model::{Histogram, Measured, Metric};

use super::recorder::GroupTally;
use crate::core::task::State;
use crate::core::{Core, TaskId};

/// A group's sums over its tasks.
#[derive(Clone, Default)]
struct Sums {
    cpu_ns: Vec<u64>,
    user_ns: u64,
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    longest_wait_ns: u64,
}

const ALL: &str = "all";

impl Core {
    /// Counts what is still going on when the run ends.
    pub(crate) fn close_measurement(&mut self) {
        let end_ns = self.now;
        for cpu in 0..self.topology.cpus {
            self.pause(cpu);
            self.update_curr(cpu);
            let current = self.cpus[cpu as usize].curr;
            let stat = &mut self.stats[current.0 as usize];
            stat.ran_ns += end_ns.saturating_sub(stat.runs_since);
            let (group, since_ns) = (self.tasks[current.0 as usize].group, stat.runs_since);
            if current.0 != cpu && self.score.groups.len() > group as usize {
                self.recorder.series.runs_at_end(since_ns, end_ns);
            }
        }
        for task in self.all_tasks() {
            self.close_task(task, end_ns);
        }
    }

    fn close_task(&mut self, task: TaskId, end_ns: u64) {
        let index = task.0 as usize;
        let this = &self.tasks[index];
        let running = self.cpus[this.cpu as usize].curr == task;
        if this.state == State::Runnable && !running {
            let stat = &mut self.stats[index];
            stat.longest_wait = stat.longest_wait.max(end_ns.saturating_sub(stat.runnable_at));
        }
        let Some(group) = self.score.groups.get(this.group as usize) else { return };
        if this.state == State::Runnable && !running {
            self.recorder.series.waited(self.stats[index].runnable_at, end_ns);
        }
        if this.state == State::Dead {
            return;
        }
        let tally = &mut self.recorder.groups[this.group as usize];
        for (timer, &plan) in self.plays[index].timers.iter_mut().zip(&group.timers) {
            timer.stop(plan, end_ns, tally);
        }
        for &(start_ns, limit_ns) in &self.plays[index].spans {
            let age_ns = end_ns.saturating_sub(start_ns);
            if age_ns > limit_ns {
                tally.span(age_ns, limit_ns);
            }
        }
    }

    /// Everything measured, in the record's order.
    pub(crate) fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        let mut sums = vec![Sums::default(); self.score.groups.len()];
        for task in self.all_tasks() {
            if let Some(sums) = sums.get_mut(self.task(task).group as usize) {
                self.add_task_to(sums, task);
            }
        }
        for (number, sums) in sums.iter().enumerate() {
            self.measure_group(&mut measured, number, sums);
        }
        self.measure_all(&mut measured);
        measured.series = self.recorder.series.series(self.now, self.topology.cpus);
        measured.sort();
        measured
    }

    fn add_task_to(&self, sums: &mut Sums, task: TaskId) {
        let stat = &self.stats[task.0 as usize];
        sums.cpu_ns.push(stat.ran_ns);
        sums.user_ns += stat.user_ns;
        sums.voluntary += u64::from(stat.voluntary);
        sums.involuntary += u64::from(stat.involuntary);
        sums.migrations += u64::from(stat.migrations);
        sums.longest_wait_ns = sums.longest_wait_ns.max(stat.longest_wait);
    }

    fn measure_group(&self, measured: &mut Measured, number: usize, sums: &Sums) {
        let (group, tally) = (&self.score.groups[number], &self.recorder.groups[number]);
        let name = group.name.as_str();
        let cpu_ns: u64 = sums.cpu_ns.iter().sum();
        let system_ns = cpu_ns.saturating_sub(sums.user_ns);
        let seconds = self.now as f64 / 1e9;
        let share = cpu_ns as f64 / (self.now as f64 * f64::from(self.topology.cpus));
        let rate = tally.rounds as f64 / seconds;
        let mut add = |metric: &str, value: f64| {
            measured.metrics.push(match value.is_finite() {
                true => Metric::number(metric, name, value),
                false => Metric::missing(metric, name, "the run took no time"),
            });
        };
        add("cpu_time_ns", cpu_ns as f64);
        add("user_time_ns", (cpu_ns - system_ns) as f64);
        add("system_time_ns", system_ns as f64);
        add("cpu_share", share);
        add("iterations_per_second", rate);
        add("voluntary_switches", sums.voluntary as f64);
        add("involuntary_switches", sums.involuntary as f64);
        add("migrations", sums.migrations as f64);
        add("longest_wait_ns", sums.longest_wait_ns as f64);
        add("tasks", tally.tasks as f64);
        if !group.timers.is_empty() {
            add("deadlines", tally.deadlines as f64);
            add("deadlines_missed", tally.missed as f64);
        }
        if group.has_spans {
            add("timeouts", tally.timeouts as f64);
            measured.histograms.push(tally.span.histogram("span_ns", name));
        }
        if group.starts_ns.len() > 1 {
            measured.metrics.push(jain_index(name, &sums.cpu_ns));
        }
        if !group.timers.is_empty() {
            measured.metrics.push(miss_ratio(name, tally));
        }
        measured.histograms.extend(histograms(tally, name, group.timers.is_empty()));
        let turnaround = tally.turnaround.histogram("turnaround_ns", name);
        if turnaround.count > 0 {
            measured.histograms.push(turnaround);
        } else if group.finite {
            let why = "no task of the group has ended by itself";
            measured.metrics.push(Metric::missing("turnaround_ns", name, why));
        }
    }

    /// The sums over all groups, with the names that the live backend gives them too.
    fn measure_all(&self, measured: &mut Measured) {
        const SUMS: [&str; 6] = [
            "voluntary_switches",
            "involuntary_switches",
            "migrations",
            "cpu_time_ns",
            "cpu_share",
            "tasks",
        ];
        let groups = || self.score.groups.iter().map(|group| group.name.as_str());
        for name in SUMS {
            let parts: Vec<f64> =
                groups().filter_map(|group| measured.value(name, group)).collect();
            measured.metrics.push(match parts.is_empty() {
                true => Metric::missing(name, ALL, "the run took no time"),
                false => Metric::number(name, ALL, parts.iter().sum()),
            });
        }
        let waits = groups().filter_map(|group| measured.value("longest_wait_ns", group));
        let longest = waits.fold(0.0, f64::max);
        measured.metrics.push(Metric::number("longest_wait_ns", ALL, longest));
        if self.score.groups.iter().any(|group| group.finite) {
            let done = self.recorder.last_end.filter(|_| self.live_finite == 0);
            measured.metrics.push(match done {
                Some(end_ns) => Metric::number("completion_ns", ALL, end_ns as f64),
                None => Metric::missing("completion_ns", ALL, "finite tasks were still running"),
            });
        }
    }
}

fn histograms(tally: &GroupTally, name: &str, no_timers: bool) -> Vec<Histogram> {
    let mut all = vec![
        tally.wakeup.histogram("wakeup_latency_ns", name),
        tally.delay.histogram("run_delay_ns", name),
    ];
    if !no_timers {
        all.push(tally.lateness.histogram("timer_lateness_ns", name));
        all.push(tally.response.histogram("response_time_ns", name));
    }
    all
}

/// Jain's index of the tasks' CPU times.
fn jain_index(name: &str, cpu_ns: &[u64]) -> Metric {
    let sum: f64 = cpu_ns.iter().map(|&ns| ns as f64).sum();
    let squares: f64 = cpu_ns.iter().map(|&ns| ns as f64 * ns as f64).sum();
    match squares > 0.0 {
        true => Metric::number("jain_index", name, sum * sum / (cpu_ns.len() as f64 * squares)),
        false => Metric::missing("jain_index", name, "no task of the group has run"),
    }
}

fn miss_ratio(name: &str, tally: &GroupTally) -> Metric {
    match tally.deadlines {
        0 => {
            let why = "no deadline lay inside the run";
            Metric::missing("deadline_miss_ratio", name, why)
        }
        deadlines => {
            let ratio = tally.missed as f64 / deadlines as f64;
            Metric::number("deadline_miss_ratio", name, ratio)
        }
    }
}
