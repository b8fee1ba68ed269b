// SPDX-License-Identifier: GPL-2.0-only
//! Traces of Perfetto (`.pftrace`, `.perfetto-trace`): protobuf messages with events of ftrace.
//!
//! [`wire`] tells fields apart, [`events`] reads the events of a CPU in their two forms. Here are
//! the packets of the file (`TracePacket`): events, and what was lost. [`pieces`] brings the events
//! of all CPUs into the order of time, with few packets in memory. The numbers of fields are those
//! of Perfetto's `protos/perfetto/trace/`.

mod events;
mod pieces;
mod wire;

pub use pieces::{Bytes, Index};

use std::collections::BTreeMap;

use crate::collect::{Collector, Moment, Named, Scheduling, UNNAMED};
use crate::event::{Leaves, Recording};
use events::{CURRENT, Seen};
use model::{Position, ReadFault};
use wire::{Field, Message};

/// The first byte of a trace: a message in field 1.
const FIRST: u8 = 0x0a;
/// The kernel's most CPUs (`NR_CPUS`).
const CPUS: u64 = 8192;

/// Whether a file with this beginning looks like a trace of Perfetto.
pub fn is(beginning: &[u8]) -> bool {
    // Text can begin with an empty line, but has no other control characters.
    let is_binary = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x1b".contains(byte);
    beginning.first() == Some(&FIRST) && beginning.iter().any(is_binary)
}

/// Reads a trace that is in memory.
///
/// # Errors
/// The file is cut off, damaged or another one, its events are of several clocks or
/// machines, or nothing in it was scheduled.
pub fn read(file: &[u8]) -> Result<Recording, ReadFault> {
    let mut bytes = |from: u64, length: usize| {
        let rest = &file[from as usize..];
        Ok(rest[..length.min(rest.len())].to_vec())
    };
    let index = Index::new(file.len() as u64, &mut bytes)?;
    Ok(index.recording(&mut bytes, None)?.0)
}

/// What all events of a trace must have alike, and what is known of them together.
#[derive(Default)]
struct Trace {
    /// The clock and the machine of the events.
    source: Option<(u64, u64)>,
    cpus: u32,
    /// How often events were lost; it is not known how many.
    losses: u64,
}

impl Trace {
    /// The events of packets that lie one after the other from a place of the file on.
    fn packets<'a>(&mut self, bytes: &'a [u8], from: u64) -> Result<Vec<Seen<'a>>, ReadFault> {
        let (mut rest, mut events) = (Message(bytes), Vec::new());
        while !rest.0.is_empty() {
            let at = from as usize + bytes.len() - rest.0.len();
            let read = rest.take_field().and_then(|field| self.packet(field, &mut events));
            let position = Some(Position::Byte(at));
            read.map_err(|message| ReadFault { position, message })?;
        }
        Ok(events)
    }

    fn packet<'a>(&mut self, packet: Field<'a>, to: &mut Vec<Seen<'a>>) -> Result<(), String> {
        if packet.number != 1 {
            return Err(
                "there is no packet of a trace of Perfetto; the file is damaged, or another one"
                    .into(),
            );
        }
        let [bundle, deflated, machine, zstd] = packet.message()?.last([1, 50, 98, 133])?;
        if deflated.is_there() || zstd.is_there() {
            return Err("packets in it are packed; record without 'compression_type'".into());
        }
        if bundle.is_there() {
            self.bundle(bundle.message()?, machine.number()?, to)?;
        }
        Ok(())
    }

    fn bundle<'a>(
        &mut self,
        bundle: Message<'a>,
        machine: u64,
        to: &mut Vec<Seen<'a>>,
    ) -> Result<(), String> {
        let [cpu, lost, compact, clock] = bundle.last([1, 3, 4, 5])?;
        if !cpu.is_there() {
            return Err("events of no CPU".into());
        }
        let (cpu, source) = (number_of_cpu(cpu)?, (clock.number()?, machine));
        if *self.source.get_or_insert(source) != source {
            return Err("events of another clock or machine than those before; record again, on \
                        one machine"
                .into());
        }
        let mut events = Vec::new();
        for message in bundle.messages(2)? {
            events.extend(events::event(message, cpu)?);
        }
        events.extend(events::columns(compact.message()?, cpu)?);
        if lost.number()? != 0 {
            self.losses += 1;
            let at_ns = events.iter().map(|event| event.at_ns).min().unwrap_or(0);
            let what = Scheduling::Other;
            to.push(Seen { at_ns, cpu, tid: None, in_interrupt: None, what });
        }
        to.extend(events);
        self.cpus = self.cpus.max(cpu + 1);
        Ok(())
    }
}

/// Hands the events over, in order of time.
#[derive(Default)]
struct Feed {
    /// Whether the trace has forks that tell the parent.
    has_forks: bool,
    /// The thread that runs on each CPU, where that is known.
    running_on: BTreeMap<u32, u32>,
    /// Of how many switches nothing says who left.
    unknown: u64,
}

impl Feed {
    fn event(&mut self, collector: &mut Collector<'_>, seen: &Seen<'_>) {
        let &Seen { at_ns, cpu, tid, in_interrupt, what } = seen;
        if let Some(tid) = tid {
            self.running_on.insert(cpu, tid);
        }
        let running = self.running_on.get(&cpu).copied();
        let current = Named { tid: running.unwrap_or(0), ..CURRENT };
        let what = match what {
            Scheduling::Other => {
                self.running_on.remove(&cpu);
                return;
            }
            // An unknown task looks like the idle one, which never sleeps.
            Scheduling::Switch { out: CURRENT, next, .. } if running.is_none() => {
                self.unknown += 1;
                Scheduling::Switch { out: current, leaves: Leaves::Runnable, next }
            }
            Scheduling::Switch { out: CURRENT, leaves, next } => {
                Scheduling::Switch { out: current, leaves, next }
            }
            Scheduling::Fork { parent: CURRENT, .. } if self.has_forks => return,
            Scheduling::Fork { parent: CURRENT, child } => {
                Scheduling::Fork { parent: current, child }
            }
            what => what,
        };
        let mut tid = current.tid;
        if let Scheduling::Switch { out, next, .. } = what {
            tid = out.tid;
            self.running_on.insert(cpu, next.tid);
        }
        let moment = Moment { comm: UNNAMED, tid, cpu, in_interrupt, at_ns };
        collector.event(&moment, what);
    }
}

fn number_of_cpu(field: Field<'_>) -> Result<u32, String> {
    match field.number()? {
        cpu @ 0..CPUS => Ok(cpu as u32),
        cpu => Err(format!("CPU {cpu}: Linux has {CPUS} CPUs at most")),
    }
}

#[cfg(test)]
mod tests;
