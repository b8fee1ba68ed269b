// SPDX-License-Identifier: GPL-2.0-only
//! What each step of a workload means, in time.

use std::rc::Rc;

use crate::common::reference::{Fifo, Vtime};
use crate::common::{cpu_ms, ran, run_fifo as run, trial, value};
use model::trace::What;
use model::{InterruptLoad, Workload};
use serde_json::json;

#[test]
fn runs_and_sleeps_take_their_time() {
    let tasks = json!([
        {"name": "a", "steps": [{"run_us": 200}, {"sleep_us": 700}]}]);
    let record = run(&trial(1, 10, tasks));
    assert_eq!(value(&record, "iterations_per_second", "a"), 1_100.0);
    assert_eq!(value(&record, "cpu_time_ns", "a"), 2.3e6);
    assert_eq!(value(&record, "user_time_ns", "a"), 2.3e6);
    assert_eq!(value(&record, "voluntary_switches", "a"), 11.0);
    assert_eq!(ran(&record, "a")[1], (900, 1_100));
}

#[test]
fn loops_and_run_until() {
    let tasks = json!([{"name": "a", "repeat": 1, "steps": [
        {"loop": {"count": 3, "steps": [
            {"loop": {"count": 2, "steps": [{"run_us": 100}]}}, {"sleep_us": 100}]}},
        {"run_until_us": 400}]}]);
    let record = run(&trial(1, 10, tasks));
    assert_eq!(cpu_ms(&record, "a"), 1);
    let turnaround = record.measured.histogram("turnaround_ns", "a").unwrap();
    assert_eq!(turnaround.max, 1_300_000);
    assert_eq!(value(&record, "completion_ns", "all"), 1.3e6);
}

#[test]
fn interrupts_delay_who_runs_on_their_cpu() {
    let job = |name: &str, cpu: u32| json!({"name": name, "repeat": 1, "affinity": [cpu], "steps": [{"run_us": 7_000}]});
    let mut trial = trial(2, 20, json!([job("there", 0), job("elsewhere", 1)]));
    let load = InterruptLoad { every_us: 1_000, length_us: 300, cpus: vec![0] };
    trial.workload = Workload { interrupts: vec![load], ..(*trial.workload).clone() }.into();
    let record = run(&trial);
    let took_ns = |group| record.measured.histogram("turnaround_ns", group).unwrap().max;
    assert_eq!(took_ns("elsewhere"), 7_000_000);
    // The phase decides whether the last interrupt comes before the job's end.
    assert!([9_700_000, 10_000_000].contains(&took_ns("there")), "{}", took_ns("there"));
    assert_eq!(value(&record, "cpu_time_ns", "there"), took_ns("there") as f64);
    assert_eq!(value(&record, "user_time_ns", "there"), 7e6);
}

#[test]
fn a_lock_admits_one_at_a_time() {
    let steps = json!([{"lock": "l"}, {"run_us": 1_000}, {"sleep_us": 500}, {"unlock": "l"}]);
    let record =
        run(&trial(4, 20, json!([{"name": "a", "count": 4, "repeat": 1, "steps": steps}])));
    let turnaround = record.measured.histogram("turnaround_ns", "a").unwrap();
    assert_eq!((turnaround.count, turnaround.max), (4, 6_000_000));
}

#[test]
fn conditions_barriers_and_semaphores() {
    let tasks = json!([
        {"name": "waiter", "repeat": 1,
         "steps": [{"lock": "l"}, {"wait": {"condition": "c", "lock": "l"}}, {"unlock": "l"},
                   {"semaphore_post": "s"}, {"barrier": "b"}, {"suspend": ""}]},
        {"name": "signaller", "repeat": 1,
         "steps": [{"sleep_us": 2_000}, {"lock": "l"}, {"signal": "c"}, {"unlock": "l"},
                   {"semaphore_wait": "s"}, {"sleep_us": 3_000}, {"barrier": "b"},
                   {"sleep_us": 1_000}, {"resume": "waiter"}]}]);
    let record = run(&trial(2, 50, tasks));
    assert_eq!(value(&record, "completion_ns", "all"), 6e6);
}

/// The kernel time that `steps` cost their task more while a task with the steps `other` is there.
fn kernel_time_because_of(other: serde_json::Value, steps: serde_json::Value) -> f64 {
    let late = json!({"name": "late", "repeat": 1, "delay_us": 100, "steps": steps});
    let system_time = |tasks| {
        let mut trial = trial(1, 10, tasks);
        trial.machine.costs.syscall_ns = 1_000;
        value(&run(&trial), "system_time_ns", "late")
    };
    // Who ends last makes one call more.
    let last = json!({"name": "last", "repeat": 1, "delay_us": 5_000, "steps": [{"run_us": 1}]});
    let nobody = json!({"name": "nobody", "repeat": 1, "steps": [{"sleep_us": 1}]});
    system_time(json!([other, late, last])) - system_time(json!([nobody, late, last]))
}

