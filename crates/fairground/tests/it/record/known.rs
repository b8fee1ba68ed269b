// SPDX-License-Identifier: GPL-2.0-only
//! What is recorded of processes whose scheduling is known, on the kernel that runs this.
//!
//! `record.rs` also runs this in guests.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::OnceLock;

use live::probes::{Probes, Readings};
use live::recorder::{Recorder, Settings, TaskFilter, obstacles};
use model::PolicyClass;
use nix::unistd::pipe;
use recording::event::{Leaves, Recording, SleepsFor, TaskIndex, Waker, What};

use super::children::{self, Children, give, nap, poll, take};
use testing::need;

/// This kernel, and this user's rights to record it.
pub fn can_record() -> Result<(), String> {
    let obstacles = obstacles().join("; ");
    if obstacles.is_empty() { Ok(()) } else { Err(obstacles) }
}

/// How often each process does what it does.
const TIMES: u32 = 60;

type Cast = BTreeMap<&'static str, u32>;

/// A pipe's ends, which stay open.
fn ends() -> (RawFd, RawFd) {
    let (read, write) = pipe().expect("a pipe");
    (read.into_raw_fd(), write.into_raw_fd())
}

fn cast(children: &mut Children) -> Cast {
    let (there, back) = (ends(), ends());
    let (word, ready, often) = (children::shared(), children::shared(), || 0..TIMES);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (mut near, mut far) = connection(&listener);
    let (mut byte, mut reply) = ([0], [0]);
    Cast::from([
        (
            "ping",
            children.add(|| {
                for _ in often() {
                    nap(300);
                    give(there.1);
                    take(back.0);
                }
            }),
        ),
        ("pong", children.add(|| often().for_each(|_| (take(there.0), give(back.1)).1))),
        ("napper", children.add(|| often().for_each(|_| nap(500)))),
        ("timed", children.add(|| often().for_each(|_| children::read_timer(500)))),
        ("poller", children.add(|| often().for_each(|_| poll(-1, 1)))),
        (
            "locked",
            children.add(|| {
                for n in often() {
                    children::change(ready);
                    children::wait_for_change(word, n);
                }
            }),
        ),
        (
            "unlocker",
            children.add(|| {
                for n in often() {
                    children::wait_for_change(ready, n);
                    nap(1_000);
                    children::change(word);
                }
            }),
        ),
        ("mother", children.add(|| often().for_each(|_| children::one_child()))),
        ("changer", children.add(children::change_oneself)),
        (
            "client",
            children.add(|| {
                for _ in often() {
                    nap(500);
                    let _ = near.write(&[1]);
                    let _ = near.read(&mut reply);
                }
            }),
        ),
        (
            "server",
            children.add(|| {
                for _ in often() {
                    let _ = far.read(&mut byte);
                    let _ = far.write(&byte);
                }
            }),
        ),
    ])
}

/// Both ends of a connection over the loopback device.
fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("loopback");
    (near, listener.accept().expect("a connection").0)
}

/// What was recorded of the cast, and what the probes counted.
type Recorded = (Cast, Recording, Readings);

/// Records the cast once for all tests, while the probes count its switches, too.
fn recorded() -> &'static Recorded {
    static RECORDED: OnceLock<Recorded> = OnceLock::new();
    RECORDED.get_or_init(record)
}

fn record() -> Recorded {
    children::loopback_up();
    let mut children = Children::new();
    let cast = cast(&mut children);
    let groups: Vec<String> = cast.keys().map(|name| (*name).to_owned()).collect();
    let probes = Probes::attach(&groups, false).expect("probes");
    for (group, number) in cast.values().enumerate() {
        probes.track(*number, group).expect("a slot");
    }
    let settings = Settings { buffer_bytes: 1 << 24, only: None, last: None };
    let mut recorder = Recorder::attach(&settings).expect("a recorder");
    probes.start();
    recorder.start().expect("a beginning");
    children.run();
    let (recording, cost) = recorder.finish("a test").expect("a recording");
    assert!(cost.percent().is_some_and(|percent| percent > 0.0), "{cost:?}");
    (cast, recording, probes.readings(probes.stop()))
}

/// What a recording says of one process.
struct Seen<'a> {
    recording: &'a Recording,
    task: TaskIndex,
}

fn seen<'a>(recording: &'a Recording, number: u32) -> Seen<'a> {
    let mut all = (0..).map(TaskIndex).zip(&recording.tasks);
    let (task, _) = all.find(|(_, task)| task.tid == number).expect("the task is recorded");
    Seen { recording, task }
}

impl Seen<'_> {
    fn count(&self, is: impl Fn(&What) -> bool) -> u64 {
        self.recording.events.iter().filter(|event| is(&event.what)).count() as u64
    }

    fn leaves(&self, is: impl Fn(Leaves) -> bool) -> u64 {
        self.count(|what| {
            matches!(what, What::Switch { out, leaves, .. } if *out == Some(self.task) && is(*leaves))
        })
    }

    fn sleeps_all(&self) -> u64 {
        self.leaves(|leaves| matches!(leaves, Leaves::Sleeps(_)))
    }

    fn sleeps(&self, reason: SleepsFor) -> u64 {
        self.leaves(|leaves| leaves == Leaves::Sleeps(reason))
    }

    fn woken(&self, is: impl Fn(Waker) -> bool) -> u64 {
        self.count(
            |what| matches!(what, What::Wake { task, waker } if *task == self.task && is(*waker)),
        )
    }

    fn forks(&self) -> u64 {
        self.count(|what| matches!(what, What::Fork { parent, .. } if *parent == self.task))
    }
}

