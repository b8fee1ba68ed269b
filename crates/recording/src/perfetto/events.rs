// SPDX-License-Identifier: GPL-2.0-only
//! A bundle of one CPU's events (`FtraceEventBundle`): each in a message of its own
//! (`FtraceEvent`), or switches and wake-ups in columns (`CompactSched`).

use super::Fault;
use super::wire::{Field, Message, limit_events, number, tid, tid_of};
use crate::collect::{Context, Named, Scheduling, UNNAMED};
use crate::event::Leaves;

/// The kernel's most CPUs (`NR_CPUS`).
const CPUS: u64 = 8192;
/// Bits of an event's flags: in an interrupt, in a soft one, in one that cannot be masked.
const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;
/// Numbers of soft interrupts: `TIMER`, `HRTIMER`.
const SOFT_TIMERS: [u64; 2] = [1, 8];
/// The columns of `CompactSched`, by the numbers of their fields; 5 has the names.
const COLUMNS: usize = 13;

/// An event of the trace.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    pub at_ns: u64,
    pub cpu: u32,
    /// The thread that ran; `None` if the event does not say.
    pub tid: Option<u32>,
    pub in_interrupt: Option<bool>,
    pub kind: Kind<'a>,
}

#[derive(Clone, Debug)]
pub enum Kind<'a> {
    Scheduling(Scheduling<'a>),
    /// A switch in columns, which do not say who leaves.
    SwitchTo {
        state: char,
        next: Named<'a>,
    },
    /// `task_newtask`: a fork seen from its child.
    NewTask(Named<'a>),
    /// Events of this CPU are missing here.
    Gap,
}

/// What a bundle says besides its events.
pub struct Facts {
    pub cpu: u32,
    /// Whether the kernel lost events of this CPU before it.
    pub has_lost_events: bool,
    /// The clock; 0 is `CLOCK_BOOTTIME`.
    pub clock: u64,
}

/// Reads a bundle's events.
pub fn read<'a>(bundle: Message<'a>, events: &mut Vec<Seen<'a>>) -> Result<Facts, Fault> {
    let [own_cpu, lost, compact, clock] = bundle.last([1, 3, 4, 5])?;
    let cpu = cpu(own_cpu.ok_or_else(|| Fault::at(bundle.at, "events of no CPU"))?)?;
    let facts = Facts { cpu, has_lost_events: number(lost)? != 0, clock: number(clock)? };
    let before = events.len();
    for message in bundle.messages(2) {
        let message = message?;
        events.extend(event(message, cpu)?);
        limit_events(events.len(), message.at)?;
    }
    if let Some(compact) = compact {
        read_columns(compact.message()?, cpu, events)?;
    }
    let first = events[before..].iter().map(|event| event.at_ns).min();
    if let Some(at_ns) = first.filter(|_| facts.has_lost_events) {
        events.insert(before, Seen { at_ns, cpu, tid: None, in_interrupt: None, kind: Kind::Gap });
    }
    Ok(facts)
}

pub fn cpu(field: Field<'_>) -> Result<u32, Fault> {
    match field.number()? {
        cpu @ 0..CPUS => Ok(cpu as u32),
        cpu => Err(Fault::at(field.at, format!("CPU {cpu}: Linux has {CPUS} CPUs at most"))),
    }
}

