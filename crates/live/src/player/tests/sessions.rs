// SPDX-License-Identifier: GPL-2.0-only
//! Tasks in sessions of their own, which are processes.
//!
//! Tapes, played for real.

use model::tape::{Recorded, TapesText};

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
    testing::alone!();
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
    testing::alone!();
    let hogs =
        |name: &str| json!({"name": name, "session": name, "count": 2, "steps": [{"run_us": 100}]});
    let played = played(Some(400_000), json!({"task": [hogs("a"), hogs("b")]}));
    for name in ["a", "b"] {
        let hogs = group(&played, name);
        let each = hogs.cpu_ns.as_ref().expect("they were read");
        assert!(each.len() == 2 && each.iter().all(|&ns| ns > 0), "{each:?}");
        assert!(hogs.rounds > 0 && hogs.usage[0] > 0, "{hogs:?}");
    }
}

#[test]
fn their_tasks_fork_and_what_they_fork_ends_with_the_trial() {
    testing::alone!();
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
    testing::alone!();
    let steps = json!([{"policy": {"class": "deadline", "runtime_us": 900_000,
        "deadline_us": 1_000_000, "period_us": 1_000_000}}]);
    let task = json!({"name": "t", "session": "a", "count": 100, "steps": steps});
    let error = in_sessions(Some(60_000_000), json!({"task": [task]})).expect_err("it is refused");
    assert!(error.to_string().contains("a task of `t` could not go on: its policy"), "{error}");
}

#[test]
fn a_program_is_in_its_session() {
    testing::alone!();
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

/// Plays tapes: the first one's task is the group `maker`, all others' are the group `made`.
fn tapes(duration_us: Option<u64>, made: u32, text: &str) -> Played {
    let (mut look, mut never) = (|| true, || {});
    play_tapes(duration_us, made, text, options(&mut look, &mut never))
}

fn play_tapes(duration_us: Option<u64>, made: u32, text: &str, options: Options) -> Played {
    let tasks = json!([
        {"name": "maker", "repeat": 1, "steps": ["tape"]},
        {"name": "made", "count": made, "repeat": 1, "steps": ["tape"]},
    ]);
    let workload = json!({"name": "test", "duration_us": duration_us, "task": tasks});
    let mut workload: Workload = serde_json::from_value(workload).expect("a workload");
    let text = TapesText(Some(text.into()));
    workload.recording = Some(Recorded { text, ..Recorded::default() });
    play(&workload, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn made_threads_play_and_make_others() {
    testing::alone!();
    let text = "task 1 maker\nr300000 f1 r100000 f2 w2 r100000\n\
                task 2 made\nw0 r200000\n\
                task 3 made\nw0 r300000 f3 w3 p0\n\
                task 4 made\nw2 r100000 p2\n";
    let played = tapes(None, 3, text);
    let made = group(&played, "made");
    assert_eq!((made.tasks, made.rounds, made.turnaround.count), (3, 3, 3));
    let used = made.cpu_ns.as_ref().expect("CPU times");
    assert!(used.iter().all(|ns| *ns > 0), "{used:?}");
    assert!(played.completion_ns.is_some_and(|ns| ns <= played.run_ns));
}

#[test]
fn many_threads_are_made_and_leave() {
    testing::alone!();
    let forks: String = (1..=300).map(|tape| format!("f{tape} ")).collect();
    let children = "task 2 made\nw0 r1000\n".repeat(300);
    let played = tapes(None, 300, &format!("task 1 maker\n{forks}\n{children}"));
    assert_eq!(group(&played, "made").rounds, 300);
}

#[test]
fn what_is_not_made_in_time_is_no_task() {
    testing::alone!();
    let text = "task 1 maker\nu10000000000 f1\ntask 2 made\nw0 r1\n";
    let played = tapes(Some(20_000), 1, text);
    let made = group(&played, "made");
    assert_eq!((made.tasks, made.rounds, made.cpu_ns.as_deref()), (0, 0, Some(&[][..])));
    assert_eq!(group(&played, "maker").tasks, 1);
}

#[test]
fn messages_of_many_senders_are_handled_as_they_come() {
    testing::alone!();
    const SENDERS: usize = 4;
    const MESSAGES: usize = 200;
    // The reader's tape has the senders one after the other, and a wait in the midst of them.
    let sends = |sender: usize| format!("task {sender} made\n{}\n", "r2000 p0.1 ".repeat(MESSAGES));
    let read = |sender: usize| format!("m{sender}.1 r1000 ").repeat(MESSAGES);
    let reads: String = (1..=SENDERS).map(read).collect();
    let senders: String = (1..SENDERS).map(sends).collect();
    let last = format!("task {SENDERS} made\nr1000 p0 {}\n", "r2000 p0.1 ".repeat(MESSAGES));
    let text = format!("task 0 maker\n{reads} w{SENDERS} r1000\n{senders}{last}");
    let played = tapes(None, SENDERS as u32, &text);
    assert_eq!((group(&played, "maker").rounds, group(&played, "made").rounds), (1, 4));
}

#[test]
fn a_sender_waits_for_room() {
    testing::alone!();
    let text = "task 1 maker\nf1 p1.1 b1.1 p1.1 r1000\n\
                task 2 made\nw0 u60000000 m0.1 p0.1 m0.1\n";
    let played = tapes(None, 1, text);
    let took = &group(&played, "maker").turnaround;
    assert!(took.min >= 50_000_000, "{took:?}");
}

#[test]
fn a_task_yields_until_another_one_is_ready() {
    testing::alone!();
    let text = "task 1 maker\nf1 l1.1000 r1000\ntask 2 made\nw0 u60000000 p0\n";
    let played = tapes(None, 1, text);
    let took = &group(&played, "maker").turnaround;
    assert!(took.min >= 50_000_000, "{took:?}");
}

#[test]
fn a_tape_begins_again_until_the_time_is_over() {
    testing::alone!();
    // Its second wait has no post, because the maker does not begin again. A busy host leaves time
    // for a few rounds of more than a hundred.
    let text = "task 1 maker\nf1 p1\ntask 2 made\nw0 w0 r1000 u3000000 r1000 a\n";
    let played = tapes(Some(500_000), 1, text);
    let made = group(&played, "made");
    assert!(made.rounds > 4, "stretches of computing: {}", made.rounds);
    assert_eq!(made.turnaround.count, 0, "it has no other end");
}

/// The nice values of this process's threads, the 19th field of proc(5)'s `stat`.
fn nice_values() -> Vec<i32> {
    let threads = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
    let stats =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(|stat| stat.rsplit_once(") ")?.1.split(' ').nth(16)?.parse().ok()).collect()
}

#[test]
fn a_tape_changes_its_tasks_nice_value() {
    testing::alone!();
    let seen =
        (0..10).map(|_| nice_values_of_a_tape()).find(|seen| has_both(seen)).unwrap_or_default();
    assert!(has_both(&seen), "in none of ten tries");
}

fn has_both(seen: &[i32]) -> bool {
    seen.contains(&17) && seen.contains(&18)
}

/// What a look at the tasks finds now and then: on a busy host it may come between them.
fn nice_values_of_a_tape() -> Vec<i32> {
    let mut seen = Vec::new();
    let mut look = || {
        seen.extend(nice_values());
        true
    };
    let (mut always, mut never) = (|| true, || {});
    let mut options = options(&mut always, &mut never);
    options.periodic = Periodic::new(199, 2_000_000_000, &mut look);
    let text = "task 1 maker\nr1000 n17 f1 u100000000\ntask 2 made\nw0 n18 u100000000\n";
    play_tapes(None, 1, text, options);
    seen
}
