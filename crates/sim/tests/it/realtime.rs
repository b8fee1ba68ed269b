// SPDX-License-Identifier: GPL-2.0-only
//! SCHED_FIFO, SCHED_RR and SCHED_DEADLINE against what POSIX and the kernel's documentation
//! promise. Ticks come every millisecond; their phase depends on the seed, so pieces are compared
//! within one.

use crate::common::{cpu_ms, ran, run_fifo, trial};
use model::{Record, Trial};
use serde_json::{Value, json};
use sim::TaskLayout;

fn run(trial: &Trial) -> Record {
    let record = sim::run_ops(trial, None, TaskLayout::compact());
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record
}

fn rt(class: &str, priority: u32) -> Value {
    json!({"class": class, "priority": priority})
}

fn deadline(runtime_ms: u64, period_ms: u64) -> Value {
    json!({"class": "deadline", "runtime_us": runtime_ms * 1_000, "period_us": period_ms * 1_000})
}

fn hog(name: &str, delay_us: u64, policy: Value) -> Value {
    json!({"name": name, "delay_us": delay_us, "policy": policy, "steps": [{"run_us": 10_000_000}]})
}

fn job(name: &str, delay_us: u64, run_us: u64, policy: Value) -> Value {
    json!({"name": name, "delay_us": delay_us, "policy": policy, "repeat": 1,
           "steps": [{"run_us": run_us}]})
}

/// Pieces in ms, rounded.
fn pieces(record: &Record, group: &str) -> Vec<(u64, u64)> {
    let round = |us: u64| (us + 500) / 1_000;
    ran(record, group).into_iter().map(|(from, to)| (round(from), round(to))).collect()
}

#[test]
fn fifo_runs_until_it_blocks() {
    let a = json!({"name": "a", "policy": rt("fifo", 10), "steps": [{"run_us": 5_000}, {"sleep_us": 3_000}]});
    let record = run(&trial(1, 16, json!([a, hog("b", 1_000, rt("fifo", 10))])));
    assert_eq!(pieces(&record, "a"), [(0, 5)]);
    assert_eq!(pieces(&record, "b"), [(5, 16)]);
}

#[test]
fn rr_rotates_every_hundred_milliseconds() {
    let tasks =
        json!([hog("a", 0, rt("rr", 10)), hog("b", 10, rt("rr", 10)), hog("c", 20, rt("rr", 10))]);
    let record = run(&trial(1, 390, tasks));
    let a = pieces(&record, "a");
    let near = |value: u64, wanted: u64| value.abs_diff(wanted) <= 1;
    assert!(a.len() == 2 && near(a[0].1, 100) && near(a[1].0, 300), "{a:?}");
    let b = pieces(&record, "b");
    assert!(near(b[0].0, 100) && near(b[0].1, 200), "{b:?}");
}

#[test]
fn a_preempted_rr_task_keeps_its_quantum_and_its_place() {
    let high = job("high", 40_000, 5_000, rt("fifo", 20));
    let record =
        run(&trial(1, 150, json!([hog("a", 0, rt("rr", 10)), hog("b", 10, rt("rr", 10)), high])));
    let (a, b) = (pieces(&record, "a"), pieces(&record, "b"));
    assert_eq!(pieces(&record, "high"), [(40, 45)]);
    assert_eq!((a[0], a[1].0), ((0, 40), 45));
    assert!(a[1].1.abs_diff(105) <= 5 && b[0].0 == a[1].1, "{a:?} {b:?}");
}

#[test]
fn a_higher_priority_preempts_at_once_and_the_loser_stays_first() {
    let tasks = json!([
        job("low", 0, 8_000, rt("fifo", 10)),
        job("peer", 1_000, 2_000, rt("fifo", 10)),
        job("high", 3_000, 4_000, rt("fifo", 20))
    ]);
    let record = run(&trial(1, 20, tasks));
    assert_eq!(pieces(&record, "low"), [(0, 3), (7, 12)]);
    assert_eq!(pieces(&record, "high"), [(3, 7)]);
    assert_eq!(pieces(&record, "peer"), [(12, 14)]);
}

#[test]
fn a_yield_goes_behind_its_equals() {
    let steps = json!([{"run_us": 2_000}, "yield", {"run_us": 2_000}]);
    let a = json!({"name": "a", "policy": rt("fifo", 10), "repeat": 1, "steps": steps});
    let record = run(&trial(1, 20, json!([a, job("b", 1_000, 3_000, rt("fifo", 10))])));
    assert_eq!(pieces(&record, "a"), [(0, 2), (5, 7)]);
    assert_eq!(pieces(&record, "b"), [(2, 5)]);
}