/// One event; `None` if it says nothing here.
fn event(event: Message<'_>, cpu: u32) -> Result<Option<Seen<'_>>, Fault> {
    let [at_ns, own, flags] = event.last([1, 2, 5])?;
    let mut kind = None;
    for field in event.fields() {
        kind = kind_of(field?)?.or(kind);
    }
    let Some(kind) = kind else { return Ok(None) };
    let at_ns = at_ns.ok_or_else(|| Fault::at(event.at, "an event without a time"))?.number()?;
    let tid = own.map(|own| tid(Some(own))).transpose()?;
    let in_interrupt = flags.map(|flags| flags.number()).transpose()?;
    let in_interrupt = in_interrupt.map(|flags| flags & IN_INTERRUPT != 0);
    Ok(Some(Seen { at_ns, cpu, tid, in_interrupt, kind }))
}

/// What happened, from an event's own message; `None` if it says nothing here.
fn kind_of(field: Field<'_>) -> Result<Option<Kind<'_>>, Fault> {
    let named = |fields| named(field.message()?, fields);
    Ok(Some(Kind::Scheduling(match field.number {
        4 => Scheduling::Switch {
            out: named([1, 2, 3])?,
            leaves: Leaves::in_state(letter(number(field.message()?.last([4])?[0])?)),
            next: named([5, 6, 7])?,
        },
        17 => Scheduling::Wakeup(named([1, 2, 3])?),
        20 => Scheduling::Waking(named([1, 2, 3])?),
        24 => {
            let vector = number(field.message()?.last([1])?[0])?;
            let is_timer = SOFT_TIMERS.contains(&vector);
            Scheduling::Enter(if is_timer { Context::Timer } else { Context::Device })
        }
        36 => Scheduling::Enter(Context::Device),
        // Timers of the processor, of the kernel's two lists, and of its own tick.
        553 | 557 | 559 => Scheduling::Enter(Context::Timer),
        25 | 37 | 554 | 558 | 560 => Scheduling::Leave,
        235 => return Ok(Some(Kind::NewTask(named([2, 1, 0])?))),
        238 => Scheduling::Exit(named([1, 2, 4])?),
        239 => Scheduling::Fork { parent: named([1, 2, 0])?, child: named([3, 4, 0])? },
        // An event of which Perfetto knew only the name, such as a timer in older versions.
        327 => {
            let [name] = field.message()?.last([1])?;
            match name.map_or(Ok(&b""[..]), |name| Ok(name.message()?.bytes))? {
                b"hrtimer_expire_entry" | b"timer_expire_entry" | b"local_timer_entry" => {
                    Scheduling::Enter(Context::Timer)
                }
                b"hrtimer_expire_exit" | b"timer_expire_exit" | b"local_timer_exit" => {
                    Scheduling::Leave
                }
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    })))
}

/// The thread whose name, number and priority have these numbers; 0: there is no such field.
fn named(event: Message<'_>, numbers: [u32; 3]) -> Result<Named<'_>, Fault> {
    let [comm, own, prio] = event.last(numbers)?;
    let comm = comm.map_or(Ok(UNNAMED), |comm| comm.name())?;
    let prio = prio.map(|prio| prio.number()).transpose()?.and_then(priority);
    Ok(Named { comm, tid: tid(own)?, prio })
}

fn priority(number: u64) -> Option<i32> {
    i32::try_from(number.cast_signed()).ok()
}

/// The first letter of the state in which a task leaves, as the kernel prints it. Higher bits are
/// about tasks that could run on.
fn letter(state: u64) -> char {
    let letters = ['S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'];
    if state & 0xff == 0 { 'R' } else { letters[state.trailing_zeros() as usize] }
}

fn read_columns<'a>(
    compact: Message<'a>,
    cpu: u32,
    events: &mut Vec<Seen<'a>>,
) -> Result<(), Fault> {
    let mut names = Vec::new();
    let mut columns: [Vec<u64>; COLUMNS] = Default::default();
    for field in compact.fields() {
        let field = field?;
        match field.number {
            5 => names.push(field.name()?),
            column if (column as usize) < COLUMNS => {
                field.numbers(&mut columns[column as usize])?
            }
            _ => {}
        }
        limit_events(names.len(), field.at)?;
    }
    let [_, switched_ns, states, .., flags] = &columns;
    let wakings = columns[7].len();
    if states.len() != switched_ns.len() || ![0, wakings].contains(&flags.len()) {
        return Err(uneven(compact.at));
    }
    limit_events(events.len() + switched_ns.len() + wakings, compact.at)?;
    for (row, (at_ns, next)) in
        rows([1, 3, 4, 6].map(|column| &columns[column]), &names, compact.at)?.enumerate()
    {
        let kind = Kind::SwitchTo { state: letter(states[row]), next };
        events.push(Seen { at_ns, cpu, tid: None, in_interrupt: None, kind });
    }
    for (row, (at_ns, woken)) in
        rows([7, 8, 10, 11].map(|column| &columns[column]), &names, compact.at)?.enumerate()
    {
        // Newer traces have flags.
        let in_interrupt = flags.get(row).map(|flags| flags & IN_INTERRUPT != 0);
        let kind = Kind::Scheduling(Scheduling::Waking(woken));
        events.push(Seen { at_ns, cpu, tid: None, in_interrupt, kind });
    }
    Ok(())
}

/// The time and the thread of each row. The first time is one of the clock, the others are
/// nanoseconds since the one before.
fn rows<'a>(
    [times, tids, prios, places]: [&Vec<u64>; 4],
    names: &[&'a str],
    at: usize,
) -> Result<impl Iterator<Item = (u64, Named<'a>)>, Fault> {
    if [tids, prios, places].iter().any(|column| column.len() != times.len()) {
        return Err(uneven(at));
    }
    let mut rows = Vec::with_capacity(times.len());
    let mut at_ns = 0_u64;
    for (row, since) in times.iter().enumerate() {
        let late = || Fault::at(at, "times of events beyond 64 bits");
        at_ns = at_ns.checked_add(*since).ok_or_else(late)?;
        let comm = usize::try_from(places[row]).ok().and_then(|place| names.get(place));
        let comm = comm.ok_or_else(|| Fault::at(at, "a name that its table does not have"))?;
        let thread = Named { comm, tid: tid_of(tids[row], at)?, prio: priority(prios[row]) };
        rows.push((at_ns, thread));
    }
    Ok(rows.into_iter())
}

fn uneven(at: usize) -> Fault {
    Fault::at(at, "columns of switches or wake-ups with different lengths; the file is damaged")
}
