// SPDX-License-Identifier: GPL-2.0-only
//! The channel from the guest to the host: frames, written byte by byte to a port of QEMU's
//! `isa-debugcon`.
//!
//! The device has no interrupt and no timing, and the kernel has no driver for it: a byte leaves
//! the guest within the instruction that writes it. So a frame between two trials disturbs neither
//! the next trial's clock nor its scheduling, which a serial port (interrupts, a tty, kernel
//! threads) does.
//!
//! A frame is `FG`, a kind, a length (4 bytes, little-endian), the payload as zlib packs it, which
//! has this length, and the first eight bytes of its SHA-256. Each byte costs the emulator some
//! microseconds, and a trace has millions of them before it is packed.
//!
//! What the host tells a guest that is ready, its [`Orders`], has another way. They are not in the
//! guest's file system, so that all boots of a kernel on a machine are the same until then, and one
//! saved state serves them all.

use std::io::{self, Read};

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use model::Trial;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The debug console's I/O port, where Bochs had its own. QEMU's firmware talks to port 0x402.
pub const PORT: u16 = 0xe9;

const MAGIC: &[u8; 2] = b"FG";
const HEAD: usize = 7;
const SUM: usize = 8;
/// No record is that large; a greater length is damage.
const LENGTH_MAX: usize = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The guest has its orders; the payload is the boot's identity.
    Hello = 1,
    /// The trial with the number in the payload starts.
    Started = 2,
    /// The payload is a record as JSON.
    Record = 3,
    /// No trial is left; the guest powers off.
    Finished = 4,
    /// The guest itself failed; the payload says why.
    Failed = 5,
    /// The guest is ready for its orders and stops the machine next, see [`crate::guest`].
    Ready = 6,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<FrameKind> {
        [
            FrameKind::Hello,
            FrameKind::Started,
            FrameKind::Record,
            FrameKind::Finished,
            FrameKind::Failed,
            FrameKind::Ready,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }
}

/// One frame as bytes.
///
/// # Panics
/// Never for payloads below 4 GiB.
pub fn encode(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
    let payload = packed(payload);
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut frame = Vec::with_capacity(HEAD + payload.len() + SUM);
    frame.extend_from_slice(MAGIC);
    frame.push(kind as u8);
    frame.extend_from_slice(&length);
    frame.extend_from_slice(&payload);
    frame.extend_from_slice(&Sha256::digest(&payload)[..SUM]);
    frame
}

pub(crate) fn packed(payload: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let read = ZlibEncoder::new(payload, Compression::fast()).read_to_end(&mut packed);
    read.unwrap_or_else(|_| unreachable!("memory can be read"));
    packed
}

fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut payload = Vec::new();
    let mut from = ZlibDecoder::new(packed).take(LENGTH_MAX as u64 + 1);
    from.read_to_end(&mut payload).map_err(|_| damaged("it cannot be unpacked"))?;
    if payload.len() > LENGTH_MAX { Err(damaged("it is too long")) } else { Ok(payload) }
}

