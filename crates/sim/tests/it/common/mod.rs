// SPDX-License-Identifier: GPL-2.0-only
//! Trials in a few lines, a scheduler that writes down what it is asked, and what ran when.
#![allow(dead_code)]

pub mod reference;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use compile::CompileError;
use compile::native::Native;
use model::trace::What;
use model::{Costs, KnobValue, Record, Trial};
use serde_json::{Value, json};
use sim::flags::*;
use sim::native::LabFault;
use sim::{Core, Ops, OpsPresent, TaskId, TaskLayout};

pub const MS: u64 = 1_000_000;

/// A trial on a machine where everything but the tasks' own work is free.
pub fn trial(cpus: u32, duration_ms: u64, tasks: Value) -> Trial {
    let mut trial = trial_of("x", &[], cpus, duration_ms, tasks);
    trial.machine.costs = Costs::FREE;
    trial.machine.hz = 1_000;
    trial.trace = true;
    trial
}

/// A trial of a scheduler's file, on a usual machine.
pub fn trial_of(
    file: &str,
    knobs: &[(&str, KnobValue)],
    cpus: u32,
    duration_ms: u64,
    tasks: Value,
) -> Trial {
    let knobs: BTreeMap<&str, KnobValue> = knobs.iter().cloned().collect();
    serde_json::from_value(json!({
        "schema": model::trial::SCHEMA, "experiment": "test", "backend": "sim",
        "contestant": { "name": file, "scheduler": {
            "kind": "file", "file": file, "sha256": "", "knobs": knobs } },
        "workload": { "name": "test", "duration_us": duration_ms * 1_000, "task": tasks },
        "machine": { "name": "test", "cpus": cpus },
        "seed": 1, "block": 0, "boot": 0, "position": 0, "timeout_ms": 60_000,
    }))
    .expect("a trial")
}

pub fn hogs_and_sleepers(count: u32) -> Value {
    let sleeper = json!([{"run_us": 200}, {"sleep_us": 1000}]);
    json!([
        {"name": "hog", "count": count, "steps": [{"run_us": 1000}]},
        {"name": "sleeper", "count": count, "steps": sleeper}])
}

pub fn run(trial: &Trial, ops: Rc<dyn Ops>) -> Record {
    sim::run_ops(trial, Some(ops), TaskLayout::compact())
}

pub fn run_fifo(trial: &Trial) -> Record {
    let record = run(trial, Rc::new(reference::Fifo::default()));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record
}

pub fn value(record: &Record, name: &str, group: &str) -> f64 {
    record.measured.value(name, group).unwrap_or_else(|| panic!("{name} {group} is missing"))
}

pub fn builtin(name: &str) -> Native {
    let source = compile::resolve(name, Path::new(".")).expect("it is built in");
    compile::native::native(&source).expect("it is compiled")
}

/// The native form of a file, or what is wrong with it.
pub fn compiled(path: &Path) -> Result<Native, CompileError> {
    compile::native::native(&compile::resolve(&path.display().to_string(), Path::new("."))?)
}

pub fn compiled_text(name: &str, text: &str) -> Native {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("{name}.bpf.c"));
    std::fs::write(&path, text).expect("the folder can be written");
    compiled(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a trial in a process of its own.
pub fn supervise(trial: &Trial, scheduler: &Native) -> Result<Record, LabFault> {
    const LIMIT: Duration = Duration::from_secs(20);
    sim::native::supervise(trial, Some(scheduler), LIMIT, &AtomicBool::new(false))
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

pub fn cpu_ms(record: &Record, group: &str) -> u64 {
    (value(record, "cpu_time_ns", group) / 1e6).round() as u64
}
