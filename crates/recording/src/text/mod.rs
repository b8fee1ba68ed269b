// SPDX-License-Identifier: GPL-2.0-only
//! Traces as text: ftrace's own (`/sys/kernel/tracing/trace`), `trace-cmd report`, `perf script`.
//!
//! [`line`] takes a line apart, [`scheduling`] its event, [`crate::collect`] makes a
//! recording of all.

pub(crate) mod line;
pub(crate) mod scheduling;

use crate::collect::{Collector, Seen};
use crate::event::{Event, Recording, Scheduling};
use line::Line;
use model::ReadFault;

/// So many lines are looked at to tell a trace from other texts.
const LOOKED_AT: usize = 200;

/// Whether a text looks like a trace, also if it is cut off.
pub fn is(text: &str) -> bool {
    text.lines().take(LOOKED_AT).any(|line| matches!(line::parse(line), Line::Event(_)))
}

/// Reads a trace that is in memory.
///
/// # Errors
/// A line is none of a trace, an event has not the kernel's form, or nothing in it was scheduled.
pub fn read(text: &str) -> Result<Recording, ReadFault> {
    let mut reader = Reader::new(text.lines().any(tells_waking), None);
    text.lines().try_for_each(|line| reader.line(line))?;
    Ok(reader.finish()?.0)
}

/// Reads a trace line by line.
pub struct Reader<'a> {
    collector: Collector<'a>,
    /// The last line that is not empty, with its number from 1: its fault has another remedy if no
    /// other one follows.
    waiting: (usize, String),
    lines: usize,
}

impl<'a> Reader<'a> {
    /// `has_waking`: whether one of the lines [tells of `sched_waking`](tells_waking). If the
    /// events are too many for a list, each goes `to` somebody, with its time on the trace's clock.
    pub fn new(has_waking: bool, to: Option<&'a mut dyn FnMut(Event)>) -> Reader<'a> {
        let collector = Collector::new(has_waking).handing_on(to);
        Reader { collector, waiting: (0, String::new()), lines: 0 }
    }

    /// Takes the next line.
    ///
    /// # Errors
    /// It, or the one before, is none of a trace.
    pub fn line(&mut self, line: &str) -> Result<(), ReadFault> {
        self.lines += 1;
        let line = line.trim_end();
        let line = if self.lines == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if line.is_empty() {
            return Ok(());
        }
        self.parse_waiting("")?;
        self.waiting.0 = self.lines;
        self.waiting.1.clear();
        self.waiting.1.push_str(line);
        Ok(())
    }

    /// The recording, and what is known of its events.
    ///
    /// # Errors
    /// The last line is none of a trace, or nothing was scheduled.
    pub fn finish(mut self) -> Result<(Recording, Seen), ReadFault> {
        self.parse_waiting(CUT)?;
        Ok(self.collector.finish("a trace as text")?)
    }

    fn parse_waiting(&mut self, cut: &str) -> Result<(), ReadFault> {
        let (number, line) = (self.waiting.0, self.waiting.1.as_str());
        match line::parse(line) {
            Line::Nothing => {}
            Line::Lost(events) => self.collector.lost(events),
            Line::Cpus(cpus) => self.collector.cpus(cpus),
            Line::Event(raw) => {
                let event = scheduling::parse(raw.name, raw.arguments).map_err(|why| {
                    ReadFault::at_line(number, format!("{}: {why}{cut}", raw.name))
                })?;
                if let (Some(current), Some(path)) = (raw.moment.current, raw.group) {
                    self.collector.event(&raw.moment, Scheduling::Attach(current, path));
                }
                self.collector.event(&raw.moment, event);
            }
            Line::Unknown => return Err(unknown(line, number, cut)),
        }
        Ok(())
    }
}

/// What helps where only the file's last line is wrong.
const CUT: &str = "; if the file was cut off there, delete the line";

fn unknown(line: &str, number: usize, cut: &str) -> ReadFault {
    let shown: String = line.trim().chars().take(60).collect();
    let shown = model::text::line(&shown);
    ReadFault::at_line(number, format!("'{shown}' is no line of a trace{cut}"))
}

/// Where the kernel tells of wake-ups twice, only the first one says who woke: `sched_waking`.
pub fn tells_waking(line: &str) -> bool {
    line.contains("sched_waking:")
}

#[cfg(test)]
mod tests;
