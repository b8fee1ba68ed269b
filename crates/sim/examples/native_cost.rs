// SPDX-License-Identifier: GPL-2.0-only
//! What a native scheduler costs: nanoseconds for each callback in a kernel that does nothing,
//! which is the floor of any simulation, and context switches per second in the simulated one.
//!
//! `cargo run --release -p fairground-sim --example native_cost [SCHEDULER…]`

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use model::Seed;
use sim::native::kernel::{Cursor, Kernel};
use sim::native::{Host, NativeScheduler, layout};
use sim::{Core, TaskId};

/// A kernel that answers at once: one task, one CPU, no queue.
struct Nothing {
    /// The owner's number in front, then the task.
    memory: Vec<u64>,
}

/// Words before a task's memory, the last of which is its number.
const HEADER_WORDS: usize = 1;

#[rustfmt::skip]
impl Kernel for Nothing {
    fn now(&self) -> u64 { 1 }
    fn jiffies(&self) -> u64 { 1 }
    fn this_cpu(&self) -> u32 { 0 }
    fn cpus(&self) -> u32 { 1 }
    fn current(&self) -> TaskId { TaskId(0) }
    fn memory(&self, _: TaskId) -> *mut u8 { self.memory[HEADER_WORDS..].as_ptr() as *mut u8 }
    unsafe fn task_at(&self, _: *const u8) -> Option<TaskId> { Some(TaskId(0)) }
    fn task_of_pid(&self, _: i32) -> Option<TaskId> { None }
    fn error(&mut self, message: String) { panic!("{message}") }
    fn error_bpf(&mut self, message: String) { panic!("{message}") }
    fn exit_bpf(&mut self, _: i64, message: String) { panic!("{message}") }
    fn create_dsq(&mut self, _: u64, _: i32) -> i32 { 0 }
    fn destroy_dsq(&mut self, _: u64) {}
    fn dsq_nr_queued(&mut self, _: u64) -> i32 { 0 }
    fn dsq_insert(&mut self, _: TaskId, _: u64, _: u64, _: u64) -> bool { true }
    fn dsq_insert_vtime(&mut self, _: TaskId, _: u64, _: u64, _: u64, _: u64) -> bool { true }
    fn dsq_move_to_local(&mut self, _: u64, _: u64) -> bool { true }
    fn dsq_move(
        &mut self, _: Cursor, _: TaskId, _: u64, _: u64, _: Option<u64>, _: Option<u64>,
    ) -> bool { true }
    fn dispatch_nr_slots(&mut self) -> u32 { 1 }
    fn dispatch_cancel(&mut self) {}
    fn dsq_reenqueue(&mut self, _: u64, _: u64) {}
    fn dsq_peek(&mut self, _: u64) -> Option<TaskId> { None }
    fn iter_new(&mut self, _: u64, _: u64) -> Result<Cursor, i32> { Ok(0) }
    fn iter_next(&mut self, _: Cursor) -> Option<TaskId> { None }
    fn iter_destroy(&mut self, _: Cursor) {}
    fn select_cpu_dfl(&mut self, _: TaskId, cpu: i32, _: u64) -> (i32, bool) { (cpu, true) }
    fn select_cpu_and(&mut self, _: TaskId, cpu: i32, _: u64, _: &[u64], _: u64) -> i32 { cpu }
    fn kick_cpu(&mut self, _: i32, _: u64) {}
    fn test_and_clear_cpu_idle(&mut self, _: i32) -> bool { true }
    fn pick_idle_cpu(&mut self, _: &[u64], _: Option<i32>, _: u64) -> i32 { 0 }
    fn pick_any_cpu(&mut self, _: &[u64], _: Option<i32>, _: u64) -> i32 { 0 }
    fn idle_cpus(&mut self, _: bool, _: Option<i32>) -> Vec<u64> { vec![1] }
    fn distribute(&mut self, _: &[u64], _: &[u64]) -> u32 { 0 }
    fn nodes(&self) -> u32 { 1 }
    fn cpu_node(&mut self, _: i32) -> i32 { 0 }
    fn llc(&mut self, cpu: u32) -> (u32, u32) { (cpu, 1) }
    fn cpu_capacity(&mut self, _: i32) -> u32 { 1024 }
    fn task_running(&self, _: TaskId) -> bool { true }
    fn task_cpu(&self, _: TaskId) -> i32 { 0 }
    fn cpu_curr(&mut self, _: i32) -> Option<TaskId> { None }
    fn task_set_slice(&mut self, _: TaskId, _: u64) -> bool { true }
    fn task_vtime(&self, _: TaskId) -> u64 { 0 }
    fn task_set_vtime(&mut self, _: TaskId, _: u64) -> bool { true }
    fn timer_new(&mut self) -> u32 { 0 }
    fn timer_start(&mut self, _: u32, _: u64) {}
    fn timer_cancel(&mut self, _: u32) -> bool { true }
}

