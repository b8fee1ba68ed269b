// SPDX-License-Identifier: GPL-2.0-only
//! The packets of a trace (`TracePacket`): events, names of processes, and what was lost. The
//! events of all CPUs are collected in the order of time.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::events::{self, Kind, Seen};
use super::wire::{Message, number, tid};
use crate::collect::{Collector, Moment, Named, Scheduling, UNNAMED};
use crate::event::{Leaves, Recording};

/// The most writers that are told apart.
const SEQUENCES: usize = 1 << 16;
/// The number of the clock that each CPU has for itself.
const LOCAL_CLOCK: u64 = 3;
/// Phases of statistics.
const START: u64 = 1;
const END: u64 = 2;

/// What was read of a trace.
#[derive(Default)]
struct Trace<'a> {
    events: Vec<Seen<'a>>,
    /// The process of a thread.
    process_of: BTreeMap<u32, u32>,
    /// The name of a thread.
    names: BTreeMap<u32, &'a str>,
    /// The clock and the machine of the events.
    source: Option<(u64, u64)>,
    /// The writers of packets.
    sequences: BTreeSet<u64>,
    cpus: u32,
    lost: u64,
    /// Events that each CPU had lost at the beginning, and those that it lost since then.
    overruns: BTreeMap<u32, (u64, u64)>,
}

pub fn read(file: Message<'_>) -> Result<Recording, Fault> {
    let mut trace = Trace::default();
    for packet in file.fields() {
        let packet = packet?;
        if packet.number != 1 {
            let why =
                "there is no packet of a trace of Perfetto; the file is damaged, or another one";
            return Err(Fault::at(packet.at, why));
        }
        trace.packet(packet.message()?)?;
    }
    trace.recording()
}

impl<'a> Trace<'a> {
    fn packet(&mut self, packet: Message<'a>) -> Result<(), Fault> {
        let [bundle, processes, sequence, stats, dropped, deflated, machine, zstd] =
            packet.last([1, 2, 10, 34, 42, 50, 98, 133])?;
        if let Some(packed) = deflated.or(zstd) {
            let why = "packets in it are packed; record without 'compression_type'";
            return Err(Fault::at(packed.at, why));
        }
        if let Some(processes) = processes {
            self.process_tree(processes.message()?)?;
        }
        if let Some(stats) = stats {
            self.stats(stats.message()?)?;
        }
        if let Some(bundle) = bundle {
            // Each writer's first packet says that something was dropped before.
            let has_room = self.sequences.len() < SEQUENCES;
            let is_first = has_room && self.sequences.insert(number(sequence)?);
            self.lost += u64::from(number(dropped)? != 0 && !is_first);
            self.bundle(bundle.message()?, number(machine)?)?;
        }
        Ok(())
    }

    fn bundle(&mut self, bundle: Message<'a>, machine: u64) -> Result<(), Fault> {
        let facts = events::read(bundle, &mut self.events)?;
        let source = (facts.clock, machine);
        if *self.source.get_or_insert(source) != source {
            let why = "events of another clock or machine than those before; record again, on one \
                       machine";
            return Err(Fault::at(bundle.at, why));
        }
        self.cpus = self.cpus.max(facts.cpu + 1);
        self.lost += u64::from(facts.has_lost_events);
        Ok(())
    }

    fn process_tree(&mut self, tree: Message<'a>) -> Result<(), Fault> {
        for thread in tree.messages(2) {
            let [own, name, process] = thread?.last([1, 2, 3])?;
            let own = tid(own)?;
            if let Some(name) = name {
                self.names.insert(own, name.name()?);
            }
            if process.is_some() {
                self.process_of.insert(own, tid(process)?);
            }
        }
        Ok(())
    }

