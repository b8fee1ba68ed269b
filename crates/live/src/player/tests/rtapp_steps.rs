// SPDX-License-Identifier: GPL-2.0-only
//! The steps that rt-app has and no workload of the tree: writing to memory and `/dev/null`, timers
//! that are relative or shared.

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