const ROUNDS: u32 = 5_000_000;

/// Nanoseconds of CPU time for each of [`ROUNDS`] rounds.
fn cost(mut round: impl FnMut()) -> f64 {
    let begin = cpu_seconds();
    (0..ROUNDS).for_each(|_| round());
    (cpu_seconds() - begin) * 1e9 / f64::from(ROUNDS)
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the given structure only.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn callbacks(native: &compile::native::Native, host: Host) {
    let scheduler = NativeScheduler::<Nothing>::load(native, &Default::default(), host);
    let scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
    let size = scheduler.task_fields()["size"] as usize;
    let kernel = &mut Nothing { memory: vec![0; HEADER_WORDS + size.div_ceil(8)] };
    let mask = scheduler.task_fields()["cpus_ptr"] as usize;
    // The task's mask of CPUs is the first thing that schedulers follow.
    kernel.memory[HEADER_WORDS + mask / 8] = kernel.memory(TaskId(0)) as u64;
    scheduler.init(kernel);
    scheduler.init_task(kernel, TaskId(0), false);
    let task = TaskId(0);
    let costs = [
        (
            "select_cpu",
            cost(|| {
                scheduler.select_cpu(kernel, task, 0, 0);
            }),
        ),
        ("enqueue", cost(|| scheduler.enqueue(kernel, task, 0))),
        ("dispatch", cost(|| scheduler.dispatch(kernel, 0, None))),
        ("running", cost(|| scheduler.running(kernel, task))),
        ("stopping", cost(|| scheduler.stopping(kernel, task, true))),
    ];
    let sum: f64 = costs.iter().map(|(_, ns)| ns).sum();
    let words: Vec<String> = costs.iter().map(|(name, ns)| format!("{name} {ns:.1}")).collect();
    println!("{}: {} ns; all five {sum:.1} ns", native.name, words.join(", "));
}

/// Tasks that run 200 µs and sleep 1 ms.
fn switches(native: &compile::native::Native, cpus: u32, tasks: u32, duration_us: u64) {
    let steps = serde_json::json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
    let trial: model::Trial = serde_json::from_value(serde_json::json!({
        "schema": model::trial::SCHEMA, "experiment": "cost", "backend": "sim",
        "contestant": { "name": native.name, "scheduler": {
            "kind": "file", "file": native.name, "sha256": "" } },
        "workload": { "name": "sleepers", "duration_us": duration_us,
            "task": [{ "name": "sleeper", "count": tasks, "jitter_us": 1200, "steps": steps }] },
        "machine": { "name": "bench", "cpus": cpus },
        "seed": 1, "block": 0, "boot": 0, "position": 0, "timeout_ms": 60_000,
    }))
    .expect("a trial");
    let host = Host { cpus, hz: trial.machine.hz, seed: Seed(1) };
    let scheduler = NativeScheduler::<Core>::load(native, &Default::default(), host);
    let scheduler = Rc::new(scheduler.unwrap_or_else(|error| panic!("{error}")));
    let mut core = Core::new(&trial, layout(&scheduler)).expect("a playable workload");
    let begin = cpu_seconds();
    core.perform_trial(Some(scheduler));
    let seconds = cpu_seconds() - begin;
    let million = core.switches() as f64 / 1e6;
    let speed = million / seconds;
    println!("{}, {cpus} CPUs, {tasks} tasks: {speed:.2} M switches/s", native.name);
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let names = if named.is_empty() {
        compile::builtin().into_iter().map(|source| source.name).collect()
    } else {
        named
    };
    for name in names {
        let source =
            compile::resolve(&name, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
        let begin = Instant::now();
        let native = compile::native::native(&source).unwrap_or_else(|error| panic!("{error}"));
        let found_ms = begin.elapsed().as_secs_f64() * 1e3;
        let host = Host { cpus: 1, hz: 1000, seed: Seed(1) };
        println!("{name}: {} KiB, found in {found_ms:.1} ms", native.object.len() / 1024);
        callbacks(&native, host);
        switches(&native, 4, 16, 20_000_000);
        switches(&native, 1_024, 4_096, 400_000);
    }
}
