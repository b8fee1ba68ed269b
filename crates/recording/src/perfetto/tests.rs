// SPDX-License-Identifier: GPL-2.0-only
//! Traces that are made field by field. The tests of `import` read whole ones in both forms.

use std::str::SplitWhitespace;

use super::*;
use crate::event::{Event, Recording, TaskIndex, Waker, What};

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The bytes of a message: `1:5` is a number, `2:worker` a name, `3:{ … }` a message.
fn message(words: &mut SplitWhitespace) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((field, value)) = words.next().and_then(|word| word.split_once(':')) {
        let tag = field.parse::<u64>().expect("a field's number") << 3;
        if let Ok(number) = value.parse() {
            bytes.extend([varint(tag), varint(number)].concat());
            continue;
        }
        let inner = if value == "{" { message(words) } else { value.into() };
        bytes.extend([varint(tag | 2), varint(inner.len() as u64), inner].concat());
    }
    bytes
}

/// A packet of a trace, with fields that no reader knows.
fn packet(fields: &str) -> Vec<u8> {
    let text = format!("1:{{ 8:1 10:5 1998:unknown 1999:{} {fields} }}", u64::MAX);
    message(&mut text.split_whitespace())
}

/// A bundle of CPU 0.
fn bundle(fields: &str) -> Vec<u8> {
    packet(&format!("1:{{ 1:0 {fields} }}"))
}

fn event(at_ns: u64, tid: u64, fields: &str) -> Vec<u8> {
    bundle(&format!("2:{{ 1:{at_ns} 2:{tid} {fields} }}"))
}

/// A switch from nobody to that thread.
fn switch(at_ns: u64, next: u64) -> Vec<u8> {
    event(at_ns, 0, &format!("4:{{ 2:0 6:{next} 7:120 }}"))
}

fn read(trace: &[u8]) -> Result<Recording, ReadFault> {
    let mut bytes = pieces(trace);
    let index = Index::new(trace.len() as u64, &mut bytes)?;
    Ok(index.recording(&mut bytes, None)?.0)
}

fn pieces(trace: &[u8]) -> impl FnMut(u64, usize) -> Result<Vec<u8>, ReadFault> {
    |from, length| {
        let rest = &trace[from as usize..];
        Ok(rest.get(..length).unwrap_or(rest).to_vec())
    }
}

/// The whats of all events but switches and the times of interrupts.
fn whats(trace: &[Vec<u8>]) -> Vec<What> {
    let events = read(&trace.concat()).expect("a trace").events.into_iter().map(|event| event.what);
    let is_left_out = |what: &What| matches!(what, What::Switch { .. } | What::Interrupted { .. });
    events.filter(|what| !is_left_out(what)).collect()
}

#[test]
fn a_task_that_was_attached_to_a_control_group_is_in_it() {
    let groups = [
        (7, "1:0 5:old 7:/user.slice/game", "user.slice/game"),
        (8, "1:0 5:old", "old"),
        (9, "1:3 7:/of_v1", ""),
    ];
    for (tid, fields, group) in groups {
        let attached = event(5, tid, &format!("67:{{ 3:{tid} 4:one {fields} }}"));
        let recording = read(&[attached, switch(11, tid)].concat()).expect("a trace");
        assert_eq!(recording.tasks[0].control_group, group);
    }
}

#[test]
fn a_new_task_is_a_fork_where_the_kernel_tells_no_fork() {
    let new = event(10, 7, "235:{ 1:9 2:new }");
    let fork = event(11, 7, "239:{ 2:7 3:new 4:9 }");
    let forked = [What::Fork { parent: TaskIndex(0), child: TaskIndex(1) }];
    assert_eq!(whats(&[switch(5, 7), new.clone()]), forked);
    assert_eq!(whats(&[switch(5, 7), new, fork]), forked);
}

#[test]
fn timers_and_devices_are_told_apart() {
    for (begin, then, waker) in [
        ("553:{ }", "", Waker::Timer),
        ("24:{ 1:8 }", "", Waker::Timer),
        ("24:{ 1:3 }", "", Waker::Interrupt),
        ("36:{ }", "", Waker::Interrupt),
        ("553:{ }", "554:{ }", Waker::Task(TaskIndex(0))),
    ] {
        let [begin, then] = [(10, begin), (11, then)].map(|(at_ns, what)| event(at_ns, 7, what));
        let woken = What::Wake { task: TaskIndex(1), waker };
        assert_eq!(whats(&[switch(5, 7), begin, then, event(12, 7, "20:{ 2:8 }")]), [woken]);
    }
}

/// Columns of one switch with these numbers: time, state, thread, priority, name.
fn row([at_ns, state, tid, prio, name]: [u64; 5]) -> String {
    format!("5:a 1:{at_ns} 2:{state} 3:{tid} 4:{prio} 6:{name}")
}

#[test]
fn who_runs_is_unknown_after_a_loss() {
    let columns = |lost: u64, at_ns: u64, tid: u64| {
        bundle(&format!("3:{lost} 4:{{ {} }}", row([at_ns, 1, tid, 120, 0])))
    };
    for (lost, second) in [(0, Some(TaskIndex(0))), (1, None)] {
        let recording = read(&[columns(0, 5, 7), columns(lost, 20, 8)].concat()).expect("a trace");
        let outs = recording.events.iter().map(|event| match event.what {
            What::Switch { out, .. } => out,
            ref other => panic!("{other:?}"),
        });
        assert_eq!((outs.collect(), recording.lost_events), (vec![None, second], lost));
    }
}

