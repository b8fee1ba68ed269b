// SPDX-License-Identifier: GPL-2.0-only
//! Makes measures from the results of the player and the counts of the probes.
//!
//! Everything here is defined in [`model::metric::MEASURES`]. A number that should be there and is
//! not is `missing`, with its reason; a measure that has no meaning for a group (deadlines without
//! a timer, the fairness of one task) is left out.

use model::parsers::Reported;
use model::play::{ALL, PROGRAM, frames, sums};
use model::{Histogram, Measured, Metric, Provenance, series};

use crate::player::{GroupPlayed, Played};
use crate::probes::GroupReadings;

const SECOND_NS: f64 = 1e9;

/// All measures of a trial, sorted.
pub fn all(played: &Played, reported: &Reported, provenance: &Provenance) -> Measured {
    let why = format!("no probes: {}", provenance.probes);
    let readings = played.readings.as_ref().map_or(&[][..], |readings| &readings.groups);
    let mut sheet = Sheet {
        measured: Measured::default(),
        run_ns: played.run_ns,
        counted_ns: played
            .readings
            .as_ref()
            .map_or(played.sampled_ns, |readings| readings.counted_ns)
            .max(played.run_ns),
        cpus: provenance.cpus,
        no_probes: why,
    };
    for (number, group) in played.groups.iter().enumerate() {
        let reading = readings.get(number);
        sheet.kernel_side(&group.name, reading, own_side(group));
        sheet.user_side(group);
    }
    if let Some(program) = &played.program {
        let cpu_ns = program.usage[0].checked_add(program.usage[1]);
        let own = OwnSide { cpu_ns, tasks: None, usage: program.usage.map(Some) };
        sheet.kernel_side(PROGRAM, readings.get(played.groups.len()), own);
        sheet.program(program.stopped, program.run_ns, reported);
    }
    if let Some(completion_ns) = played.completion_ns {
        sheet.number("completion_ns", ALL, completion_ns as f64);
    }
    let program = played.program.iter().map(|_| PROGRAM);
    let groups = played.groups.iter().map(|group| group.name.as_str());
    sums::add_all(&mut sheet.measured, &groups.chain(program).collect::<Vec<_>>());
    sheet.measured.series = match &played.readings {
        Some(readings) => readings.series.series(readings.counted_ns, provenance.cpus),
        None => series::missing(&sheet.no_probes),
    };
    sheet.measured.sort();
    sheet.measured
}

struct OwnSide {
    cpu_ns: Option<u64>,
    tasks: Option<u64>,
    /// User and system time, voluntary and involuntary switches.
    usage: [Option<u64>; 4],
}

fn own_side(group: &GroupPlayed) -> OwnSide {
    // A process that replaced its program took its counts with it.
    let counted = |value: u64| (!group.execs).then_some(value);
    let cpu_ns = counted(group.cpu_ns.iter().flatten().sum::<u64>() + group.forked_cpu_ns);
    OwnSide { cpu_ns, tasks: Some(group.tasks), usage: group.usage.map(counted) }
}

const REPLACED: &str = "its processes replace their program, whose end is not seen from inside";

const NUMBER_TAKEN: &str = "a task has ended, and a later process has its number";

struct Sheet {
    measured: Measured,
    run_ns: u64,
    /// The time in which CPU time was counted, which is a little longer.
    counted_ns: u64,
    cpus: u32,
    no_probes: String,
}

impl Sheet {
    fn number(&mut self, name: &str, group: &str, value: f64) {
        self.measured.metrics.push(Metric::number(name, group, value));
    }

    fn missing(&mut self, name: &str, group: &str, why: &str) {
        self.measured.metrics.push(Metric::missing(name, group, why));
    }

    fn number_or(&mut self, name: &str, group: &str, value: Option<u64>, why: &str) {
        match value {
            Some(value) => self.number(name, group, value as f64),
            None => self.missing(name, group, why),
        }
    }

    /// A complete distribution; without all of its samples it is missing.
    fn distribution(&mut self, name: &str, group: &str, histogram: &Histogram) {
        if !histogram.is_complete() {
            return self.missing(name, group, "the histogram and its count of samples differ");
        }
        let (name, group) = (name.into(), group.into());
        self.measured.histograms.push(Histogram { name, group, ..histogram.clone() });
    }

    /// Measures of the probes; without probes, the kernel's accounting of threads replaces them
    /// where possible.
    fn kernel_side(&mut self, group: &str, reading: Option<&GroupReadings>, own: OwnSide) {
        let why = self.no_probes.clone();
        let [user, system, voluntary, involuntary] = own.usage;
        match reading {
            Some(reading) => {
                self.distribution("wakeup_latency_ns", group, &reading.wakeup_latency);
                self.distribution("run_delay_ns", group, &reading.run_delay);
            }
            None => {
                self.missing("wakeup_latency_ns", group, &why);
                self.missing("run_delay_ns", group, &why);
            }
        }
        let voluntary = reading.map(|r| r.voluntary_switches).or(voluntary);
        let involuntary = reading.map(|r| r.involuntary_switches).or(involuntary);
        self.number_or("voluntary_switches", group, voluntary, &why);
        self.number_or("involuntary_switches", group, involuntary, &why);
        self.number_or("migrations", group, reading.map(|r| r.migrations), &why);
        self.number_or("longest_wait_ns", group, reading.map(|r| r.longest_wait_ns), &why);
        self.number_or("tasks", group, own.tasks.or(reading.map(|r| r.tasks)), &why);
        self.number_or("user_time_ns", group, user, REPLACED);
        self.number_or("system_time_ns", group, system, REPLACED);
        let cpu_ns = reading.map(|r| r.cpu_time_ns).or(own.cpu_ns);
        self.number_or("cpu_time_ns", group, cpu_ns, &why);
        match cpu_ns {
            Some(cpu_ns) => self.number("cpu_share", group, self.share(cpu_ns as f64)),
            None => self.missing("cpu_share", group, &why),
        }
    }