/// A woken task counts as a waiter until it has run, as with the player's semaphore.
#[test]
fn a_post_is_a_system_call_until_the_woken_waiter_has_run() {
    let waiter = json!({"name": "waiter", "repeat": 1, "steps": [{"semaphore_wait": "s"}]});
    let post = json!([{"run_us": 1}, {"semaphore_post": "s"}]);
    let posts = json!([{"loop": {"count": 10, "steps": post}}]);
    assert_eq!(kernel_time_because_of(waiter, posts), 10_000.0);
}

/// As the player's mutex: a release wakes one waiter; a task that takes the lock before that one has
/// run releases it for nothing.
#[test]
fn a_release_is_a_system_call_only_if_somebody_wanted_the_lock_meanwhile() {
    let waiter = json!({"name": "waiter", "repeat": 1, "delay_us": 120,
        "steps": [{"lock": "l"}, {"unlock": "l"}]});
    let again = json!([{"lock": "l"}, {"run_us": 1}, {"unlock": "l"}]);
    let steps = json!([{"lock": "l"}, {"sleep_us": 50}, {"unlock": "l"},
        {"loop": {"count": 9, "steps": again}}]);
    assert_eq!(kernel_time_because_of(waiter, steps), 1_000.0);
}

#[test]
fn who_stands_for_the_kernel_pays_less_for_callbacks() {
    let mut trial = trial(1, 50, crate::common::hogs_and_sleepers(1));
    trial.machine.costs.callback_ns = 1_000;
    let program_ns = value(&run(&trial), "system_time_ns", "hog");
    trial.contestant.stands_for_kernel = true;
    let own_ns = value(&run(&trial), "system_time_ns", "hog");
    assert!(own_ns > 0.0 && own_ns < 0.6 * program_ns, "{own_ns} ns, not {program_ns} ns");
}

#[test]
fn forks_make_processes_that_are_waited_for() {
    let tasks = json!([
        {"name": "make", "repeat": 1, "steps": [{"fork": {"task": "job", "count": 4}}, "wait_children"]},
        {"name": "job", "template": true, "steps": [{"run_us": 1_000}, {"fork": {"task": "leaf"}}, "wait_children"]},
        {"name": "leaf", "template": true, "steps": [{"run_us": 500}, "exec"]}]);
    let mut trial = trial(2, 50, tasks);
    trial.workload.duration_us = None;
    let record = run(&trial);
    let tasks = ["make", "job", "leaf"].map(|group| value(&record, "tasks", group));
    assert_eq!(tasks, [1.0, 4.0, 4.0]);
    assert_eq!(value(&record, "completion_ns", "all"), 3e6);
    assert_eq!(cpu_ms(&record, "job"), 4);
}

#[test]
fn a_disk_serves_one_request_after_the_other() {
    let tasks = json!([{"name": "a", "count": 3, "repeat": 1,
        "steps": [{"write_file": {"bytes": 1024, "sync": true}}]}]);
    let mut trial = trial(1, 50, tasks);
    (trial.machine.costs.disk_access_ns, trial.machine.costs.disk_kib_ns) = (900_000, 100_000);
    let record = run(&trial);
    assert_eq!(record.measured.histogram("turnaround_ns", "a").unwrap().max, 3_000_000);
}

#[test]
fn writing_to_memory_is_work_and_to_null_is_calls() {
    let memory = json!({"write_memory": {"bytes": 1_048_576, "buffer": 4_096}});
    let mut two = trial(1, 100, json!([{"name": "a", "count": 2, "steps": [memory]}]));
    two.machine.costs.fill_kib_ns = 1_000;
    // A tick ends the slice of one of them in the middle of a step of 1.024 ms.
    let record = run(&two);
    assert_eq!(cpu_ms(&record, "a"), 100);
    assert!(value(&record, "involuntary_switches", "a") > 3.0);
    let discard = json!({"write_null": {"bytes": 10_001, "buffer": 1_000}});
    let mut calls = trial(1, 100, json!([{"name": "a", "repeat": 1, "steps": [discard]}]));
    (calls.workload.duration_us, calls.machine.costs.syscall_ns) = (None, 500);
    let turnaround = run(&calls).measured.histogram("turnaround_ns", "a").unwrap().max;
    // Eleven calls, and those at the start.
    assert!((5_500..9_000).contains(&turnaround), "{turnaround}");
}

