// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes whose holder inherits the priority of who waits, as the kernel's `rt_mutex`, or has a
//! ceiling.

use crate::common::{ran, run_fifo, trial};
use model::{Mutex, Protocol, Record, Trial};
use serde_json::{Value, json};

fn fifo(priority: u32) -> Value {
    json!({"class": "fifo", "priority": priority})
}

fn with_mutexes(protocol: Protocol, tasks: Value) -> Trial {
    let mut trial = trial(1, 200, tasks);
    let is_ceiling = protocol == Protocol::Ceiling;
    let mutex = |(name, ceiling): (&str, u32)| {
        let ceiling = if is_ceiling { ceiling } else { 0 };
        Mutex { name: name.into(), protocol, ceiling }
    };
    trial.workload.mutexes = [("m", 20), ("n", 30)].map(mutex).into();
    trial
}

/// A task that does some work under a mutex.
fn user(name: &str, delay_us: u64, mutex: &str, run_us: u64) -> Value {
    json!({"name": name, "delay_us": delay_us, "repeat": 1,
           "steps": [{"lock": mutex}, {"run_us": run_us}, {"unlock": mutex}]})
}

fn job(name: &str, delay_us: u64, run_us: u64) -> Value {
    json!({"name": name, "delay_us": delay_us, "repeat": 1, "steps": [{"run_us": run_us}]})
}

fn real_time(mut task: Value, priority: u32) -> Value {
    task["policy"] = fifo(priority);
    task
}

/// When the groups' tasks have ended, ms, rounded.
fn ends<const N: usize>(record: &Record, groups: [&str; N]) -> [u64; N] {
    groups.map(|group| ran(record, group).last().map_or(0, |piece| (piece.1 + 500) / 1_000))
}

#[test]
fn a_waiter_waits_for_the_critical_section_only() {
    let tasks = json!([
        user("low", 0, "m", 5_000),
        real_time(job("middle", 2_000, 50_000), 10),
        real_time(user("high", 1_000, "m", 1_000), 20),
    ]);
    let groups = ["low", "high", "middle"];
    let record = run_fifo(&with_mutexes(Protocol::None, tasks.clone()));
    assert_eq!(ends(&record, groups), [55, 56, 52]);
    let record = run_fifo(&with_mutexes(Protocol::Inherit, tasks));
    assert_eq!(ends(&record, groups), [5, 6, 56]);
}

#[test]
fn hogs_of_a_scheduler_do_not_delay_it_either() {
    let hogs = json!({"name": "hog", "count": 8, "delay_us": 1_000, "steps": [{"run_us": 9_000}]});
    // The holder waits for a CPU behind the hogs when the real-time task comes.
    let low = json!({"name": "low", "repeat": 1, "steps": [
        {"lock": "m"}, {"run_us": 2_000}, {"sleep_us": 1_000}, {"run_us": 2_000},
        {"unlock": "m"}, {"run_us": 1_000}]});
    let tasks = json!([low, hogs, real_time(user("high", 4_000, "m", 1_000), 20)]);
    let end = |protocol| ends(&run_fifo(&with_mutexes(protocol, tasks.clone())), ["high"])[0];
    assert_eq!(end(Protocol::Inherit), 7);
    assert!(end(Protocol::None) > 30, "{}", end(Protocol::None));
}

#[test]
fn who_waits_for_a_mutex_passes_the_priority_on() {
    let link = json!({"name": "link", "delay_us": 1_000, "repeat": 1, "policy": fifo(5), "steps": [
        {"lock": "n"}, {"lock": "m"}, {"run_us": 1_000}, {"unlock": "m"}, {"unlock": "n"}]});
    let tasks = json!([
        user("low", 0, "m", 5_000),
        link,
        real_time(job("middle", 3_000, 50_000), 10),
        real_time(user("high", 2_000, "n", 1_000), 20),
    ]);
    let groups = ["low", "link", "high", "middle"];
    let record = run_fifo(&with_mutexes(Protocol::Inherit, tasks.clone()));
    assert_eq!(ends(&record, groups), [5, 6, 7, 57]);
    let record = run_fifo(&with_mutexes(Protocol::None, tasks));
    assert_eq!(ends(&record, groups), [55, 56, 57, 53]);
}

#[test]
fn real_time_tasks_are_first_and_others_come_in_their_order() {
    let mut greedy = user("greedy", 0, "m", 5_000);
    greedy["repeat"] = json!(2);
    let mut nice = user("nice", 3_000, "m", 1_000);
    nice["policy"] = json!({"class": "other", "nice": -10});
    let tasks = json!([
        greedy,
        user("first", 1_000, "m", 1_000),
        nice,
        real_time(user("low", 4_000, "m", 1_000), 10),
        real_time(user("high", 4_500, "m", 1_000), 20),
    ]);
    let record = run_fifo(&with_mutexes(Protocol::Inherit, tasks));
    let order = ends(&record, ["high", "low", "first", "nice", "greedy"]);
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn a_ceiling_holds_others_off_before_anybody_waits() {
    let tasks = json!([
        real_time(user("low", 0, "m", 5_000), 5),
        real_time(job("middle", 1_000, 50_000), 10),
    ]);
    let end = |protocol| ends(&run_fifo(&with_mutexes(protocol, tasks.clone())), ["low", "middle"]);
    assert_eq!(end(Protocol::None), [55, 51]);
    assert_eq!(end(Protocol::Inherit), [55, 51]);
    assert_eq!(end(Protocol::Ceiling), [5, 55]);
}

#[test]
fn the_highest_ceiling_of_the_held_mutexes_counts() {
    let nested = json!({"name": "holder", "repeat": 1, "steps": [
        {"lock": "m"}, {"lock": "n"}, {"unlock": "m"}, {"run_us": 2_000}, {"unlock": "n"},
        {"lock": "m"}, {"run_us": 1_000}, {"unlock": "m"}, {"run_us": 1_000}]});
    let tasks = json!([
        real_time(nested, 10),
        real_time(job("above_m", 1_000, 10_000), 25),
        real_time(job("above_own", 12_500, 10_000), 15),
    ]);
    let record = run_fifo(&with_mutexes(Protocol::Ceiling, tasks));
    // Until 2 ms the holder has priority 30, from 12 ms on 20, and from 13 ms on its own.
    assert_eq!(ends(&record, ["above_m", "above_own", "holder"]), [12, 23, 24]);
}

#[test]
fn who_waits_for_a_condition_has_no_ceiling_and_gets_it_back() {
    let waits = json!({"name": "waits", "repeat": 1, "steps": [{"lock": "m"},
        {"wait": {"condition": "c", "lock": "m"}}, {"run_us": 1_000}, {"unlock": "m"}]});
    let signals = json!({"name": "signals", "delay_us": 1_000, "repeat": 1, "steps": [
        {"signal": "c"}]});
    let tasks = json!([
        real_time(waits, 5),
        real_time(signals, 30),
        real_time(job("first", 500, 10_000), 10),
        real_time(job("second", 11_000, 10_000), 15),
    ]);
    let groups = ["first", "waits", "second"];
    let record = run_fifo(&with_mutexes(Protocol::Ceiling, tasks.clone()));
    // The task is woken at 1 ms, runs behind the first job, and is then above the second one.
    assert_eq!(ends(&record, groups), [11, 12, 22]);
    let record = run_fifo(&with_mutexes(Protocol::None, tasks));
    assert_eq!(ends(&record, groups), [11, 22, 21]);
}
