// SPDX-License-Identifier: GPL-2.0-only
//! Messages and their fields, each with its place in the file. Nothing is copied.

use std::borrow::Cow;
use std::convert::Infallible;

use micropb::{DecodeError, PbDecoder, WIRE_TYPE_LEN, WIRE_TYPE_VARINT};

use super::Fault;

/// The longest name of a thread, as the kernel shows its own workers'. Longer ones would be copied
/// for each task.
const NAME_BYTES: usize = 64;
/// The highest number of a thread (`PID_MAX_LIMIT`).
const TIDS: u64 = 1 << 22;
/// The most events of a recording: minutes of a large machine, and 1 GiB of memory.
const EVENTS: usize = 1 << 24;

/// The bytes of a message, or of a name or a list of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    /// Its place in the file.
    pub at: usize,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub number: u32,
    /// Its place in the file.
    pub at: usize,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Number(u64),
    Message(Message<'a>),
    /// A number of a fixed width; nothing here has one.
    Fixed,
}

impl<'a> Message<'a> {
    /// Its fields; the last one is a fault if the message is broken.
    pub fn fields(self) -> Fields<'a> {
        Fields { decoder: PbDecoder::new(self.bytes), at: self.at }
    }

    /// Numbers that are packed into one field.
    fn numbers(self, into: &mut Vec<u64>) -> Result<(), Fault> {
        let mut decoder = PbDecoder::new(self.bytes);
        while decoder.bytes_read() < self.bytes.len() {
            let at = self.at + decoder.bytes_read();
            into.push(decoder.decode_varint64().map_err(|error| broken(at, &error))?);
            few(into.len(), at)?;
        }
        Ok(())
    }
}

impl<'a> Field<'a> {
    pub fn number(&self) -> Result<u64, Fault> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => Err(self.foreign("a number")),
        }
    }

    pub fn message(&self) -> Result<Message<'a>, Fault> {
        match self.value {
            Value::Message(message) => Ok(message),
            _ => Err(self.foreign("a message")),
        }
    }

    /// A list of numbers: all of them in one field, or one of them.
    pub fn numbers(&self, into: &mut Vec<u64>) -> Result<(), Fault> {
        match self.value {
            Value::Number(number) => into.push(number),
            _ => self.message()?.numbers(into)?,
        }
        Ok(())
    }

    /// A thread's number.
    pub fn tid(&self) -> Result<u32, Fault> {
        tid(self.number()?, self.at)
    }

    /// The name of a thread.
    pub fn name(&self) -> Result<Cow<'a, str>, Fault> {
        let bytes = self.message()?.bytes;
        if bytes.len() > NAME_BYTES {
            let why =
                format!("the name of a thread has {} bytes, not {NAME_BYTES} at most", bytes.len());
            return Err(Fault::at(self.at, why));
        }
        Ok(String::from_utf8_lossy(bytes))
    }

    fn foreign(&self, what: &str) -> Fault {
        let number = self.number;
        Fault::at(self.at, format!("field {number} is not {what}, as in a trace of Perfetto"))
    }
}

/// A thread's number, as it is written there.
pub fn tid(number: u64, at: usize) -> Result<u32, Fault> {
    if number > TIDS {
        return Err(Fault::at(at, format!("{} is not a thread's number", number.cast_signed())));
    }
    Ok(number as u32)
}

/// Refuses more events, or more of what they consist of, than a recording may have.
pub fn few(number: usize, at: usize) -> Result<(), Fault> {
    if number > EVENTS {
        return Err(Fault::at(at, format!("more than {EVENTS} events; record for a shorter time")));
    }
    Ok(())
}

/// The fields of a message, in the order of the file.
pub struct Fields<'a> {
    decoder: PbDecoder<&'a [u8]>,
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.decoder.as_reader().is_empty() {
            return None;
        }
        let at = self.at + self.decoder.bytes_read();
        let field = self.field(at).map_err(|error| broken(at, &error));
        if field.is_err() {
            self.decoder = PbDecoder::new(&[]);
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self, at: usize) -> Result<Field<'a>, DecodeError<Infallible>> {
        let tag = self.decoder.decode_tag()?;
        if tag.field_num() == 0 {
            return Err(DecodeError::ZeroField);
        }
        let value = match tag.wire_type() {
            WIRE_TYPE_VARINT => Value::Number(self.decoder.decode_varint64()?),
            WIRE_TYPE_LEN => Value::Message(self.delimited()?),
            other => {
                self.decoder.skip_wire_value(other)?;
                Value::Fixed
            }
        };
        Ok(Field { number: tag.field_num(), at, value })
    }

    fn delimited(&mut self) -> Result<Message<'a>, DecodeError<Infallible>> {
        let length = self.decoder.decode_varint32()? as usize;
        let rest: &'a [u8] = self.decoder.as_reader();
        let bytes = rest.get(..length).ok_or(DecodeError::UnexpectedEof)?;
        let at = self.at + self.decoder.bytes_read();
        self.decoder.skip_bytes(length)?;
        Ok(Message { bytes, at })
    }
}

fn broken(at: usize, error: &DecodeError<Infallible>) -> Fault {
    let why = match error {
        DecodeError::UnexpectedEof => {
            "what begins there is longer than the rest; the file was cut off or damaged"
        }
        _ => "there is no field as in a trace of Perfetto; the file is damaged, or another one",
    };
    Fault::at(at, why)
}
