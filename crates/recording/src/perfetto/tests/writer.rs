// SPDX-License-Identifier: GPL-2.0-only
//! Writes a trace as text in Perfetto's forms.

use std::collections::BTreeMap;

use micropb::{PbEncoder, Tag, WIRE_TYPE_LEN, WIRE_TYPE_VARINT};

use crate::collect::{Context, Moment, Named, Scheduling};
use crate::text::line::{self, Line};
use crate::text::scheduling;

/// A message.
pub struct Writer(PbEncoder<Vec<u8>>);

/// A message of what `fill` writes.
pub fn message(fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer(PbEncoder::new(Vec::new()));
    fill(&mut writer);
    writer.0.into_writer()
}

impl Writer {
    pub fn number(&mut self, field: u32, number: u64) -> &mut Writer {
        self.0.encode_tag(Tag::from_parts(field, WIRE_TYPE_VARINT)).unwrap();
        self.0.encode_varint64(number).unwrap();
        self
    }

    pub fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Writer {
        self.0.encode_tag(Tag::from_parts(field, WIRE_TYPE_LEN)).unwrap();
        self.0.encode_bytes(bytes).unwrap();
        self
    }

    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Writer)) -> &mut Writer {
        self.bytes(field, &message(fill))
    }

    pub fn numbers(&mut self, field: u32, numbers: impl IntoIterator<Item = u64>) -> &mut Writer {
        let mut packed = PbEncoder::new(Vec::new());
        numbers.into_iter().for_each(|number| packed.encode_varint64(number).unwrap());
        self.bytes(field, &packed.into_writer())
    }

    fn thread(&mut self, thread: &Named<'_>, [comm, tid, prio]: [u32; 3]) {
        self.bytes(comm, thread.comm.as_bytes()).number(tid, thread.tid.into());
        if let Some(known) = thread.prio.filter(|_| prio > 0) {
            self.number(prio, i64::from(known).cast_unsigned());
        }
    }
}

/// An event of the text.
struct Entry<'a> {
    moment: Moment<'a>,
    name: &'a str,
    event: Scheduling<'a>,
}

/// How switches and wake-ups are written.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    /// Each in a message of its own.
    Long,
    /// In columns.
    Compact,
}

/// The trace with a bundle for each few events of a CPU, the CPUs one after the other.
pub fn trace(text: &str, form: Form) -> Vec<u8> {
    let (mut cpus, mut processes) = (BTreeMap::<u32, Vec<Entry<'_>>>::new(), BTreeMap::new());
    let mut trace = Vec::new();
    for line in text.lines() {
        match line::parse(line) {
            Line::Event(raw) => {
                processes.extend(raw.moment.process.map(|process| (raw.moment.tid, process)));
                let event = scheduling::parse(raw.name, raw.arguments).expect("an event");
                let entry = Entry { name: raw.name, event, moment: raw.moment };
                cpus.entry(entry.moment.cpu).or_default().push(entry);
            }
            Line::Cpus(cpus) => trace.extend(packet(|it| {
                let cpu = u64::from(cpus) - 1;
                it.message(34, |it| _ = it.number(1, 2).message(2, |it| _ = it.number(1, cpu)));
            })),
            _ => {}
        }
    }
    for (cpu, entries) in cpus.iter().rev() {
        for entries in entries.chunks(7) {
            trace.extend(bundle(*cpu, |it| events(it, entries, form)));
        }
    }
    trace.extend(process_tree(&processes));
    trace
}

/// A packet of a trace, with fields that no reader knows.
pub fn packet(fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    message(|trace| {
        let fill = |it: &mut Writer| {
            it.number(8, 1).number(3, 0).number(10, 5);
            fill(it);
            it.bytes(1998, b"unknown").number(1999, u64::MAX);
        };
        trace.message(1, fill);
    })
}

/// A packet with a bundle of a CPU.
pub fn bundle(cpu: u32, fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let fill = |it: &mut Writer| {
        it.number(1, cpu.into());
        fill(it);
    };
    packet(|it| _ = it.message(1, fill))
}

fn process_tree(processes: &BTreeMap<u32, u32>) -> Vec<u8> {
    packet(|it| {
        it.message(2, |tree| {
            for (tid, process) in processes {
                let thread =
                    |it: &mut Writer| _ = it.number(1, (*tid).into()).number(3, (*process).into());
                tree.message(2, thread);
            }
        });
    })
}

fn events(bundle: &mut Writer, entries: &[Entry<'_>], form: Form) {
    let is_column = |entry: &&Entry<'_>| {
        matches!(entry.event, Scheduling::Switch { .. } | Scheduling::Waking(_))
    };
    let (columns, rest): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| form == Form::Compact && is_column(entry));
    for entry in rest {
        bundle.message(2, |it| event(it, entry));
    }
    if !columns.is_empty() {
        bundle.message(4, |it| compact(it, &columns));
    }
}

