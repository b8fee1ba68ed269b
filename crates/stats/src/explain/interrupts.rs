// SPDX-License-Identifier: GPL-2.0-only
//! The time that interrupts took from CPUs, and from which tasks.

use std::collections::BTreeMap;

use serde::Serialize;

use super::timeline::Timeline;

/// An interrupt's work on a CPU, soft interrupts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    pub cpu: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// What interrupts took of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    pub cpu: u32,
    pub times: u64,
    pub ns: u64,
    /// The stretch of [`STRETCH_NS`] in which they took most, ns.
    pub worst_from_ns: u64,
    /// What they took there.
    pub worst_ns: u64,
    /// The task that lost most to them while it ran; empty: only the idle task was interrupted.
    pub task: String,
    /// What it lost, ns.
    pub task_ns: u64,
}

pub const STRETCH_NS: u64 = 10_000_000;

/// By CPU, most time first; interrupts of one CPU are in order of time.
pub fn interrupted(timeline: &Timeline, interrupts: &[Interrupt]) -> Vec<Interrupted> {
    let mut by_cpu: BTreeMap<u32, Vec<&Interrupt>> = BTreeMap::new();
    for interrupt in interrupts {
        by_cpu.entry(interrupt.cpu).or_default().push(interrupt);
    }
    let mut all: Vec<Interrupted> =
        by_cpu.into_iter().map(|(cpu, interrupts)| on_cpu(timeline, cpu, &interrupts)).collect();
    all.sort_by_key(|of_cpu| (std::cmp::Reverse(of_cpu.ns), of_cpu.cpu));
    all
}

fn on_cpu(timeline: &Timeline, cpu: u32, interrupts: &[&Interrupt]) -> Interrupted {
    let stretches = timeline.stretches.get(cpu as usize).map_or(&[][..], |of_cpu| of_cpu);
    let mut sums = Interrupted { cpu, times: interrupts.len() as u64, ..Interrupted::default() };
    let (mut by_task, mut windows) = (BTreeMap::<usize, u64>::new(), BTreeMap::<u64, u64>::new());
    let mut place = 0;
    for interrupt in interrupts {
        let ns = interrupt.to_ns - interrupt.from_ns;
        sums.ns += ns;
        *windows.entry(interrupt.from_ns / STRETCH_NS).or_default() += ns;
        while stretches.get(place).is_some_and(|stretch| stretch.to_ns <= interrupt.from_ns) {
            place += 1;
        }
        if let Some(task) = stretches.get(place).and_then(|stretch| stretch.task) {
            *by_task.entry(task).or_default() += ns;
        }
    }
    let most = |sums: BTreeMap<u64, u64>| sums.into_iter().max_by_key(|&(key, ns)| (ns, !key));
    if let Some((window, ns)) = most(windows) {
        (sums.worst_from_ns, sums.worst_ns) = (window * STRETCH_NS, ns);
    }
    if let Some((task, ns)) = by_task.into_iter().max_by_key(|&(task, ns)| (ns, !task)) {
        (sums.task, sums.task_ns) = (timeline.tasks[task].name.clone(), ns);
    }
    sums
}