#[test]
fn a_late_job_of_a_relative_timer_is_followed_at_once() {
    let steps = json!([{"timer": {"period_us": 2_000, "relative": true}}, {"run_us": 3_000}]);
    let mut late = trial(1, 100, json!([{"name": "a", "repeat": 4, "steps": steps}]));
    late.workload.duration_us = None;
    let record = run(&late);
    assert_eq!(record.measured.histogram("turnaround_ns", "a").unwrap().max, 14_000_000);
    assert_eq!(value(&record, "deadlines", "a"), 4.0);
    assert_eq!(value(&record, "deadlines_missed", "a"), 4.0);
}

#[test]
fn tasks_take_the_releases_of_a_shared_timer_in_turns() {
    let timer = json!({"timer": {"period_us": 1_000, "name": "tick", "shared": true}});
    let tasks = json!([
        {"name": "a", "count": 2, "repeat": 2, "steps": [timer]},
        {"name": "b", "repeat": 2, "steps": [timer]}]);
    let mut turns = trial(2, 100, tasks);
    turns.workload.duration_us = None;
    let record = run(&turns);
    let ends = |group: &str| record.measured.histogram("turnaround_ns", group).unwrap().max;
    // Six releases; each task gets every third one.
    assert_eq!(ends("a").max(ends("b")), 6_000_000);
}

#[test]
fn timers_count_what_starvation_misses() {
    let player = json!({"name": "video", "steps": [
        {"run_us": 2_000}, {"timer": {"period_us": 10_000, "skip": true}}]});
    let hogs = json!({"name": "hog", "count": 3, "steps": [{"run_us": 50_000}]});
    let record = run(&trial(1, 1_000, json!([player, hogs])));
    // Slices of 20 ms: a frame every 60 ms or so is all that it gets.
    assert!(value(&record, "deadline_miss_ratio", "video") > 0.7);
    let alone = run(&trial(1, 1_000, json!([player])));
    assert_eq!(value(&alone, "deadlines_missed", "video"), 0.0);
    assert_eq!(value(&alone, "deadlines", "video"), 99.0);
    assert_eq!(alone.measured.histogram("response_time_ns", "video").unwrap().max, 2_000_000);
}

#[test]
fn spans_hold_waiting_and_count_who_is_too_late() {
    let task = |sleep_us: u64, limit_us: u64| {
        json!([{"name": "a", "steps": [
            {"within": {"us": limit_us, "steps": [{"run_us": 200}, {"sleep_us": sleep_us}]}},
            {"run_us": 100}]}])
    };
    let in_time = run(&trial(1, 10, task(700, 900)));
    let spans = in_time.measured.histogram("span_ns", "a").unwrap();
    assert_eq!((spans.count, spans.min, spans.max), (10, 900_000, 900_000));
    assert_eq!(value(&in_time, "timeouts", "a"), 0.0);
    assert_eq!(value(&in_time, "iterations_per_second", "a"), 1_000.0);
    let late = run(&trial(1, 10, task(700, 899)));
    assert_eq!(value(&late, "timeouts", "a"), 10.0);
    // The end of the trial finds a span of 4 ms: too old, or not yet.
    let open = |limit_us| {
        let record = run(&trial(1, 4, task(100_000, limit_us)));
        let spans = record.measured.histogram("span_ns", "a").unwrap();
        (spans.count, spans.max, value(&record, "timeouts", "a"))
    };
    assert_eq!(open(3_999), (1, 4_000_000, 1.0));
    assert_eq!(open(4_000), (0, 0, 0.0));
}

#[test]
fn frames_are_the_times_between_them() {
    let game = |last_us: u64| {
        json!([{"name": "game", "repeat": 1, "steps": [
            {"loop": {"count": 9, "steps": [{"run_us": 200}, {"sleep_us": 800}, "frame"]}},
            {"sleep_us": 2_600}, "frame", {"sleep_us": last_us}, "frame"]}])
    };
    let record = run(&trial(1, 20, game(100_000)));
    let frames = record.measured.histogram("frame_time_ns", "game").unwrap();
    // Eight of 1 ms, one of 2.6, and one that is unfinished after 8.4 ms.
    assert_eq!((frames.count, frames.min, frames.max), (10, 1_000_000, 8_400_000));
    assert_eq!(value(&record, "stutters", "game"), 2.0);
    assert_eq!(value(&record, "stutter_ratio", "game"), 0.2);
    let low = value(&record, "one_percent_low_fps", "game");
    assert!((low - 1e9 / 8.4e6).abs() < 0.2, "{low}");
    let shown = run(&trial(1, 20, game(1_000)));
    assert_eq!(shown.measured.histogram("frame_time_ns", "game").unwrap().max, 2_600_000);
    let hog =
        run(&trial(1, 20, json!([{"name": "game", "steps": [{"sleep_us": 90_000}, "frame"]}])));
    let waits = hog.measured.histogram("frame_time_ns", "game").unwrap();
    assert_eq!((waits.count, waits.max), (1, 20_000_000), "it has shown nothing yet");
}

