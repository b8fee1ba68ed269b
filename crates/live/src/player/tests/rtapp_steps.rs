// SPDX-License-Identifier: GPL-2.0-only
//! The steps that rt-app has and no workload of the tree: writing to memory and `/dev/null`, timers
//! that are relative or shared; mutexes with a ceiling, and those that lend priorities.

use super::*;

#[test]
fn memory_and_null_are_written_by_threads_and_processes() {
    let steps = json!([{"write_memory": {"bytes": 3_000_001, "buffer": 1_000_003}},
        {"write_null": {"bytes": 100_000, "buffer": 7_000}}]);
    let played = finite(json!([
        {"name": "writer", "count": 2, "repeat": 3, "steps": steps},
        {"name": "parent", "repeat": 2, "steps": [{"fork": {"task": "child"}}, "wait_children"]},
        {"name": "child", "template": true, "steps": steps},
    ]));
    assert_eq!((group(&played, "writer").rounds, group(&played, "child").rounds), (6, 2));
    assert!(group(&played, "writer").cpu_ns.iter().flatten().all(|&ns| ns > 0));
}

#[test]
fn more_memory_than_there_is_is_refused() {
    let step = json!({"write_memory": {"bytes": 1 << 30, "buffer": 1 << 30}});
    let tasks = json!([{"name": "w", "count": 90_000, "repeat": 1, "steps": [step]}]);
    let refusal = try_play(json!({"name": "w", "task": tasks})).expect_err("90 TB");
    assert!(matches!(&refusal, PlayError::Unsupported(why) if why.contains("MiB left")));
}

