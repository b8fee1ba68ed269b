// SPDX-License-Identifier: GPL-2.0-only
//! What the kfuncs do: kicks, flags, iterators, timers, idle selection.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::common::{MS, Tracer, cpu_ms, ran, trial};
use serde_json::json;
use sim::flags::*;
use sim::{Core, Ops, OpsPresent, TaskId};

/// A scheduler of closures: each test needs one or two callbacks.
#[derive(Default)]
struct Plain {
    enqueue: Option<fn(&Plain, &mut Core, TaskId, u64)>,
    dispatch: Option<fn(&Plain, &mut Core)>,
    init: Option<fn(&mut Core)>,
    timer: Option<fn(&Plain, &mut Core, u32)>,
    seen: RefCell<Vec<String>>,
    count: Cell<u64>,
}

impl Ops for Plain {
    fn present(&self) -> OpsPresent {
        let dispatch = self.dispatch.is_some();
        OpsPresent { enqueue: self.enqueue.is_some(), dispatch, ..OpsPresent::default() }
    }
    fn init(&self, core: &mut Core) -> i32 {
        core.create_dsq(0, -1);
        core.create_dsq(1 << 40, -1);
        if let Some(init) = self.init {
            init(core);
        }
        0
    }
    fn enqueue(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        if let Some(enqueue) = self.enqueue {
            enqueue(self, core, task, enq_flags);
        }
    }
    fn dispatch(&self, core: &mut Core, _cpu: i32, _prev: Option<TaskId>) {
        if let Some(dispatch) = self.dispatch {
            dispatch(self, core);
        }
    }
    fn timer(&self, core: &mut Core, timer: u32) {
        if let Some(expired) = self.timer {
            expired(self, core, timer);
        }
    }
}

fn hogs(count: u32) -> serde_json::Value {
    json!([{"name": "hog", "count": count, "steps": [{"run_us": 1_000_000}]}])
}

fn run(trial: &model::Trial, plain: Plain) -> (model::Record, Rc<Plain>) {
    let plain = Rc::new(plain);
    let record = crate::common::run(trial, plain.clone());
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    (record, plain)
}

#[test]
fn without_callbacks_tasks_go_through_the_global_queue() {
    let (record, _) = run(&trial(1, 100, hogs(2)), Plain::default());
    // 20 ms each: the default slice.
    assert_eq!(ran(&record, "hog").len(), 1);
    // Four slices have ended, and the end of the trial preempts the task that has the fifth.
    assert_eq!(record.measured.value("involuntary_switches", "hog"), Some(5.0));
}

#[test]
fn batches_are_flushed_after_dispatch_and_overflow_is_an_error() {
    let keep = |plain: &Plain, _: &mut Core, task: TaskId, _: u64| {
        plain.seen.borrow_mut().push(task.0.to_string());
    };
    let all = |plain: &Plain, core: &mut Core| {
        for task in plain.seen.borrow_mut().drain(..) {
            let task = TaskId(task.parse().unwrap());
            core.dsq_insert(task, DSQ_GLOBAL, MS, 0);
            // Tasks that are not the scheduler's are left alone.
            core.dsq_insert(TaskId(0), DSQ_GLOBAL, MS, 0);
        }
    };
    let plain = || Plain { enqueue: Some(keep), dispatch: Some(all), ..Plain::default() };
    let (record, _) = run(&trial(1, 100, hogs(5)), plain());
    assert!(record.measured.value("jain_index", "hog").unwrap() > 0.99);
    let record = crate::common::run(&trial(1, 100, hogs(40)), Rc::new(plain()));
    assert!(record.outcome.reason().contains("dispatch buffer overflow"));
}

