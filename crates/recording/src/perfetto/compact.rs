// SPDX-License-Identifier: GPL-2.0-only
//! The compact form of a CPU's switches and wake-ups (`FtraceEventBundle.CompactSched`): a column
//! for each fact. A switch does not say who leaves: it is the task of the switch before.

use super::Fault;
use super::bundle::in_interrupt;
use super::seen::{Kind, Names, Seen, Thread};
use super::wire::{self, Message};

/// The columns, by the numbers of their fields.
#[derive(Default)]
struct Columns {
    /// Places in [`Names`].
    names: Vec<u32>,
    switches: Rows,
    states: Vec<u64>,
    wakings: Rows,
    /// Newer traces have them.
    flags: Vec<u64>,
}

/// What both events have.
#[derive(Default)]
struct Rows {
    /// The first is a time, the others are nanoseconds since the one before.
    times: Vec<u64>,
    tids: Vec<u64>,
    prios: Vec<u64>,
    names: Vec<u64>,
}

/// Reads switches and wake-ups.
pub fn read<'a>(
    compact: Message<'a>,
    cpu: u32,
    names: &mut Names<'a>,
    events: &mut Vec<Seen>,
) -> Result<(), Fault> {
    let columns = columns(compact, names)?;
    let at = compact.at;
    let lengths = [&columns.states, &columns.flags].map(Vec::len);
    let (switches, wakings) = (columns.switches.times.len(), columns.wakings.times.len());
    if lengths[0] != switches || ![0, wakings].contains(&lengths[1]) {
        return Err(uneven(at));
    }
    wire::few(events.len() + switches + wakings, at)?;
    let mut state = columns.states.iter();
    columns.switches.each(&columns.names, at, |at_ns, next| {
        let state = state.next().copied().unwrap_or_default();
        let kind = Kind::Switch { out: None, state, next };
        events.push(Seen { at_ns, cpu, tid: None, in_interrupt: None, kind });
    })?;
    let mut flags = columns.flags.iter();
    columns.wakings.each(&columns.names, at, |at_ns, woken| {
        let in_interrupt = flags.next().map(|flags| in_interrupt(*flags));
        events.push(Seen { at_ns, cpu, tid: None, in_interrupt, kind: Kind::Waking(woken) });
    })
}

fn columns<'a>(compact: Message<'a>, names: &mut Names<'a>) -> Result<Columns, Fault> {
    let mut columns = Columns::default();
    for field in compact.fields() {
        let field = field?;
        let column = match field.number {
            1 => &mut columns.switches.times,
            2 => &mut columns.states,
            3 => &mut columns.switches.tids,
            4 => &mut columns.switches.prios,
            5 => {
                columns.names.push(names.place(&field)?);
                wire::few(columns.names.len(), field.at)?;
                continue;
            }
            6 => &mut columns.switches.names,
            7 => &mut columns.wakings.times,
            8 => &mut columns.wakings.tids,
            10 => &mut columns.wakings.prios,
            11 => &mut columns.wakings.names,
            12 => &mut columns.flags,
            _ => continue,
        };
        field.numbers(column)?;
    }
    Ok(columns)
}

impl Rows {
    /// Calls `row` with the time and the thread of each row.
    fn each(
        &self,
        names: &[u32],
        at: usize,
        mut row: impl FnMut(u64, Thread),
    ) -> Result<(), Fault> {
        let columns = [&self.tids, &self.prios, &self.names];
        if columns.iter().any(|column| column.len() != self.times.len()) {
            return Err(uneven(at));
        }
        let mut at_ns = 0_u64;
        for (place, since) in self.times.iter().enumerate() {
            let late = || Fault::at(at, "times of events beyond 64 bits");
            at_ns = at_ns.checked_add(*since).ok_or_else(late)?;
            let name = usize::try_from(self.names[place]).ok().and_then(|it| names.get(it));
            let name = name.ok_or_else(|| Fault::at(at, "a name that its table does not have"))?;
            let prio = i32::try_from(self.prios[place].cast_signed()).ok();
            row(at_ns, Thread { name: *name, tid: wire::tid(self.tids[place], at)?, prio });
        }
        Ok(())
    }
}

fn uneven(at: usize) -> Fault {
    Fault::at(at, "columns of switches or wake-ups with different lengths; the file is damaged")
}
