// SPDX-License-Identifier: GPL-2.0-only
//! A line of a trace: the current task, the CPU, the flags, the time, the event.
//!
//! ```text
//!   bash-1977    (   1977) [000] d..2.   17.284993: sched_switch: prev_comm=…      ftrace
//!   bash-1977     [000]    17.284993: sched_switch: bash:1977 [120] S ==> …          trace-cmd
//!   bash  1977/1978 [000]    17.284993123:  sched:sched_switch: prev_comm=…          perf script
//!   bash-1977      0d..2.    17us+: sched_switch: prev_comm=…                     latency format
//! ```

use crate::event::{Moment, Named};

#[derive(Clone, Debug, PartialEq)]
pub enum Line<'a> {
    Event(Raw<'a>),
    /// So many events were lost here.
    Lost(u64),
    /// The trace has so many CPUs.
    Cpus(u32),
    /// A comment, an empty line, a frame of a call chain.
    Nothing,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Raw<'a> {
    /// When and where it was seen.
    pub moment: Moment<'a>,
    /// The event's name without its subsystem.
    pub name: &'a str,
    /// What follows the name.
    pub arguments: &'a str,
    /// The control group that the current task is in, where perf was asked for it.
    pub group: Option<&'a str>,
}

pub fn parse(line: &str) -> Line<'_> {
    let line = line.trim_end();
    if line.is_empty() {
        return Line::Nothing;
    }
    if let Some(comment) = line.strip_prefix('#') {
        return of_comment(comment);
    }
    match with_brackets(line).or_else(|| in_latency_format(line)) {
        Some(raw) => Line::Event(raw),
        None => other(line),
    }
}

/// `# entries-in-buffer/entries-written: 5/5   #P:8`, `# 3 events were lost`.
fn of_comment(comment: &str) -> Line<'_> {
    if let Some((_, cpus)) = comment.split_once("#P:") {
        return cpus.trim().parse().map_or(Line::Nothing, Line::Cpus);
    }
    let count = comment.trim().strip_suffix(" events were lost");
    count.and_then(|count| count.parse().ok()).map_or(Line::Nothing, Line::Lost)
}

/// What tools write besides events.
fn other(line: &str) -> Line<'_> {
    if let Some(cpus) = line.strip_prefix("cpus=") {
        return cpus.parse().map_or(Line::Unknown, Line::Cpus);
    }
    if line.starts_with("CPU") && (line.contains("LOST") || line.contains("DROPPED")) {
        let number = line.split(['[', ' ', ']']).find_map(|word| word.parse().ok());
        return Line::Lost(number.unwrap_or(1));
    }
    let is_known = line.starts_with("version = ")
        || line.starts_with("trace-cmd: ")
        || line.starts_with("CPU ") && line.ends_with(" is empty")
        || is_frame(line);
    if is_known { Line::Nothing } else { Line::Unknown }
}

/// A frame of a call chain: perf's indented address, ftrace's arrow, or what announces them. A line
/// of the function tracer is one, too.
fn is_frame(line: &str) -> bool {
    let word = line.split_ascii_whitespace().next().unwrap_or_default();
    let is_address = word.len() >= 8 && u64::from_str_radix(word, 16).is_ok();
    line.starts_with(['\t', ' ']) && is_address
        || word == "=>"
        || ["<stack trace>", "<user stack trace>"].iter().any(|end| line.ends_with(end))
        || line.rsplit_once(": ").is_some_and(|(_, call)| call.contains(" <-"))
}

fn with_brackets(line: &str) -> Option<Raw<'_>> {
    // A name can hold brackets: the right ones are those before a time.
    line.match_indices('[').find_map(|(at, _)| {
        let (cpu, rest) = line[at + 1..].split_once(']')?;
        let (comm, tid) = task(&line[..at])?;
        raw(Named { comm, tid, prio: None }, number(cpu)?, rest)
    })
}

/// The CPU and the flags are one word. Names are cut at eight bytes, so that only those inside the
/// events are right.
fn in_latency_format(line: &str) -> Option<Raw<'_>> {
    const FLAGS: &str = ".dDbX";
    line.match_indices(|letter| FLAGS.contains(letter)).find_map(|(at, _)| {
        let before = line[..at].trim_end_matches(|letter: char| letter.is_ascii_digit());
        let (_, tid) = task(before.strip_suffix(char::is_whitespace)?)?;
        raw(Named::numbered(tid), number(&line[before.len()..at])?, &line[at..])
    })
}

/// What follows the task and the CPU.
fn raw<'a>(current: Named<'a>, cpu: u32, rest: &'a str) -> Option<Raw<'a>> {
    let (mut word, mut rest) = next_word(rest)?;
    let mut in_interrupt = None;
    if time_ns(word).is_none() {
        in_interrupt = word.chars().nth(2).map(|flag| "hHsZz".contains(flag));
        (word, rest) = next_word(rest)?;
    }
    let moment = Moment { current: Some(current), cpu, in_interrupt, at_ns: time_ns(word)? };
    (word, rest) = next_word(rest)?;
    if word == ":" {
        // The end of `17us :`.
        (word, rest) = next_word(rest)?;
    }
    if number::<u64>(word).is_some() {
        // The period, where perf was asked for it.
        (word, rest) = next_word(rest)?;
    }
    let (name, arguments) = (word.strip_suffix(':')?, rest.trim_start());
    // Only perf names the subsystem.
    let Some((_, name)) = name.rsplit_once(':') else {
        return Some(Raw { moment, name, arguments, group: None });
    };
    // With perf's field `cgroup` the path follows the arguments: `next_prio=120 /user.slice`.
    let (arguments, group) = match arguments.rsplit_once(" /") {
        Some((before, path)) => (before, Some(path)),
        None => (arguments, None),
    };
    Some(Raw { moment, name, arguments, group })
}

fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    (!text.is_empty()).then(|| {
        text.split_at(text.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(text.len()))
    })
}

/// `17.284993:`, or `17us+:` since the trace began, whose mark says how long the next one waits, in
/// nanoseconds.
fn time_ns(word: &str) -> Option<u64> {
    let since = word.trim_end_matches([':', '+', '!', '#', '*', '@', '$']).strip_suffix("us");
    if let Some(us) = since.and_then(number::<u64>) {
        return us.checked_mul(1_000);
    }
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    if fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - fraction.len() as u32);
    let fraction = number::<u64>(fraction)? * scale;
    number::<u64>(seconds)?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// A number without a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The task in the left column: its name and thread. Some traces add the process, as in
/// `bash-1977 ( 70)` and `bash 70/1977`.
fn task(text: &str) -> Option<(&str, u32)> {
    let text = text.trim();
    let text = match text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        Some((before, _)) => before.trim_end(),
        None => text,
    };
    let last = text.rsplit_once(|letter: char| letter.is_ascii_whitespace());
    if let Some((comm, word)) = last
        && let Some(tid) = number(word.rsplit_once('/').map_or(word, |(_, tid)| tid))
    {
        return Some((comm.trim(), tid));
    }
    let (comm, tid) = text.rsplit_once('-')?;
    Some((comm, number(tid)?))
}
