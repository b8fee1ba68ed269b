// SPDX-License-Identifier: GPL-2.0-only
//! The ranges of a workload's numbers, and the refusal of what cannot be played.

use std::fmt;

use crate::UtilClamp;

/// Timers that one task can have: a forked process keeps them in a fixed array, because it must not
/// allocate.
pub const MAX_TIMERS: usize = 8;
/// The longest time in microseconds: one day.
pub const TIME_US_MAX: u64 = 86_400_000_000;
/// The most repetitions of a task's steps or of a loop.
pub const ROUNDS_MAX: u64 = 1_000_000_000;
/// The repetitions of a loop without end.
pub const ENDLESS: u64 = i64::MAX as u64;
/// The most bytes that a step moves.
pub const BYTES_MAX: u64 = 1 << 30;
/// The most CPUs that a list of CPUs can name (`CPU_SETSIZE` of C libraries).
pub const CPUS_MAX: u32 = 1024;

/// The utilisation of a whole CPU at full speed.
const UTIL_FULL: u32 = 1024;

const NS_PER_US: u64 = 1_000;

/// Refuses a value outside `least ..= most`; `what` names it in the message.
pub fn range(what: &str, value: u64, least: u64, most: u64) -> Result<u64, Refusal> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Refusal::new(
        format!("{value} is out of range for {what}"),
        format!("write {least} … {most}"),
    ))
}

pub fn time_ns(us: u64) -> Result<u64, Refusal> {
    Ok(range("time in µs", us, 0, TIME_US_MAX)? * NS_PER_US)
}

/// Checks a list of CPUs for a machine with `cpus` CPUs; an empty list is allowed.
pub fn affinity(list: &[u32], cpus: u32) -> Result<(), Refusal> {
    let cpus = cpus.min(CPUS_MAX);
    for (index, cpu) in list.iter().enumerate() {
        if *cpu >= cpus {
            let hint = format!("the machine's CPUs are 0 … {}", cpus.saturating_sub(1));
            return Err(Refusal::new(format!("there is no CPU {cpu}"), hint));
        }
        if list[..index].contains(cpu) {
            return Err(Refusal::new(format!("CPU {cpu} is named twice"), "name each CPU once"));
        }
    }
    Ok(())
}

/// Checks clamps of the utilisation. The kernel refuses a task's lower one above the upper one.
pub fn util_clamp(clamp: &UtilClamp) -> Result<(), Refusal> {
    let (least, most) = (clamp.min.unwrap_or(0), clamp.max.unwrap_or(UTIL_FULL));
    for (field, value) in [("min", least), ("max", most)] {
        range("a clamp", u64::from(value), 0, u64::from(UTIL_FULL))
            .map_err(|refusal| refusal.inside(field))?;
    }
    if least > most {
        let message = format!("the lower clamp {least} is above the upper one, {most}");
        return Err(Refusal::new(message, "write min and max in order"));
    }
    Ok(())
}

/// Why a workload cannot be played, with the place of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The value's place, e.g. `task[0].steps[2].loop.steps[0]`; empty: the whole workload.
    pub path: String,
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl Refusal {
    /// A refusal whose place the callers add with [`Refusal::inside`].
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { path: String::new(), message: message.into(), hint: hint.into() }
    }

    /// There is no table `noun` of this name; `known` are those that there are.
    pub fn unknown<'a>(noun: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Refusal {
        let known: Vec<&str> = known.collect();
        let hint = match known.as_slice() {
            [] => format!("add a [[{noun}]] with name = {name:?}"),
            known => format!("there are {}", known.join(", ")),
        };
        Refusal::new(format!("there is no {noun} '{}'", name.escape_debug()), hint)
    }

    /// Prefixes the place with that of the value that contains it.
    pub fn inside(mut self, outer: impl fmt::Display) -> Refusal {
        self.path =
            if self.path.is_empty() { outer.to_string() } else { format!("{outer}.{}", self.path) };
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        write!(out, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for Refusal {}
