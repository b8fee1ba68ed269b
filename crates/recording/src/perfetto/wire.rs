// SPDX-License-Identifier: GPL-2.0-only
//! Protobuf's messages and their fields. Nothing is copied.

use crate::scheduler_event::UNNAMED;

const NUMBER_BYTES: usize = 10;
/// The longest list of numbers: minutes of a large machine, and 1 GiB of memory.
const LIST: usize = 1 << 23;

/// A message that begins in a piece of the file, and ends behind it.
pub const CUT: &str = "what begins there is longer than the rest; the file was cut off or damaged";
const FOREIGN: &str =
    "there is no field as in a trace of Perfetto; the file is damaged, or another one";

/// The bytes of a message, or of a name or a list of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a>(pub &'a [u8]);

#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub number: u32,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    /// The message has no such field: as a number it is 0, as a message it is empty.
    Absent,
    Number(u64),
    Message(Message<'a>),
    /// A number of a fixed width; nothing here has one.
    Fixed,
}

impl<'a> Message<'a> {
    /// Its fields in the order of the file; the last one is a fault if the message is broken.
    pub fn fields(mut self) -> impl Iterator<Item = Result<Field<'a>, String>> {
        std::iter::from_fn(move || {
            let field = (!self.0.is_empty()).then(|| self.take_field())?;
            if field.is_err() {
                self.0 = &[];
            }
            Some(field)
        })
    }

    /// The last field of each number. No field has the number 0.
    pub fn last<const N: usize>(self, numbers: [u32; N]) -> Result<[Field<'a>; N], String> {
        let mut found = numbers.map(|number| Field { number, value: Value::Absent });
        for field in self.fields() {
            let field = field?;
            if let Some(place) = numbers.iter().position(|number| *number == field.number) {
                found[place] = field;
            }
        }
        Ok(found)
    }

    /// Takes the first field off.
    pub fn take_field(&mut self) -> Result<Field<'a>, String> {
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
            _ => return Err(FOREIGN.into()),
        };
        Ok(Field { number, value })
    }

    /// A number in groups of seven bits, the lowest first.
    fn take_number(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for (place, byte) in self.0.iter().take(NUMBER_BYTES).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return self.take(place + 1).map(|_| number);
            }
        }
        Err(if self.0.len() < NUMBER_BYTES { CUT.into() } else { FOREIGN.into() })
    }

    fn take(&mut self, length: usize) -> Result<Message<'a>, String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(Message(taken))
    }
}

impl<'a> Field<'a> {
    pub fn is_there(&self) -> bool {
        !matches!(self.value, Value::Absent)
    }

    pub fn number(&self) -> Result<u64, String> {
        match self.value {
            Value::Absent => Ok(0),
            Value::Number(number) => Ok(number),
            _ => Err(self.foreign("a number")),
        }
    }

    pub fn message(&self) -> Result<Message<'a>, String> {
        match self.value {
            Value::Absent => Ok(Message(&[])),
            Value::Message(message) => Ok(message),
            _ => Err(self.foreign("a message")),
        }
    }

    fn foreign(&self, what: &str) -> String {
        format!("field {} is not {what}, as in a trace of Perfetto", self.number)
    }

    /// Adds a list of numbers: all of them in one field, or one of them.
    pub fn add_numbers(&self, list: &mut Vec<u64>) -> Result<(), String> {
        if let Value::Number(number) = self.value {
            list.push(number);
            return Ok(());
        }
        let mut rest = self.message()?;
        while !rest.0.is_empty() {
            list.push(rest.take_number()?);
            if list.len() > LIST {
                return Err(format!("more than {LIST} events; record for a shorter time"));
            }
        }
        Ok(())
    }

    pub fn name(&self) -> Result<&'a str, String> {
        let name = str::from_utf8(self.message()?.0);
        Ok(name.ok().filter(|_| self.is_there()).unwrap_or(UNNAMED))
    }
}
