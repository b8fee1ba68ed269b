// SPDX-License-Identifier: GPL-2.0-only
//! Traces of Perfetto (`.pftrace`, `.perfetto-trace`): protobuf messages with events of ftrace.
//!
//! [`wire`] tells fields apart, [`events`] reads the events of a CPU in their two forms. Here are
//! the packets of the file (`TracePacket`): events, and what was lost. The events
//! of all CPUs are brought into the order of time. The numbers of fields are those of Perfetto's
//! `protos/perfetto/trace/`.

mod events;
mod wire;

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

/// Reads a trace.
///
/// # Errors
/// The file is cut off, damaged or another one, its events are of several clocks or
/// machines, or nothing in it was scheduled.
pub fn read(file: &[u8]) -> Result<Recording, ReadFault> {
    let (mut trace, mut rest) = (Trace::default(), Message(file));
    while !rest.0.is_empty() {
        let position = Some(Position::Byte(file.len() - rest.0.len()));
        let read = rest.take_field().and_then(|field| trace.packet(field));
        read.map_err(|message| ReadFault { position, message })?;
    }
    Ok(trace.recording()?)
}

#[derive(Default)]
struct Trace<'a> {
    events: Vec<Seen<'a>>,
    /// The clock and the machine of the events.
    source: Option<(u64, u64)>,
    cpus: u32,
    /// How often events were lost; it is not known how many.
    losses: u64,
}

impl<'a> Trace<'a> {
    fn packet(&mut self, packet: Field<'a>) -> Result<(), String> {
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
            self.bundle(bundle.message()?, machine.number()?)?;
        }
        Ok(())
    }

    fn bundle(&mut self, bundle: Message<'a>, machine: u64) -> Result<(), String> {
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
            self.events.push(Seen { at_ns, cpu, tid: None, in_interrupt: None, what });
        }
        self.events.extend(events);
        self.cpus = self.cpus.max(cpu + 1);
        Ok(())
    }

    fn recording(mut self) -> Result<Recording, String> {
        self.events.sort_by_key(|event| event.at_ns);
        let has = |is: fn(&Scheduling<'_>) -> bool| self.events.iter().any(|seen| is(&seen.what));
        let has_forks =
            has(|what| matches!(what, Scheduling::Fork { parent, .. } if *parent != CURRENT));
        let mut collector = Collector::new(has(|what| matches!(what, Scheduling::Waking(_))));
        collector.cpus(self.cpus);
        collector.lost(self.losses);
        let unknown = self.collect(&mut collector, has_forks);
        let (mut recording, _) = collector.finish("a trace of Perfetto")?;
        if unknown > 0 {
            recording.untold.push(format!("which tasks ran before {unknown} of the switches"));
        }
        Ok(recording)
    }

    /// Hands the events over. Returns of how many switches nothing says who left.
    fn collect(&self, collector: &mut Collector, has_forks: bool) -> u64 {
        let mut unknown = 0;
        // The thread that runs on each CPU, where that is known.
        let mut running_on: BTreeMap<u32, u32> = BTreeMap::new();
        for &Seen { at_ns, cpu, tid, in_interrupt, what } in &self.events {
            if let Some(tid) = tid {
                running_on.insert(cpu, tid);
            }
            let running = running_on.get(&cpu).copied();
            let current = Named { tid: running.unwrap_or(0), ..CURRENT };
            let what = match what {
                Scheduling::Other => {
                    running_on.remove(&cpu);
                    continue;
                }
                // An unknown task looks like the idle one, which never sleeps.
                Scheduling::Switch { out: CURRENT, next, .. } if running.is_none() => {
                    unknown += 1;
                    Scheduling::Switch { out: current, leaves: Leaves::Runnable, next }
                }
                Scheduling::Switch { out: CURRENT, leaves, next } => {
                    Scheduling::Switch { out: current, leaves, next }
                }
                Scheduling::Fork { parent: CURRENT, .. } if has_forks => continue,
                Scheduling::Fork { parent: CURRENT, child } => {
                    Scheduling::Fork { parent: current, child }
                }
                what => what,
            };
            let mut tid = current.tid;
            if let Scheduling::Switch { out, next, .. } = what {
                tid = out.tid;
                running_on.insert(cpu, next.tid);
            }
            let moment = Moment { comm: UNNAMED, tid, cpu, in_interrupt, at_ns };
            collector.event(&moment, what);
        }
        unknown
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
