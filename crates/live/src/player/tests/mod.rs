// SPDX-License-Identifier: GPL-2.0-only
//! Every kind of step, played for real. What is asserted is order and number, not speed: the
//! machine may be busy.

use std::time::{Duration, Instant};

use model::play::Setting;
use model::{Policy, Seed, Workload};
use serde_json::{Value, json};

use super::*;

mod rtapp_steps;
mod sessions;

fn try_play(workload: Value) -> Result<Played, PlayError> {
    let workload: Workload = serde_json::from_value(workload).expect("a workload");
    play(&workload, options(&mut || true, &mut || {}))
}

fn options<'a>(
    interlude: &'a mut dyn FnMut() -> bool,
    on_interrupt: &'a mut dyn FnMut(),
) -> Options<'a> {
    Options {
        setting: Setting { policy: Policy::default(), seed: Seed(1), cpus: 1_024 },
        folder: None,
        busy: BusyLoop::timed(busy::calibrate() / 4),
        control_groups: None,
        probes: None,
        on_interrupt,
        periodic: Periodic::new(0, 0, interlude),
    }
}

fn play_tasks(duration_us: Option<u64>, channels: Value, tasks: Value) -> Played {
    let workload =
        json!({"name": "test", "duration_us": duration_us, "channel": channels, "task": tasks});
    try_play(workload).unwrap_or_else(|error| panic!("{error}"))
}

fn finite(tasks: Value) -> Played {
    play_tasks(None, json!([]), tasks)
}

/// What `play` gives in the first of ten tries that fits, else in the last one: a busy host holds
/// up some tries, and a player that keeps the wrong time fits in none.
fn first_that_fits(play: impl Fn() -> Played, fits: impl Fn(&Played) -> bool) -> Played {
    (1..10).map(|_| play()).find(&fits).unwrap_or_else(&play)
}

fn group<'a>(played: &'a Played, name: &str) -> &'a GroupPlayed {
    played.groups.iter().find(|group| group.name == name).expect("the group")
}

#[test]
fn a_join_waits_for_the_end_of_every_task() {
    let join = |group: &str| json!({"within": {"us": 8_000, "steps": [{"join": group}]}});
    let tasks = json!([
        {"name": "main", "repeat": 1, "steps": [join("sleeper"), {"join": "parent"}]},
        {"name": "sleeper", "count": 3, "repeat": 2, "steps": [{"sleep_us": 5_000}]},
        {"name": "second", "repeat": 1, "steps": [{"join": "leaver"}]},
        {"name": "leaver", "steps": [{"sleep_us": 1_000}, "exit"]},
        {"name": "parent", "repeat": 1, "steps": [{"fork": {"task": "child"}}, "wait_children"]},
        {"name": "child", "template": true, "steps": [{"sleep_us": 1_000}]},
    ]);
    // One that begins late sees the end of tasks that began in time sooner.
    let is_in_time = |played: &Played| group(played, "main").timeouts == 1;
    let played = first_that_fits(|| finite(tasks.clone()), is_in_time);
    assert_eq!(group(&played, "main").timeouts, 1);
    assert_eq!((group(&played, "main").rounds, group(&played, "second").rounds), (1, 1));
}

#[test]
fn tasks_clamp_their_utilisation_where_the_kernel_can() {
    let steps = json!([{"uclamp": {"max": 512}}, {"fork": {"task": "child"}}, "wait_children"]);
    let played = finite(json!([
        {"name": "t", "repeat": 2, "uclamp": {"min": 5, "max": 256}, "steps": steps},
        {"name": "child", "template": true, "uclamp": {"min": 9}, "steps": [{"run_us": 10}]},
    ]));
    assert_eq!((group(&played, "t").rounds, group(&played, "child").rounds), (2, 2));
}

#[test]
fn spans_hold_waiting_and_count_who_is_too_late() {
    let task = |name: &str, us: u64, limit_us: u64| {
        json!({"name": name, "repeat": 5, "steps": [
            {"within": {"us": limit_us, "steps": [{"sleep_us": us}]}}]})
    };
    let played = finite(json!([task("late", 2_000, 1_999), task("calm", 2_000, 60_000_000)]));
    let (late, calm) = (group(&played, "late"), group(&played, "calm"));
    assert!(late.has_spans && late.span.count == 5 && late.span.min >= 1_998_000, "{late:?}");
    assert_eq!((late.timeouts, calm.timeouts, calm.span.count), (5, 0, 5));
}