fn event(it: &mut Writer, entry: &Entry<'_>) {
    it.number(1, entry.moment.at_ns).number(2, entry.moment.tid.into());
    let flags = entry.moment.in_interrupt.map(|is| if is { 0x08 } else { 0 });
    flags.into_iter().for_each(|flags| _ = it.number(5, flags));
    match &entry.event {
        Scheduling::Switch { out, state, next } | Scheduling::Sleeps { out, state, next, .. } => {
            it.message(4, |it| {
                it.thread(out, [1, 2, 3]);
                it.number(4, bits(*state));
                it.thread(next, [5, 6, 7]);
            });
        }
        Scheduling::Waking(thread) => _ = it.message(20, |it| it.thread(thread, [1, 2, 3])),
        Scheduling::Wakeup(thread) => _ = it.message(17, |it| it.thread(thread, [1, 2, 3])),
        Scheduling::Exit(thread) => _ = it.message(238, |it| it.thread(thread, [1, 2, 4])),
        Scheduling::Fork { parent, child } => {
            it.message(239, |it| {
                it.thread(parent, [1, 2, 0]);
                it.thread(child, [3, 4, 0]);
            });
        }
        Scheduling::Enter(_) | Scheduling::Leave => interrupt(it, entry),
        // The kernel's switch of a task to another CPU, of which the reader knows nothing.
        // Messages are no events of the kernel, and it does not tell yields.
        Scheduling::Other
        | Scheduling::Yields { .. }
        | Scheduling::Send { .. }
        | Scheduling::Take { .. } => _ = it.message(491, |it| _ = it.bytes(1, b"other")),
    }
}

fn interrupt(it: &mut Writer, entry: &Entry<'_>) {
    let soft = if entry.event == Scheduling::Enter(Context::Timer) { 1 } else { 4 };
    match entry.name {
        "softirq_entry" => it.message(24, |it| _ = it.number(1, soft)),
        "softirq_exit" => it.message(25, |it| _ = it.number(1, 1)),
        "irq_handler_entry" => it.message(36, |it| _ = it.number(1, 30).bytes(2, b"nvme")),
        "irq_handler_exit" => it.message(37, |it| _ = it.number(1, 30)),
        name => it.message(327, |it| _ = it.bytes(1, name.as_bytes())),
    };
}

fn compact(it: &mut Writer, entries: &[&Entry<'_>]) {
    let mut rows: [Vec<[u64; 6]>; 2] = Default::default();
    let mut before = [0; 2];
    for (place, entry) in entries.iter().enumerate() {
        let flags = u64::from(entry.moment.in_interrupt == Some(true)) * 0x08;
        let (kind, thread, fact) = match &entry.event {
            Scheduling::Switch { state, next, .. } => (0, next, bits(*state)),
            Scheduling::Waking(woken) => (1, woken, flags),
            other => panic!("{other:?} has no column"),
        };
        it.bytes(5, thread.comm.as_bytes());
        let prio = i64::from(thread.prio.unwrap_or_default()).cast_unsigned();
        let since = entry.moment.at_ns - before[kind];
        before[kind] = entry.moment.at_ns;
        rows[kind].push([since, fact, thread.tid.into(), prio, place as u64, 0]);
    }
    for (rows, fields) in rows.iter().zip([[1, 2, 3, 4, 6, 13], [7, 12, 8, 10, 11, 9]]) {
        for (column, field) in fields.into_iter().enumerate() {
            it.numbers(field, rows.iter().map(|row| row[column]));
        }
    }
}

/// A state as the kernel's number.
fn bits(state: char) -> u64 {
    match "SDTtXZPI".find(state) {
        Some(bit) => 1 << bit,
        // Preempted, as newer kernels say it.
        None => 0x100,
    }
}