#[test]
fn iterators_move_what_they_show() {
    let queue = |_: &Plain, core: &mut Core, task: TaskId, _: u64| {
        core.dsq_insert(task, 1 << 40, MS, 0);
    };
    // Last come, first served.
    let last = |_: &Plain, core: &mut Core| {
        let iterator = core.dsq_iter_new(1 << 40, DSQ_ITER_REV).unwrap();
        if let Some(task) = core.dsq_iter_next(iterator) {
            assert!(core.dsq_move(iterator, task, DSQ_LOCAL, 0, Some(3 * MS), None));
            assert!(!core.dsq_move(iterator, task, DSQ_LOCAL, 0, None, None));
        }
        core.dsq_iter_destroy(iterator);
    };
    let plain = Plain { enqueue: Some(queue), dispatch: Some(last), ..Plain::default() };
    let tasks = json!([
        {"name": "a", "steps": [{"run_us": 1_000_000}]},
        {"name": "b", "delay_us": 1, "steps": [{"run_us": 1_000_000}]},
        {"name": "c", "delay_us": 2, "steps": [{"run_us": 1_000_000}]}]);
    let (record, _) = run(&trial(1, 60, tasks), plain);
    // The two that came last take turns; the other one starves.
    assert!(cpu_ms(&record, "b") <= 4, "{}", cpu_ms(&record, "b"));
}

#[test]
fn a_timer_gives_slices_finer_than_the_tick() {
    let queue = |_: &Plain, core: &mut Core, task: TaskId, _: u64| {
        core.dsq_insert(task, 0, 100 * MS, 0);
    };
    let next = |_: &Plain, core: &mut Core| {
        core.dsq_move_to_local(0, 0);
    };
    let start = |core: &mut Core| {
        let timer = core.timer_new();
        core.timer_start(timer, 250_000);
    };
    let kick = |plain: &Plain, core: &mut Core, timer: u32| {
        plain.count.set(plain.count.get() + 1);
        core.kick_cpu(0, KICK_PREEMPT);
        core.timer_start(timer, 250_000);
    };
    let plain = Plain {
        enqueue: Some(queue),
        dispatch: Some(next),
        init: Some(start),
        timer: Some(kick),
        ..Plain::default()
    };
    let (record, plain) = run(&trial(1, 10, hogs(2)), plain);
    assert!((38..=40).contains(&plain.count.get()));
    let delays = record.measured.histogram("run_delay_ns", "hog").unwrap();
    let quarter = model::histogram::lowest_equivalent(250_000);
    assert_eq!(delays.quantile(0.5), Some(quarter));
}

#[test]
fn idle_selection_prefers_the_previous_cpu_and_then_whole_cores() {
    let tasks = json!([
        {"name": "a", "affinity": [0, 1, 2, 3], "repeat": 2, "steps": [{"run_us": 300}, {"sleep_us": 200}]},
        {"name": "b", "affinity": [1], "repeat": 1, "steps": [{"run_us": 2_000}]}]);
    let mut trial = trial(4, 5, tasks);
    trial.machine.smt = 2;
    let tracer = Tracer { direct: true, ..Tracer::default() };
    let log = tracer.log_of(&trial, "select_cpu");
    // CPU 0's sibling is busy, so the first whole core after the cursor is taken.
    let running: Vec<&String> = log.iter().filter(|line| line.starts_with("running a")).collect();
    assert_eq!(running.last().unwrap().as_str(), "running a @2", "{log:#?}");
}

#[test]
fn reenqueued_tasks_come_back_to_the_scheduler() {
    let local = |plain: &Plain, core: &mut Core, task: TaskId, flags: u64| {
        if flags & ENQ_REENQ != 0 {
            plain.count.set(plain.count.get() + 1);
        }
        core.dsq_insert(task, DSQ_LOCAL, MS, 0);
    };
    let back = |_: &Plain, core: &mut Core| {
        core.reenqueue_local();
    };
    let plain = Plain { enqueue: Some(local), dispatch: Some(back), ..Plain::default() };
    let tasks = json!([{"name": "a", "count": 3, "repeat": 1, "steps": [{"run_us": 500}]}]);
    let (_, plain) = run(&trial(1, 20, tasks), plain);
    assert_eq!(plain.count.get(), 0, "dispatch is only asked when the local queue is empty");
}

