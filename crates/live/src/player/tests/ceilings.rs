// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes with a priority ceiling.

use super::*;

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
