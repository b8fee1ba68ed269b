// SPDX-License-Identifier: GPL-2.0-only
//! What is measured: every name, unit, direction and definition, in one table.

use serde::{Deserialize, Serialize};

use crate::Name;

/// The group of a sum over all task groups, in [`Metric::group`].
pub const ALL: &str = "all";

/// The group of a real program's numbers, in [`Metric::group`].
pub const PROGRAM: &str = "program";

/// One measured number of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// A name from [`MEASURES`].
    pub name: Name,
    /// The task group, or `all`.
    pub group: Name,
    /// The number, in the measure's unit; `None`: missing.
    pub value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Name>,
}

impl Metric {
    pub fn number(name: &str, group: &str, value: f64) -> Metric {
        Metric { name: name.into(), group: group.into(), value: Some(value), missing: None }
    }

    /// The absence of a number, with its reason.
    pub fn missing(name: &str, group: &str, why: &str) -> Metric {
        Metric { name: name.into(), group: group.into(), value: None, missing: Some(why.into()) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Lower,
    Higher,
    /// Neither direction is better: the measure explains and does not judge.
    Neutral,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Nanoseconds,
    Count,
    PerSecond,
    FramesPerSecond,
    /// A part of one, 0 … 1.
    Ratio,
}

/// A definition that holds on every backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Measure {
    pub name: &'static str,
    pub unit: Unit,
    pub direction: Direction,
    /// Whether it is a distribution ([`crate::Histogram`]) or one number ([`Metric`]).
    pub distribution: bool,
    /// What exactly is measured.
    pub definition: &'static str,
}

pub fn measure(name: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.name == name)
}

const fn histogram(name: &'static str, definition: &'static str) -> Measure {
    Measure {
        name,
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
        distribution: true,
        definition,
    }
}

const fn number(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    definition: &'static str,
) -> Measure {
    Measure { name, unit, direction, distribution: false, definition }
}

/// Every measure. The book's list of measures is generated from it.
pub const MEASURES: &[Measure] = &[
    histogram(
        "wakeup_latency_ns",
        "From the wake-up of a sleeping task (sched_waking) to its first instruction \
         (sched_switch).",
    ),
    histogram(
        "run_delay_ns",
        "Every wait in a run queue: from becoming runnable, by wake-up, fork, preemption or \
         yield, to running.",
    ),
    histogram(
        "timer_lateness_ns",
        "From a timer's programmed release to the task's next look at the clock, seen from user \
         space.",
    ),
    histogram(
        "response_time_ns",
        "From a job's programmed release to its end, for tasks with a timer.",
    ),
    histogram(
        "span_ns",
        "Duration of the steps inside a `within`. Steps that are unfinished and past their limit \
         at the end of the trial count with their age.",
    ),
    histogram("turnaround_ns", "From a finite task's start to its end."),
    histogram(
        "frame_time_ns",
        "From one frame to the next (steps `frame`, or as a frame logger records them). A frame \
         that is unfinished at the end of the trial counts with its age if it is a stutter.",
    ),
    number(
        "completion_ns",
        Unit::Nanoseconds,
        Direction::Lower,
        "From the common start to the end of the last finite task, or the run time that the \
         program reports.",
    ),
    number(
        "iterations_per_second",
        Unit::PerSecond,
        Direction::Higher,
        "Repetitions of a group's steps, stretches of computing of tapes that begin again, or a \
         program's operations, per second.",
    ),
    number(
        "deadlines",
        Unit::Count,
        Direction::Neutral,
        "Releases of the group's timers whose deadlines lie inside the trial.",
    ),
    number(
        "deadlines_missed",
        Unit::Count,
        Direction::Lower,
        "Of these, the jobs not finished one period after their release; skipped releases count.",
    ),
    number(
        "deadline_miss_ratio",
        Unit::Ratio,
        Direction::Lower,
        "deadlines_missed / deadlines: for a player that drops frames, the part of frames dropped.",
    ),
    number(
        "one_percent_low_fps",
        Unit::FramesPerSecond,
        Direction::Higher,
        "The 1 % low: 1 s / frame_time_ns.p99, so one frame in a hundred is slower. Of fewer than \
         100 frames it is the slowest one's.",
    ),
    number(
        "tenth_percent_low_fps",
        Unit::FramesPerSecond,
        Direction::Higher,
        "The 0.1 % low: 1 s / frame_time_ns.p999. Of fewer than 1,000 frames it is the slowest \
         one's.",
    ),
    number(
        "stutters",
        Unit::Count,
        Direction::Lower,
        "Frames that take longer than 2.5 times the median of the 15 frames before them.",
    ),
    number("stutter_ratio", Unit::Ratio, Direction::Lower, "stutters / frames."),
    number(
        "timeouts",
        Unit::Count,
        Direction::Lower,
        "Spans of the group that took longer than their limit: a client that gave up.",
    ),
    number(
        "voluntary_switches",
        Unit::Count,
        Direction::Neutral,
        "Switches away from a task that blocked.",
    ),
    number(
        "involuntary_switches",
        Unit::Count,
        Direction::Neutral,
        "Switches away from a task that could have run on (preemption, slice end, yield).",
    ),
    number(
        "migrations",
        Unit::Count,
        Direction::Neutral,
        "Number of times that a task ran on another CPU than before.",
    ),
    number("cpu_time_ns", Unit::Nanoseconds, Direction::Neutral, "CPU time of the group's tasks."),
    number("user_time_ns", Unit::Nanoseconds, Direction::Neutral, "Its part in user mode."),
    number("system_time_ns", Unit::Nanoseconds, Direction::Neutral, "Its part in the kernel."),
    number(
        "cpu_share",
        Unit::Ratio,
        Direction::Neutral,
        "cpu_time_ns / (the time in which it was counted × CPUs of the machine).",
    ),
    number(
        "jain_index",
        Unit::Ratio,
        Direction::Higher,
        "Jain's fairness index of the CPU times of the group's tasks: (Σx)² / (n·Σx²); 1 is \
         equal shares.",
    ),
    number(
        "longest_wait_ns",
        Unit::Nanoseconds,
        Direction::Lower,
        "The longest time that a task of the group was runnable without running, the end of the \
         trial included.",
    ),
    number(
        "tasks",
        Unit::Count,
        Direction::Neutral,
        "Tasks of the group that ran, forked ones included.",
    ),
    number(
        "reloads",
        Unit::Count,
        Direction::Neutral,
        "How often the scheduler was unloaded and loaded again during the trial.",
    ),
    number(
        "score",
        Unit::Count,
        Direction::Higher,
        "A result of another program, in that program's own unit, where more is better.",
    ),
    number(
        "cost",
        Unit::Count,
        Direction::Lower,
        "A result of another program, in that program's own unit, where less is better.",
    ),
    histogram(
        "unload_ns",
        "From the request to unload the scheduler to the moment at which the kernel's own has \
         all tasks.",
    ),
    histogram(
        "load_ns",
        "From the request to load the scheduler to the kernel's word that it is active, the \
         verifier's work included.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_carry_their_unit() {
        for (index, measure) in MEASURES.iter().enumerate() {
            assert!(MEASURES[..index].iter().all(|other| other.name != measure.name));
            let nanoseconds = measure.unit == Unit::Nanoseconds;
            assert_eq!(measure.name.ends_with("_ns"), nanoseconds, "{}", measure.name);
        }
    }
}
