// SPDX-License-Identifier: GPL-2.0-only
//! Traces of Perfetto (`.pftrace`, `.perfetto-trace`): protobuf messages with events of ftrace.
//!
//! [`events`] reads the events of a CPU in their two forms. Here are the packets of the file
//! (`TracePacket`), which may have gigabytes. They have the events of one CPU each, and overlap in
//! time. So the first pass notes which times each packet has; later ones read the packets in that
//! order, and hand on what is earlier than all packets that are still to come. The numbers of
//! fields are those of Perfetto's `protos/perfetto/trace/`.

mod events;

use crate::collect::{self, Collector};
use crate::event::{Event, Moment, Recording, Scheduling};
use events::{CUT, Field, Message, Seen};
use model::{Position, ReadFault};

/// The first byte of a trace: a message in field 1.
const FIRST: u8 = 0x0a;
/// The kernel's most CPUs (`NR_CPUS`).
const CPUS: u64 = 8192;
/// Packets are read together up to this size: an event of five bytes has a hundred in memory.
const READ_BYTES: usize = 1 << 20;
/// Packets whose times overlap may have as much together.
const OVERLAP_BYTES: usize = 24 << 20;
/// The largest packet. Perfetto's own have some kilobytes.
const PACKET_BYTES: usize = 16 << 20;

/// Whether a file with this beginning looks like a trace of Perfetto.
pub fn is(beginning: &[u8]) -> bool {
    // Text can begin with an empty line, but has no other control characters.
    let is_binary = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x1b".contains(byte);
    beginning.first() == Some(&FIRST) && beginning.iter().any(is_binary)
}

/// The events of a packet.
struct Bundle<'a> {
    cpu: u32,
    /// Their clock and their machine.
    source: (u64, u64),
    /// Whether events were lost; it is not known how many.
    is_lossy: bool,
    events: Vec<Seen<'a>>,
}

