// SPDX-License-Identifier: GPL-2.0-only
//! Traces of Perfetto (`.pftrace`, `.perfetto-trace`): protobuf messages with events of ftrace.
//!
//! [`wire`] tells fields apart, [`events`] reads the events of a CPU in their two forms, [`trace`]
//! the packets of the file, and brings the events of all CPUs into the order of time. The numbers
//! of fields are those of Perfetto's `protos/perfetto/trace/`.

mod events;
mod trace;
mod wire;

use crate::event::Recording;
use wire::Message;

/// Why a trace cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The byte, from 0, where there is one.
    pub offset: Option<usize>,
    pub message: String,
}

impl Fault {
    fn at(offset: usize, message: impl Into<String>) -> Fault {
        Fault { offset: Some(offset), message: message.into() }
    }
}

/// The first byte of a trace: a message in field 1.
const FIRST: u8 = 0x0a;

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
pub fn read(file: &[u8]) -> Result<Recording, Fault> {
    trace::read(Message { bytes: file, at: 0 })
}

#[cfg(test)]
mod tests;
