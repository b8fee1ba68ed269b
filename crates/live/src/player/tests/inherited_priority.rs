// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes whose holder inherits the priority of who waits.

use super::*;

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
        ]),
    );
    for name in ["x", "y"] {
        let mutexes = workload["mutex"].as_array_mut().unwrap();
        mutexes.push(json!({"name": name, "protocol": "inherit"}));
    }
    let played = try_play(workload).unwrap();
    let over = began.elapsed().saturating_sub(Duration::from_nanos(played.run_ns));
    assert!(over < Duration::from_secs(20), "{over:?}");
}
