// SPDX-License-Identifier: GPL-2.0-only
//! Computes the record's measures from the counters. Only this module uses floating-point numbers:
//! it runs after the simulation.

use model::play::{ALL, frames, sums};
use model::{Histogram, Measured, Metric};

use super::recorder::GroupTally;
use crate::core::task::State;
use crate::core::{Core, TaskId};

/// A group's sums over its tasks.
#[derive(Clone, Default)]
struct TaskSums {
    cpu_ns: Vec<u64>,
    user_ns: u64,
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    longest_wait_ns: u64,
}

impl Core {
    /// Adds waits and CPU times that are unfinished when the workload ends.
    pub(crate) fn close_measurement(&mut self) {
        let end_ns = self.machine.now;
        for cpu in 0..self.machine.topology.cpus {
            self.machine.pause(cpu);
            self.update_curr(cpu);
            let current = self.machine.cpus[cpu as usize].curr;
            let stat = &mut self.machine.stats[current.0 as usize];
            stat.ran_ns += end_ns.saturating_sub(stat.runs_since);
            let (group, since_ns) = (self.machine.tasks[current.0 as usize].group, stat.runs_since);
            if current.0 != cpu && self.workload.groups().len() > group as usize {
                self.recorder.runs_at_end(since_ns, end_ns);
            }
        }
        for task in self.machine.all_tasks() {
            self.close_task(task, end_ns);
        }
    }

    fn close_task(&mut self, task: TaskId, end_ns: u64) {
        let index = task.0 as usize;
        let this = &self.machine.tasks[index];
        let running = self.machine.cpus[this.cpu as usize].curr == task;
        if this.state == State::Runnable && !running {
            let stat = &mut self.machine.stats[index];
            stat.longest_wait = stat.longest_wait.max(end_ns.saturating_sub(stat.runnable_at));
        }
        if this.group as usize >= self.workload.groups().len() {
            return;
        }
        if this.state == State::Runnable && !running {
            self.recorder.waits_at_end(self.machine.stats[index].runnable_at, end_ns);
        }
        if this.state != State::Dead {
            let tally = &mut self.recorder.groups[this.group as usize];
            self.workload.close_task(task, end_ns, tally);
        }
    }

    /// All measures, in the record's order.
    pub(crate) fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        let mut sums = vec![TaskSums::default(); self.workload.groups().len()];
        for task in self.machine.all_tasks() {
            if let Some(sums) = sums.get_mut(self.machine.task(task).group as usize) {
                self.add_task_to(sums, task);
            }
        }
        for (number, sums) in sums.iter().enumerate() {
            self.measure_group(&mut measured, number, sums);
        }
        self.measure_all(&mut measured);
        measured.series = self.recorder.series.series(self.run_ns(), self.machine.topology.cpus);
        measured.sort();
        measured
    }

    /// From the common start to now.
    fn run_ns(&self) -> u64 {
        self.machine.now.saturating_sub(self.workload.start_ns)
    }

    fn add_task_to(&self, sums: &mut TaskSums, task: TaskId) {
        let stat = &self.machine.stats[task.0 as usize];
        sums.cpu_ns.push(stat.ran_ns);
        sums.user_ns += stat.user_ns;
        sums.voluntary += u64::from(stat.voluntary);
        sums.involuntary += u64::from(stat.involuntary);
        sums.migrations += u64::from(stat.migrations);
        sums.longest_wait_ns = sums.longest_wait_ns.max(stat.longest_wait);
    }

    fn measure_group(&self, measured: &mut Measured, number: usize, tasks: &TaskSums) {
        let (group, tally) = (&self.workload.groups()[number], &self.recorder.groups[number]);
        let name = group.name.as_str();
        let cpu_ns: u64 = tasks.cpu_ns.iter().sum();
        let system_ns = cpu_ns.saturating_sub(tasks.user_ns);
        let (run_ns, cpus) = (self.run_ns() as f64, f64::from(self.machine.topology.cpus));
        let (seconds, share) = (run_ns / 1e9, cpu_ns as f64 / (run_ns * cpus));
        let rate = tally.rounds as f64 / seconds;
        let mut add = |metric: &str, value: f64| {
            measured.metrics.push(if value.is_finite() {
                Metric::number(metric, name, value)
            } else {
                Metric::missing(metric, name, "the trial took no time")
            });
        };
        add("cpu_time_ns", cpu_ns as f64);
        add("user_time_ns", (cpu_ns - system_ns) as f64);
        add("system_time_ns", system_ns as f64);
        add("cpu_share", share);
        add("iterations_per_second", rate);
        add("voluntary_switches", tasks.voluntary as f64);
        add("involuntary_switches", tasks.involuntary as f64);
        add("migrations", tasks.migrations as f64);
        add("longest_wait_ns", tasks.longest_wait_ns as f64);
        add("tasks", tally.tasks as f64);
        if group.has_spans {
            add("timeouts", tally.timeouts as f64);
            measured.histograms.push(tally.span.histogram("span_ns", name));
        }
        if group.starts_ns.len() > 1 {
            measured.metrics.push(sums::jain_index(name, &tasks.cpu_ns));
        }
        if !group.timers.is_empty() {
            let deadlines = sums::deadlines(name, tally.deadlines, tally.missed);
            measured.metrics.extend(deadlines);
        }
        if group.has_frames {
            let times = tally.frames.histogram("frame_time_ns", name);
            frames::measure(measured, name, times, tally.stutters);
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

    /// The sums over all groups, and the end of the last finite task.
    fn measure_all(&self, measured: &mut Measured) {
        let groups: Vec<&str> =
            self.workload.groups().iter().map(|group| group.name.as_str()).collect();
        sums::add_all(measured, &groups);
        if self.workload.groups().iter().any(|group| group.finite) {
            measured.metrics.push(match self.recorder.completion_ns() {
                Some(end_ns) if self.workload.finite_tasks_ended() => {
                    Metric::number("completion_ns", ALL, end_ns as f64)
                }
                _ => Metric::missing("completion_ns", ALL, "finite tasks were still running"),
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
