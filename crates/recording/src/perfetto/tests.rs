// SPDX-License-Identifier: GPL-2.0-only
//! The samples were written from the trace as text in Perfetto's two forms; other files are made
//! here, field by field.

use std::path::Path;

use super::*;
use crate::event::{TaskIndex, Waker, What};
use crate::text;

/// A trace of the tests of `import`.
fn sample(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fairground/tests/traces");
    std::fs::read(Path::new(folder).join(name)).expect("a trace")
}

/// The first packets of a trace, and where they begin and end.
fn first_packets(name: &str) -> (Vec<u8>, Vec<usize>) {
    let file = sample(name);
    let packets = Message { bytes: &file, at: 0 }.fields().map(|field| field.expect("one").at);
    let ends: Vec<usize> = packets.take_while(|at| *at < 1_500).collect();
    (file[..*ends.last().expect("packets")].to_vec(), ends)
}

/// Fields of a message that is made.
#[derive(Clone)]
enum Part<'a> {
    Number(u32, u64),
    Bytes(u32, &'a [u8]),
    Message(u32, Vec<Part<'a>>),
}
use Part::{Bytes, Number};

fn sub<'a>(field: u32, parts: &[Part<'a>]) -> Part<'a> {
    Part::Message(field, parts.to_vec())
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn encoded(parts: &[Part]) -> Vec<u8> {
    let delimited = |field: u32, bytes: &[u8]| {
        [varint(u64::from(field) << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
    };
    let one = |part: &Part| match part {
        Number(field, number) => [varint(u64::from(*field) << 3), varint(*number)].concat(),
        Bytes(field, bytes) => delimited(*field, bytes),
        Part::Message(field, parts) => delimited(*field, &encoded(parts)),
    };
    parts.iter().flat_map(one).collect()
}

/// A packet of a trace, with fields that no reader knows.
fn packet(parts: &[Part]) -> Vec<u8> {
    let unknown = [Number(8, 1), Number(10, 5), Bytes(1998, b"unknown"), Number(1999, u64::MAX)];
    encoded(&[sub(1, &[&unknown, parts].concat())])
}

fn bundle(cpu: u64, parts: &[Part]) -> Vec<u8> {
    packet(&[sub(1, &[&[Number(1, cpu)], parts].concat())])
}

/// An event of CPU 0 with the message of that number.
fn event(at_ns: u64, tid: u64, number: u32, parts: &[Part]) -> Vec<u8> {
    bundle(0, &[sub(2, &[Number(1, at_ns), Number(2, tid), sub(number, parts)])])
}

/// A switch from nobody to that thread.
fn switch(at_ns: u64, next: u64) -> Vec<u8> {
    event(at_ns, 0, 4, &[Number(2, 0), Number(6, next), Number(7, 120)])
}

/// The whats of all events but switches.
fn whats(trace: &[u8]) -> Vec<What> {
    let events = read(trace).expect("a trace").events.into_iter().map(|event| event.what);
    events.filter(|what| !matches!(what, What::Switch { .. })).collect()
}

#[test]
fn both_forms_tell_what_the_text_tells() {
    let text = String::from_utf8(sample("ftrace.txt")).expect("text");
    let expected = Recording {
        source: "a trace of Perfetto".into(),
        ..text::read(&text).expect("a trace as text")
    };
    assert!(is(&sample("long.pftrace")) && is(&sample("compact.pftrace")));
    assert_eq!(read(&sample("long.pftrace")), Ok(expected));
    // Compact switches do not say who ran first.
    let first = "prev_comm=fairground prev_pid=1000 prev_prio=0 prev_state=S";
    let idle = "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R";
    assert!(text.contains(first));
    let text =
        text.replace(first, idle).replace("      fairground-1000 ", "          <idle>-0    ");
    let mut expected = text::read(&text).expect("a trace as text");
    expected.source = "a trace of Perfetto".into();
    expected.untold.push("which tasks ran before 1 of the switches".into());
    assert_eq!(read(&sample("compact.pftrace")), Ok(expected));
    for text in ["", "\n\tT: 0 ( 1001) P:80\n", &text, "{\"traceEvents\":[]}", "\u{1f}\u{8b}"] {
        assert!(!is(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn names_come_from_the_process_tree_where_no_event_has_them() {
    let thread = sub(2, &[Number(1, 7), Bytes(2, b"worker"), Number(3, 6)]);
    let tree = packet(&[sub(2, &[thread])]);
    let recording = read(&[switch(5, 7), tree, switch(9, 8)].concat()).expect("a trace");
    let tasks: Vec<_> = recording.tasks.iter().map(|it| (it.tid, it.name.as_str())).collect();
    assert_eq!(tasks, [(7, "worker"), (8, "<...>")]);
}

#[test]
fn a_new_task_is_a_fork_where_the_kernel_tells_no_fork() {
    let new = event(10, 7, 235, &[Number(1, 9), Bytes(2, b"new")]);
    let fork = event(11, 7, 239, &[Number(2, 7), Bytes(3, b"new"), Number(4, 9)]);
    let forked = What::Fork { parent: TaskIndex(0), child: TaskIndex(1) };
    assert_eq!(whats(&[switch(5, 7), new.clone()].concat()), std::slice::from_ref(&forked));
    assert_eq!(whats(&[switch(5, 7), new, fork].concat()), [forked]);
}

#[test]
fn timers_and_devices_are_told_apart() {
    let timer = event(10, 7, 553, &[]);
    let named = |name| event(11, 7, 327, &[Bytes(1, name)]);
    let by_task = Waker::Task(TaskIndex(0));
    for (begin, waker) in [
        (timer.clone(), Waker::Timer),
        (named(b"hrtimer_expire_entry"), Waker::Timer),
        (event(10, 7, 24, &[Number(1, 8)]), Waker::Timer),
        (event(10, 7, 24, &[Number(1, 3)]), Waker::Interrupt),
        (event(10, 7, 36, &[]), Waker::Interrupt),
        ([timer.clone(), event(11, 7, 554, &[])].concat(), by_task),
        ([timer, named(b"hrtimer_expire_exit")].concat(), by_task),
    ] {
        let waking = event(12, 7, 20, &[Number(2, 8)]);
        let woken = What::Wake { task: TaskIndex(1), waker };
        assert_eq!(whats(&[switch(5, 7), begin, waking].concat()), [woken]);
    }
}

#[test]
fn what_was_lost_is_told() {
    let lost_switch = sub(2, &[Number(1, 9), sub(4, &[Number(6, 7)])]);
    let lost = bundle(0, &[Number(3, 1), lost_switch]);
    assert_eq!(read(&[switch(5, 7), lost.clone()].concat()).expect("a trace").lost_events, 1);
    let stats = |phase, overrun| {
        let cpu = sub(2, &[Number(1, 3), Number(3, overrun), Number(8, 1)]);
        packet(&[sub(34, &[Number(1, phase), cpu])])
    };
    let recording = read(&[stats(1, 100), switch(5, 7), lost, stats(2, 140)].concat());
    let recording = recording.expect("a trace");
    assert_eq!((recording.lost_events, recording.cpus), (40, 4));
    let dropped = packet(&[Number(42, 1), sub(1, &[Number(1, 0)])]);
    let recording = read(&[dropped.clone(), switch(5, 7), dropped].concat());
    assert_eq!(recording.expect("a trace").lost_events, 1, "the first packet always says so");
}

/// Columns of one switch with these numbers: time, state, thread, priority, name.
fn row(numbers: [u64; 5]) -> Vec<Part<'static>> {
    let columns = [1, 2, 3, 4, 6].into_iter().zip(numbers);
    let columns = columns.map(|(field, number)| Number(field, number));
    [Bytes(5, b"a")].into_iter().chain(columns).collect()
}

#[test]
fn who_runs_is_unknown_after_a_loss() {
    let columns = |lost, at_ns, tid| {
        let waking = [Number(7, at_ns + 1), Number(8, 50), Number(10, 120), Number(11, 0)];
        let columns = [row([at_ns, 1, tid, 120, 0]), waking.to_vec()].concat();
        bundle(0, &[Number(3, lost), sub(4, &columns)])
    };
    for (lost, second) in [(0, Some(TaskIndex(0))), (1, None)] {
        let trace = [columns(0, 5, 7), columns(lost, 20, 8)].concat();
        let wakes = [0, 2]
            .map(TaskIndex)
            .map(|waker| What::Wake { task: TaskIndex(1), waker: Waker::Task(waker) });
        assert_eq!(whats(&trace), wakes);
        let outs =
            read(&trace).expect("a trace").events.into_iter().filter_map(|it| match it.what {
                What::Switch { out, .. } => Some(out),
                _ => None,
            });
        assert_eq!(outs.collect::<Vec<_>>(), [None, second]);
    }
}

#[test]
fn a_file_that_is_cut_off_has_a_place() {
    for name in ["long.pftrace", "compact.pftrace"] {
        let (file, packets) = first_packets(name);
        for end in (1..file.len()).filter(|end| !packets.contains(end)) {
            let fault = read(&file[..end]).expect_err("a fault");
            let begun = packets.iter().rev().find(|packet| **packet < end);
            assert_eq!(fault.offset.as_ref(), begun, "{fault}");
            assert!(fault.message.contains("cut off"), "{fault}");
        }
    }
}

#[test]
fn no_damage_makes_the_reader_panic() {
    for name in ["long.pftrace", "compact.pftrace"] {
        let (file, _) = first_packets(name);
        let mut refused = 0;
        for place in 0..file.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, file[place] ^ 1, file[place] ^ 0x10] {
                let mut damaged = file.clone();
                damaged[place] = value;
                if let Err(fault) = read(&damaged) {
                    assert!(fault.offset.is_none_or(|at| at < file.len()), "{fault:?}");
                    refused += 1;
                }
            }
        }
        assert!(refused > file.len(), "{refused} of {} bytes", file.len());
    }
}

#[test]
fn what_cannot_be_read_is_said_with_its_place() {
    let columns = |numbers| bundle(0, &[sub(4, &row(numbers))]);
    assert!(read(&columns([5, 0, 7, 120, 0])).is_ok());
    let late = [row([u64::MAX, 0, 7, 120, 0]), row([1, 0, 7, 120, 0])].concat();
    let machine = packet(&[Number(98, 1), sub(1, &[Number(1, 0)])]);
    let zeros = vec![0; (1 << 23) + 1];
    for (file, expected) in [
        (columns([5, 0, 7, 120, 1]), "a name that its table does not have"),
        (columns([5, 0, 7, 120, u64::MAX]), "a name that its table does not have"),
        (columns([5, 0, u64::MAX, 120, 0]), "-1 is not a thread's number"),
        (bundle(0, &[sub(4, &late)]), "beyond 64 bits"),
        (bundle(0, &[sub(4, &[Number(1, 1), Bytes(2, b"\xff")])]), "cut off"),
        (bundle(0, &[sub(4, &[Bytes(1, &zeros)])]), "more than 8388608 events"),
        (bundle(8192, &[]), "CPU 8192"),
        (packet(&[sub(1, &[Number(3, 0)])]), "events of no CPU"),
        (event(5, u64::MAX, 4, &[]), "-1 is not a thread's number"),
        (event(5, 1, 4, &[Bytes(2, b"7")]), "field 2 is not a number"),
        (bundle(0, &[sub(2, &[sub(4, &[])])]), "without a time"),
        ([switch(5, 7), bundle(0, &[Number(5, 2)])].concat(), "another clock or machine"),
        ([switch(5, 7), machine].concat(), "another clock or machine"),
        (packet(&[Bytes(133, b"(\xb5/\xfd")]), "packed"),
        (packet(&[Bytes(50, b"x\x9c")]), "packed"),
        (b"\x0a\x02\x08".to_vec(), "cut off"),
        (b"\xff\xff".to_vec(), "cut off"),
        (b"\x12\x00".to_vec(), "another one"),
        (b"\x7fELF\x02\x01".to_vec(), "another one"),
        (b"\x00".to_vec(), "another one"),
        (b"\x0b".to_vec(), "another one"),
    ] {
        let fault = read(&file).expect_err(expected);
        assert!(fault.offset.is_some() && fault.message.contains(expected), "{fault:?}");
    }
    for field in [1, 2, 3, 4, 6, 7, 8, 10, 11, 12] {
        let uneven = [row([5, 0, 7, 120, 0]), vec![Number(field, 0)]].concat();
        let fault = read(&bundle(0, &[sub(4, &uneven)])).expect_err("columns that do not fit");
        assert!(fault.message.contains("different lengths"), "{fault:?}");
    }
    let fault = read(b"").expect_err("nothing");
    assert!(fault.offset.is_none() && fault.message.contains("no sched_switch"), "{fault:?}");
    let switch = sub(2, &[Number(1, 5), sub(4, &[Number(6, 7)])]);
    let untold = read(&bundle(0, &[Number(5, 3), switch])).expect("a trace").untold;
    assert!(untold.iter().any(|why| why.contains("a clock of its own")), "{untold:?}");
}
