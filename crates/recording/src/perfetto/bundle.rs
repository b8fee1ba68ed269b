// SPDX-License-Identifier: GPL-2.0-only
//! A bundle of one CPU's events (`FtraceEventBundle`), and each event in a message of its own
//! (`FtraceEvent`). The numbers are those of Perfetto's `protos/perfetto/trace/ftrace/`.

use super::Fault;
use super::compact;
use super::seen::{Kind, Names, Seen, Thread};
use super::wire::{self, Field, Message};
use crate::collect::Context;

/// The kernel's most CPUs (`NR_CPUS`).
const CPUS: u64 = 8192;
/// Bits of an event's flags: in an interrupt, in a soft one, in one that cannot be masked.
const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;
/// Numbers of soft interrupts: `TIMER`, `HRTIMER`.
const SOFT_TIMERS: [u64; 2] = [1, 8];

/// What a bundle says besides its events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub cpu: u32,
    /// Whether the kernel lost events of this CPU before it.
    pub lost: bool,
    /// The clock; 0 is `CLOCK_BOOTTIME`.
    pub clock: u64,
}

/// Reads a bundle's events.
pub fn read<'a>(
    bundle: Message<'a>,
    names: &mut Names<'a>,
    events: &mut Vec<Seen>,
) -> Result<Facts, Fault> {
    let (facts, compact) = facts(bundle)?;
    let before = events.len();
    for field in bundle.fields() {
        let field = field?;
        if field.number == 2 {
            events.extend(event(field.message()?, facts.cpu, names)?);
            wire::few(events.len(), field.at)?;
        }
    }
    if let Some(compact) = compact {
        compact::read(compact, facts.cpu, names, events)?;
    }
    let first = events[before..].iter().map(|event| event.at_ns).min();
    if let Some(at_ns) = first.filter(|_| facts.lost) {
        let gap = Seen { at_ns, cpu: facts.cpu, tid: None, in_interrupt: None, kind: Kind::Gap };
        events.insert(before, gap);
    }
    Ok(facts)
}

fn facts(bundle: Message<'_>) -> Result<(Facts, Option<Message<'_>>), Fault> {
    let (mut facts, mut cpu, mut compact) = (Facts::default(), None, None);
    for field in bundle.fields() {
        let field = field?;
        match field.number {
            1 => cpu = Some(self::cpu(field.number()?, field.at)?),
            3 => facts.lost = field.number()? != 0,
            4 => compact = Some(field.message()?),
            5 => facts.clock = field.number()?,
            _ => {}
        }
    }
    facts.cpu = cpu.ok_or_else(|| Fault::at(bundle.at, "events of no CPU"))?;
    Ok((facts, compact))
}

pub fn cpu(number: u64, at: usize) -> Result<u32, Fault> {
    if number >= CPUS {
        return Err(Fault::at(at, format!("CPU {number}: Linux has {CPUS} CPUs at most")));
    }
    Ok(number as u32)
}

/// Whether flags say that an interrupt was served.
pub fn in_interrupt(flags: u64) -> bool {
    flags & IN_INTERRUPT != 0
}

/// One event; `None` if it says nothing here.
fn event<'a>(event: Message<'a>, cpu: u32, names: &mut Names<'a>) -> Result<Option<Seen>, Fault> {
    let (mut at_ns, mut tid, mut interrupted, mut kind) = (None, None, None, None);
    for field in event.fields() {
        let field = field?;
        match field.number {
            1 => at_ns = Some(field.number()?),
            2 => tid = Some(field.tid()?),
            5 => interrupted = Some(in_interrupt(field.number()?)),
            _ => kind = self::kind(field, names)?.or(kind),
        }
    }
    let Some(kind) = kind else { return Ok(None) };
    let at_ns = at_ns.ok_or_else(|| Fault::at(event.at, "an event without a time"))?;
    Ok(Some(Seen { at_ns, cpu, tid, in_interrupt: interrupted, kind }))
}

/// What happened, from an event's own message; `None` if it says nothing here.
fn kind<'a>(field: Field<'a>, names: &mut Names<'a>) -> Result<Option<Kind>, Fault> {
    let message = || field.message();
    Ok(Some(match field.number {
        4 => switch(message()?, names)?,
        17 => Kind::Wakeup(thread(message()?, names, [1, 2, 3])?),
        20 => Kind::Waking(thread(message()?, names, [1, 2, 3])?),
        24 => Kind::Enter(soft_interrupt(message()?)?),
        36 => Kind::Enter(Context::Device),
        // Timers of the processor, of the kernel's two lists, and of its own tick.
        553 | 557 | 559 => Kind::Enter(Context::Timer),
        25 | 37 | 554 | 558 | 560 => Kind::Leave,
        235 => Kind::NewTask(thread(message()?, names, [2, 1, 0])?),
        238 => Kind::Exit(thread(message()?, names, [1, 2, 4])?),
        239 => fork(message()?, names)?,
        327 => return generic(message()?),
        _ => return Ok(None),
    }))
}

fn switch<'a>(event: Message<'a>, names: &mut Names<'a>) -> Result<Kind, Fault> {
    let out = thread(event, names, [1, 2, 3])?;
    let next = thread(event, names, [5, 6, 7])?;
    let mut state = 0;
    for field in event.fields() {
        let field = field?;
        if field.number == 4 {
            state = field.number()?;
        }
    }
    Ok(Kind::Switch { out: Some(out), state, next })
}

fn fork<'a>(event: Message<'a>, names: &mut Names<'a>) -> Result<Kind, Fault> {
    let parent = thread(event, names, [1, 2, 0])?;
    Ok(Kind::Fork { parent, child: thread(event, names, [3, 4, 0])? })
}

fn soft_interrupt(event: Message<'_>) -> Result<Context, Fault> {
    let mut context = Context::Device;
    for field in event.fields() {
        let field = field?;
        if field.number == 1 && SOFT_TIMERS.contains(&field.number()?) {
            context = Context::Timer;
        }
    }
    Ok(context)
}

/// An event of which Perfetto knew no more than its name, as timers' in older versions.
fn generic(event: Message<'_>) -> Result<Option<Kind>, Fault> {
    let mut kind = None;
    for field in event.fields() {
        let field = field?;
        if field.number == 1 {
            kind = match field.message()?.bytes {
                b"hrtimer_expire_entry" | b"timer_expire_entry" | b"local_timer_entry" => {
                    Some(Kind::Enter(Context::Timer))
                }
                b"hrtimer_expire_exit" | b"timer_expire_exit" | b"local_timer_exit" => {
                    Some(Kind::Leave)
                }
                _ => None,
            };
        }
    }
    Ok(kind)
}

/// The thread whose name, number and priority have these numbers; 0: there is no such field.
fn thread<'a>(
    event: Message<'a>,
    names: &mut Names<'a>,
    [comm, tid, prio]: [u32; 3],
) -> Result<Thread, Fault> {
    let mut thread = Thread::default();
    for field in event.fields() {
        let field = field?;
        if field.number == comm {
            thread.name = names.place(&field)?;
        } else if field.number == tid {
            thread.tid = field.tid()?;
        } else if field.number == prio {
            thread.prio = i32::try_from(field.number()?.cast_signed()).ok();
        }
    }
    Ok(thread)
}
