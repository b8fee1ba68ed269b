// SPDX-License-Identifier: GPL-2.0-only
mod broken;
mod writer;

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::*;
use crate::event::{TaskIndex, Waker, What};
use crate::text;
use writer::{Form, Writer, bundle, message, packet, trace};

/// The traces of the tests of `import`.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fairground/tests/traces");
const SMALL: &str = include_str!("../../text/samples/ftrace.txt");
const USED_AGAIN: &str = include_str!("../../text/samples/used_again.txt");

fn sample(name: &str) -> String {
    std::fs::read_to_string(Path::new(FOLDER).join(name)).expect("a trace as text")
}

/// Compact switches do not say who ran first.
fn from_idle(text: &str) -> String {
    let first = "prev_comm=fairground prev_pid=1000 prev_prio=0 prev_state=S";
    let idle = "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R";
    assert!(text.contains(first), "{text}");
    text.replace(first, idle).replace("      fairground-1000 ", "          <idle>-0    ")
}

/// What the text tells, from that source.
fn of_text(text: &str, source: &str) -> Recording {
    Recording { source: source.into(), ..text::read(text).expect("a trace as text") }
}

#[test]
fn the_same_events_are_the_same_recording() {
    for text in [SMALL.to_owned(), USED_AGAIN.to_owned(), sample("perf.txt"), sample("ftrace.txt")]
    {
        let file = trace(&text, Form::Long);
        assert!(is(&file), "{text}");
        let recording = read(&file).expect(&text);
        assert_eq!(recording, of_text(&text, "a trace of Perfetto"), "{text}");
    }
}

#[test]
fn columns_tell_the_same_but_for_who_ran_first() {
    for text in [SMALL.to_owned(), from_idle(&sample("ftrace.txt"))] {
        let recording = read(&trace(&text, Form::Compact)).expect(&text);
        let mut expected = of_text(&text, "a trace of Perfetto");
        expected.untold.push("which tasks ran before 1 of the switches".into());
        assert_eq!(recording, expected, "{text}");
    }
}

#[test]
fn the_samples_are_these_traces() {
    for (name, form) in [("long.pftrace", Form::Long), ("compact.pftrace", Form::Compact)] {
        let (path, file) = (Path::new(FOLDER).join(name), trace(&sample("ftrace.txt"), form));
        if std::env::var_os("FAIRGROUND_BLESS").is_some() {
            std::fs::write(&path, &file).expect("the sample");
        }
        let is_same = std::fs::read(&path).is_ok_and(|there| there == file);
        assert!(is_same, "{name} differs; FAIRGROUND_BLESS=1 writes it again");
    }
}

#[test]
fn packed_traces_are_read() {
    let file = trace(SMALL, Form::Long);
    let expected = read(&file).expect("a trace");
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&file).unwrap();
    let packed = packed.finish().unwrap();
    assert!(is(&packed) && is(&packed[..packed.len() - 9]));
    assert_eq!(read(&packed), Ok(expected.clone()));
    let mut packets = ZlibEncoder::new(Vec::new(), Compression::default());
    packets.write_all(&file).unwrap();
    let packets = packets.finish().unwrap();
    assert_eq!(read(&packet(|it| _ = it.bytes(50, &packets))), Ok(expected));
    let most = unpacked(GzDecoder::new(&packed[..]), 10, 7).expect_err("more than 10 bytes");
    assert_eq!(most.offset, Some(7));
}

#[test]
fn texts_are_no_traces_of_perfetto() {
    for text in ["", "\n\tT: 0 ( 1001) P:80\n", SMALL, "{\"traceEvents\":[]}", "\u{1f}\u{8b}"] {
        assert!(!is(text.as_bytes()), "{text:?}");
    }
}

/// An event of CPU 0 in its long form: `fill` writes the message of that number.
fn event(at_ns: u64, tid: u64, number: u32, fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    bundle(0, |it| {
        _ = it.message(2, |it| _ = it.number(1, at_ns).number(2, tid).message(number, fill))
    })
}

/// A switch from nobody to that thread.
fn switch(at_ns: u64, next: u64) -> Vec<u8> {
    event(at_ns, 0, 4, |it| _ = it.number(2, 0).number(6, next).number(7, 120))
}

#[test]
fn names_come_from_the_process_tree_where_no_event_has_them() {
    let tree = packet(|it| {
        let thread = |it: &mut Writer| _ = it.number(1, 7).bytes(2, b"worker").number(3, 6);
        it.message(2, |it| _ = it.message(2, thread));
    });
    let recording = read(&[switch(5, 7), tree, switch(9, 8)].concat()).expect("a trace");
    let tasks: Vec<_> = recording.tasks.iter().map(|it| (it.tid, it.name.as_str())).collect();
    assert_eq!(tasks, [(7, "worker"), (8, "<...>")]);
}

