// SPDX-License-Identifier: GPL-2.0-only
//! Tasks in sessions of their own, which are processes.

use super::*;

fn in_sessions(duration_us: Option<u64>, rest: Value) -> Result<Played, PlayError> {
    let mut workload = json!({"name": "test", "duration_us": duration_us,
        "session": [{"name": "a"}, {"name": "b"}]});
    let object = workload.as_object_mut().expect("an object");
    object.extend(rest.as_object().expect("an object").clone());
    try_play(workload)
}

fn played(duration_us: Option<u64>, rest: Value) -> Played {
    in_sessions(duration_us, rest).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn tasks_of_several_sessions_talk_and_end() {
    let played = played(
        None,
        json!({"channel": [{"name": "c", "count": 1}], "task": [
            {"name": "out", "session": "a", "repeat": 50,
             "steps": [{"send": {"channel": "c", "bytes": 10}}, {"semaphore_wait": "s"}]},
            {"name": "in", "session": "b", "repeat": 50,
             "steps": [{"receive": {"channel": "c", "bytes": 10}}, {"semaphore_post": "s"}]},
            {"name": "none", "repeat": 2, "steps": [{"sleep_us": 100}]}]}),
    );
    let rounds = ["out", "in", "none"].map(|name| group(&played, name).rounds);
    assert_eq!(rounds, [50, 50, 2]);
    assert!(played.completion_ns.is_some());
}

#[test]
fn the_cpu_times_of_their_tasks_are_known() {
    let hogs =
        |name: &str| json!({"name": name, "session": name, "count": 2, "steps": [{"run_us": 100}]});
    let played = played(Some(100_000), json!({"task": [hogs("a"), hogs("b")]}));
    for name in ["a", "b"] {
        let hogs = group(&played, name);
        let each = hogs.cpu_ns.as_ref().expect("they were read");
        assert!(each.len() == 2 && each.iter().all(|&ns| ns > 0), "{each:?}");
        assert!(hogs.rounds > 0 && hogs.usage[0] > 0, "{hogs:?}");
    }
}

#[test]
fn their_tasks_fork_and_what_they_fork_ends_with_the_trial() {
    let fork = |name: &str, more: Value| {
        json!({"name": name, "session": "a", "repeat": 1,
               "steps": [{"fork": {"task": name.to_owned() + "_child", "count": 3}}, more]})
    };
    let played = played(
        Some(100_000),
        json!({"task": [
            fork("waits", json!("wait_children")), fork("goes", json!("yield")),
            {"name": "waits_child", "template": true, "steps": [{"run_us": 100}]},
            {"name": "goes_child", "template": true, "steps": [{"sleep_us": 60_000_000}]}]}),
    );
    let (waits, goes) = (group(&played, "waits_child"), group(&played, "goes_child"));
    assert_eq!((waits.tasks, waits.rounds, goes.tasks, goes.rounds), (3, 3, 3, 0));
}

#[test]
fn a_fault_of_a_task_in_a_session_ends_the_trial() {
    let steps = json!([{"policy": {"class": "deadline", "runtime_us": 900_000,
        "deadline_us": 1_000_000, "period_us": 1_000_000}}]);
    let task = json!({"name": "t", "session": "a", "count": 100, "steps": steps});
    let error = in_sessions(Some(60_000_000), json!({"task": [task]})).expect_err("it is refused");
    assert!(error.to_string().contains("a task of `t` could not go on: its policy"), "{error}");
}

#[test]
fn a_program_is_in_its_session() {
    let command = json!(["cat", "/proc/self/stat"]);
    let program = json!({"command": command, "parser": "none", "session": "b"});
    let sleeper = json!({"name": "t", "session": "b", "steps": [{"sleep_us": 100}]});
    let played = played(None, json!({"program": program, "task": [sleeper]}));
    let stat = played.program.expect("it has ended").stdout;
    let fields: Vec<&str> = stat.split(' ').collect();
    // SAFETY: no pointers.
    let own = unsafe { libc::getsid(0) }.to_string();
    let (pid, group, session) = (fields[0], fields[4], fields[5]);
    assert!(group == pid && session != pid && session != own, "{stat}");
}
