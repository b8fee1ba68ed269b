// SPDX-License-Identifier: GPL-2.0-only
//! Traces as text: ftrace's own (`/sys/kernel/tracing/trace`), `trace-cmd report`, `perf script`.
//!
//! [`line`] takes a line apart, [`scheduling`] its event, [`crate::collect`] makes a
//! recording of all.

pub(crate) mod line;
pub(crate) mod scheduling;

use crate::collect::Collector;
use crate::event::Recording;
use line::Line;
use model::ReadFault;

/// So many lines are looked at to tell a trace from other texts.
const LOOKED_AT: usize = 200;

/// Whether a text looks like a trace, also if it is cut off.
pub fn is(text: &str) -> bool {
    text.lines().take(LOOKED_AT).any(|line| matches!(line::parse(line), Line::Event(_)))
}

/// Reads a trace.
///
/// # Errors
/// A line is none of a trace, an event has not the kernel's form, or nothing in it was scheduled.
pub fn read(text: &str) -> Result<Recording, ReadFault> {
    let mut collector = Collector::new(has_waking(text));
    let text = text.trim_start_matches('\u{feff}').trim_end();
    let last = text.lines().count();
    for (number, line) in (1..).zip(text.lines()) {
        let cut = if number == last { CUT } else { "" };
        match line::parse(line) {
            Line::Nothing => {}
            Line::Lost(events) => collector.lost(events),
            Line::Cpus(cpus) => collector.cpus(cpus),
            Line::Event(raw) => {
                let event = scheduling::parse(raw.name, raw.arguments).map_err(|why| {
                    ReadFault::at_line(number, format!("{}: {why}{cut}", raw.name))
                })?;
                collector.event(&raw.moment, event);
            }
            Line::Unknown => return Err(unknown(line, number, cut)),
        }
    }
    Ok(collector.finish("a trace as text")?)
}

/// What helps where only the file's last line is wrong.
const CUT: &str = "; if the file was cut off there, delete the line";

fn unknown(line: &str, number: usize, cut: &str) -> ReadFault {
    let shown: String = line.trim().chars().take(60).collect();
    let shown = model::text::line(&shown);
    ReadFault::at_line(number, format!("'{shown}' is no line of a trace{cut}"))
}

/// Where the kernel tells of wake-ups twice, only the first one says who woke: `sched_waking`.
fn has_waking(text: &str) -> bool {
    text.contains("sched_waking:")
}

#[cfg(test)]
mod tests;
