// SPDX-License-Identifier: GPL-2.0-only
//! Trials in a few lines, a scheduler that writes down what it is asked, and what ran when.
#![allow(dead_code)]

pub mod reference;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use model::trace::What;
use model::{Contestant, Costs, Machine, Record, SchedulerChoice, Trial};
use serde_json::{Value, json};
use sim::flags::*;
use sim::{Core, Ops, OpsPresent, TaskId, TaskLayout};

pub const MS: u64 = 1_000_000;

/// A trial on a machine where everything but the tasks' own work is free.
pub fn trial(cpus: u32, duration_ms: u64, tasks: Value) -> Trial {
    let workload = json!({"name": "test", "duration_us": duration_ms * 1_000, "task": tasks});
    let machine = Machine { cpus, costs: Costs::FREE, hz: 1_000, ..Machine::default() };
    let scheduler = SchedulerChoice::File {
        file: "x".into(),
        sha256: String::new(),
        knobs: Default::default(),
    };
    Trial {
        contestant: Contestant { name: "x".into(), kernel: None, scheduler },
        workload: serde_json::from_value(workload).expect("a workload"),
        machine,
        trace: true,
        ..Trial::default()
    }
}

pub fn run(trial: &Trial, ops: Rc<dyn Ops>) -> Record {
    sim::run_ops(trial, Some(ops), TaskLayout::compact())
}

/// A FIFO scheduler that writes every callback down.
pub struct Tracer {
    pub log: RefCell<Vec<String>>,
    /// Send woken tasks to idle CPUs at once.
    pub direct: bool,
    pub slice_ns: u64,
    pub enq_flags: u64,
    pub flags: u64,
    pub timeout_ms: u32,
    /// Keep this many enqueued tasks for ever.
    pub swallow: Cell<u32>,
    /// Tasks in its queue when it is told that it has ended; a queue that does not exist: negative.
    pub queued_at_exit: Cell<i32>,
    /// Instead of inserting: does something wrong.
    pub misdeed: Option<fn(&mut Core, TaskId)>,
}

impl Default for Tracer {
    fn default() -> Tracer {
        Tracer {
            log: RefCell::default(),
            direct: false,
            slice_ns: 5 * MS,
            enq_flags: 0,
            flags: OPS_KEEP_BUILTIN_IDLE,
            timeout_ms: 0,
            swallow: Cell::new(0),
            queued_at_exit: Cell::new(-1),
            misdeed: None,
        }
    }
}

impl Tracer {
    fn note(&self, core: &Core, what: &str, task: TaskId, rest: String) {
        let line = format!("{what} {} {rest}", core.comm(task));
        self.log.borrow_mut().push(line.trim_end().into());
    }

    /// Runs a trial and returns the callbacks after the first line that starts like this.
    pub fn log_of(self, trial: &Trial, from: &str) -> Vec<String> {
        let tracer = Rc::new(self);
        let record = run(trial, tracer.clone());
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        let log = tracer.log.take();
        // The common start begins when the main task has left for a class above.
        let start = log.iter().position(|line| line == "disable fairground" && from != "init");
        let mut lines = log.iter().enumerate().skip(start.unwrap_or(0));
        let at = lines.find(|(_, line)| line.starts_with(from)).map(|(at, _)| at);
        log[at.unwrap_or_else(|| panic!("no `{from}` in {log:#?}"))..].to_vec()
    }
}