#[test]
fn a_write_that_never_ends_ends_with_the_trial() {
    let started = Instant::now();
    let forever = json!({"loop": {"count": 1_000_000, "steps": [
        {"write_memory": {"bytes": 1 << 30, "buffer": 1 << 20}}]}});
    play_tasks(Some(20_000), json!([]), json!([{"name": "w", "steps": [forever]}]));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_late_job_of_a_relative_timer_is_followed_at_once() {
    let steps = json!([{"timer": {"period_us": 20_000, "relative": true}}, {"sleep_us": 30_000}]);
    let tasks = json!([{"name": "late", "repeat": 4, "steps": steps}]);
    // One wait of 20 ms, then jobs of 30 ms without a pause.
    let fits = |played: &Played| {
        (140_000_000..200_000_000).contains(&group(played, "late").turnaround.min)
    };
    let played = first_that_fits(|| finite(tasks.clone()), fits);
    let late = group(&played, "late");
    assert!(fits(&played), "{late:?}");
    assert_eq!(late.deadlines_missed, late.deadlines);
}

#[test]
fn tasks_take_the_releases_of_a_shared_timer_in_turns() {
    let timer = json!({"timer": {"period_us": 10_000, "name": "tick", "shared": true}});
    let tasks = json!([
        {"name": "a", "count": 2, "repeat": 2, "steps": [timer]},
        {"name": "b", "repeat": 2, "steps": [timer]},
    ]);
    // Six releases; each task gets every third one.
    let fits = |played: &Played| {
        let last_ns = ["a", "b"].map(|name| group(played, name).turnaround.max);
        (60_000_000..120_000_000).contains(&last_ns[0].max(last_ns[1]))
    };
    let played = first_that_fits(|| finite(tasks.clone()), fits);
    assert!(fits(&played), "{played:?}");
}

fn fifo(priority: u32) -> Value {
    json!({"class": "fifo", "priority": priority})
}

/// What was played; none without the rights.
fn played(workload: Value) -> Option<Played> {
    match try_play(workload) {
        Ok(played) => Some(played),
        Err(error) => {
            assert!(!crate::facts::is_root() && error.to_string().contains("root"), "{error}");
            None
        }
    }
}

/// A task has 5 ms of work under a mutex. One of higher priority, which does not want the mutex, has
/// at least 200 ms for the same CPU. How often the first one needed longer than half of that.
fn held_up(mutex: Value) -> Option<u64> {
    let work = json!([{"semaphore_post": "held"}, {"run_us": 5_000}]);
    let workload = json!({"name": "w", "mutex": [mutex], "task": [
        {"name": "low", "repeat": 1, "affinity": [0], "policy": fifo(10),
         "steps": [{"lock": "m"}, {"within": {"us": 100_000, "steps": work}}, {"unlock": "m"}]},
        {"name": "high", "repeat": 1, "affinity": [0], "policy": fifo(20),
         "steps": [{"semaphore_wait": "held"}, {"run_us": 800_000}]},
    ]});
    Some(group(&played(workload)?, "low").timeouts)
}

#[test]
fn who_holds_the_mutex_has_its_ceiling() {
    let with = |ceiling: u32| json!({"name": "m", "protocol": "ceiling", "ceiling": ceiling});
    assert!(matches!(held_up(with(30)), Some(0) | None));
    assert!(matches!(held_up(with(15)), Some(1) | None));
    assert!(matches!(held_up(json!({"name": "m"})), Some(1) | None));
}

#[test]
fn conditions_release_the_mutex_and_wake_in_order() {
    let turn = json!([{"lock": "m"}, {"sync": {"condition": "c", "lock": "m"}}, {"unlock": "m"}]);
    let workload = json!({"name": "w", "duration_us": 50_000,
        "mutex": [{"name": "m", "protocol": "ceiling", "ceiling": 20}], "task": [
        {"name": "a", "policy": fifo(10), "steps": turn},
        {"name": "b", "policy": fifo(10), "steps": turn},
    ]});
    let Some(played) = played(workload) else { return };
    let rounds = |name| group(&played, name).rounds;
    assert!(rounds("a") > 1 && rounds("a").abs_diff(rounds("b")) <= 1, "{played:?}");
}

fn with_mutexes(duration_us: Option<u64>, protocol: &str, tasks: Value) -> Value {
    let mutexes = json!([
        {"name": "m", "protocol": protocol}, {"name": "n", "protocol": protocol}]);
    json!({"name": "w", "duration_us": duration_us, "mutex": mutexes, "task": tasks})
}

/// An ordinary task holds a mutex. One of real-time priority waits for it and holds another, which
/// one of higher priority wants. A third one, between these two, wants the CPU for at least 200 ms.
/// How often the highest one waited for longer than half of that; none without the rights.
fn inversions(protocol: &str) -> Option<u64> {
    let fifo = |priority: u32| json!({"class": "fifo", "priority": priority});
    let held = json!([{"lock": "m"}, {"lock": "n"}, {"unlock": "n"}, {"unlock": "m"}]);
    let workload = with_mutexes(
        None,
        protocol,
        json!([
            {"name": "low", "repeat": 1, "affinity": [0], "steps": [
                {"lock": "n"}, {"semaphore_post": "locked"}, {"semaphore_post": "high"},
                {"semaphore_post": "middle"}, {"run_us": 5_000}, {"unlock": "n"}]},
            // It holds `m`, and waits for the first one's `n`.
            {"name": "link", "repeat": 1, "affinity": [0], "policy": fifo(10), "steps": [
                {"semaphore_wait": "locked"}, {"loop": {"count": 1, "steps": held}}]},
            {"name": "middle", "repeat": 1, "affinity": [0], "policy": fifo(20), "steps": [
                {"semaphore_wait": "middle"}, {"run_us": 800_000}]},
            {"name": "high", "repeat": 1, "affinity": [0], "policy": fifo(30), "steps": [
                {"semaphore_wait": "high"},
                {"within": {"us": 100_000, "steps": [{"lock": "m"}, {"unlock": "m"}]}}]},
        ]),
    );
    match try_play(workload) {
        Ok(played) => Some(group(&played, "high").timeouts),
        Err(error) => {
            assert!(!crate::facts::is_root() && error.to_string().contains("root"), "{error}");
            None
        }
    }
}

#[test]
fn a_chain_of_holders_inherits_and_the_wait_is_short() {
    assert!(matches!(inversions("inherit"), Some(0) | None));
    assert!(matches!(inversions("none"), Some(1) | None));
}

#[test]
fn one_is_inside_at_a_time_and_conditions_release_the_mutex() {
    let turn = json!([{"lock": "m"}, {"sync": {"condition": "c", "lock": "m"}}, {"unlock": "m"}]);
    let inside = json!([{"lock": "n"}, {"run_us": 100}, "yield", {"unlock": "n"}]);
    let workload = with_mutexes(
        None,
        "inherit",
        json!([
            {"name": "a", "steps": turn}, {"name": "b", "steps": turn},
            {"name": "parent", "repeat": 3, "steps": [
                {"fork": {"task": "child", "count": 2}}, "wait_children"]},
            {"name": "child", "template": true, "steps": inside},
            {"name": "inside", "count": 2, "repeat": 5, "steps": inside},
        ]),
    );
    let played = try_play(workload).unwrap();
    let rounds = |name| group(&played, name).rounds;
    assert!(rounds("a").abs_diff(rounds("b")) <= 1, "{played:?}");
    assert_eq!((rounds("child"), rounds("inside")), (6, 10));
}

#[test]
fn the_trial_ends_whoever_holds_the_mutex() {
    let began = Instant::now();
    let (asleep, n) = (json!({"sleep_us": 1_000_000_000}), json!({"lock": "n"}));
    let deadlock = json!([{"lock": "x"}, {"sleep_us": 1_000}, {"lock": "y"}]);
    let mut workload = with_mutexes(
        Some(50_000),
        "inherit",
        json!([
            {"name": "twice", "steps": [{"lock": "m"}]},
            {"name": "others", "count": 2, "steps": [{"lock": "m"}, {"unlock": "m"}]},
            {"name": "parent", "steps": [{"fork": {"task": "holder"}}, "wait_children"]},
            {"name": "holder", "template": true, "steps": [n, asleep]},
            {"name": "waiter", "count": 2, "delay_us": 20_000, "steps": [n]},
            {"name": "child", "template": true, "steps": [{"sleep_us": 20_000}, n]},
            {"name": "grandparent", "steps": [{"fork": {"task": "child"}}, "wait_children"]},
            {"name": "xy", "steps": deadlock},
            {"name": "yx", "steps": [{"lock": "y"}, {"sleep_us": 1_000}, {"lock": "x"}]},
            {"name": "leaver", "template": true, "steps": [{"lock": "z"}]},
            {"name": "heir", "steps": [{"fork": {"task": "leaver"}}, "wait_children",
                {"lock": "z"}]},
        ]),
    );
    for name in ["x", "y", "z"] {
        let mutexes = workload["mutex"].as_array_mut().unwrap();
        mutexes.push(json!({"name": name, "protocol": "inherit"}));
    }
    let played = try_play(workload).unwrap();
    let over = began.elapsed().saturating_sub(Duration::from_nanos(played.run_ns));
    assert!(over < Duration::from_secs(20), "{over:?}");
}
