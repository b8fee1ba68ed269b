// SPDX-License-Identifier: GPL-2.0-only
//! Chains of wake-ups, and sleeps that lasted because a task on the chain waited for a CPU.
//!
//! From a wake-up back: the waker was woken itself, waited for a CPU, and computed until it woke
//! the next one. Where a task sleeps until another one releases it, the other one's waits since its
//! own wake-up are part of that sleep.

use std::cmp::Reverse;

use serde::Serialize;

use super::timeline::Timeline;
use super::{Chosen, Ended, Wait};

/// The most links of a chain.
const LINKS: usize = 5;
/// A sleep is explained by waits for CPUs only if these took at least one `PART`th of it.
const PART: u64 = 4;

/// A task on the way to a wake-up, from its own wake-up to the next one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    pub task: String,
    /// When it became runnable, ns.
    pub from_ns: u64,
    /// For how long it waited for CPUs since then, ns.
    pub waited_ns: u64,
    pub ran_ns: u64,
}

/// Who made a task runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Timer,
    Interrupt,
    /// The chain goes on, or its beginning was not seen.
    Unknown,
}

/// A sleep that another task ended, which waited for a CPU meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    pub task: String,
    pub pid: u32,
    pub from_ns: u64,
    pub to_ns: u64,
    /// How much of it tasks on the chain waited for CPUs, ns.
    pub waited_ns: u64,
    /// The longest of these waits.
    pub longest: Wait,
}

/// Waits and sleeps of each task, in order of time, with the sum of the waits before each.
pub struct Chains<'a> {
    timeline: &'a Timeline,
    waits: Vec<Vec<(&'a RunDelay, u64)>>,
    sleeps: Vec<Vec<&'a Sleep>>,
}

impl<'a> Chains<'a> {
    pub fn new(timeline: &'a Timeline) -> Chains<'a> {
        let mut waits: Vec<Vec<(&RunDelay, u64)>> = vec![Vec::new(); timeline.tasks.len()];
        for wait in &timeline.waits {
            let own = &mut waits[wait.task];
            let before = own.last().map_or(0, |(last, sum)| sum + last.to_ns - last.from_ns);
            own.push((wait, before));
        }
        let mut sleeps = vec![Vec::new(); timeline.tasks.len()];
        timeline.sleeps.iter().for_each(|sleep| sleeps[sleep.task].push(sleep));
        Chains { timeline, waits, sleeps }
    }

    /// How long a task has waited up to a time, ns.
    fn waited_until(&self, task: usize, at_ns: u64) -> u64 {
        let own = &self.waits[task];
        let after = own.partition_point(|(wait, _)| wait.from_ns < at_ns);
        after.checked_sub(1).map_or(0, |last| {
            let (wait, before) = own[last];
            before + at_ns.min(wait.to_ns) - wait.from_ns
        })
    }

    /// The waker's last sleep before that time: its end is where the link begins.
    fn sleep_before(&self, task: usize, at_ns: u64) -> Option<&'a Sleep> {
        let own = &self.sleeps[task];
        own.partition_point(|sleep| sleep.to_ns <= at_ns).checked_sub(1).map(|last| own[last])
    }

    /// The chain that ends with a wake-up by this task, the last link first, as far as it lies
    /// after `since_ns`; and what it began with.
    fn back(&self, by: Option<usize>, at_ns: u64, since_ns: u64) -> Vec<(usize, u64, u64, Origin)> {
        let (mut by, mut at_ns) = (by, at_ns);
        let mut links = Vec::new();
        while let Some(task) = by
            && links.len() < LINKS
            && at_ns > since_ns
        {
            let sleep = self.sleep_before(task, at_ns);
            let from_ns = sleep.map_or(since_ns, |sleep| sleep.to_ns).max(since_ns);
            let origin = sleep.map_or(Origin::Unknown, |sleep| sleep.origin);
            links.push((task, from_ns, at_ns, origin));
            (by, at_ns) = (sleep.and_then(|sleep| sleep.by), from_ns);
        }
        links
    }

    /// The tasks whose wake-ups led to a wait, the first one first, and what began it.
    pub fn of(&self, wait: &RunDelay) -> (Vec<Link>, Origin) {
        let links = self.back(wait.by, wait.from_ns, 0);
        let origin = links.last().map_or(wait.origin, |&(.., origin)| origin);
        let link = |&(task, from_ns, to_ns, _): &(usize, u64, u64, Origin)| {
            let waited_ns = self.waited_until(task, to_ns) - self.waited_until(task, from_ns);
            let ran_ns = (to_ns - from_ns).saturating_sub(waited_ns);
            Link { task: self.timeline.tasks[task].name.clone(), from_ns, waited_ns, ran_ns }
        };
        (links.iter().rev().map(link).collect(), origin)
    }

    /// The sleeps that waits of others prolonged most; `tell` describes a wait.
    pub fn held(&self, chosen: &Chosen, tell: impl Fn(&RunDelay) -> Wait) -> Vec<Held> {
        let mut found: Vec<(u64, &Sleep)> = Vec::new();
        for sleep in &self.timeline.sleeps {
            let length_ns = sleep.to_ns - sleep.from_ns;
            let is_asked = chosen.fits(self.timeline, sleep.task, (sleep.from_ns, sleep.to_ns));
            if sleep.by.is_none() || length_ns == 0 || !is_asked {
                continue;
            }
            let links = self.back(sleep.by, sleep.to_ns, sleep.from_ns);
            let waited = |&(task, from_ns, to_ns, _): &(usize, u64, u64, Origin)| {
                self.waited_until(task, to_ns) - self.waited_until(task, from_ns)
            };
            let waited_ns: u64 = links.iter().map(waited).sum();
            if waited_ns > 0 && waited_ns >= length_ns / PART {
                found.push((waited_ns, sleep));
            }
        }
        found.sort_by_key(|(waited_ns, sleep)| (Reverse(*waited_ns), sleep.from_ns, sleep.task));
        found.truncate(chosen.most());
        found.into_iter().filter_map(|(ns, sleep)| self.tell(ns, sleep, &tell)).collect()
    }

    fn tell(
        &self,
        waited_ns: u64,
        sleep: &Sleep,
        tell: impl Fn(&RunDelay) -> Wait,
    ) -> Option<Held> {
        let links = self.back(sleep.by, sleep.to_ns, sleep.from_ns);
        let within = |&(task, from_ns, to_ns, _): &(usize, u64, u64, Origin)| {
            let own = self.waits[task].iter().map(|(wait, _)| *wait);
            own.filter(move |wait| wait.to_ns > from_ns && wait.from_ns < to_ns)
        };
        let longest = links.iter().flat_map(within).max_by_key(|wait| wait.to_ns - wait.from_ns)?;
        let task = &self.timeline.tasks[sleep.task];
        let (from_ns, to_ns) = (sleep.from_ns, sleep.to_ns);
        let (name, pid, longest) = (task.name.clone(), task.pid, tell(longest));
        Some(Held { task: name, pid, from_ns, to_ns, waited_ns, longest })
    }
}

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
