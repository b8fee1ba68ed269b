// SPDX-License-Identifier: GPL-2.0-only
//! The longest waits, with the tasks that ran instead and the decisions that caused them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::Trace;
use model::trace::{Preemption, TraceEvent, What};

use super::chains::{Chains, WaitPart};
use super::control_groups::Causes;
use super::idle::Idle;
use super::timeline::{RunDelay, Timeline};
use super::{About, Began, Chosen, Ended, Interrupt, Placed, Turn, Wait};

/// Up to this many turns are listed one by one; beyond, the turns of a task are joined.
const TURNS: usize = 6;

/// A wait that is shorter than the longest one divided by this is short.
const SHORT: u64 = 100;

/// The longest waits of each group of the workload, or of all, the longest of all first. From the
/// second one of a group on they are listed only if they are long compared with the longest of all.
pub fn longest(teller: &Teller<'_>, chosen: &Chosen) -> Vec<Wait> {
    let timeline = teller.timeline;
    let group = |wait: &RunDelay| timeline.tasks[wait.task].group;
    let asked = |wait: &&RunDelay| chosen.fits(timeline, wait.task, (wait.from_ns, wait.to_ns));
    let mut waits: Vec<&RunDelay> = timeline.waits.iter().filter(asked).collect();
    waits.sort_by_key(|wait| rank(wait));
    if let Some(worst) = chosen.worst {
        waits.truncate(worst);
    } else {
        let longest_ns = waits.first().map_or(0, |wait| length(wait));
        let mut told = vec![0; timeline.groups.len()];
        waits.retain(|wait| {
            let of_group = &mut told[group(wait)];
            *of_group += 1;
            let is_long = *of_group == 1 || length(wait) >= longest_ns / SHORT;
            is_long && *of_group <= chosen.of_each
        });
    }
    waits.into_iter().map(|wait| teller.tell(wait)).collect()
}

fn length(wait: &RunDelay) -> u64 {
    wait.to_ns - wait.from_ns
}

fn rank(wait: &RunDelay) -> (Reverse<u64>, u64, usize) {
    (Reverse(length(wait)), wait.from_ns, wait.task)
}

/// Describes waits.
pub struct Teller<'a> {
    trace: &'a Trace,
    timeline: &'a Timeline,
    idle: &'a Idle,
    pub chains: Chains<'a>,
    causes: Causes<'a>,
    interrupts: &'a [Interrupt],
}

