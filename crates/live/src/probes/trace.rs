// SPDX-License-Identifier: GPL-2.0-only
//! From the ring of raw events to a trace.

use std::collections::BTreeMap;
use std::mem::size_of;

use libbpf_rs::{MapCore, RingBufferBuilder};
use model::trace::{SleepsFor, TraceTask, What, WokenBy};
use model::{Trace, TraceEvent};

use super::maps::{PREEMPTED, ProbeEvent, event_kind};
use crate::recorder::convert::name;
use crate::recorder::object::{bytes_of, leaves, waker};
use crate::recorder::reason::{Polls, sleep};

/// Reads every event that is in the ring now.
pub fn drain(ring: &dyn MapCore) -> Result<Vec<ProbeEvent>, String> {
    let mut events = Vec::new();
    {
        let mut builder = RingBufferBuilder::new();
        let keep = |bytes: &[u8]| {
            if bytes.len() >= size_of::<ProbeEvent>() {
                // SAFETY: long enough, and any bytes are an event.
                events.push(unsafe { bytes.as_ptr().cast::<ProbeEvent>().read_unaligned() });
            }
            0
        };
        builder.add(ring, keep).map_err(|error| format!("the trace's ring: {error}"))?;
        let ring = builder.build().map_err(|error| format!("the trace's ring: {error}"))?;
        ring.consume().map_err(|error| format!("the trace's ring: {error}"))?;
    }
    Ok(events)
}

/// Sorts the events, makes their times relative to the start, and collects the tasks. `group`
/// returns the group of a task, empty for tasks outside the workload.
pub fn trace(
    mut events: Vec<ProbeEvent>,
    start_ns: u64,
    lost: u64,
    group: impl Fn(u32) -> String,
) -> Trace {
    // CPUs write into the ring as they reserve, which is not quite the order of their clocks.
    events.sort_by_key(|event| event.time_ns);
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    for event in &events {
        if event.kind == event_kind::SWITCH {
            names.entry(event.prev).or_insert_with(|| "<...>".into());
        }
        names.insert(event.next, name(&event.comm));
    }
    names.entry(0).and_modify(|name| *name = "swapper".into());
    let mut streams = BTreeMap::new();
    let mut converted: Vec<TraceEvent> =
        events.iter().map(|event| convert(event, start_ns, &mut streams)).collect();
    decide(&events, &mut converted);
    let tasks = names.into_iter().map(|(pid, comm)| TraceTask { pid, comm, group: group(pid) });
    Trace { tasks: tasks.collect(), events: converted, lost }
}

/// What a task slept for that anything could have ended, its wake-up says. Messages are the rule.
fn decide(events: &[ProbeEvent], converted: &mut [TraceEvent]) {
    let mut polls = Polls::default();
    for (place, event) in events.iter().enumerate() {
        match event.kind {
            event_kind::SWITCH => polls.switch(place, event.prev, event.reason, event.next),
            event_kind::WAKING => polls.wake(event.next, event.exit_state, event.reason),
            _ => {}
        }
    }
    for (place, event) in converted.iter_mut().enumerate() {
        if let What::Switch { reason: Some(reason @ SleepsFor::Any), .. } = &mut event.what
            && polls.reason(place) == SleepsFor::Signal
        {
            *reason = SleepsFor::Signal;
        }
    }
}

/// `streams` are numbered in the order of their first messages.
fn convert(event: &ProbeEvent, start_ns: u64, streams: &mut BTreeMap<u32, u32>) -> TraceEvent {
    let mut stream = || {
        let next = streams.len() as u32;
        *streams.entry(event.prev).or_insert(next)
    };
    let what = match event.kind {
        event_kind::SWITCH => What::Switch {
            prev: event.prev,
            prev_prio: event.prev_prio,
            prev_state: state(event.detail, event.exit_state),
            next: event.next,
            next_prio: event.next_prio,
            reason: sleeps_for(event.reason),
        },
        event_kind::WAKING => {
            let (pid, prio, target) = (event.next, event.next_prio, event.detail);
            let by = woken_by(event);
            let interrupt = matches!(by, Some(WokenBy::Timer | WokenBy::Device));
            What::Waking { pid, prio, target, interrupt, by }
        }
        event_kind::SENT => What::Send {
            pid: event.next,
            stream: stream(),
            bytes: event.detail,
            room: bytes_of(event.prev_prio),
        },
        event_kind::TAKEN => What::Take { pid: event.next, stream: stream(), bytes: event.detail },
        event_kind::FORK => What::Fork { parent: event.prev, child: event.next },
        _ => What::Exit { pid: event.next },
    };
    TraceEvent { time_ns: event.time_ns.saturating_sub(start_ns), cpu: event.cpu, what }
}

/// What the task sleeps for; `None` if it does not.
fn sleeps_for(detail: u32) -> Option<SleepsFor> {
    match detail & 0xff {
        leaves::RUNNABLE | leaves::ENDED => None,
        leaves::YIELDING => Some(SleepsFor::Yield),
        _ => Some(sleep(detail)),
    }
}