impl Ops for Tracer {
    fn present(&self) -> OpsPresent {
        OpsPresent {
            select_cpu: true,
            enqueue: true,
            dequeue: true,
            dispatch: true,
            runnable: true,
            running: true,
            stopping: true,
            quiescent: true,
            set_weight: true,
            set_cpumask: true,
            update_idle: true,
            init_task: true,
            exit_task: true,
            enable: true,
            disable: true,
            ..OpsPresent::default()
        }
    }
    fn flags(&self) -> u64 {
        self.flags
    }
    fn timeout_ms(&self) -> u32 {
        self.timeout_ms
    }
    fn init(&self, core: &mut Core) -> i32 {
        self.log.borrow_mut().push("init".into());
        core.create_dsq(0, -1)
    }
    fn exit(&self, core: &mut Core, info: &sim::ExitInfo) {
        self.queued_at_exit.set(core.dsq_nr_queued(0));
        core.destroy_dsq(0);
        core.error("too late to matter".into());
        self.log.borrow_mut().push(format!("exit {}", info.kind));
    }
    fn init_task(&self, core: &mut Core, task: TaskId, fork: bool) -> i32 {
        self.note(core, "init_task", task, fork.to_string());
        0
    }
    fn exit_task(&self, core: &mut Core, task: TaskId, _cancelled: bool) {
        self.note(core, "exit_task", task, String::new());
    }
    fn enable(&self, core: &mut Core, task: TaskId) {
        self.note(core, "enable", task, String::new());
    }
    fn disable(&self, core: &mut Core, task: TaskId) {
        self.note(core, "disable", task, String::new());
    }
    fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        self.note(core, "select_cpu", task, format!("{wake_flags:#x}"));
        let (cpu, idle) = core.select_cpu_dfl(task, prev_cpu, wake_flags);
        if idle && self.direct {
            core.dsq_insert(task, DSQ_LOCAL, self.slice_ns, 0);
        }
        cpu
    }
    fn enqueue(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        self.note(core, "enqueue", task, format!("{enq_flags:#x}"));
        if self.swallow.get() > 0 {
            self.swallow.set(self.swallow.get() - 1);
        } else if let Some(misdeed) = self.misdeed {
            misdeed(core, task);
        } else {
            core.dsq_insert(task, 0, self.slice_ns, enq_flags | self.enq_flags);
        }
    }
    fn dequeue(&self, core: &mut Core, task: TaskId, deq_flags: u64) {
        self.note(core, "dequeue", task, format!("{deq_flags:#x}"));
    }
    fn dispatch(&self, core: &mut Core, _cpu: i32, prev: Option<TaskId>) {
        let prev = prev.map_or("idle".into(), |task| core.comm(task));
        self.log.borrow_mut().push(format!("dispatch {prev}"));
        core.dsq_move_to_local(0, 0);
    }
    fn runnable(&self, core: &mut Core, task: TaskId, enq_flags: u64) {
        self.note(core, "runnable", task, format!("{enq_flags:#x}"));
    }
    fn running(&self, core: &mut Core, task: TaskId) {
        self.note(core, "running", task, format!("@{}", core.task_cpu(task)));
    }
    fn stopping(&self, core: &mut Core, task: TaskId, runnable: bool) {
        self.note(core, "stopping", task, runnable.to_string());
    }
    fn quiescent(&self, core: &mut Core, task: TaskId, deq_flags: u64) {
        self.note(core, "quiescent", task, format!("{deq_flags:#x}"));
    }
    fn set_weight(&self, core: &mut Core, task: TaskId, weight: u32) {
        self.note(core, "set_weight", task, weight.to_string());
    }
    fn set_cpumask(&self, core: &mut Core, task: TaskId) {
        let cpus = core.cpus_allowed(task).count();
        self.note(core, "set_cpumask", task, cpus.to_string());
    }
    fn update_idle(&self, _core: &mut Core, cpu: i32, idle: bool) {
        self.log.borrow_mut().push(format!("update_idle {cpu} {idle}"));
    }
}

/// When a group's tasks ran, in µs: `[from, to)` in order of time, neighbouring pieces joined.
pub fn ran(record: &Record, group: &str) -> Vec<(u64, u64)> {
    let trace = record.trace.as_ref().expect("a trace");
    let pids: Vec<u32> =
        trace.tasks.iter().filter(|task| task.group == group).map(|task| task.pid).collect();
    let mut pieces: Vec<(u64, u64)> = Vec::new();
    let end_us = record.trial.workload.duration_us.unwrap_or(u64::MAX);
    for event in &trace.events {
        let What::Switch { prev, next, .. } = &event.what else { continue };
        let us = event.time_ns / 1_000;
        if pids.contains(prev)
            && let Some(last) = pieces.last_mut()
        {
            last.1 = us;
        }
        if pids.contains(next) {
            match pieces.last_mut() {
                Some(last) if last.1 == us => last.1 = end_us,
                _ => pieces.push((us, end_us)),
            }
        }
    }
    pieces.retain(|piece| piece.0 != piece.1);
    pieces
}

/// CPU time of a group in ms, rounded.
pub fn cpu_ms(record: &Record, group: &str) -> u64 {
    let ns = record.measured.value("cpu_time_ns", group).expect("a CPU time");
    (ns / 1e6).round() as u64
}
