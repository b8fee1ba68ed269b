// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use serde_json::{Value, json};

fn script(workload: Value) -> Result<Script, Refusal> {
    let setting = Setting { policy: Policy::default(), seed: Seed(1), cpus: 4 };
    Script::new(&serde_json::from_value(workload).unwrap(), setting)
}

fn refusal(task: Value) -> String {
    let workload = json!({"name": "w", "duration_us": 5, "task": [task]});
    script(workload).expect_err("must be refused").to_string()
}

fn refused_steps(steps: Value) -> String {
    refusal(json!({"name": "g", "steps": steps}))
}

#[test]
fn names_become_numbers_and_barriers_know_their_tasks() {
    let script = script(json!({"name": "w", "duration_us": 5, "task": [
        {"name": "none", "count": 0, "steps": [{"barrier": "b"}]},
        {"name": "a", "count": 3, "steps": [{"loop": {"count": 2, "steps": [{"barrier": "b"}]}}]},
        {"name": "b", "count": 2, "repeat": 1, "steps": [{"barrier": "b"}, {"lock": "l"}]},
    ]}))
    .unwrap();
    assert_eq!(script.barriers, vec![5]);
    assert_eq!((script.groups.len(), script.tasks(), script.finite_tasks()), (2, 5, 2));
    assert_eq!((script.locks.len(), script.groups[1].first_task), (1, 3));
    assert_eq!(script.duration_ns, Some(5_000));
}

#[test]
fn loops_and_spans_are_flat_and_know_their_ends() {
    let script = script(json!({"name": "w", "duration_us": 5, "task": [
        {"name": "a", "steps": [{"within": {"us": 7, "steps": [
            {"loop": {"count": 2, "steps": ["yield", {"sleep_us": 1}]}}]}}, "exit"]},
    ]}))
    .unwrap();
    let expected = [
        Op::SpanStart { limit_ns: 7_000, end: 5 },
        Op::LoopStart { count: 2, end: 4 },
        Op::Yield,
        Op::Sleep(1_000),
        Op::LoopEnd { start: 1 },
        Op::SpanEnd,
        Op::Exit,
    ];
    assert_eq!(script.groups[0].ops, expected);
    assert!(script.groups[0].has_spans && script.groups[0].finite);
}

#[test]
fn channels_share_one_row_of_pipes() {
    let script = script(json!({"name": "w", "duration_us": 5,
        "channel": [{"name": "a", "count": 2}, {"name": "b", "count": 3}],
        "task": [{"name": "t", "steps": [{"receive": {"channel": "b", "bytes": 1}}]}]}))
    .unwrap();
    assert_eq!(script.pipes(), 5);
    assert_eq!([0, 2, 3].map(|member| script.channels[1].pipe_of(member)), [2, 4, 2]);
    assert_eq!(script.groups[0].ops, [Op::Receive { channel: 1, bytes: 1 }]);
}

#[test]
fn jitter_comes_from_the_seed_alone() {
    let jittered = json!({"name": "w", "duration_us": 5, "task": [
        {"name": "a", "count": 50, "delay_us": 10, "jitter_us": 100, "steps": ["yield"]}]});
    let starts = script(jittered.clone()).unwrap().groups[0].starts_ns.clone();
    assert_eq!(starts, script(jittered).unwrap().groups[0].starts_ns);
    assert!(starts.iter().all(|start| (10_000..110_000).contains(start)));
    assert!(starts.iter().any(|start| start != &starts[0]));
}

#[test]
fn what_cannot_be_played_is_refused_with_its_place() {
    let receive = json!([{"receive": {"channel": "c", "bytes": 1}}]);
    assert!(refused_steps(receive).contains("[[channel]]"));
    let two = json!([{"timer": {"period_us": 1}}, {"timer": {"period_us": 1, "skip": true}}]);
    assert!(refused_steps(two).contains("own name"));
    let highest = json!([{"policy": {"class": "fifo", "priority": 99}}]);
    assert!(refused_steps(highest).contains("kept for Fairground"));
    let template = json!({"name": "t", "template": true, "steps": [{"barrier": "b"}]});
    assert!(refusal(template).contains("barrier"));
    let deep = json!(["yield", {"loop": {"count": 1, "steps": [{"affinity": [4]}]}}]);
    assert_eq!(
        refused_steps(deep),
        "task[0].steps[1].loop.steps[0]: there is no CPU 4; the machine's CPUs are 0 … 3"
    );
}

#[test]
fn a_timer_has_a_period_at_each_use() {
    let script = script(json!({"name": "w", "duration_us": 5, "task": [{"name": "t", "steps": [
        {"timer": {"period_us": 1}}, {"timer": {"period_us": 2}},
        {"timer": {"period_us": 3, "name": "n"}}]}]}))
    .unwrap();
    let timer = |number, period_ns| Op::Timer { number, period_ns };
    assert_eq!(script.groups[0].ops, [timer(0, 1_000), timer(0, 2_000), timer(1, 3_000)]);
    assert_eq!(script.groups[0].timers.len(), 2);
}

#[test]
fn a_buffer_is_no_longer_than_what_is_written_to_it() {
    let script = script(json!({"name": "w", "duration_us": 5, "task": [{"name": "t", "steps": [
        {"write_memory": {"bytes": 100}}, {"write_memory": {"bytes": 9000, "buffer": 70}},
        {"write_null": {"bytes": 300, "buffer": 200}}]}]}))
    .unwrap();
    let expected = [
        Op::Fill { bytes: 100, buffer: 100 },
        Op::Fill { bytes: 9_000, buffer: 70 },
        Op::Discard { bytes: 300, buffer: 200 },
    ];
    assert_eq!(script.groups[0].ops, expected);
    assert_eq!(script.groups[0].memory_bytes(), 200);
}

#[test]
fn a_ceiling_is_a_policy_around_the_mutex_where_it_is_higher() {
    let script = script(json!({"name": "w", "duration_us": 5,
        "mutex": [{"name": "m", "protocol": "ceiling", "ceiling": 20},
                  {"name": "n", "protocol": "ceiling", "ceiling": 10}],
        "task": [{"name": "t", "policy": {"class": "rr", "priority": 10}, "steps": [
            {"lock": "n"}, {"unlock": "n"}, {"lock": "m"}, {"lock": "n"}, {"unlock": "n"},
            {"sync": {"condition": "c", "lock": "m"}}, {"unlock": "m"}]}]}))
    .unwrap();
    let (n, m) = (0, 1);
    let expected = [
        Op::Lock(n),
        Op::Unlock(n),
        Op::Policy(0),
        Op::Lock(m),
        Op::Lock(n),
        Op::Unlock(n),
        Op::Enlist { condition: 0, signal: true },
        Op::Unlock(m),
        Op::Policy(1),
        Op::Await(0),
        Op::Policy(2),
        Op::Lock(m),
        Op::Unlock(m),
        Op::Policy(3),
    ];
    assert_eq!(script.groups[0].ops, expected);
    let priorities: Vec<u32> = script.policies.iter().map(|policy| policy.priority).collect();
    assert_eq!(priorities, [20, 10, 20, 10]);
}
