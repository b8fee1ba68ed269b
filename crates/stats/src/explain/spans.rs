// SPDX-License-Identifier: GPL-2.0-only
//! Stretches of a task's or a CPU's time.

use super::Ended;
use super::chains::Origin;

/// A span in which one task has a CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuSpan {
    /// The task's place in [`Timeline::tasks`]; `None`: the idle task.
    pub task: Option<usize>,
    pub from_ns: u64,
    pub to_ns: u64,
    pub ended: Ended,
}

#[derive(Clone, Debug)]
pub struct RunDelay {
    pub task: usize,
    pub from_ns: u64,
    pub to_ns: u64,
    /// It was still waiting at the end.
    pub open: bool,
    /// The events that it lies between, by number.
    pub events: (usize, usize),
    /// Where it waited, in order of time.
    pub parts: Vec<WaitPart>,
    /// The task that woke it.
    pub by: Option<usize>,
    /// What woke it, if that was no task.
    pub origin: Origin,
    /// The CPU that it had before, if another one ran it.
    pub moved_from: Option<u32>,
}

/// A sleep of a task, from its last moment on a CPU to its wake-up.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    pub task: usize,
    pub from_ns: u64,
    pub to_ns: u64,
    /// The task that ended it.
    pub by: Option<usize>,
    /// What ended it, if that was no task.
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug)]
pub struct WaitPart {
    pub cpu: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A wait that has not ended.
#[derive(Clone, Default)]
pub struct OpenWait {
    pub event: usize,
    pub from_ns: u64,
    /// The CPU whose queue it is in, if it is in one CPU's queue, and since when.
    pub parts: Vec<(Option<u32>, u64)>,
    pub by: Option<usize>,
    pub origin: Option<Origin>,
}

impl OpenWait {
    /// Where the task waited: time outside of CPUs' own queues belongs to the next CPU that had it.
    pub fn parts(&self, to_ns: u64, cpu: u32) -> Vec<WaitPart> {
        let mut parts: Vec<WaitPart> = Vec::new();
        let (mut until_ns, mut home) = (to_ns, cpu);
        for &(queue, since_ns) in self.parts.iter().rev() {
            home = queue.unwrap_or(home);
            let since_ns = since_ns.clamp(self.from_ns, until_ns);
            parts.push(WaitPart { cpu: home, from_ns: since_ns, to_ns: until_ns });
            until_ns = since_ns;
        }
        parts.push(WaitPart { cpu: home, from_ns: self.from_ns, to_ns: until_ns });
        parts.retain(|part| part.to_ns > part.from_ns);
        parts.reverse();
        parts.dedup_by(|later, earlier| {
            let same = later.cpu == earlier.cpu;
            earlier.to_ns = if same { later.to_ns } else { earlier.to_ns };
            same
        });
        parts
    }
}