#[test]
fn a_woken_task_goes_where_it_wins() {
    let mut high = hog("high", 0, rt("fifo", 50));
    let mut low = hog("low", 0, rt("fifo", 30));
    (high["affinity"], low["affinity"]) = (json!([0]), json!([1]));
    let record = run(&trial(2, 20, json!([high, low, job("mid", 5_000, 4_000, rt("fifo", 40))])));
    assert_eq!(pieces(&record, "mid"), [(5, 9)]);
    assert_eq!(pieces(&record, "high"), [(0, 20)]);
    assert_eq!(pieces(&record, "low"), [(0, 5), (9, 20)]);
}

#[test]
fn the_order_of_choice_is_by_priority() {
    let blocker = job("x", 0, 2_000, rt("fifo", 90));
    let at = |name, priority| job(name, 1_000, 1_000, rt("fifo", priority));
    let record =
        run(&trial(1, 20, json!([blocker, at("d", 1), at("a", 50), at("c", 60), at("e", 70)])));
    let starts = ["e", "c", "a", "d"].map(|name| pieces(&record, name)[0].0);
    assert_eq!(starts, [2, 3, 4, 5]);
}

#[test]
fn lowering_keeps_the_head_and_raising_joins_the_tail() {
    let steps = json!([{"run_us": 2_000}, {"policy": rt("fifo", 10)}, {"run_us": 2_000}]);
    let lowered = json!({"name": "a", "policy": rt("fifo", 20), "repeat": 1, "steps": steps});
    let record = run(&trial(1, 20, json!([lowered, job("b", 1_000, 3_000, rt("fifo", 10))])));
    assert_eq!(pieces(&record, "a"), [(0, 4)]);
}

#[test]
fn the_ext_server_gives_five_percent_and_only_when_starved() {
    let normal = json!({"name": "normal", "steps": [{"run_us": 10_000_000}]});
    let record = run_fifo(&trial(1, 4_000, json!([hog("rt", 0, rt("fifo", 10)), normal])));
    let share = cpu_ms(&record, "normal");
    assert!((195..=210).contains(&share), "{share} ms of 4 s");
    assert_eq!(cpu_ms(&record, "rt") + share, 4_000);
    // Half of the CPU is free: the normal task runs by itself, and never before the real-time one.
    let half = json!({"name": "rt", "policy": rt("fifo", 10),
                      "steps": [{"run_us": 10_000}, {"sleep_us": 10_000}]});
    let normal = json!({"name": "normal", "steps": [{"run_us": 10_000_000}]});
    let record = run_fifo(&trial(1, 4_000, json!([half, normal])));
    assert_eq!(record.measured.value("longest_wait_ns", "rt"), Some(0.0));
}

#[test]
fn deadline_runs_its_budget_in_each_period() {
    // A deadline task is above the one that ends the trial, so it must not be due then.
    let record = run(&trial(1, 490, json!([hog("a", 0, deadline(10, 100))])));
    assert!(cpu_ms(&record, "a").abs_diff(50) <= 2);
    let a = pieces(&record, "a");
    assert_eq!(a.len(), 5, "{a:?}");
    for (index, piece) in a.iter().enumerate() {
        assert!(piece.0 == index as u64 * 100 && (piece.1 - piece.0).abs_diff(10) <= 1, "{a:?}");
    }
}

#[test]
fn the_earliest_deadline_runs_first_and_preempts() {
    let tasks = json!([
        job("a", 1_000, 3_000, deadline(3, 30)),
        job("b", 1_000, 3_000, deadline(3, 20)),
        job("c", 1_000, 3_000, deadline(3, 25)),
        job("d", 2_000, 2_000, deadline(3, 15))
    ]);
    let record = run(&trial(1, 30, tasks));
    let first = ["d", "b", "c", "a"].map(|name| pieces(&record, name)[0].0);
    assert_eq!(first[0], 2);
    assert_eq!(["b", "c", "a"].map(|name| pieces(&record, name).last().unwrap().1), [6, 9, 12]);
}

#[test]
fn deadline_goes_before_real_time_and_everybody() {
    let normal = json!({"name": "normal", "steps": [{"run_us": 10_000_000}]});
    let tasks =
        json!([hog("rt", 0, rt("fifo", 98)), normal, job("dl", 5_000, 2_000, deadline(4, 50))]);
    let record = run_fifo(&trial(1, 20, tasks));
    assert_eq!(pieces(&record, "dl"), [(5, 7)]);
    assert_eq!(cpu_ms(&record, "rt"), 18);
}

#[test]
fn a_yield_gives_the_budget_back_until_the_next_period() {
    let steps = json!([{"run_us": 2_000}, "yield", {"run_us": 9_000}]);
    let a = json!({"name": "a", "policy": deadline(10, 100), "repeat": 1, "steps": steps});
    let record = run(&trial(1, 250, json!([a])));
    assert_eq!(pieces(&record, "a"), [(0, 2), (100, 109)]);
}

