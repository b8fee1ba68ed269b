// SPDX-License-Identifier: GPL-2.0-only
//! Traces of Perfetto (`.pftrace`, `.perfetto-trace`): protobuf messages with events of ftrace.
//!
//! [`wire`] tells fields apart, [`events`] reads the events of a CPU in their two forms. Here are
//! the packets of the file (`TracePacket`), which may have gigabytes. They have the events of one
//! CPU each, and overlap in time. So the first pass notes which times each block of packets has;
//! later ones read the blocks in that order, and hand on what is earlier than all blocks that are
//! still to come. The numbers of fields are those of Perfetto's `protos/perfetto/trace/`.

mod events;

use crate::collect::{self, Collector};
use crate::event::{Event, Moment, Named, Recording, Scheduling};
use events::{CUT, Field, Message, Seen};
use model::{Position, ReadFault};

/// The first byte of a trace: a message in field 1.
const FIRST: u8 = 0x0a;
/// The kernel's most CPUs (`NR_CPUS`).
const CPUS: u64 = 8192;
/// Packets are put together up to this size.
const BLOCK_BYTES: usize = 256 << 10;
/// Blocks are read together up to this size: an event of five bytes has a hundred in memory.
const READ_BYTES: usize = 1 << 20;
/// Blocks whose times overlap may have as much together.
const OVERLAP_BYTES: usize = 24 << 20;
/// The largest packet. Perfetto's own have some kilobytes.
const PACKET_BYTES: usize = 16 << 20;

/// Whether a file with this beginning looks like a trace of Perfetto.
pub fn is(beginning: &[u8]) -> bool {
    // Text can begin with an empty line, but has no other control characters.
    let is_binary = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x1b".contains(byte);
    beginning.first() == Some(&FIRST) && beginning.iter().any(is_binary)
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
            let at = from + (bytes.len() - rest.0.len()) as u64;
            let read = rest.take_field().and_then(|field| self.packet(field, &mut events));
            read.map_err(|why| fault(at, why))?;
        }
        Ok(events)
    }

    fn packet<'a>(&mut self, packet: Field<'a>, to: &mut Vec<Seen<'a>>) -> Result<(), String> {
        if packet.number != 1 {
            let why =
                "there is no packet of a trace of Perfetto; the file is damaged, or another one";
            return Err(why.into());
        }
        let [bundle, deflated, machine, zstd] = packet.message()?.last([1, 50, 98, 133])?;
        if deflated.is_there() || zstd.is_there() {
            return Err("packets in it are packed; record without 'compression_type'".into());
        }
        if !bundle.is_there() {
            return Ok(());
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
        if *self.source.get_or_insert(source) != source {
            let why = "events of another clock or machine than those before; record again, on one \
                       machine";
            return Err(why.into());
        }
        let first = to.len();
        for field in bundle.fields() {
            let field = field?;
            if field.number == 2 {
                to.extend(events::event(field.message()?, cpu)?);
            }
        }
        to.extend(events::columns(compact.message()?, cpu)?);
        if lost.number()? != 0 {
            self.losses += 1;
            let at_ns = to[first..].iter().map(|event| event.at_ns).min().unwrap_or(0);
            let what = Scheduling::Lost;
            to.insert(first, Seen { at_ns, cpu, tid: None, in_interrupt: None, what });
        }
        self.cpus = self.cpus.max(cpu + 1);
        Ok(())
    }
}

/// Reads bytes of the file from a place on; fewer where it ends.
pub type Bytes<'a> = dyn FnMut(u64, usize) -> Result<Vec<u8>, ReadFault> + 'a;

/// Packets one after the other, and the times of their events.
struct Block {
    at: u64,
    bytes: usize,
    first_ns: u64,
    last_ns: u64,
}