#[test]
fn spans_that_the_end_finds_unfinished_count_if_they_are_too_old() {
    let task = |name: &str, limit_us: u64| {
        json!({"name": name, "steps": [
            {"within": {"us": limit_us, "steps": [{"suspend": "x"}]}}, {"resume": "x"}]})
    };
    // Long enough that a busy machine starts the tasks well before the end.
    let played = play_tasks(
        Some(300_000),
        json!([]),
        json!([task("old", 10_000), task("young", 60_000_000)]),
    );
    let (old, young) = (group(&played, "old"), group(&played, "young"));
    assert_eq!((old.timeouts, old.span.count), (1, 1));
    assert!((10_000_000..=played.run_ns).contains(&old.span.max), "{old:?}");
    assert_eq!((young.timeouts, young.span.count), (0, 0));
}

#[test]
fn large_messages_are_cut_and_joined() {
    for socket in [false, true] {
        let send = json!({"channel": "c", "bytes": 300_000});
        let receive = json!({"channel": "c", "bytes": 200_000});
        let played = play_tasks(
            None,
            json!([{"name": "c", "count": 1, "socket": socket}]),
            json!([{"name": "out", "repeat": 2, "steps": [{"send": send}]},
                   {"name": "in", "repeat": 3, "steps": [{"receive": receive}]}]),
        );
        assert_eq!(group(&played, "in").rounds, 3);
    }
}

#[test]
fn conditions_hand_the_work_over() {
    let turn = json!([{"lock": "l"}, {"sync": {"condition": "c", "lock": "l"}}, {"unlock": "l"}]);
    let played = play_tasks(
        Some(60_000),
        json!([]),
        json!([{"name": "a", "steps": turn}, {"name": "b", "steps": turn}]),
    );
    let (a, b) = (group(&played, "a").rounds, group(&played, "b").rounds);
    assert!(a > 2 && a.abs_diff(b) <= 1, "{a} {b}");
}

#[test]
fn signals_and_broadcasts_wake_waiters() {
    let wait = json!([{"lock": "l"}, {"wait": {"condition": "c", "lock": "l"}}, {"unlock": "l"}]);
    let played = finite(json!([
        {"name": "waiter", "count": 4, "repeat": 3, "steps": wait},
        {"name": "caller", "steps": [
            {"lock": "l"}, {"broadcast": "c"}, {"unlock": "l"}, {"sleep_us": 500}]},
    ]));
    assert_eq!(group(&played, "waiter").rounds, 12);
    let played = finite(json!([
        {"name": "waiter", "count": 4, "repeat": 3, "steps": wait},
        {"name": "caller", "steps": [{"signal": "c"}, {"sleep_us": 200}]},
    ]));
    assert_eq!(group(&played, "waiter").rounds, 12);
}

#[test]
fn suspended_tasks_sleep_until_resumed() {
    let played = finite(json!([
        {"name": "sleeper", "count": 2, "steps": [{"suspend": ""}]},
        {"name": "waker", "repeat": 100, "steps": [{"sleep_us": 500}, {"resume": "sleeper"}]},
    ]));
    assert!((1..=200).contains(&group(&played, "sleeper").rounds));
}

#[test]
fn running_uses_cpu_time_and_sleeping_does_not() {
    let played = finite(json!([
        {"name": "runner", "repeat": 1, "steps": [{"run_us": 20_000}]},
        {"name": "until", "repeat": 1, "steps": [{"run_until_us": 5_000}]},
        {"name": "sleeper", "repeat": 1, "steps": [{"sleep_us": 20_000}]},
    ]));
    let cpu_ns = |name| group(&played, name).cpu_ns.as_ref().expect("they are known")[0];
    assert!(cpu_ns("runner") > 2 * cpu_ns("sleeper"), "{played:?}");
    assert!(group(&played, "sleeper").turnaround.min >= 20_000_000);
    assert!(group(&played, "until").turnaround.min >= 5_000_000);
}

#[test]
fn timers_release_on_their_grid() {
    let tasks =
        json!([{"name": "tick", "steps": [{"timer": {"period_us": 10_000}}, {"run_us": 100}]}]);
    // Releases 1 … 19 have their deadlines inside; a busy machine may end the trial a little late.
    let played = first_that_fits(
        || play_tasks(Some(200_000), json!([]), tasks.clone()),
        |played| (19..=22).contains(&group(played, "tick").deadlines),
    );
    let tick = group(&played, "tick");
    assert!((19..=22).contains(&tick.deadlines), "{tick:?}");
    assert!(tick.deadlines_missed <= tick.deadlines);
    // A starved task sees fewer releases, but then it has missed the others.
    let seen = tick.timer_lateness.count;
    assert!(seen > 0 && seen >= tick.deadlines - tick.deadlines_missed, "{tick:?}");
    assert!(tick.timer_lateness.is_complete() && tick.response_time.is_complete());
}