    /// The kernel's own statistics of its buffers.
    fn stats(&mut self, stats: Message<'_>) -> Result<(), Fault> {
        let phase = number(stats.last([1])?[0])?;
        for of_cpu in stats.messages(2) {
            let [cpu, overwritten, not_committed, dropped] = of_cpu?.last([1, 3, 4, 8])?;
            let cpu = cpu.map_or(Ok(0), events::cpu)?;
            self.cpus = self.cpus.max(cpu + 1);
            let mut lost = 0_u64;
            for count in [overwritten, not_committed, dropped] {
                lost = lost.saturating_add(number(count)?);
            }
            match (phase, self.overruns.get_mut(&cpu)) {
                (START, None) => drop(self.overruns.insert(cpu, (lost, 0))),
                (END, Some((start, since))) => *since = lost.saturating_sub(*start).max(*since),
                _ => {}
            }
        }
        Ok(())
    }

    fn recording(mut self) -> Result<Recording, Fault> {
        self.events.sort_by_key(|event| event.at_ns);
        let has = |is: fn(&Scheduling<'_>) -> bool| {
            let is = |seen: &Seen<'_>| matches!(&seen.kind, Kind::Scheduling(event) if is(event));
            self.events.iter().any(is)
        };
        let has_forks = has(|event| matches!(event, Scheduling::Fork { .. }));
        let mut collector = Collector::new(has(|event| matches!(event, Scheduling::Waking(_))));
        collector.cpus(self.cpus);
        // Both tell of the same loss; bundles do not say how many events it was.
        let overrun = self.overruns.values().fold(0, |sum: u64, cpu| sum.saturating_add(cpu.1));
        collector.lost(self.lost.max(overrun));
        let unknown = self.collect(&mut collector, has_forks);
        let finished = collector.finish("a trace of Perfetto");
        let mut recording = finished.map_err(|message| Fault { offset: None, message })?;
        for task in recording.tasks.iter_mut().filter(|task| task.name == UNNAMED) {
            if let Some(name) = self.names.get(&task.tid) {
                task.name = (*name).into();
            }
        }
        if unknown > 0 {
            recording.untold.push(format!("which tasks ran before {unknown} of the switches"));
        }
        if self.source.is_some_and(|(clock, _)| clock == LOCAL_CLOCK) {
            recording.untold.push("each CPU had a clock of its own; they may differ".into());
        }
        Ok(recording)
    }

    /// Hands the events over. Returns of how many switches nothing says who left.
    fn collect(&self, collector: &mut Collector, has_forks: bool) -> u64 {
        let unnamed = |tid| Named { comm: UNNAMED, tid, prio: None };
        let mut unknown = 0;
        // The thread that runs on each CPU, where that is known.
        let mut running_on: BTreeMap<u32, u32> = BTreeMap::new();
        for seen in &self.events {
            if let Some(tid) = seen.tid {
                running_on.insert(seen.cpu, tid);
            }
            let running = running_on.get(&seen.cpu).copied();
            let mut tid = running.unwrap_or(0);
            let event = match seen.kind {
                Kind::Gap => {
                    running_on.remove(&seen.cpu);
                    continue;
                }
                Kind::SwitchTo { state, next } => {
                    unknown += u64::from(running.is_none());
                    // An unknown task looks like the idle one, which never sleeps.
                    let state = if running.is_some() { state } else { 'R' };
                    Scheduling::Switch { out: unnamed(tid), leaves: Leaves::in_state(state), next }
                }
                Kind::NewTask(_) if has_forks => continue,
                Kind::NewTask(child) => Scheduling::Fork { parent: unnamed(tid), child },
                Kind::Scheduling(event) => event,
            };
            if let Scheduling::Switch { out, next, .. } = event {
                tid = out.tid;
                running_on.insert(seen.cpu, next.tid);
            }
            let process = self.process_of.get(&tid).copied();
            let Seen { cpu, at_ns, in_interrupt, .. } = *seen;
            let moment = Moment { comm: UNNAMED, tid, process, cpu, in_interrupt, at_ns };
            collector.event(&moment, event);
        }
        unknown
    }
}