/// Where the events of a trace are.
pub struct Index {
    /// In the order of their first events.
    blocks: Vec<Block>,
    trace: Trace,
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
        let (blocks, trace) = (Vec::new(), Trace::default());
        let mut index = Index { blocks, trace, has_waking: false, has_forks: false };
        let mut at = 0;
        while at < length {
            let block = block(at, length, bytes)?;
            let events = index.trace.packets(&block, at)?;
            for event in &events {
                index.has_waking |= matches!(event.what, Scheduling::Waking(..));
                index.has_forks |= matches!(event.what, Scheduling::Fork { parent: Some(_), .. });
            }
            let times = || events.iter().map(|event| event.at_ns);
            if let Some((first_ns, last_ns)) = times().min().zip(times().max()) {
                index.blocks.push(Block { at, bytes: block.len(), first_ns, last_ns });
            }
            at += block.len() as u64;
        }
        index.blocks.sort_by_key(|block| block.first_ns);
        Ok(index)
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
        collector.cpus(self.trace.cpus);
        collector.lost(self.trace.losses);
        self.in_order(bytes, &mut |&Seen { at_ns, cpu, tid, in_interrupt, what }| {
            let moment = Moment { current: tid.map(Named::numbered), cpu, in_interrupt, at_ns };
            collector.event(
                &moment,
                match what {
                    // A new task is a fork where the kernel tells no fork.
                    Scheduling::Fork { parent: None, .. } if self.has_forks => Scheduling::Other,
                    what => what,
                },
            );
        })?;
        Ok(collector.finish("a trace of Perfetto")?)
    }

    /// All events in the order of time; those of one time in the order of the file.
    fn in_order(
        &self,
        bytes: &mut Bytes<'_>,
        take: &mut dyn FnMut(&Seen<'_>),
    ) -> Result<(), ReadFault> {
        let mut to_come = self.blocks.iter().peekable();
        let mut open: Vec<(&Block, Vec<u8>)> = Vec::new();
        let mut done_ns = 0;
        loop {
            let mut read = 0;
            while let Some(block) = to_come.next_if(|_| read < READ_BYTES) {
                read += block.bytes;
                open.push((block, bytes(block.at, block.bytes)?));
            }
            open.sort_by_key(|(block, _)| block.at);
            if open.iter().map(|(block, _)| block.bytes).sum::<usize>() > OVERLAP_BYTES {
                let why = format!(
                    "more than {} MiB from there on overlap in time; record with 'write_into_file'",
                    OVERLAP_BYTES >> 20
                );
                return Err(fault(open[0].0.at, why));
            }
            let end_ns = to_come.peek().map(|block| block.first_ns);
            let is_next = |event: &Seen<'_>| {
                event.at_ns >= done_ns && end_ns.is_none_or(|end_ns| event.at_ns < end_ns)
            };
            let mut events = Vec::new();
            for (block, bytes) in &open {
                let all = Trace::default().packets(bytes, block.at)?;
                events.extend(all.into_iter().filter(is_next));
            }
            events.sort_by_key(|event| event.at_ns);
            events.iter().for_each(&mut *take);
            let Some(end_ns) = end_ns else { return Ok(()) };
            open.retain(|(block, _)| block.last_ns >= end_ns);
            done_ns = end_ns;
        }
    }
}

/// Whole packets from a place of the file on, at least one. What is wrong with the first one, or
/// with the file's last one, is found when it is read.
fn block(at: u64, length: u64, bytes: &mut Bytes<'_>) -> Result<Vec<u8>, ReadFault> {
    let mut most = BLOCK_BYTES;
    while most <= PACKET_BYTES {
        let mut piece = bytes(at, most)?;
        let (mut rest, mut whole) = (Message(&piece), 0);
        let fault = loop {
            match rest.take_field() {
                Ok(_) => whole = piece.len() - rest.0.len(),
                Err(fault) => break fault,
            }
        };
        let is_last = at + piece.len() as u64 >= length;
        if whole > 0 && !is_last {
            piece.truncate(whole);
        }
        if whole > 0 || is_last || fault != CUT {
            return Ok(piece);
        }
        most *= 2;
    }
    let most = PACKET_BYTES >> 20;
    let why = format!("a packet of more than {most} MiB; the file is damaged, or another one");
    Err(fault(at, why))
}

fn fault(at: u64, message: String) -> ReadFault {
    ReadFault { position: Some(Position::Byte(at as usize)), message }
}

#[cfg(test)]
mod tests;
