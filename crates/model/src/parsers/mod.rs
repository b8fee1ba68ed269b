// SPDX-License-Identifier: GPL-2.0-only
//! Parsers for the output of real programs: one program, one function.
//! A parser that is not sure returns an error, never a zero. Each is tested with recorded output of
//! the real program (`recorded/`).

use crate::metric::PROGRAM;
use crate::play::sums;
use crate::{Histogram, Measured, Metric};

pub mod cyclictest;
mod jitterdebugger;
mod programs;

/// The measurements that a program reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// Its run time, for `completion_ns`.
    pub completion_ns: Option<f64>,
    /// Its operations per second, for `iterations_per_second`.
    pub operations_per_second: Option<f64>,
    /// Its timers' lateness, for `timer_lateness_ns`; nameless.
    pub timer_lateness: Option<Histogram>,
    /// From the start of each of its processes to its end, for `turnaround_ns`; nameless.
    pub turnaround: Option<Histogram>,
    /// The number of frames, and of those that it dropped because it was late, for
    /// `deadlines` and `deadlines_missed`.
    pub deadlines: Option<(u64, u64)>,
    pub version: Option<String>,
}

impl Reported {
    /// Adds what was reported, as measures of the program. A histogram whose tail is lost becomes
    /// the quantiles that are known.
    pub fn add_to(&self, measured: &mut Measured) {
        let numbers = [
            ("completion_ns", self.completion_ns),
            ("iterations_per_second", self.operations_per_second),
        ];
        let distributions =
            [("timer_lateness_ns", &self.timer_lateness), ("turnaround_ns", &self.turnaround)];
        for (name, value) in numbers {
            measured.metrics.extend(value.map(|value| Metric::number(name, PROGRAM, value)));
        }
        for (name, histogram) in distributions {
            let (name, group) = (name.into(), PROGRAM.into());
            if let Some(histogram) = histogram {
                measured.distribution(Histogram { name, group, ..histogram.clone() });
            }
        }
        if let Some((all, missed)) = self.deadlines {
            measured.metrics.extend(sums::deadlines(PROGRAM, all, missed));
        }
    }
}

/// Reads a program's output. The error says what was not understood, and what would help.
type Parser = fn(stdout: &str, stderr: &str) -> Result<Reported, String>;

const PARSERS: [(&str, Parser); 14] = [
    ("7z", programs::sevenzip),
    ("cyclictest", cyclictest::parse),
    ("ffmpeg", programs::ffmpeg),
    ("hackbench", programs::hackbench),
    ("jitterdebugger", jitterdebugger::parse),
    ("mplayer", programs::mplayer),
    ("none", |_, _| Ok(Reported::default())),
    ("perf-bench-sched", programs::perf_bench_sched),
    ("pgbench", programs::pgbench),
    ("redis-benchmark", programs::redis_benchmark),
    ("stress-ng", programs::stress_ng),
    ("sysbench", programs::sysbench),
    ("tbench", programs::tbench),
    ("turnaround", programs::turnaround),
];

/// The parsers' names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    PARSERS.iter().map(|&(name, _)| name)
}

pub fn parse(parser: &str, stdout: &str, stderr: &str) -> Result<Reported, String> {
    let found = PARSERS.iter().find(|&&(name, _)| name == parser);
    let known = || names().collect::<Vec<_>>().join(", ");
    let (_, parse) =
        found.ok_or_else(|| format!("no parser `{parser}`; there are: {}", known()))?;
    parse(stdout, stderr).map_err(|why| {
        format!("`{parser}` output was not understood: {why}{}", last(stdout, stderr))
    })
}

/// The last lines of a program's output, for messages.
pub fn last(stdout: &str, stderr: &str) -> String {
    const LINES: usize = 5;
    let said: Vec<&str> =
        stdout.lines().chain(stderr.lines()).filter(|line| !line.trim().is_empty()).collect();
    let tail = &said[said.len().saturating_sub(LINES)..];
    if tail.is_empty() {
        "; it printed nothing".into()
    } else {
        format!("; last: {}", tail.join(" ⏎ "))
    }
}

/// A count or a latency that a run can have. Larger ones would leave the range of 64 bits in sums
/// and smaller units.
pub fn plausible(number: u64) -> Result<u64, String> {
    const MOST: u64 = 1_000_000_000_000;
    if number > MOST { Err(format!("{number} cannot be right")) } else { Ok(number) }
}

/// A number that must be finite and above zero; a decimal comma is accepted.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.trim().replace(',', ".").parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        Ok(number) => Err(format!("{number} cannot be right")),
        Err(_) => Err(format!("`{}` is not a number", text.trim())),
    }
}

/// The only item; the error says how many there were.
fn only<T>(mut items: impl Iterator<Item = T>, what: &str) -> Result<T, String> {
    let first = items.next().ok_or_else(|| format!("there is no {what}"))?;
    match items.count() {
        0 => Ok(first),
        more => Err(format!("there are {} of {what}, not one", more + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_parser_lists_the_known_ones() {
        let error = parse("geekbench", "", "").unwrap_err();
        assert!(error.contains("7z, cyclictest, ffmpeg, hackbench"), "{error}");
        assert_eq!(parse("none", "anything", ""), Ok(Reported::default()));
        for parser in names().filter(|parser| *parser != "none") {
            assert!(parse(parser, "", "").is_err(), "{parser}");
        }
    }

    #[test]
    fn a_refusal_shows_the_last_lines() {
        let error = parse("hackbench", "one\ntwo\n", "fork: no memory\n").unwrap_err();
        assert!(error.contains("fork: no memory"), "{error}");
        assert!(parse("hackbench", "", "").unwrap_err().contains("printed nothing"));
    }

    #[test]
    fn numbers_are_numbers() {
        assert_eq!(positive(" 10,01 "), Ok(10.01));
        for wrong in ["0.000", "-1", "inf", "NaN", "1.2.3", ""] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
        assert_eq!((plausible(7), plausible(u64::MAX).is_err()), (Ok(7), true));
    }
}