#[test]
fn a_new_task_is_a_fork_where_the_kernel_tells_no_fork() {
    let new = |at_ns| event(at_ns, 7, 235, |it| _ = it.number(1, 9).bytes(2, b"new"));
    let fork = event(11, 7, 239, |it| _ = it.number(2, 7).bytes(3, b"new").number(4, 9));
    let forks = |trace: &[u8]| {
        let events = read(trace).expect("a trace").events;
        events.into_iter().filter(|it| matches!(it.what, What::Fork { .. })).collect::<Vec<_>>()
    };
    let forked = What::Fork { parent: TaskIndex(0), child: TaskIndex(1) };
    let found = forks(&[switch(5, 7), new(10)].concat());
    assert_eq!((found.len(), found[0].at_ns, &found[0].what), (1, 5, &forked));
    let found = forks(&[switch(5, 7), new(10), fork].concat());
    assert_eq!((found.len(), found[0].at_ns, &found[0].what), (1, 6, &forked));
}

#[test]
fn timers_and_devices_are_told_apart() {
    let named = |name: &'static [u8]| move |it: &mut Writer| _ = it.bytes(1, name);
    let soft = |it: &mut Writer| _ = it.number(1, 8);
    let timer = |at_ns| event(at_ns, 7, 553, |_| {});
    let by_task = Waker::Task(TaskIndex(0));
    let begins = [
        (timer(10), Waker::Timer),
        (event(10, 7, 327, named(b"hrtimer_expire_entry")), Waker::Timer),
        (event(10, 7, 24, soft), Waker::Timer),
        (event(10, 7, 24, |it| _ = it.number(1, 3)), Waker::Interrupt),
        (event(10, 7, 36, |_| {}), Waker::Interrupt),
        ([timer(10), event(11, 7, 554, |_| {})].concat(), by_task),
        ([timer(10), event(11, 7, 327, named(b"hrtimer_expire_exit"))].concat(), by_task),
    ];
    for (place, (begin, by)) in begins.into_iter().enumerate() {
        let waking = event(12, 7, 20, |it| _ = it.number(2, 8));
        let events = read(&[switch(5, 7), begin, waking].concat()).expect("a trace").events;
        let woken = What::Wake { task: TaskIndex(1), waker: by };
        assert_eq!(events.last().map(|it| &it.what), Some(&woken), "{place}");
    }
}

#[test]
fn what_was_lost_is_told() {
    let lost = bundle(0, |it| {
        let event = |it: &mut Writer| _ = it.number(1, 9).message(4, |it| _ = it.number(6, 7));
        it.number(3, 1).message(2, event);
    });
    assert_eq!(read(&[switch(5, 7), lost.clone()].concat()).expect("a trace").lost_events, 1);
    let stats = |phase, overrun| {
        let cpu = |it: &mut Writer| _ = it.number(1, 3).number(3, overrun).number(8, 1);
        packet(|it| _ = it.message(34, |it| _ = it.number(1, phase).message(2, cpu)))
    };
    let recording = read(&[stats(1, 100), switch(5, 7), lost, stats(2, 140)].concat());
    let recording = recording.expect("a trace");
    assert_eq!((recording.lost_events, recording.cpus), (40, 4));
    let dropped = message(|it| {
        let bundle = |it: &mut Writer| _ = it.number(1, 0);
        it.message(1, |it| _ = it.number(10, 5).number(42, 1).message(1, bundle));
    });
    let recording = read(&[dropped.clone(), switch(5, 7), dropped].concat());
    assert_eq!(recording.expect("a trace").lost_events, 1, "the first packet always says so");
}

#[test]
fn who_runs_is_unknown_after_a_loss() {
    let columns = |lost, at_ns, tid| {
        bundle(0, |it| {
            it.number(3, lost).message(4, |it| {
                it.bytes(5, b"a").numbers(1, [at_ns]).numbers(2, [1]).numbers(3, [tid]);
                it.numbers(4, [120]).numbers(6, [0]);
                it.number(7, at_ns + 1).number(8, 50).number(10, 120).number(11, 0);
            });
        })
    };
    let wakers = |lost| {
        let recording = read(&[columns(0, 5, 7), columns(lost, 20, 8)].concat()).expect("a trace");
        let outs = recording.events.iter().filter_map(|it| match it.what {
            What::Switch { out, .. } => Some(out),
            _ => None,
        });
        let wakers = recording.events.iter().filter_map(|it| match it.what {
            What::Wake { waker, .. } => Some(waker),
            _ => None,
        });
        (outs.collect::<Vec<_>>(), wakers.collect::<Vec<_>>())
    };
    let by_both = vec![Waker::Task(TaskIndex(0)), Waker::Task(TaskIndex(2))];
    assert_eq!(wakers(0), (vec![None, Some(TaskIndex(0))], by_both.clone()));
    assert_eq!(wakers(1), (vec![None, None], by_both));
}
