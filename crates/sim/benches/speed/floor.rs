// SPDX-License-Identifier: GPL-2.0-only
//! The floor of any simulation: a scheduler's callbacks in a kernel that does nothing.

use sim::TaskId;
use sim::native::kernel::{Cursor, Kernel};
use sim::native::{Host, NativeScheduler};

use crate::one::{cpu_seconds, native};

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

const ROUNDS: u32 = 2_000_000;

/// What the callbacks of a task's round cost (it is chosen a CPU for, enqueued, dispatched, run and
/// stopped), shared by its two switches: to the task and away from it. Nanoseconds.
pub fn ns_per_switch(name: &str) -> f64 {
    let host = Host { cpus: 1, hz: 1000, seed: model::Seed(1) };
    let scheduler = NativeScheduler::<Nothing>::load(&native(name), &Default::default(), host);
    let scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
    let size = scheduler.task_fields()["size"] as usize;
    let kernel = &mut Nothing { memory: vec![0; HEADER_WORDS + size.div_ceil(8)] };
    let mask = scheduler.task_fields()["cpus_ptr"] as usize;
    // The task's mask of CPUs is the first thing that schedulers follow.
    kernel.memory[HEADER_WORDS + mask / 8] = kernel.memory(TaskId(0)) as u64;
    scheduler.init(kernel);
    let task = TaskId(0);
    scheduler.init_task(kernel, task, false);
    let begin = cpu_seconds();
    for _ in 0..ROUNDS {
        scheduler.select_cpu(kernel, task, 0, 0);
        scheduler.enqueue(kernel, task, 0);
        scheduler.dispatch(kernel, 0, None);
        scheduler.running(kernel, task);
        scheduler.stopping(kernel, task, true);
    }
    (cpu_seconds() - begin) * 1e9 / f64::from(ROUNDS) / 2.0
}
