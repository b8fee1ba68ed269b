// SPDX-License-Identifier: GPL-2.0-only
//! The packets of a trace (`TracePacket`): events, names of processes, and what was lost.

use std::collections::{BTreeMap, BTreeSet};

use flate2::read::ZlibDecoder;

use super::seen::{self, Names, Processes, Seen};
use super::wire::{Field, Message};
use super::{Fault, UNPACKED_BYTES, bundle, unpacked};
use crate::event::Recording;

/// The most writers that are told apart.
const SEQUENCES: usize = 1 << 16;
/// Fields of a packet.
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const SEQUENCE: u32 = 10;
const FTRACE_STATS: u32 = 34;
const DROPPED: u32 = 42;
const DEFLATED: u32 = 50;
const MACHINE: u32 = 98;
const ZSTD: u32 = 133;
/// The clock of which each CPU has its own.
const LOCAL_CLOCK: u64 = 3;
/// Phases of statistics.
const START: u64 = 1;
const END: u64 = 2;

/// Packets that are packed in packets, each with its place.
pub fn unpack(trace: Message<'_>) -> Result<Vec<(usize, Vec<u8>)>, Fault> {
    let (mut found, mut left) = (Vec::new(), UNPACKED_BYTES);
    for packet in trace.fields() {
        let packet = packet?;
        for field in of_packet(&packet)?.fields() {
            let field = field?;
            if field.number == DEFLATED {
                let bytes = field.message()?.bytes;
                let bytes = unpacked(ZlibDecoder::new(bytes), left, field.at)?;
                left -= bytes.len() as u64;
                found.push((field.at, bytes));
            }
        }
    }
    Ok(found)
}

fn of_packet<'a>(field: &Field<'a>) -> Result<Message<'a>, Fault> {
    if field.number != 1 {
        let why = "there is no packet of a trace of Perfetto; the file is damaged, or another one";
        return Err(Fault::at(field.at, why));
    }
    field.message()
}

/// What was read of a trace.
#[derive(Debug, Default)]
pub struct Read<'a> {
    events: Vec<Seen>,
    names: Names<'a>,
    processes: Processes<'a>,
    /// The clock and the machine of the events.
    source: Option<(u64, u64)>,
    /// Whether packets that were packed are read now.
    pub is_packed: bool,
    /// The writers of packets.
    sequences: BTreeSet<u64>,
    cpus: u32,
    lost: u64,
    /// Events that each CPU had lost at the beginning and at the end.
    overruns: BTreeMap<u32, [Option<u64>; 2]>,
}

impl<'a> Read<'a> {
    /// Reads all packets.
    pub fn packets(&mut self, trace: Message<'a>) -> Result<(), Fault> {
        for packet in trace.fields() {
            self.packet(of_packet(&packet?)?)?;
        }
        Ok(())
    }

    fn packet(&mut self, packet: Message<'a>) -> Result<(), Fault> {
        let (mut sequence, mut dropped, mut machine, mut bundle) = (0, false, 0, None);
        for field in packet.fields() {
            let field = field?;
            match field.number {
                FTRACE_EVENTS => bundle = Some(field.message()?),
                PROCESS_TREE => self.process_tree(field.message()?)?,
                FTRACE_STATS => self.stats(field.message()?)?,
                SEQUENCE => sequence = field.number()?,
                DROPPED => dropped = field.number()? != 0,
                MACHINE => machine = field.number()?,
                DEFLATED if self.is_packed => return Err(Fault::at(field.at, "packed twice")),
                ZSTD => {
                    let why = "packets that zstd has packed cannot be read; record without \
                               'compression_type'";
                    return Err(Fault::at(field.at, why));
                }
                _ => {}
            }
        }
        if let Some(bundle) = bundle {
            // Each writer's first packet says so too.
            let has_room = self.sequences.len() < SEQUENCES;
            let is_first = has_room && self.sequences.insert(sequence);
            self.lost = self.lost.saturating_add(u64::from(dropped && !is_first));
            self.bundle(bundle, machine)?;
        }
        Ok(())
    }

    fn bundle(&mut self, bundle: Message<'a>, machine: u64) -> Result<(), Fault> {
        let facts = bundle::read(bundle, &mut self.names, &mut self.events)?;
        let source = (facts.clock, machine);
        if *self.source.get_or_insert(source) != source {
            let why = "events of another clock or machine than those before; record again, on one \
                       machine";
            return Err(Fault::at(bundle.at, why));
        }
        self.cpus = self.cpus.max(facts.cpu + 1);
        self.lost = self.lost.saturating_add(u64::from(facts.lost));
        Ok(())
    }

    fn process_tree(&mut self, tree: Message<'a>) -> Result<(), Fault> {
        for field in tree.fields() {
            let field = field?;
            if field.number != 2 {
                continue;
            }
            let (mut tid, mut name, mut process) = (0, None, None);
            for field in field.message()?.fields() {
                let field = field?;
                match field.number {
                    1 => tid = field.tid()?,
                    2 => name = Some(field.name()?),
                    3 => process = Some(field.tid()?),
                    _ => {}
                }
            }
            self.processes.names.extend(name.map(|name| (tid, name)));
            self.processes.of.extend(process.map(|process| (tid, process)));
        }
        Ok(())
    }

    /// The kernel's own statistics of its buffers.
    fn stats(&mut self, stats: Message<'_>) -> Result<(), Fault> {
        let mut phase = 0;
        for field in stats.fields() {
            let field = field?;
            if field.number == 1 {
                phase = field.number()?;
            }
        }
        for field in stats.fields() {
            let field = field?;
            if field.number == 2 {
                let (cpu, lost) = overrun(field.message()?)?;
                self.overrun(phase, cpu, lost);
            }
        }
        Ok(())
    }

    fn overrun(&mut self, phase: u64, cpu: u32, lost: u64) {
        self.cpus = self.cpus.max(cpu + 1);
        let [start, end] = self.overruns.entry(cpu).or_default();
        match phase {
            START => *start = start.or(Some(lost)),
            END => *end = (*end).max(Some(lost)),
            _ => {}
        }
    }

    /// The recording of all that was read.
    pub fn recording(self) -> Result<Recording, Fault> {
        let between = |[start, end]: &[Option<u64>; 2]| match (start, end) {
            (Some(start), Some(end)) => end.saturating_sub(*start),
            _ => 0,
        };
        let overrun = self.overruns.values().map(between).fold(0, u64::saturating_add);
        // Both tell of the same loss; bundles do not say how many events it was.
        let facts = (self.cpus, self.lost.max(overrun));
        let mut recording = seen::recording(self.events, &self.names, &self.processes, facts)?;
        if self.source.is_some_and(|(clock, _)| clock == LOCAL_CLOCK) {
            let why = "each CPU had a clock of its own; they may differ";
            recording.untold.push(why.into());
        }
        Ok(recording)
    }
}

/// A CPU, and how many events it had lost.
fn overrun(stats: Message<'_>) -> Result<(u32, u64), Fault> {
    let (mut cpu, mut lost) = (0, 0_u64);
    for field in stats.fields() {
        let field = field?;
        match field.number {
            1 => cpu = bundle::cpu(field.number()?, field.at)?,
            // Overwritten, not committed, dropped.
            3 | 4 | 8 => lost = lost.saturating_add(field.number()?),
            _ => {}
        }
    }
    Ok((cpu, lost))
}
