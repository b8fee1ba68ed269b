// SPDX-License-Identifier: GPL-2.0-only
//! The events of a bundle (`FtraceEventBundle`): each in a message of its own (`FtraceEvent`), or
//! switches and wake-ups in columns (`CompactSched`).
//!
//! Protobuf's messages and their fields. Nothing is copied.

use crate::event::{Leaves, Moment, Named, Scheduling, UNNAMED, Waker};

/// Bits of an event's flags: in an interrupt, in a soft one, in one that cannot be masked.
const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;
/// Numbers of soft interrupts: `TIMER`, `HRTIMER`.
const SOFT_TIMERS: [u64; 2] = [1, 8];
const UNEVEN: &str = "columns of switches or wake-ups with different lengths; the file is damaged";

pub type Seen<'a> = (Moment<'a>, Scheduling<'a>);

/// One event; `None` if it says nothing here.
pub fn event(event: Message<'_>, cpu: u32) -> Result<Option<Seen<'_>>, String> {
    let mut what = None;
    for field in event.fields() {
        what = what_of(field?)?.or(what);
    }
    let Some(what) = what else { return Ok(None) };
    let [at_ns, thread, flags] = event.last([1, 2, 5])?;
    if !at_ns.is_there() {
        return Err("an event without a time".into());
    }
    let current = Some(Named::numbered(tid(thread.number()?)?)).filter(|_| thread.is_there());
    let is_in_interrupt = flags.number()? & IN_INTERRUPT != 0;
    let in_interrupt = flags.is_there().then_some(is_in_interrupt);
    Ok(Some((Moment { current, cpu, in_interrupt, at_ns: at_ns.number()? }, what)))
}

/// What happened, from an event's own message; `None` if it says nothing here.
fn what_of(field: Field<'_>) -> Result<Option<Scheduling<'_>>, String> {
    let named = |fields| named(field.message()?, fields);
    let number = |of| field.message()?.last([of]).and_then(|[field]| field.number());
    Ok(Some(match field.number {
        4 => {
            let out = Some(named([1, 2, 3])?);
            let leaves = Leaves::of_bits(number(4)?);
            Scheduling::Switch { out, leaves, next: named([5, 6, 7])? }
        }
        17 => Scheduling::Wakeup(named([1, 2, 3])?),
        20 => Scheduling::Waking(named([1, 2, 3])?, None),
        24 if SOFT_TIMERS.contains(&number(1)?) => Scheduling::Enter(Waker::Timer),
        24 | 36 => Scheduling::Enter(Waker::Interrupt),
        // Timers of the processor, of the kernel's two lists, and of its own tick.
        553 | 557 | 559 => Scheduling::Enter(Waker::Timer),
        25 | 37 | 554 | 558 | 560 => Scheduling::Leave,
        67 => attach(field.message()?)?,
        // `task_newtask`: a fork seen from its child.
        235 => Scheduling::Fork { parent: None, child: named([2, 1, 0])? },
        238 => Scheduling::Exit(named([1, 2, 4])?),
        239 => Scheduling::Fork { parent: Some(named([1, 2, 0])?), child: named([3, 4, 0])? },
        _ => return Ok(None),
    }))
}

/// A task is in another control group. Kernels before 4.20 tell the last name of its path only.
fn attach(event: Message<'_>) -> Result<Scheduling<'_>, String> {
    let [root, name, path] = event.last([1, 5, 7])?;
    let path = if path.is_there() { path.name()? } else { name.name()? };
    // Another root is a hierarchy of cgroup v1, which may have other controllers.
    if root.number()? != 0 {
        return Ok(Scheduling::Other);
    }
    Ok(Scheduling::Attach(named(event, [4, 3, 0])?, path.trim_start_matches('/')))
}

/// The thread whose name, number and priority have these numbers.
fn named(event: Message<'_>, numbers: [u32; 3]) -> Result<Named<'_>, String> {
    let [comm, thread, prio] = event.last(numbers)?;
    let number = priority(prio.number()?).filter(|_| prio.is_there());
    Ok(Named { comm: comm.name()?, tid: tid(thread.number()?)?, prio: number })
}

fn tid(number: u64) -> Result<u32, String> {
    let fault = |_| format!("{} is not a thread's number", number.cast_signed());
    u32::try_from(number).map_err(fault)
}

fn priority(number: u64) -> Option<i32> {
    i32::try_from(number.cast_signed()).ok()
}

/// The events in columns: first all switches, then all wake-ups.
pub fn columns(compact: Message<'_>, cpu: u32) -> Result<Vec<Seen<'_>>, String> {
    let mut names = Vec::new();
    // By the numbers of their fields.
    let mut columns: [Vec<u64>; 13] = Default::default();
    for field in compact.fields() {
        let field = field?;
        match columns.get_mut(field.number as usize) {
            _ if field.number == 5 => names.push(field.name()?),
            Some(column) => field.add_numbers(column)?,
            None => {}
        }
    }
    let moment = |at_ns, in_interrupt| Moment { current: None, cpu, in_interrupt, at_ns };
    let rows = |numbers: [usize; 5]| rows(numbers.map(|number| &columns[number]), &names);
    let mut events = Vec::new();
    for (at_ns, next, state) in rows([1, 3, 4, 6, 2])? {
        // They do not say who leaves.
        let leaves = Leaves::of_bits(state.ok_or(UNEVEN)?);
        events.push((moment(at_ns, None), Scheduling::Switch { out: None, leaves, next }));
    }
    for (at_ns, woken, flags) in rows([7, 8, 10, 11, 12])? {
        let in_interrupt = flags.map(|flags| flags & IN_INTERRUPT != 0);
        events.push((moment(at_ns, in_interrupt), Scheduling::Waking(woken, None)));
    }
    Ok(events)
}

type Row<'a> = (u64, Named<'a>, Option<u64>);

/// The time and the thread of each row, and what older traces lack. The first time is one of the
/// clock, the others are nanoseconds since the one before.
fn rows<'a>(columns: [&Vec<u64>; 5], names: &[&'a str]) -> Result<Vec<Row<'a>>, String> {
    let [times, tids, prios, places, more] = columns;
    let lengths = [tids, prios, places].map(Vec::len);
    if lengths != [times.len(); 3] || ![0, times.len()].contains(&more.len()) {
        return Err(UNEVEN.into());
    }
    let mut now_ns = 0_u64;
    let row = |row: usize| {
        now_ns = now_ns.checked_add(times[row]).ok_or("times of events beyond 64 bits")?;
        let comm = usize::try_from(places[row]).ok().and_then(|place| names.get(place));
        let comm = comm.ok_or("a name that its table does not have")?;
        let named = Named { comm, tid: tid(tids[row])?, prio: priority(prios[row]) };
        Ok((now_ns, named, more.get(row).copied()))
    };
    (0..times.len()).map(row).collect()
}

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
    /// Its fields in the order of the file, until one is broken.
    pub fn fields(mut self) -> impl Iterator<Item = Result<Field<'a>, String>> {
        std::iter::from_fn(move || (!self.0.is_empty()).then(|| self.take_field()))
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