#[test]
fn one_shared_queue_hurts_on_a_large_machine() {
    let tasks = json!([
        {"name": "a", "count": 512, "jitter_us": 100, "steps": [{"run_us": 20}, "yield"]}]);
    let mut trial = trial(256, 20, tasks);
    trial.trace = false;
    let free = crate::common::run(&trial, Rc::new(crate::common::reference::Fifo::default()));
    trial.machine.costs.queue_lock_ns = 200;
    let locked = crate::common::run(&trial, Rc::new(crate::common::reference::Fifo::default()));
    let rate =
        |record: &model::Record| record.measured.value("iterations_per_second", "a").unwrap();
    // Two passes through the lock per round: 2.5 M rounds per second at the very most.
    assert!(rate(&free) > 10e6 && rate(&locked) < 2.6e6, "{} {}", rate(&free), rate(&locked));
}

#[test]
fn a_dispatch_that_never_finds_anything_for_its_cpu_ends_after_32_rounds() {
    let queue = |_: &Plain, core: &mut Core, task: TaskId, _: u64| {
        core.dsq_insert(task, 0, MS, 0);
    };
    // From one queue to the other and back: much is dispatched, nothing arrives. After a while the
    // scheduler comes to its senses.
    let turn = |plain: &Plain, core: &mut Core| {
        plain.count.set(plain.count.get() + 1);
        if plain.count.get() > 100 {
            core.dsq_move_to_local(0, 0);
            core.dsq_move_to_local(1 << 40, 0);
            return;
        }
        for (from, to) in [(0, 1 << 40), (1 << 40, 0)] {
            let iterator = core.dsq_iter_new(from, 0).unwrap();
            if let Some(task) = core.dsq_iter_next(iterator) {
                core.dsq_move(iterator, task, to, 0, None, None);
            }
            core.dsq_iter_destroy(iterator);
        }
    };
    let plain = Plain { enqueue: Some(queue), dispatch: Some(turn), ..Plain::default() };
    let tasks = json!([{"name": "a", "repeat": 1, "steps": [{"run_us": 200}]}]);
    let (record, plain) = run(&trial(1, 10, tasks), plain);
    assert!(plain.count.get() > 100);
    assert_eq!(cpu_ms(&record, "all"), 0);
    assert_eq!(record.measured.value("cpu_time_ns", "a"), Some(200_000.0));
}

#[test]
fn idle_cpus_are_looked_for_in_the_same_cache_first() {
    let tasks = json!([
        {"name": "busy", "affinity": [4], "repeat": 1, "steps": [{"run_us": 4_000}]},
        {"name": "a", "delay_us": 100, "affinity": [4, 1, 7], "repeat": 1, "steps": [{"run_us": 100}]}]);
    let mut trial = trial(8, 5, tasks);
    trial.machine.llcs = 2;
    // The second task begins on the second of its CPUs, 4. That is busy; 7 shares its cache, 1 does
    // not.
    let tracer = Tracer { direct: true, ..Tracer::default() };
    let log = tracer.log_of(&trial, "select_cpu a");
    assert!(log.contains(&"running a @7".to_owned()), "{log:#?}");
}

#[test]
fn a_waker_that_goes_to_sleep_draws_its_partner_to_its_cpu() {
    let tasks = json!([
        {"name": "writer", "repeat": 1,
         "steps": [{"run_us": 1_000}, {"send": {"channel": "c", "bytes": 10}}, {"run_us": 1_000}]},
        {"name": "reader", "repeat": 1,
         "steps": [{"receive": {"channel": "c", "bytes": 10}}, {"run_us": 100}]},
        {"name": "hog", "affinity": [2], "delay_us": 500, "repeat": 1, "steps": [{"run_us": 4_000}]}]);
    let mut trial = trial(4, 5, tasks);
    trial.workload.channels.push(model::Channel {
        name: "c".into(),
        count: 1,
        ..Default::default()
    });
    let tracer = Tracer { direct: true, ..Tracer::default() };
    let log = tracer.log_of(&trial, "select_cpu reader 0x18");
    // Its previous CPU is busy and others are idle, so it waits for the waker's.
    let reader = log.iter().find(|line| line.starts_with("running reader")).unwrap();
    assert_eq!(reader, "running reader @1", "{log:#?}");
}