/// `enum record_waker`, with the task in `prev`.
fn woken_by(event: &ProbeEvent) -> Option<WokenBy> {
    match event.exit_state {
        waker::TASK => Some(WokenBy::Task(event.prev)),
        waker::TIMER => Some(WokenBy::Timer),
        waker::INTERRUPT => Some(WokenBy::Device),
        _ => None,
    }
}

/// The letters of `TASK_REPORT` in `include/linux/sched.h`, from bit 0.
const LETTERS: [&str; 7] = ["S", "D", "T", "t", "X", "Z", "P"];
/// `TASK_UNINTERRUPTIBLE | TASK_NOLOAD`.
const TASK_IDLE: u32 = 0x402;
/// `TASK_RTLOCK_WAIT` and `TASK_FROZEN`, which ftrace shows as `D`.
const LIKE_UNINTERRUPTIBLE: u32 = 0x1000 | 0x8000;

/// A task's state as ftrace writes it: the highest reported bit decides, as in
/// `__task_state_index()`.
fn state(detail: u32, exit_state: u32) -> String {
    if detail & PREEMPTED != 0 {
        return "R+".into();
    }
    if detail & TASK_IDLE == TASK_IDLE {
        return "I".into();
    }
    if detail & LIKE_UNINTERRUPTIBLE != 0 {
        return "D".into();
    }
    let reported = (detail | exit_state) & 0x7f;
    let letter = reported.checked_ilog2().and_then(|bit| LETTERS.get(bit as usize));
    letter.copied().unwrap_or("R").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::object::file;

    fn event(time_ns: u64, kind: u32, prev: u32, next: u32, detail: u32) -> ProbeEvent {
        let mut comm = [0; 16];
        comm[..3].copy_from_slice(b"hog");
        let (cpu, prev_prio, next_prio, exit_state) = (1, 120, 120, 0);
        let (reason, padding) = (leaves::IO, 0);
        ProbeEvent {
            time_ns,
            kind,
            cpu,
            prev,
            next,
            prev_prio,
            next_prio,
            detail,
            exit_state,
            reason,
            padding,
            comm,
        }
    }

    #[test]
    fn states_are_ftraces() {
        assert_eq!(state(0, 0), "R");
        assert_eq!(state(PREEMPTED, 0), "R+");
        assert_eq!(state(1 | PREEMPTED, 0), "R+");
        assert_eq!(state(1, 0), "S");
        assert_eq!(state(2, 0), "D");
        assert_eq!(state(TASK_IDLE, 0), "I");
        assert_eq!(state(0x80, 0x20), "Z");
        assert_eq!(state(0x80, 0x10), "X");
    }

    #[test]
    fn who_wakes_a_task_says_whether_it_polled_for_a_message() {
        let polls = leaves::WAITING | (libc::SYS_ppoll as u32) << 16;
        let reasons = |how: u32, means: u32| {
            let asleep = ProbeEvent { reason: polls, ..event(20, event_kind::SWITCH, 8, 7, 1) };
            let woken = event(30, event_kind::WAKING, 7, 8, 0);
            let woken = ProbeEvent { exit_state: how, reason: means << 8, ..woken };
            match trace(vec![asleep, woken], 0, 0, |_| String::new()).events[0].what {
                What::Switch { reason, .. } => reason,
                _ => None,
            }
        };
        assert_eq!(reasons(waker::TASK, file::LOCAL_SOCKET), Some(SleepsFor::Any));
        assert_eq!(reasons(waker::TASK, file::EVENT), Some(SleepsFor::Signal));
        assert_eq!(reasons(waker::TIMER, file::NONE), Some(SleepsFor::Any));
    }

    #[test]
    fn a_trace_is_in_order_and_knows_its_tasks() {
        let events =
            vec![event(30, event_kind::SWITCH, 8, 7, 1), event(20, event_kind::WAKING, 5, 8, 3)];
        let group = |pid| if pid == 7 { "hogs".to_owned() } else { String::new() };
        let trace = trace(events, 10, 2, group);
        assert_eq!(trace.lost, 2);
        assert_eq!(trace.events[0].time_ns, 10);
        assert_eq!(
            trace.events[0].what,
            What::Waking {
                pid: 8,
                prio: 120,
                target: 3,
                interrupt: false,
                by: Some(WokenBy::Task(5))
            }
        );
        let switch =
            |what: &What| matches!(what, What::Switch { reason: Some(SleepsFor::Disk), .. });
        assert!(switch(&trace.events[1].what), "{:?}", trace.events[1]);
        let tasks: Vec<_> = trace.tasks.iter().map(|t| (t.pid, t.group.as_str())).collect();
        assert_eq!(tasks, [(7, "hogs"), (8, "")]);
    }
}