#[test]
fn what_cannot_be_read_is_said_with_its_place() {
    let columns = |fields: &str| bundle(&format!("4:{{ {fields} }}"));
    let late = [row([u64::MAX, 0, 7, 120, 0]), row([1, 0, 7, 120, 0])].join(" ");
    let zeros = format!("1:{}", "\0".repeat((1 << 23) + 1));
    let lengths = "different lengths";
    let uneven = [1, 2, 3, 4, 6, 7, 8, 10, 11, 12]
        .map(|field| (columns(&format!("{} {field}:0", row([5, 0, 7, 120, 0]))), lengths));
    assert!(read(&columns(&row([5, 0, 7, 120, 0]))).is_ok());
    for (file, expected) in uneven.into_iter().chain([
        (columns(&row([5, 0, 7, 120, 1])), "a name that its table does not have"),
        (columns(&row([5, 0, 7, 120, u64::MAX])), "a name that its table does not have"),
        (columns(&row([5, 0, u64::MAX, 120, 0])), "-1 is not a thread's number"),
        (columns(&late), "beyond 64 bits"),
        (columns("1:1 2:é"), "cut off"),
        (columns(&zeros), "more than 8388608 events"),
        (bundle("1:8192"), "CPU 8192"),
        (packet("1:{ 3:0 }"), "events of no CPU"),
        (event(5, u64::MAX, "4:{ }"), "-1 is not a thread's number"),
        (event(5, 1, "4:{ 2:x }"), "field 2 is not a number"),
        (bundle("2:{ 4:{ } }"), "without a time"),
        ([switch(5, 7), bundle("5:2")].concat(), "another clock or machine"),
        ([switch(5, 7), packet("98:1 1:{ 1:0 }")].concat(), "another clock or machine"),
        (packet("133:x"), "packed"),
        (packet("50:x"), "packed"),
        (b"\x0a\x02\x08".to_vec(), "cut off"),
        (b"\xff\xff".to_vec(), "cut off"),
        (b"\x12\x00".to_vec(), "another one"),
        (b"\x7fELF\x02\x01".to_vec(), "another one"),
        (b"\x00".to_vec(), "another one"),
        (b"\x0b".to_vec(), "another one"),
    ]) {
        let fault = read(&file).expect_err(expected);
        assert!(
            matches!(fault.position, Some(Position::Byte(at)) if at < file.len())
                && fault.message.contains(expected),
            "{fault:?}"
        );
    }
    let cut = [switch(5, 7), switch(6, 8)].concat();
    let fault = read(&cut[..cut.len() - 1]).expect_err("half a packet");
    assert_eq!(fault.position, Some(Position::Byte(cut.len() / 2)), "{fault}");
    let fault = read(b"").expect_err("nothing");
    assert!(fault.position.is_none() && fault.message.contains("no sched_switch"), "{fault:?}");
}

#[test]
fn pieces_make_the_recording_that_the_whole_makes() {
    // Packets of four CPUs in turn, each with switches of the same times as the others'.
    let switch = |at_ns: u64, tid: u64| format!("2:{{ 1:{at_ns} 2:0 4:{{ 2:0 6:{tid} 7:120 }} }}");
    let bundle = |(round, cpu): (u64, u64)| {
        let switches = (1..40).map(|at| switch(round * 100 + at, cpu * 100 + at));
        packet(&format!("1:{{ 1:{cpu} {} }}", switches.collect::<Vec<_>>().join(" ")))
    };
    let places = (0..700).flat_map(|round| (0..4).map(move |cpu| (round, cpu)));
    let trace: Vec<u8> = places.flat_map(bundle).collect();
    assert!(trace.len() > READ_BYTES, "{} bytes are read at once", trace.len());
    let mut bytes = pieces(&trace);
    let index = Index::new(trace.len() as u64, &mut bytes).expect("a trace");
    let mut times = Vec::new();
    let mut take = |event: Event| times.push((event.at_ns, event.cpu));
    let (recording, seen) = index.recording(&mut bytes, Some(&mut take)).expect("a recording");
    // Those of one time come in the order of the file.
    let expected = (0..700 * 39 * 4).map(|at| (at / 156 * 100 + at % 156 / 4 + 1, (at % 4) as u32));
    assert!(times.into_iter().eq(expected));
    assert_eq!((seen.events, seen.unordered, recording.tasks.len()), (109_200, false, 156));
    assert_eq!(read(&trace).expect("a recording").tasks, recording.tasks);
}

#[test]
fn what_needs_too_much_memory_is_refused() {
    let switches = "2:{ 1:1 4:{ 6:7 } } 2:{ 1:9 4:{ 6:7 } }";
    let overlapping = bundle(&format!("{switches} 9:{}", "x".repeat(200 << 10))).repeat(130);
    let fault = read(&overlapping).expect_err("all overlap");
    assert!(fault.message.contains("overlap in time"), "{fault}");
    let large = packet(&format!("9:{}", "x".repeat(17 << 20)));
    let fault = read(&[large, switch(5, 7)].concat()).expect_err("a large packet");
    assert!(fault.message.contains("a packet of more than 16 MiB"), "{fault}");
}