/// Reads one frame; `None` at the end of the stream.
///
/// # Errors
/// The stream ends inside a frame, or the bytes are not what [`encode`] wrote.
pub fn decode(from: &mut impl Read) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
    let mut head = [0; HEAD];
    if from.read(&mut head[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut head[1..])?;
    let kind = FrameKind::from_byte(head[2]).filter(|_| head.starts_with(MAGIC));
    let kind = kind.ok_or_else(|| damaged("it does not start like a frame"))?;
    let length = u32::from_le_bytes([head[3], head[4], head[5], head[6]]) as usize;
    if length > LENGTH_MAX {
        return Err(damaged("its length is impossible"));
    }
    let mut payload = vec![0; length];
    from.read_exact(&mut payload)?;
    let mut sum = [0; SUM];
    from.read_exact(&mut sum)?;
    if sum != Sha256::digest(&payload)[..SUM] {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(Some((kind, unpacked(&payload)?)))
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame from the guest is damaged: {why}"))
}

/// The name under which QEMU passes them on (`-fw_cfg name=…`).
pub const NAME: &str = "opt/fairground/orders";

#[derive(Clone, Debug, PartialEq)]
pub struct Orders {
    /// The boot's identity, where the guest must not draw one itself (virtual clock).
    pub boot_id: Option<String>,
    /// The trials, in the order in which they run.
    pub trials: Vec<Trial>,
    /// Compiled schedulers: absolute path in the guest, and content.
    pub objects: Vec<(String, Vec<u8>)>,
}

/// What precedes the contents of the objects.
#[derive(Serialize, Deserialize)]
struct Head {
    boot_id: Option<String>,
    trials: Vec<Trial>,
    /// Path and length.
    objects: Vec<(String, usize)>,
}

const LENGTH: usize = 4;

impl Orders {
    /// As bytes: packed, because the guest reads them byte by byte.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let objects = self.objects.iter().map(|(path, content)| (path.clone(), content.len()));
        let head = serde_json::to_vec(&Head {
            boot_id: self.boot_id.clone(),
            trials: self.trials.clone(),
            objects: objects.collect(),
        })?;
        let mut bytes = u32::try_from(head.len())?.to_le_bytes().to_vec();
        bytes.extend(head);
        self.objects.iter().for_each(|(_, content)| bytes.extend(content));
        let mut packed = Vec::new();
        ZlibEncoder::new(bytes.as_slice(), Compression::default()).read_to_end(&mut packed)?;
        Ok(packed)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(packed: &[u8]) -> Result<Orders> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut bytes).context("the orders are damaged")?;
        let (length, rest) = bytes.split_at_checked(LENGTH).context("the orders are too short")?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let (head, mut rest) = rest.split_at_checked(length).context("the orders are too short")?;
        let head: Head = serde_json::from_slice(head).context("the orders are not understood")?;
        let mut objects = Vec::new();
        for (path, length) in head.objects {
            let (content, others) = rest.split_at_checked(length).context("an object is cut")?;
            objects.push((path, content.to_vec()));
            rest = others;
        }
        ensure!(rest.is_empty(), "the orders have {} bytes too many", rest.len());
        Ok(Orders { boot_id: head.boot_id, trials: head.trials, objects })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_in_order() {
        let mut stream = encode(FrameKind::Hello, b"");
        stream.extend(encode(FrameKind::Record, &vec![7; 300_000]));
        let mut from = stream.as_slice();
        assert_eq!(decode(&mut from).unwrap(), Some((FrameKind::Hello, vec![])));
        assert_eq!(decode(&mut from).unwrap(), Some((FrameKind::Record, vec![7; 300_000])));
        assert_eq!(decode(&mut from).unwrap(), None);
    }

    #[test]
    fn every_truncation_is_noticed() {
        let frame = encode(FrameKind::Started, b"12");
        for length in 1..frame.len() {
            assert!(decode(&mut &frame[..length]).is_err(), "{length} bytes passed for a frame");
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let frame = encode(FrameKind::Started, b"12");
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = decode(&mut flipped.as_slice());
            // The checksum does not cover a kind that turns into another known kind.
            let other_kind = bit / 8 == 2 && read.is_ok();
            assert!(read.is_err() || other_kind, "bit {bit} passed");
        }
    }

    fn orders() -> Orders {
        let objects = [("/objects/a", &b"one"[..]), ("/objects/b", b""), ("/objects/c", b"three")];
        Orders {
            boot_id: Some("virtual-3".into()),
            trials: Vec::new(),
            objects: objects.map(|(path, content)| (path.into(), content.to_vec())).to_vec(),
        }
    }

    #[test]
    fn orders_come_back() {
        assert_eq!(Orders::decode(&orders().encode().unwrap()).unwrap(), orders());
    }

    #[test]
    fn damaged_orders_are_refused() {
        let packed = orders().encode().unwrap();
        for length in 0..packed.len() {
            assert!(Orders::decode(&packed[..length]).is_err(), "{length} bytes passed");
        }
    }
}