#[test]
fn admission_refuses_more_than_ninety_five_percent() {
    let tasks = |count: u32| json!([{"name": "a", "count": count, "policy": deadline(5, 10), "steps": [{"run_us": 100}]}]);
    let outcome =
        |count| sim::run_ops(&trial(4, 5, tasks(count)), None, TaskLayout::compact()).outcome;
    assert!(outcome(7).is_ok());
    assert_eq!(outcome(8).word(), "unsupported");
}

#[test]
fn two_deadline_tasks_share_two_cpus() {
    let tasks = json!([hog("a", 0, deadline(8, 10)), hog("b", 0, deadline(8, 10))]);
    let record = run(&trial(2, 200, tasks));
    assert!(cpu_ms(&record, "a") >= 155 && cpu_ms(&record, "b") >= 155);
}

/// Arm's Hikey960: four slow and four fast CPUs.
fn on_hikey(mut trial: Trial) -> Trial {
    trial.machine.capacity = vec![462, 462, 462, 462, 1024, 1024, 1024, 1024];
    trial
}

/// Tasks that are released every 16 ms, do some work, and have a budget in each period.
fn periodic(name: &str, count: u32, work_us: u64, runtime_us: u64) -> Value {
    json!({"name": name, "count": count,
           "policy": {"class": "deadline", "runtime_us": runtime_us, "period_us": 16_000},
           "steps": [{"timer": {"period_us": 16_000}}, {"run_us": work_us}]})
}

fn missed(record: &Record, group: &str) -> (f64, f64) {
    let value = |name| record.measured.value(name, group).unwrap_or(f64::NAN);
    (value("deadlines_missed"), value("deadlines"))
}

#[test]
fn a_deadline_task_goes_where_its_share_fits() {
    let record = run(&on_hikey(trial(8, 1_000, json!([periodic("d", 1, 5_000, 8_000)]))));
    let (missed, deadlines) = missed(&record, "d");
    assert!(missed == 0.0 && deadlines >= 60.0, "{missed} of {deadlines}");
}

#[test]
fn a_slow_cpu_uses_a_budget_up_slowly() {
    // 8 ms of budget are 17.7 ms on a CPU of 462, which the task may not leave.
    let mut bound = hog("a", 0, deadline(8, 50));
    bound["affinity"] = json!([0]);
    let record = run(&on_hikey(trial(8, 45, json!([bound]))));
    assert_eq!(pieces(&record, "a"), [(0, 18)]);
    // One that reclaims does not know the capacity (`grub_reclaim`).
    let mut bound = hog("a", 0, deadline(8, 50));
    (bound["affinity"], bound["policy"]["reclaim"]) = (json!([0]), json!(true));
    let record = run(&on_hikey(trial(8, 45, json!([bound]))));
    assert!(pieces(&record, "a")[0].1 > 18);
}

#[test]
fn slow_cpus_have_less_bandwidth_to_reserve() {
    // The capacities add up to 5.80 CPUs. SCHED_DEADLINE can reserve 95 % of them: 5.51.
    let outcome = |tasks: Value| {
        sim::run_ops(&on_hikey(trial(8, 200, tasks)), None, TaskLayout::compact()).outcome
    };
    assert!(outcome(json!([periodic("d", 8, 3_000, 11_000)])).is_ok());
    let refused = outcome(json!([periodic("d", 9, 3_000, 11_000)]));
    assert_eq!(refused.word(), "unsupported");
    assert!(refused.reason().contains("EBUSY"), "{refused:?}");
    // Large shares on the fast CPUs, small ones on the slow: nobody is late.
    let tasks = json!([periodic("big", 4, 10_000, 11_000), periodic("small", 4, 2_500, 6_500)]);
    let mut trial = on_hikey(trial(8, 1_000, tasks));
    // Tasks whose wake-ups take no time would begin at the same moment.
    trial.machine.costs = model::Costs::default();
    let record = run(&trial);
    assert_eq!((missed(&record, "big").0, missed(&record, "small").0), (0.0, 0.0));
}

#[test]
fn a_task_that_changes_its_budget_gives_the_old_one_back() {
    let steps = json!([{"run_us": 1_000}, {"policy": deadline(8, 10)}, {"run_us": 1_000}]);
    let a = json!({"name": "a", "policy": deadline(5, 10), "repeat": 1, "steps": steps});
    let outcome = sim::run_ops(&trial(1, 50, json!([a])), None, TaskLayout::compact()).outcome;
    assert!(outcome.is_ok(), "{outcome:?}");
}
