// SPDX-License-Identifier: GPL-2.0-only
//! The events of a bundle (`FtraceEventBundle`): each in a message of its own (`FtraceEvent`), or
//! switches and wake-ups in columns (`CompactSched`).

use super::wire::{Field, Message, tid};
use crate::collect::{Context, Named, Scheduling, UNNAMED};
use crate::event::Leaves;

/// Bits of an event's flags: in an interrupt, in a soft one, in one that cannot be masked.
const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;
/// Numbers of soft interrupts: `TIMER`, `HRTIMER`.
const SOFT_TIMERS: [u64; 2] = [1, 8];
/// The columns of `CompactSched`, by the numbers of their fields; 5 has the names.
const COLUMNS: usize = 13;
const UNEVEN: &str = "columns of switches or wake-ups with different lengths; the file is damaged";

/// An event of the trace.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    pub at_ns: u64,
    pub cpu: u32,
    /// The thread that ran; `None` if the event does not say.
    pub tid: Option<u32>,
    pub in_interrupt: Option<bool>,
    /// `Other`: events of this CPU are missing here.
    pub what: Scheduling<'a>,
}

/// The task that runs on the CPU, where the event does not say which.
pub const CURRENT: Named<'_> = Named { comm: UNNAMED, tid: u32::MAX, prio: None };

/// One event; `None` if it says nothing here.
pub fn event(event: Message<'_>, cpu: u32) -> Result<Option<Seen<'_>>, String> {
    let mut what = None;
    for field in event.fields() {
        what = what_of(field?)?.or(what);
    }
    let Some(what) = what else { return Ok(None) };
    let [at_ns, tid, flags] = event.last([1, 2, 5])?;
    if !at_ns.is_there() {
        return Err("an event without a time".into());
    }
    let in_interrupt = flags.number()? & IN_INTERRUPT != 0;
    Ok(Some(Seen {
        at_ns: at_ns.number()?,
        cpu,
        tid: Some(tid.tid()?).filter(|_| tid.is_there()),
        in_interrupt: flags.is_there().then_some(in_interrupt),
        what,
    }))
}

/// What happened, from an event's own message; `None` if it says nothing here.
fn what_of(field: Field<'_>) -> Result<Option<Scheduling<'_>>, String> {
    let named = |fields| named(field.message()?, fields);
    let number = |of| field.message()?.last([of]).and_then(|[field]| field.number());
    Ok(Some(match field.number {
        4 => {
            let leaves = Leaves::in_state(letter(number(4)?));
            Scheduling::Switch { out: named([1, 2, 3])?, leaves, next: named([5, 6, 7])? }
        }
        17 => Scheduling::Wakeup(named([1, 2, 3])?),
        20 => Scheduling::Waking(named([1, 2, 3])?),
        24 if SOFT_TIMERS.contains(&number(1)?) => Scheduling::Enter(Context::Timer),
        24 | 36 => Scheduling::Enter(Context::Device),
        // Timers of the processor, of the kernel's two lists, and of its own tick.
        553 | 557 | 559 => Scheduling::Enter(Context::Timer),
        25 | 37 | 554 | 558 | 560 => Scheduling::Leave,
        // `task_newtask`: a fork seen from its child.
        235 => Scheduling::Fork { parent: CURRENT, child: named([2, 1, 0])? },
        238 => Scheduling::Exit(named([1, 2, 4])?),
        239 => Scheduling::Fork { parent: named([1, 2, 0])?, child: named([3, 4, 0])? },
        _ => return Ok(None),
    }))
}

/// The thread whose name, number and priority have these numbers.
fn named(event: Message<'_>, numbers: [u32; 3]) -> Result<Named<'_>, String> {
    let [comm, tid, prio] = event.last(numbers)?;
    let number = priority(prio.number()?).filter(|_| prio.is_there());
    Ok(Named { comm: comm.name()?, tid: tid.tid()?, prio: number })
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

/// The events in columns: first all switches, then all wake-ups.
pub fn columns(compact: Message<'_>, cpu: u32) -> Result<Vec<Seen<'_>>, String> {
    let mut names = Vec::new();
    let mut columns: [Vec<u64>; COLUMNS] = Default::default();
    for field in compact.fields() {
        let field = field?;
        match columns.get_mut(field.number as usize) {
            _ if field.number == 5 => names.push(field.name()?),
            Some(column) => field.add_numbers(column)?,
            None => {}
        }
    }
    let [_, switched_ns, states, .., flags] = &columns;
    if states.len() != switched_ns.len() || ![0, columns[7].len()].contains(&flags.len()) {
        return Err(UNEVEN.into());
    }
    let read = |numbers: [usize; 4]| rows(numbers.map(|number| &columns[number]), &names);
    let switches = read([1, 3, 4, 6])?.into_iter().zip(states).map(|((at_ns, next), state)| {
        // They do not say who leaves.
        let leaves = Leaves::in_state(letter(*state));
        let what = Scheduling::Switch { out: CURRENT, leaves, next };
        Seen { at_ns, cpu, tid: None, in_interrupt: None, what }
    });
    let wakings = read([7, 8, 10, 11])?.into_iter().enumerate().map(|(row, (at_ns, woken))| {
        // Newer traces have flags.
        let in_interrupt = flags.get(row).map(|flags| flags & IN_INTERRUPT != 0);
        Seen { at_ns, cpu, tid: None, in_interrupt, what: Scheduling::Waking(woken) }
    });
    Ok(switches.chain(wakings).collect())
}

/// The time and the thread of each row. The first time is one of the clock, the others are
/// nanoseconds since the one before.
fn rows<'a>(
    [times, tids, prios, places]: [&Vec<u64>; 4],
    names: &[&'a str],
) -> Result<Vec<(u64, Named<'a>)>, String> {
    if [tids, prios, places].iter().any(|column| column.len() != times.len()) {
        return Err(UNEVEN.into());
    }
    let mut now_ns = 0_u64;
    let row = |row: usize| {
        now_ns = now_ns.checked_add(times[row]).ok_or("times of events beyond 64 bits")?;
        let comm = usize::try_from(places[row]).ok().and_then(|place| names.get(place));
        let comm = comm.ok_or("a name that its table does not have")?;
        Ok((now_ns, Named { comm, tid: tid(tids[row])?, prio: priority(prios[row]) }))
    };
    (0..times.len()).map(row).collect()
}
