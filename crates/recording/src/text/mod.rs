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

/// Reads a trace line by line.
pub struct Reader<'a> {
    collector: Collector<'a>,
    lines: usize,
    /// What is wrong with the last line that is not empty: if no other one follows, it has another
    /// remedy.
    fault: Option<ReadFault>,
}

impl<'a> Reader<'a> {
    /// `has_waking`: whether one of the lines [tells of `sched_waking`](tells_waking). If the
    /// events are too many for a list, each goes `to` somebody, with its time on the trace's clock.
    pub fn new(has_waking: bool, to: Option<&'a mut dyn FnMut(Event)>) -> Reader<'a> {
        let collector = Collector::new(has_waking).handing_on(to);
        Reader { collector, lines: 0, fault: None }
    }

    /// Takes the next line.
    ///
    /// # Errors
    /// The one before is none of a trace.
    pub fn line(&mut self, line: &str) -> Result<(), ReadFault> {
        self.lines += 1;
        let line = line.trim_end();
        let line = if self.lines == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if line.is_empty() {
            return Ok(());
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.fault = self.parse(line).err().map(|why| ReadFault::at_line(self.lines, why));
        Ok(())
    }

    /// The recording, and what is known of its events.
    ///
    /// # Errors
    /// The last line is none of a trace, or nothing was scheduled.
    pub fn finish(self) -> Result<(Recording, Seen), ReadFault> {
        if let Some(mut fault) = self.fault {
            fault.message += "; if the file was cut off there, delete the line";
            return Err(fault);
        }
        Ok(self.collector.finish("a trace as text")?)
    }

    fn parse(&mut self, line: &str) -> Result<(), String> {
        match line::parse(line) {
            Line::Nothing => {}
            Line::Lost(events) => self.collector.lost(events),
            Line::Cpus(cpus) => self.collector.cpus(cpus),
            Line::Event(raw) => {
                let event = scheduling::parse(raw.name, raw.arguments)
                    .map_err(|why| format!("{}: {why}", raw.name))?;
                if let (Some(current), Some(path)) = (raw.moment.current, raw.group) {
                    self.collector.event(&raw.moment, Scheduling::Attach(current, path));
                }
                self.collector.event(&raw.moment, event);
            }
            Line::Unknown => {
                let shown: String = line.trim().chars().take(60).collect();
                return Err(format!("'{}' is no line of a trace", model::text::line(&shown)));
            }
        }
        Ok(())
    }
}

/// Where the kernel tells of wake-ups twice, only the first one says who woke: `sched_waking`.
pub fn tells_waking(line: &str) -> bool {
    line.contains("sched_waking:")
}

#[cfg(test)]
mod tests;
