// SPDX-License-Identifier: GPL-2.0-only
//! Protobuf's messages and their fields, each with its place in the file. Nothing is copied.

use super::Fault;
use crate::collect::UNNAMED;

/// What is kept of a thread's name; the kernel's names of its own workers are the longest.
const NAME_BYTES: usize = 64;
/// The most events of a recording: minutes of a large machine, and 1 GiB of memory.
const EVENTS: usize = 1 << 23;
const NUMBER_BYTES: usize = 10;

const CUT: &str = "what begins there is longer than the rest; the file was cut off or damaged";
const FOREIGN: &str =
    "there is no field as in a trace of Perfetto; the file is damaged, or another one";

/// The bytes of a message, or of a name or a list of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    /// Its place in the file.
    pub at: usize,
}

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
    /// Its fields in the order of the file; the last one is a fault if the message is broken.
    pub fn fields(mut self) -> impl Iterator<Item = Result<Field<'a>, Fault>> {
        std::iter::from_fn(move || {
            if self.bytes.is_empty() {
                return None;
            }
            let at = self.at;
            let field = self.take_field(at).map_err(|why| Fault::at(at, why));
            if field.is_err() {
                self.bytes = &[];
            }
            Some(field)
        })
    }

    /// The messages in all fields of this number.
    pub fn messages(self, number: u32) -> impl Iterator<Item = Result<Message<'a>, Fault>> {
        let is_wanted =
            move |field: &Result<Field, Fault>| field.as_ref().is_ok_and(|it| it.number == number);
        self.fields()
            .filter(move |field| field.is_err() || is_wanted(field))
            .map(|field| field?.message())
    }

    pub fn last<const N: usize>(self, numbers: [u32; N]) -> Result<[Option<Field<'a>>; N], Fault> {
        let mut found = [None; N];
        for field in self.fields() {
            let field = field?;
            if let Some(place) = numbers.iter().position(|number| *number == field.number) {
                found[place] = Some(field);
            }
        }
        Ok(found)
    }

    fn take_field(&mut self, at: usize) -> Result<Field<'a>, &'static str> {
        let tag = self.take_number()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0).ok_or(FOREIGN)?;
        let value = match tag & 7 {
            0 => Value::Number(self.take_number()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(self.take_number()?).map_err(|_| CUT)?;
                Value::Message(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(FOREIGN),
        };
        Ok(Field { number, at, value })
    }

    /// A number in groups of seven bits, the lowest first.
    fn take_number(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for (place, byte) in self.bytes.iter().take(NUMBER_BYTES).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return self.take(place + 1).map(|_| number);
            }
        }
        Err(if self.bytes.len() < NUMBER_BYTES { CUT } else { FOREIGN })
    }

    fn take(&mut self, length: usize) -> Result<Message<'a>, &'static str> {
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or(CUT)?;
        let taken = Message { bytes, at: self.at };
        *self = Message { bytes: rest, at: self.at + length };
        Ok(taken)
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

    /// Adds a list of numbers: all of them in one field, or one of them.
    pub fn numbers(&self, into: &mut Vec<u64>) -> Result<(), Fault> {
        if let Value::Number(number) = self.value {
            into.push(number);
            return Ok(());
        }
        let mut list = self.message()?;
        while !list.bytes.is_empty() {
            let at = list.at;
            into.push(list.take_number().map_err(|why| Fault::at(at, why))?);
            limit_events(into.len(), at)?;
        }
        Ok(())
    }

    /// The name of a thread.
    pub fn name(&self) -> Result<&'a str, Fault> {
        let bytes = self.message()?.bytes;
        Ok(str::from_utf8(&bytes[..bytes.len().min(NAME_BYTES)]).unwrap_or(UNNAMED))
    }

    fn foreign(&self, what: &str) -> Fault {
        let number = self.number;
        Fault::at(self.at, format!("field {number} is not {what}, as in a trace of Perfetto"))
    }
}

/// The number in a field; 0 where there is none.
pub fn number(field: Option<Field<'_>>) -> Result<u64, Fault> {
    field.map_or(Ok(0), |field| field.number())
}

/// The number of a thread in a field; 0 where there is none.
pub fn tid(field: Option<Field<'_>>) -> Result<u32, Fault> {
    field.map_or(Ok(0), |field| tid_of(field.number()?, field.at))
}

pub fn tid_of(number: u64, at: usize) -> Result<u32, Fault> {
    u32::try_from(number)
        .map_err(|_| Fault::at(at, format!("{} is not a thread's number", number.cast_signed())))
}

/// Refuses more events, or more of what they consist of, than a recording may have.
pub fn limit_events(number: usize, at: usize) -> Result<(), Fault> {
    if number > EVENTS {
        return Err(Fault::at(at, format!("more than {EVENTS} events; record for a shorter time")));
    }
    Ok(())
}
