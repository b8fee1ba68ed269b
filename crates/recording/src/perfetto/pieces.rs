// SPDX-License-Identifier: GPL-2.0-only
//! A trace of gigabytes in pieces. Its packets have the events of one CPU each, and overlap in
//! time. So the first pass notes which times each block of packets has; later ones read the blocks
//! in that order, and hand on what is earlier than all blocks that are still to come.

use model::{Position, ReadFault};

use super::wire::Message;
use super::{CURRENT, Feed, Seen, Trace};
use crate::collect::{self, Collector, Scheduling};
use crate::event::{Event, Recording};

/// Packets are put together up to this size.
const BLOCK_BYTES: usize = 256 << 10;
/// Blocks are read together up to this size: an event of five bytes has a hundred in memory.
const READ_BYTES: usize = 1 << 20;
/// Blocks whose times overlap may have as much together.
const OVERLAP_BYTES: usize = 24 << 20;
/// The largest packet. Perfetto's own have some kilobytes.
const PACKET_BYTES: u64 = 24 << 20;

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
                index.has_waking |= matches!(event.what, Scheduling::Waking(_));
                index.has_forks |=
                    matches!(event.what, Scheduling::Fork { parent, .. } if parent != CURRENT);
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
        let mut collector = Collector::new(self.has_waking);
        collector.cpus(self.trace.cpus);
        collector.lost(self.trace.losses);
        let mut collector = match to {
            Some(to) => collector.handing_on(to),
            None => collector,
        };
        let mut feed = Feed { has_forks: self.has_forks, ..Feed::default() };
        self.in_order(bytes, &mut |event| feed.event(&mut collector, event))?;
        let (mut recording, seen) = collector.finish("a trace of Perfetto")?;
        if feed.unknown > 0 {
            let unknown = feed.unknown;
            recording.untold.push(format!("which tasks ran before {unknown} of the switches"));
        }
        Ok((recording, seen))
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
                return Err(too_far_apart(open[0].0));
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

/// Whole packets from a place of the file on, at least one.
fn block(at: u64, length: u64, bytes: &mut Bytes<'_>) -> Result<Vec<u8>, ReadFault> {
    let mut piece = bytes(at, BLOCK_BYTES)?;
    let (mut rest, mut whole) = (Message(&piece), 0);
    while !rest.0.is_empty() && rest.take_field().is_ok() {
        whole = piece.len() - rest.0.len();
    }
    let is_last = at + piece.len() as u64 >= length;
    match Message(&piece).first_bytes() {
        // What is wrong with the first packet, or with the file's last one, is found when it is
        // read.
        _ if is_last => {}
        Some(packet) if whole == 0 && packet > length - at => {}
        Some(packet) if whole == 0 && packet > PACKET_BYTES => {
            let message = format!(
                "a packet of {} MiB, and a trace has packets of at most {} MiB; the file is \
                 damaged, or another one",
                packet >> 20,
                PACKET_BYTES >> 20
            );
            return Err(ReadFault { position: Some(Position::Byte(at as usize)), message });
        }
        Some(packet) if whole == 0 => piece = bytes(at, packet as usize)?,
        _ if whole > 0 => piece.truncate(whole),
        _ => {}
    }
    Ok(piece)
}

fn too_far_apart(block: &Block) -> ReadFault {
    let message = format!(
        "more than {} MiB from there on overlap in time; record with 'write_into_file'",
        OVERLAP_BYTES >> 20
    );
    ReadFault { position: Some(Position::Byte(block.at as usize)), message }
}
