// SPDX-License-Identifier: GPL-2.0-only
//! Messages through pipes and sockets: a message wakes its reader; a full socket or the mutex of a
//! pipe blocks a sender.

use serde_json::json;

use crate::common::{run_fifo as run, trial, value};

#[test]
fn messages_wake_their_readers() {
    let tasks = json!([
        {"name": "writer", "count": 2, "repeat": 10,
         "steps": [{"send": {"channel": "c", "bytes": 100, "fan": 2}}]},
        {"name": "reader", "count": 2, "repeat": 20,
         "steps": [{"receive": {"channel": "c", "bytes": 100}}]}]);
    let mut trial = trial(1, 50, tasks);
    trial.workload.channels.push(model::Channel {
        name: "c".into(),
        count: 2,
        ..Default::default()
    });
    trial.machine.costs.syscall_ns = 1_000;
    let record = run(&trial);
    assert!(value(&record, "completion_ns", "all") < 1e6);
    assert_eq!(record.measured.histogram("turnaround_ns", "reader").unwrap().count, 2);
}

/// How often a real-time task sleeps that preempts a sender inside its call on pipe `c` while that
/// copies, or before if `write_ns` is long, and then writes to this pipe.
fn sleeps_of_an_urgent_sender(channel: &str, write_ns: u64) -> f64 {
    let send = |channel: &str, bytes: u32| json!([{"send": {"channel": channel, "bytes": bytes}}]);
    let mut trial = trial(
        1,
        50,
        json!([
        {"name": "usual", "repeat": 1, "steps": send("c", 1_024)},
        {"name": "urgent", "repeat": 1, "delay_us": 3_000, "steps": send(channel, 1),
         "policy": {"class": "fifo", "priority": 10}}]),
    );
    for name in ["c", "d"] {
        trial.workload.channels.push(model::Channel {
            name: name.into(),
            count: 1,
            ..Default::default()
        });
    }
    trial.machine.costs.copy_kib_ns = 6_000_000;
    trial.machine.costs.write_ns = write_ns;
    value(&run(&trial), "voluntary_switches", "urgent")
}

/// As `pipe_write`: who loses its CPU under `pipe->mutex` keeps it.
#[test]
fn a_sender_that_is_preempted_while_it_copies_keeps_the_mutex_of_its_pipe() {
    let in_vain =
        |write_ns| ["c", "d"].map(|channel| sleeps_of_an_urgent_sender(channel, write_ns));
    let [same, other] = in_vain(0);
    assert_eq!(same, other + 1.0);
    let [same, other] = in_vain(4_000_000);
    assert_eq!(same, other);
}

/// How often a task sleeps while it sends `messages` messages that nobody reads yet.
fn sleeps_of_a_sender(messages: u32, socket: bool) -> f64 {
    let tasks = json!([
        {"name": "writer", "repeat": messages, "steps": [{"send": {"channel": "c", "bytes": 100}}]},
        {"name": "reader", "repeat": messages, "delay_us": 20_000,
         "steps": [{"receive": {"channel": "c", "bytes": 100}}]}]);
    let mut trial = trial(1, 100, tasks);
    trial.workload.channels.push(model::Channel { name: "c".into(), count: 1, socket });
    value(&run(&trial), "voluntary_switches", "writer")
}

#[test]
fn a_socket_that_is_full_holds_its_sender_back() {
    let fits = sleeps_of_a_sender(278, true);
    assert_eq!(sleeps_of_a_sender(279, true), fits + 1.0);
    assert_eq!(sleeps_of_a_sender(279, false), fits);
    // It is woken when three quarters have been read, and can send as many again.
    assert_eq!(sleeps_of_a_sender(278 + 208, true), fits + 1.0);
}

#[test]
fn a_message_by_a_socket_may_be_longer_than_a_buffer() {
    let tasks = json!([
        {"name": "writer", "count": 2, "repeat": 2,
         "steps": [{"send": {"channel": "c", "bytes": 300_000}}]},
        {"name": "reader", "count": 1, "repeat": 6,
         "steps": [{"receive": {"channel": "c", "bytes": 200_000}}]}]);
    let mut trial = trial(2, 200, tasks);
    let sockets = model::Channel { name: "c".into(), count: 1, socket: true };
    trial.workload.channels.push(sockets);
    let record = run(&trial);
    assert_eq!(record.measured.histogram("turnaround_ns", "reader").unwrap().count, 1);
    assert!(value(&record, "completion_ns", "all") < 200e6);
}