/// `None`: the packet has something else.
fn bundle(packet: Field<'_>) -> Result<Option<Bundle<'_>>, String> {
    if packet.number != 1 {
        let why = "there is no packet of a trace of Perfetto; the file is damaged, or another one";
        return Err(why.into());
    }
    let [bundle, deflated, machine, zstd] = packet.message()?.last([1, 50, 98, 133])?;
    if deflated.is_there() || zstd.is_there() {
        return Err("packets in it are packed; record without 'compression_type'".into());
    }
    if !bundle.is_there() {
        return Ok(None);
    }
    let bundle = bundle.message()?;
    let [cpu, lost, compact, clock] = bundle.last([1, 3, 4, 5])?;
    if !cpu.is_there() {
        return Err("events of no CPU".into());
    }
    let cpu = match cpu.number()? {
        cpu @ 0..CPUS => cpu as u32,
        cpu => return Err(format!("CPU {cpu}: Linux has {CPUS} CPUs at most")),
    };
    let source = (clock.number()?, machine.number()?);
    let mut events = Vec::new();
    for field in bundle.fields() {
        let field = field?;
        if field.number == 2 {
            events.extend(events::event(field.message()?, cpu)?);
        }
    }
    events.extend(events::columns(compact.message()?, cpu)?);
    let is_lossy = lost.number()? != 0;
    if is_lossy {
        let at_ns = events.iter().map(|(moment, _)| moment.at_ns).min().unwrap_or(0);
        let moment = Moment { current: None, cpu, in_interrupt: None, at_ns };
        events.insert(0, (moment, Scheduling::Lost));
    }
    Ok(Some(Bundle { cpu, source, is_lossy, events }))
}

/// Reads bytes of the file from a place on; fewer where it ends.
pub type Bytes<'a> = dyn FnMut(u64, usize) -> Result<Vec<u8>, ReadFault> + 'a;

/// Where a packet is, and the times of its events.
struct Packet {
    at: u64,
    bytes: usize,
    first_ns: u64,
    last_ns: u64,
}

/// Where the events of a trace are, and what is known of them together.
#[derive(Default)]
pub struct Index {
    /// In the order of their first events.
    packets: Vec<Packet>,
    source: Option<(u64, u64)>,
    cpus: u32,
    losses: u64,
    has_waking: bool,
    /// Whether it has forks that tell the parent.
    has_forks: bool,
}

impl Index {
    /// Looks through a file of that many bytes.
    ///
    /// # Errors
    /// It is cut off, damaged or another one, or its events are of several clocks or machines.
    pub fn new(length: u64, bytes: &mut Bytes<'_>) -> Result<Index, ReadFault> {
        let mut index = Index::default();
        let mut at = 0;
        while at < length {
            let piece = bytes(at, PACKET_BYTES)?;
            let is_last = at + piece.len() as u64 >= length;
            let (mut rest, mut done) = (Message(&piece), 0);
            while !(is_last && rest.0.is_empty()) {
                let packet = match rest.take_field() {
                    Err(why) if why == CUT && !is_last && done > 0 => break,
                    Err(why) if why == CUT && !is_last => Err(format!(
                        "a packet of more than {} MiB; the file is damaged, or another one",
                        PACKET_BYTES >> 20
                    )),
                    packet => packet,
                };
                let (from, end) = (at + done as u64, piece.len() - rest.0.len());
                let added = packet.and_then(|packet| index.add(packet, from, end - done));
                added.map_err(|why| fault(from, why))?;
                done = end;
            }
            at += done as u64;
        }
        index.packets.sort_by_key(|packet| packet.first_ns);
        Ok(index)
    }

    fn add(&mut self, packet: Field<'_>, at: u64, bytes: usize) -> Result<(), String> {
        let Some(Bundle { cpu, source, is_lossy, events }) = bundle(packet)? else {
            return Ok(());
        };
        if *self.source.get_or_insert(source) != source {
            let why = "events of another clock or machine than those before; record again, on one \
                       machine";
            return Err(why.into());
        }
        self.cpus = self.cpus.max(cpu + 1);
        self.losses += u64::from(is_lossy);
        for (_, what) in &events {
            self.has_waking |= matches!(what, Scheduling::Waking(..));
            self.has_forks |= matches!(what, Scheduling::Fork { parent: Some(_), .. });
        }
        let times = || events.iter().map(|(moment, _)| moment.at_ns);
        if let Some((first_ns, last_ns)) = times().min().zip(times().max()) {
            self.packets.push(Packet { at, bytes, first_ns, last_ns });
        }
        Ok(())
    }

    /// The recording, and what is known of its events. If they are too many for a list, each goes
    /// `to` somebody, with its time on the trace's clock.
    ///
    /// # Errors
    /// Nothing was scheduled, or events that belong together in time are too far apart in the file.
    pub fn recording(
        &self,
        bytes: &mut Bytes<'_>,
        to: Option<&mut dyn FnMut(Event)>,
    ) -> Result<(Recording, collect::Seen), ReadFault> {
        let mut collector = Collector::new(self.has_waking).handing_on(to);
        collector.cpus(self.cpus);
        collector.lost(self.losses);
        self.in_order(bytes, &mut |(moment, what)| match what {
            // A new task is a fork where the kernel tells no fork.
            Scheduling::Fork { parent: None, .. } if self.has_forks => {
                collector.event(moment, Scheduling::Other);
            }
            what => collector.event(moment, *what),
        })?;
        Ok(collector.finish("a trace of Perfetto")?)
    }

    /// All events in the order of time; those of one time in the order of the file.
    fn in_order(
        &self,
        bytes: &mut Bytes<'_>,
        take: &mut dyn FnMut(&Seen<'_>),
    ) -> Result<(), ReadFault> {
        let mut to_come = self.packets.iter().peekable();
        let mut open: Vec<(&Packet, Vec<u8>)> = Vec::new();
        let mut done_ns = 0;
        loop {
            let mut read = 0;
            while let Some(packet) = to_come.next_if(|_| read < READ_BYTES) {
                read += packet.bytes;
                open.push((packet, bytes(packet.at, packet.bytes)?));
            }
            open.sort_by_key(|(packet, _)| packet.at);
            if open.iter().map(|(packet, _)| packet.bytes).sum::<usize>() > OVERLAP_BYTES {
                let why = format!(
                    "more than {} MiB from there on overlap in time; record with 'write_into_file'",
                    OVERLAP_BYTES >> 20
                );
                return Err(fault(open[0].0.at, why));
            }
            let end_ns = to_come.peek().map(|packet| packet.first_ns);
            let is_next = |(moment, _): &Seen<'_>| {
                moment.at_ns >= done_ns && end_ns.is_none_or(|end_ns| moment.at_ns < end_ns)
            };
            let mut events = Vec::new();
            for (packet, bytes) in &open {
                let bundle = Message(bytes).take_field().and_then(bundle);
                let bundle = bundle.map_err(|why| fault(packet.at, why))?;
                let all = bundle.into_iter().flat_map(|bundle| bundle.events);
                events.extend(all.filter(is_next));
            }
            events.sort_by_key(|(moment, _)| moment.at_ns);
            events.iter().for_each(&mut *take);
            let Some(end_ns) = end_ns else { return Ok(()) };
            open.retain(|(packet, _)| packet.last_ns >= end_ns);
            done_ns = end_ns;
        }
    }
}

fn fault(at: u64, message: String) -> ReadFault {
    ReadFault { position: Some(Position::Byte(at as usize)), message }
}

#[cfg(test)]
mod tests;