#[test]
fn dropped_frames_are_counted() {
    let frame = |skip: bool| {
        json!([{"name": "frame", "steps": [
            {"timer": {"period_us": 10_000, "skip": skip}}, {"run_until_us": 25_000}]}])
    };
    let dropped = first_that_fits(
        || play_tasks(Some(200_000), json!([]), frame(true)),
        |played| (19..=22).contains(&group(played, "frame").deadlines),
    );
    let frame_group = group(&dropped, "frame");
    assert!((19..=22).contains(&frame_group.deadlines), "{frame_group:?}");
    assert_eq!(frame_group.deadlines_missed, frame_group.deadlines);
    let caught_up = play_tasks(Some(200_000), json!([]), frame(false));
    let late = &group(&caught_up, "frame").timer_lateness;
    // Without skipping, every job after the first begins at least 15 ms after its release.
    assert!(late.count == 1 || late.max >= 15_000_000, "{late:?}");
}

#[test]
fn files_are_written_and_read() {
    let played = finite(json!([{"name": "io", "count": 2, "repeat": 3, "steps": [
        {"write_file": {"bytes": 100_000, "sync": true}}, {"read_file": {"bytes": 250_000}}]}]));
    assert_eq!(group(&played, "io").rounds, 6);
    assert!(group(&played, "io").cpu_ns.iter().flatten().all(|&ns| ns > 0));
}

#[test]
fn forked_processes_are_counted_and_waited_for() {
    let played = finite(json!([
        {"name": "shell", "repeat": 5, "steps": [
            {"fork": {"task": "job", "count": 3}}, "wait_children"]},
        {"name": "job", "template": true, "steps": [
            {"run_us": 200}, {"fork": {"task": "leaf"}}, "wait_children", {"semaphore_post": "s"}]},
        {"name": "leaf", "template": true, "steps": [{"write_file": {"bytes": 10}}]},
        {"name": "taker", "repeat": 15, "steps": [{"semaphore_wait": "s"}]},
    ]));
    let job = group(&played, "job");
    assert_eq!((job.tasks, job.rounds, job.turnaround.count), (15, 15, 15));
    assert!(job.forked_cpu_ns > 0 && job.turnaround.is_complete());
    assert_eq!(group(&played, "leaf").tasks, 15);
}

#[test]
fn exec_starts_a_program_that_exits_at_once() {
    let status =
        std::process::Command::new("/proc/self/exe").arg(children::EXIT_NOW).output().unwrap();
    assert!(status.status.success() && status.stdout.is_empty(), "{status:?}");
    let played = finite(json!([
        {"name": "shell", "repeat": 3, "steps": [
            {"fork": {"task": "cc", "count": 2}}, "wait_children"]},
        {"name": "cc", "template": true, "steps": [{"run_us": 10}, "exec"]},
    ]));
    let cc = group(&played, "cc");
    assert_eq!((cc.tasks, cc.rounds, cc.execs), (6, 6, true));
    assert_eq!(cc.turnaround.count, 0, "their end is not seen");
}

#[test]
fn whatever_tasks_wait_for_the_trial_ends() {
    let began = Instant::now();
    let played = play_tasks(
        Some(50_000),
        json!([{"name": "empty", "count": 1}, {"name": "full", "count": 1}]),
        json!([
            {"name": "hog", "count": 4, "steps": [{"run_us": 1_000_000_000}]},
            {"name": "until", "steps": [{"run_until_us": 1_000_000_000}]},
            {"name": "spin", "steps": [{"run_us": 0}]},
            {"name": "sleep", "steps": [{"sleep_us": 1_000_000_000}]},
            {"name": "delayed", "delay_us": 1_000_000_000, "steps": [{"run_us": 0}]},
            {"name": "timer", "steps": [{"timer": {"period_us": 1_000_000_000}}]},
            {"name": "deadlock", "steps": [{"lock": "l"}]},
            {"name": "wait", "steps": [{"lock": "m"}, {"wait": {"condition": "c", "lock": "m"}}]},
            {"name": "barrier", "repeat": 1, "count": 2, "steps": [{"barrier": "b"}]},
            {"name": "absent", "steps": [{"sleep_us": 1_000_000_000}, {"barrier": "b"}]},
            {"name": "suspend", "steps": [{"suspend": ""}]},
            {"name": "semaphore", "steps": [{"semaphore_wait": "s"}]},
            {"name": "receive", "steps": [{"receive": {"channel": "empty", "bytes": 1}}]},
            {"name": "send", "steps": [{"send": {"channel": "full", "bytes": 100_000}}]},
            {"name": "parent", "steps": [{"fork": {"task": "stuck"}}, "wait_children"]},
            {"name": "stuck", "template": true, "steps": [
                {"fork": {"task": "hung"}}, {"sleep_us": 1_000_000_000}]},
            {"name": "hung", "template": true, "steps": [
                {"receive": {"channel": "empty", "bytes": 1}}]},
        ]),
    );
    let over = began.elapsed().saturating_sub(Duration::from_nanos(played.run_ns));
    assert!(over < Duration::from_secs(20), "they wait for 1,000 s: {over:?}");
    assert_eq!(played.completion_ns, None, "the barrier's tasks have not ended");
    // Under these hogs the processes may not have come far, but they have been ended.
    assert!(group(&played, "parent").rounds == 0 && group(&played, "hung").tasks <= 1);
}