#[test]
fn reasons_and_wakers_are_those_of_the_known_cases() {
    testing::beyond_cargo_test!("records this kernel");
    need!(can_record());
    let (cast, recording, _) = recorded();
    assert_eq!(recording.lost_events, 0);
    let of = |name: &str| seen(recording, cast[name]);
    // A slow machine can be too late to fall asleep, but not most of the time.
    let nearly = |name: &str, what: &str, count: u64, all: u64| {
        assert!(all >= u64::from(TIMES) / 4, "{name}: only {all} sleeps");
        assert!(count * 10 >= all * 9, "{name}: {what} {count} times of {all}");
    };
    let cases = [
        ("napper", SleepsFor::Nap, None),
        ("timed", SleepsFor::Timer, None),
        ("poller", SleepsFor::Timer, None),
        ("pong", SleepsFor::Pipe, Some("ping")),
        ("locked", SleepsFor::Futex, Some("unlocker")),
        ("server", SleepsFor::Network, Some("client")),
    ];
    for (name, reason, waker) in cases {
        let (all, task) = (of(name).sleeps_all(), of(name));
        nearly(name, &format!("{reason:?}"), task.sleeps(reason), all);
        let waker = waker.map_or(Waker::Timer, |waker| Waker::Task(of(waker).task));
        nearly(name, &format!("by {waker:?}"), task.woken(|by| by == waker), all);
    }
    let mother = of("mother");
    nearly("mother", "Child", mother.sleeps(SleepsFor::Child), mother.sleeps_all());
    assert_eq!(of("mother").forks(), u64::from(TIMES));
}

#[test]
fn switches_and_wake_ups_are_as_many_as_the_probes_count() {
    testing::beyond_cargo_test!("records this kernel");
    need!(can_record());
    let (cast, recording, readings) = recorded();
    for ((name, number), group) in cast.iter().zip(&readings.groups) {
        // The probes count its children as well.
        if *name == "mother" {
            continue;
        }
        let task = seen(recording, *number);
        let runnable = task.leaves(|leaves| leaves == Leaves::Runnable);
        let asleep = task.leaves(|leaves| leaves != Leaves::Runnable);
        let switches = group.voluntary_switches + group.involuntary_switches;
        // The two do not begin and end at the same instant.
        let (woken, counted) = (task.woken(|_| true), group.wakeup_latency.count);
        assert!((asleep + runnable).abs_diff(switches) <= 1, "{name}: {switches} switches");
        // Nor has a task waited that is woken before it has left its CPU, which is rare.
        let least = woken.saturating_sub(u64::from(TIMES) / 10);
        assert!((least..=woken + 1).contains(&counted), "{name}: {woken} wake-ups of {counted}");
        assert!(asleep.abs_diff(group.voluntary_switches) <= 1, "{name}");
    }
}

#[test]
fn changes_of_nice_policy_and_affinity_are_noted_in_order() {
    testing::beyond_cargo_test!("records this kernel");
    need!(can_record());
    let (cast, recording, _) = recorded();
    let changer = seen(recording, cast["changer"]);
    let changes: Vec<_> = recording
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Changed { task, to } if *task == changer.task => Some(to.clone()),
            _ => None,
        })
        .collect();
    let own = (&recording.tasks[changer.task.0 as usize], recording.lost_events);
    assert_eq!(changes.iter().find_map(|to| to.nice), Some(3), "{own:?}: {changes:?}");
    let batch = |policy: model::Policy| policy.class == PolicyClass::Batch && policy.nice == 3;
    assert!(changes.iter().any(|to| to.policy.is_some_and(batch)), "{changes:?}");
    if recording.cpus > 1 {
        assert_eq!(changes.last().and_then(|to| to.affinity.clone()), Some(vec![0]));
    }
}

#[test]
fn only_what_is_asked_for_is_recorded_with_what_it_forks() {
    testing::beyond_cargo_test!("records this kernel");
    need!(can_record());
    let mut children = Children::new();
    let mother = children.add(|| (0..10).for_each(|_| children::one_child()));
    let other = children.add(|| (0..10).for_each(|_| nap(500)));
    let only = Some(TaskFilter::Process(mother));
    let mut recorder = Recorder::attach(&Settings { buffer_bytes: 1 << 20, only, last: None })
        .expect("a recorder");
    recorder.start().expect("a beginning");
    children.run();
    let (recording, _) = recorder.finish("a test").expect("a recording");
    let numbers: Vec<u32> = recording.tasks.iter().map(|task| task.tid).collect();
    assert!(numbers.contains(&mother) && !numbers.contains(&other), "{numbers:?}");
    assert_eq!(numbers.len(), 11, "{numbers:?}");
    assert_eq!(seen(&recording, mother).forks(), 10);
}