    fn share(&self, cpu_ns: f64) -> f64 {
        cpu_ns / (self.counted_ns.max(1) as f64 * f64::from(self.cpus.max(1)))
    }

    /// Measures that the tasks take themselves.
    fn user_side(&mut self, group: &GroupPlayed) {
        let name = group.name.as_str();
        let per_second = group.rounds as f64 * SECOND_NS / self.run_ns.max(1) as f64;
        self.number("iterations_per_second", name, per_second);
        if group.has_timers {
            self.distribution("timer_lateness_ns", name, &group.timer_lateness);
            self.distribution("response_time_ns", name, &group.response_time);
            let deadlines = sums::deadlines(name, group.deadlines, group.deadlines_missed);
            self.measured.metrics.extend(deadlines);
        }
        if group.has_spans {
            self.distribution("span_ns", name, &group.span);
            self.number("timeouts", name, group.timeouts as f64);
        }
        if group.has_frames {
            let times = group.frame_time.clone();
            frames::measure(&mut self.measured, name, times, group.stutters);
        }
        if group.forked && group.execs {
            self.missing("turnaround_ns", name, REPLACED);
        } else if group.turnaround.count > 0 {
            self.distribution("turnaround_ns", name, &group.turnaround);
        } else if group.is_finite || group.forked {
            self.missing("turnaround_ns", name, "no task of the group has ended by itself");
        }
        match &group.cpu_ns {
            Some(each) if each.len() > 1 => {
                self.measured.metrics.push(sums::jain_index(name, each));
            }
            Some(_) => {}
            None => self.missing("jain_index", name, NUMBER_TAKEN),
        }
    }

    /// Measures of the real program: from its output, else its run time.
    fn program(&mut self, stopped: bool, run_ns: u64, reported: &Reported) {
        if *reported == Reported::default() {
            if stopped {
                self.missing("completion_ns", PROGRAM, "it was stopped at duration_us");
            } else {
                self.number("completion_ns", PROGRAM, run_ns as f64);
            }
        }
        reported.add_to(&mut self.measured);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::measure;

    fn played() -> Played {
        let mut group = GroupPlayed {
            name: "g".into(),
            tasks: 2,
            rounds: 10,
            has_timers: true,
            cpu_ns: Some(vec![300, 100]),
            ..GroupPlayed::default()
        };
        (group.deadlines, group.deadlines_missed) = (4, 1);
        Played { run_ns: 1_000, completion_ns: Some(900), groups: vec![group], ..Played::default() }
    }

    fn measured(played: &Played) -> Measured {
        let provenance = Provenance { cpus: 2, probes: "no BTF".into(), ..Provenance::default() };
        all(played, &Reported::default(), &provenance)
    }

    #[test]
    fn a_share_is_of_the_time_in_which_it_was_counted() {
        let mut slow = played();
        slow.groups[0].cpu_ns = Some(vec![1_030, 1_030]);
        slow.sampled_ns = 1_030;
        assert_eq!(measured(&slow).value("cpu_share", "g"), Some(1.0));
    }

    #[test]
    fn numbers_follow_their_definitions() {
        let measured = measured(&played());
        let value = |name, group| measured.value(name, group);
        assert_eq!(value("iterations_per_second", "g"), Some(1e7));
        assert_eq!(value("deadline_miss_ratio", "g"), Some(0.25));
        assert_eq!(value("cpu_share", "g"), Some(0.2));
        assert_eq!(value("cpu_share", "all"), Some(0.2));
        assert_eq!(value("jain_index", "g"), Some(160_000.0 / 200_000.0));
        assert_eq!(value("completion_ns", "all"), Some(900.0));
        let all = measured.metrics.iter().map(|metric| &metric.name);
        let known = all.chain(measured.histograms.iter().map(|histogram| &histogram.name));
        known.for_each(|name| assert!(measure(name).is_some(), "{name}"));
    }

    #[test]
    fn what_is_missing_has_a_reason() {
        let measured = measured(&played());
        for name in ["wakeup_latency_ns", "migrations", "longest_wait_ns"] {
            let metric =
                measured.metrics.iter().find(|m| m.name == name && m.group == "g").unwrap();
            assert_eq!(metric.value, None);
            assert!(metric.missing.as_ref().unwrap().contains("no BTF"), "{name}");
        }
        assert_eq!(measured.value("migrations", "all"), None);
        assert_eq!(measured.series.len(), series::SERIES.len());
        for series in &measured.series {
            assert!(
                series.values.is_empty() && series.missing.as_ref().unwrap().contains("no BTF")
            );
        }
    }

    #[test]
    fn an_incomplete_histogram_is_refused() {
        let mut played = played();
        played.groups[0].timer_lateness.count = 1;
        let measured = measured(&played);
        assert!(measured.histogram("timer_lateness_ns", "g").is_none());
        assert!(
            measured.metrics.iter().any(|m| m.name == "timer_lateness_ns" && m.value.is_none())
        );
    }

    #[test]
    fn replaced_programs_have_no_usage() {
        let mut played = played();
        (played.groups[0].execs, played.groups[0].forked) = (true, true);
        let measured = measured(&played);
        assert_eq!(measured.value("user_time_ns", "g"), None);
        assert_eq!(measured.value("cpu_time_ns", "g"), None);
        assert!(measured.metrics.iter().any(|m| m.name == "turnaround_ns" && m.value.is_none()));
    }
}
