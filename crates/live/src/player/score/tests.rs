// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use serde_json::json;

fn score(workload: serde_json::Value) -> Result<Score, String> {
    let workload: Workload = serde_json::from_value(workload).unwrap();
    Score::new(&workload, Policy::default(), Seed(1))
}

fn refusal(task: serde_json::Value) -> String {
    score(json!({"name": "w", "task": [task]})).err().expect("must be refused")
}

#[test]
fn names_become_numbers_and_barriers_know_their_tasks() {
    let score = score(json!({"name": "w", "duration_us": 5, "task": [
        {"name": "none", "count": 0, "steps": [{"barrier": "b"}]},
        {"name": "a", "count": 3, "steps": [{"loop": {"count": 2, "steps": [{"barrier": "b"}]}}]},
        {"name": "b", "count": 2, "repeat": 1, "steps": [{"barrier": "b"}, {"lock": "l"}]},
    ]}))
    .unwrap();
    assert_eq!(score.barriers, vec![5]);
    assert_eq!((score.groups.len(), score.tasks(), score.finite_tasks()), (2, 5, 2));
    assert_eq!((score.locks, score.groups[1].first_task, score.duration_ns), (1, 3, Some(5_000)));
}

#[test]
fn jitter_comes_from_the_seed_alone() {
    let jittered = json!({"name": "w", "duration_us": 5, "task": [
        {"name": "a", "count": 50, "delay_us": 10, "jitter_us": 100, "steps": []}]});
    let starts = score(jittered.clone()).unwrap().groups[0].starts_ns.clone();
    assert_eq!(starts, score(jittered).unwrap().groups[0].starts_ns);
    assert!(starts.iter().all(|start| (10_000..110_000).contains(start)));
    assert!(starts.iter().any(|start| start != &starts[0]));
}

#[test]
fn what_cannot_be_played_is_refused_with_a_reason() {
    let group = |steps: serde_json::Value| json!({"name": "g", "steps": steps});
    assert!(refusal(group(json!(["exec"]))).contains("templates"));
    assert!(refusal(group(json!([{"fork": {"task": "x"}}]))).contains("`x`"));
    assert!(refusal(group(json!([{"fork": {"task": "g"}}]))).contains("template = true"));
    assert!(
        refusal(group(json!([{"receive": {"channel": "c", "bytes": 1}}]))).contains("[[channel]]")
    );
    assert!(refusal(group(json!([{"timer": {"period_us": 0}}]))).contains("period_us"));
    let two = json!([{"timer": {"period_us": 1}}, {"timer": {"period_us": 2}}]);
    assert!(refusal(group(two)).contains("differs"));
    let highest = json!([{"policy": {"class": "fifo", "priority": 99}}]);
    assert!(refusal(group(highest)).contains("kept for the lab"));
    let template = json!({"name": "t", "template": true, "steps": [{"barrier": "b"}]});
    assert!(refusal(template).contains("barrier"));
}