impl<'a> Teller<'a> {
    pub fn new(
        trace: &'a Trace,
        timeline: &'a Timeline,
        idle: &'a Idle,
        about: &'a About,
    ) -> Teller<'a> {
        let causes = Causes::new(timeline, &about.control_groups);
        let interrupts = &about.interrupts;
        Teller { trace, timeline, idle, chains: Chains::new(timeline), causes, interrupts }
    }

    pub fn tell(&self, wait: &RunDelay) -> Wait {
        let past = &self.timeline.tasks[wait.task];
        let (chain, origin) = self.chains.of(wait);
        let (turns, cpu_idle_ns) = self.turns(wait);
        let (instead, rest) = compact(turns);
        Wait {
            task: past.name.clone(),
            pid: past.pid,
            group: self.timeline.groups[past.group].clone(),
            from_ns: wait.from_ns,
            to_ns: wait.to_ns,
            open: wait.open,
            cpu: wait.parts.last().map_or(0, |part| part.cpu),
            began: self.began(wait, past.pid),
            chain,
            control_group: self.causes.of(wait),
            origin,
            allowed: self.timeline.allowed[past.group].clone().unwrap_or_default(),
            moved_from: wait.moved_from,
            interrupts_ns: self.interrupts_ns(wait),
            placed: self.placed(wait, past.pid),
            slice_ns: self.slice_ns(wait, past.pid),
            instead,
            others: rest.len() as u64,
            others_ns: rest.iter().map(|turn| turn.ns).sum(),
            cpu_idle_ns,
            other_idle_ns: self.idle.elsewhere_ns(self.timeline, wait, cpu_idle_ns),
        }
    }

    /// What interrupts took of the CPUs that it waited on.
    fn interrupts_ns(&self, wait: &RunDelay) -> u64 {
        let first = self.interrupts.partition_point(|interrupt| interrupt.to_ns <= wait.from_ns);
        let meanwhile =
            self.interrupts[first..].iter().take_while(|interrupt| interrupt.to_ns <= wait.to_ns);
        let is_there = |interrupt: &&Interrupt| {
            let here = |part: &WaitPart| {
                part.cpu == interrupt.cpu
                    && interrupt.from_ns >= part.from_ns
                    && interrupt.to_ns <= part.to_ns
            };
            wait.parts.iter().any(here)
        };
        meanwhile.filter(is_there).map(|interrupt| interrupt.to_ns - interrupt.from_ns).sum()
    }

    fn events(&self, wait: &RunDelay) -> &[TraceEvent] {
        let last = self.trace.events.len();
        &self.trace.events[wait.events.0.min(last)..wait.events.1.min(last)]
    }

    fn name(&self, pid: u32) -> String {
        let task = self.timeline.tasks.iter().find(|task| task.pid == pid);
        task.map_or_else(|| format!("task {pid}"), |task| task.name.clone())
    }

    fn began(&self, wait: &RunDelay, pid: u32) -> Began {
        let first = self.events(wait).first().or_else(|| self.trace.events.get(wait.events.0));
        let Some(TraceEvent { cpu, what, .. }) = first else { return Began::Started };
        let cpu = *cpu;
        match what {
            What::Waking { .. } => Began::Woken { cpu },
            What::Fork { parent, .. } => Began::Forked { parent: self.name(*parent) },
            What::Preempt { why: Preemption::Yield, .. } => Began::Yielded { cpu },
            What::Preempt { why, .. } => {
                let by = self.successor(wait, pid);
                Began::Preempted { cpu, by, why: Some(*why), cause: self.cause(why) }
            }
            // Real kernels write `R` for a yield as well as for a preemption on the way back to
            // user mode, so without decisions the two look the same.
            What::Switch { prev, next, .. } if *prev == pid => {
                let by = (*next != 0).then(|| self.name(*next));
                Began::Preempted { cpu, by, why: None, cause: None }
            }
            // It was woken before its switch to sleep was recorded.
            What::Switch { .. } => Began::Woken { cpu },
            _ => Began::Started,
        }
    }

    /// The task that got the CPU of a preempted task.
    fn successor(&self, wait: &RunDelay, pid: u32) -> Option<String> {
        self.events(wait).iter().find_map(|event| match event.what {
            What::Switch { prev, next, .. } if prev == pid => {
                Some((next != 0).then(|| self.name(next)))
            }
            _ => None,
        })?
    }

    fn cause(&self, why: &Preemption) -> Option<String> {
        match why {
            Preemption::MoreImportant { pid } | Preemption::Inserted { pid } => {
                Some(self.name(*pid))
            }
            _ => None,
        }
    }

    fn placed(&self, wait: &RunDelay, whose: u32) -> Vec<Placed> {
        let placed = |event: &TraceEvent| match event.what {
            What::Enqueue { pid, queue, from, vtime, ahead, direct, .. } if pid == whose => {
                let (at_ns, cpu) = (event.time_ns, event.cpu);
                Some(Placed { at_ns, cpu, queue, from, vtime, ahead, direct })
            }
            _ => None,
        };
        self.events(wait).iter().filter_map(placed).collect()
    }

    /// The last choice before the wait's end is the one that ended it.
    fn slice_ns(&self, wait: &RunDelay, whose: u32) -> Option<u64> {
        let chosen = |event: &TraceEvent| match event.what {
            What::Choose { pid, slice_ns } if pid == whose => Some(slice_ns),
            _ => None,
        };
        self.events(wait).iter().rev().find_map(chosen)?
    }

    /// The turns of tasks on the CPUs that it waited on, and how long these idled.
    fn turns(&self, wait: &RunDelay) -> (Vec<Turn>, u64) {
        let (mut turns, mut idle_ns) = (Vec::new(), 0);
        let choices = self.choices(wait);
        for part in &wait.parts {
            for (stretch, ns) in self.timeline.within(part.cpu, part.from_ns, part.to_ns) {
                let Some(task) = stretch.task else {
                    idle_ns += ns;
                    continue;
                };
                let from_ns = stretch.from_ns.max(part.from_ns);
                let past = &self.timeline.tasks[task];
                turns.push(Turn {
                    task: past.name.clone(),
                    group: self.timeline.groups[past.group].clone(),
                    ns,
                    turns: 1,
                    renewed: between(&choices, past.pid, from_ns, from_ns + ns),
                    ended: if stretch.to_ns > part.to_ns { Ended::Open } else { stretch.ended },
                });
            }
        }
        (turns, idle_ns)
    }

    /// The choices in order of time.
    fn choices(&self, wait: &RunDelay) -> Vec<(u32, u64)> {
        let choice = |event: &TraceEvent| match event.what {
            What::Choose { pid, .. } => Some((pid, event.time_ns)),
            _ => None,
        };
        let mut choices: Vec<_> = self.events(wait).iter().filter_map(choice).collect();
        choices.sort_unstable();
        choices
    }
}

/// How often a running task was chosen again while it ran.
fn between(choices: &[(u32, u64)], pid: u32, from_ns: u64, to_ns: u64) -> u64 {
    let first = choices.partition_point(|&choice| choice <= (pid, from_ns));
    choices[first..].partition_point(|&choice| choice < (pid, to_ns)) as u64
}

fn was_interrupted(ended: Ended) -> bool {
    matches!(ended, Ended::Left(Some(Preemption::MoreImportant { .. })))
}

/// At most [`TURNS`] turns, and those of the tasks that are left out.
fn compact(turns: Vec<Turn>) -> (Vec<Turn>, Vec<Turn>) {
    if turns.len() <= TURNS {
        return (turns, Vec::new());
    }
    let mut by_task: Vec<Turn> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for turn in turns {
        let place = *places.entry(turn.task.clone()).or_insert(by_task.len());
        let Some(sum) = by_task.get_mut(place) else {
            by_task.push(turn);
            continue;
        };
        sum.ns += turn.ns;
        // A task that was only interrupted continues the same turn.
        sum.turns += u64::from(!was_interrupted(sum.ended));
        sum.renewed += turn.renewed;
        sum.ended = turn.ended;
    }
    by_task.sort_by_key(|turn| Reverse(turn.ns));
    let rest = by_task.split_off(TURNS.min(by_task.len()));
    (by_task, rest)
}
