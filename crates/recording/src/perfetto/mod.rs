// SPDX-License-Identifier: GPL-2.0-only
//! Traces of Perfetto (`.pftrace`, `.perfetto-trace`): protobuf messages with events of ftrace.
//!
//! [`wire`] tells fields apart, [`packets`] the packets of the file, [`bundle`] and [`compact`]
//! read the events of a CPU, in their two forms, and [`seen`] hands them over in order of time.

mod bundle;
mod compact;
mod packets;
mod seen;
mod wire;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::event::Recording;
use wire::Message;

/// Why a trace cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The byte, from 0, where there is one; of an unpacked trace, if the file is packed.
    pub offset: Option<usize>,
    /// What is wrong, and what would help.
    pub message: String,
}

impl Fault {
    fn at(offset: usize, message: impl Into<String>) -> Fault {
        Fault { offset: Some(offset), message: message.into() }
    }
}

/// The first bytes of what gzip packs.
const PACKED: [u8; 2] = [0x1f, 0x8b];
/// The first byte of a trace: a message in field 1.
const FIRST: u8 = 0x0a;
/// So much is unpacked to tell a trace from other files.
const LOOKED_AT: u64 = 4096;
/// The most bytes that a file may have when it is unpacked.
const UNPACKED_BYTES: u64 = 1 << 30;

/// Whether a file with this beginning looks like a trace of Perfetto.
pub fn is(beginning: &[u8]) -> bool {
    let mut unpacked = Vec::new();
    let mut bytes = beginning;
    if bytes.starts_with(&PACKED) {
        // The rest of the file is missing: what comes before that counts.
        let _ = GzDecoder::new(beginning).take(LOOKED_AT).read_to_end(&mut unpacked);
        bytes = &unpacked;
    }
    // Text can begin with an empty line, but has no other control characters.
    let is_binary = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x1b".contains(byte);
    bytes.first() == Some(&FIRST) && bytes.iter().any(is_binary)
}

/// Reads a trace, also if gzip has packed it.
///
/// # Errors
/// The file is cut off, damaged or another one, its events are of several clocks or machines, or
/// nothing in it was scheduled.
pub fn read(file: &[u8]) -> Result<Recording, Fault> {
    let bytes = if file.starts_with(&PACKED) {
        Cow::Owned(unpacked(GzDecoder::new(file), UNPACKED_BYTES, 0)?)
    } else {
        Cow::Borrowed(file)
    };
    let trace = Message { bytes: &bytes, at: 0 };
    let packed = packets::unpack(trace)?;
    let mut read = packets::Read::default();
    read.packets(trace)?;
    read.is_packed = true;
    for (at, bytes) in &packed {
        // Places in what was unpacked are not places of the file.
        read.packets(Message { bytes, at: 0 }).map_err(|fault| {
            Fault::at(*at, format!("in what is packed there: {}", fault.message))
        })?;
    }
    read.recording()
}

/// What a decoder unpacks, unless it has more than so many bytes.
fn unpacked(decoder: impl Read, most: u64, at: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    decoder
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::at(at, format!("what is packed there is damaged: {error}")))?;
    if bytes.len() as u64 > most {
        let most = UNPACKED_BYTES >> 20;
        return Err(Fault::at(at, format!("more than {most} MiB when it is unpacked")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