#[test]
fn policies_are_set_or_the_refusal_is_explained() {
    let deadline = json!({"class": "deadline", "runtime_us": 1_000, "period_us": 100_000});
    let result = try_play(json!({"name": "w", "task": [
        {"name": "fifo", "repeat": 2, "policy": {"class": "fifo", "priority": 10},
         "steps": [{"run_us": 0}]},
        {"name": "rr", "repeat": 2, "policy": {"class": "rr", "priority": 98}, "steps": ["yield"]},
        {"name": "deadline", "repeat": 2, "policy": deadline, "steps": [{"run_us": 50}]},
        {"name": "batch", "repeat": 2, "policy": {"class": "batch", "nice": 3},
         "steps": [{"nice": 5}]},
        {"name": "idle", "repeat": 2, "policy": {"class": "idle"}, "steps": [{"run_us": 50}]},
        {"name": "other", "repeat": 2, "affinity": [0], "steps": [
            {"policy": {"class": "batch"}}, {"affinity": [0]}, "yield"]},
    ]}));
    match result {
        Ok(played) => assert!(played.groups.iter().all(|group| group.rounds == 2), "{played:?}"),
        Err(error) => {
            assert!(!crate::facts::is_root() && error.to_string().contains("root"), "{error}")
        }
    }
}

#[test]
fn what_the_machine_cannot_do_is_unsupported() {
    let too_much = json!({"class": "deadline", "runtime_us": 99_999, "period_us": 100_000});
    for (policy, affinity) in [(too_much, json!([])), (json!({"class": "other"}), json!([1023]))] {
        let error = try_play(json!({"name": "w", "task": [{"name": "g", "count": 400, "repeat": 1,
            "policy": policy, "affinity": affinity, "steps": [{"run_us": 0}]}]}));
        assert!(matches!(error, Err(PlayError::Unsupported(_))), "{error:?}");
    }
    let endless = try_play(json!({"name": "w", "task": [{"name": "g", "steps": [{"run_us": 0}]}]}));
    assert!(endless.unwrap_err().to_string().contains("duration_us"));
}

#[test]
fn a_program_runs_beside_tasks_and_ends_the_run() {
    let program = json!({"command": ["sh", "-c", "sleep 0.05; echo done"], "parser": "none"});
    let workload = json!({"name": "w", "program": program, "task": [
        {"name": "hog", "steps": [{"run_us": 1_000}]}]});
    let played = try_play(workload).unwrap();
    let program = played.program.as_ref().unwrap();
    assert_eq!((program.stdout.as_str(), program.code, program.stopped), ("done\n", 0, false));
    assert!(played.run_ns >= 50_000_000 && program.run_ns <= played.run_ns);
    let program = json!({"command": ["sleep", "100"], "parser": "none"});
    let played = try_play(json!({"name": "w", "duration_us": 50_000, "program": program})).unwrap();
    assert!(played.program.unwrap().stopped);
}

#[test]
fn starved_tasks_have_their_cpu_time_read_from_outside() {
    let played = play_tasks(
        Some(50_000),
        json!([]),
        json!([{"name": "hog", "count": 4, "affinity": [0], "steps": [{"run_us": 1_000_000}]}]),
    );
    let total: u64 = group(&played, "hog").cpu_ns.iter().flatten().sum();
    assert!(total > 0 && total <= played.run_ns + 20_000_000, "{total}");
}