#[test]
fn drawn_times_are_in_their_range_and_come_from_the_seed() {
    let work = json!([{"name": "a", "count": 2, "repeat": 50, "steps": [
        {"within": {"us": 1_000, "steps": [{"run_between_us": {"least": 100, "most": 300}}]}},
        {"sleep_us": 1_000}]}]);
    let spans = |seed: u64| {
        let record = run(&model::Trial { seed: model::Seed(seed), ..trial(2, 200, work.clone()) });
        record.measured.histogram("span_ns", "a").unwrap().clone()
    };
    let (one, two) = (spans(1), spans(2));
    assert_eq!(one.count, 100);
    assert!(one.min >= 100_000 && one.max <= 300_000, "{} … {}", one.min, one.max);
    assert!(one.max - one.min > 150_000, "they vary");
    assert_eq!(one, spans(1));
    assert_ne!(one, two);
}

#[test]
fn spans_nest_and_end_with_their_task() {
    let tasks = json!([{"name": "a", "repeat": 3, "steps": [
        {"within": {"us": 1_000, "steps": [
            {"within": {"us": 150, "steps": [{"run_us": 200}]}}, {"sleep_us": 300}, "exit"]}}]}]);
    let record = run(&trial(1, 10, tasks));
    let spans = record.measured.histogram("span_ns", "a").unwrap();
    assert_eq!((spans.count, spans.min, spans.max), (2, 200_000, 500_000));
    assert_eq!(value(&record, "timeouts", "a"), 1.0);
}

#[test]
fn shares_follow_weights_under_vtime() {
    let hog = |name: &str, nice: i32| {
        json!({"name": name, "count": 6, "policy": {"class": "other", "nice": nice},
               "steps": [{"run_us": 100_000}]})
    };
    let trial = trial(1, 20_000, json!([hog("strong", -5), hog("weak", 0)]));
    let record = crate::common::run(&trial, Rc::new(Vtime::default()));
    let (strong, weak) = (cpu_ms(&record, "strong") as f64, cpu_ms(&record, "weak") as f64);
    // Weights 3121 and 1024. With two tasks alone shares would be equal: at the end of a slice the
    // other one is the only one in the queue, as in the kernel.
    assert!((strong / weak - 3.05).abs() < 0.15, "{strong} {weak}");
}

#[test]
fn slow_cpus_take_longer() {
    let mut trial = trial(1, 50, json!([{"name": "a", "repeat": 1, "steps": [{"run_us": 1_000}]}]));
    trial.machine.capacity = vec![512];
    assert_eq!(value(&run(&trial), "completion_ns", "all"), 2e6);
}

#[test]
fn what_cannot_be_played_says_why() {
    let tasks = json!([{"name": "a", "steps": [{"fork": {"task": "x"}}]}]);
    let outcome = crate::common::run(&trial(1, 5, tasks), Rc::new(Fifo::default())).outcome;
    assert_eq!(outcome.word(), "unsupported");
    assert!(outcome.reason().contains("'x'"), "{outcome:?}");
}

#[test]
fn no_cpu_idles_while_work_waits() {
    for (cpus, hogs) in [(4, 5), (64, 65), (16, 40)] {
        let tasks = json!([{"name": "a", "count": hogs, "steps": [{"run_us": 100_000}]}]);
        let record = run(&trial(cpus, 200, tasks));
        assert_eq!(value(&record, "cpu_share", "a"), 1.0, "{hogs} hogs on {cpus} CPUs");
    }
}

#[test]
fn a_run_that_is_over_before_it_has_begun_ends() {
    let hogs = json!([{"name": "hog", "count": 16, "steps": [{"run_us": 100}]}]);
    let mut trial = trial(4, 1, hogs);
    trial.machine.costs = model::Costs::default();
    trial.workload.duration_us = Some(1);
    let record = crate::common::run(&trial, std::rc::Rc::new(crate::common::Tracer::default()));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
}

/// Two threads of one process that fork at the same time on CPUs of their own.
#[test]
fn threads_of_one_process_fork_one_at_a_time() {
    let tasks = json!([
        {"name": "shell", "count": 2, "repeat": 1,
         "steps": [{"fork": {"task": "job", "count": 3}}, "wait_children"]},
        {"name": "job", "template": true, "steps": [{"run_us": 10}]}]);
    let mut trial = trial(4, 20, tasks);
    trial.machine.costs.fork_ns = 500_000;
    let trace = run(&trial).trace.expect("a trace");
    let forks = trace.events.iter().filter(|event| matches!(event.what, What::Fork { .. }));
    let times: Vec<u64> = forks.map(|event| event.time_ns).collect();
    assert_eq!(times.len(), 6);
    assert!(times.windows(2).all(|two| two[1] - two[0] >= 500_000), "{times:?}");
}
