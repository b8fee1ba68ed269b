// SPDX-License-Identifier: GPL-2.0-only
//! Lost CPU time: CPUs that idle while tasks that may use them wait. A work-conserving scheduler
//! avoids this.
//!
//! At each moment the loss is the number of CPUs that could be busy and are not: the smaller of the
//! number of idle CPUs and that of waiting tasks that may use them. Where groups are bound to
//! different CPUs, it is the most that could be matched one by one, the most restricted group
//! first.

use serde::Serialize;

use super::timeline::{RunDelay, Timeline};

/// Time that CPUs idled while tasks that may use them waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IdleWhileWaiting {
    /// CPU time lost, ns: two CPUs for 1 ms are 2 ms.
    pub cpu_ns: u64,
    /// Time with a loss on at least one CPU, ns.
    pub time_ns: u64,
    pub episodes: u64,
    /// The worst episodes, most lost CPU time first.
    pub worst: Vec<Episode>,
}

/// A span in which at least one CPU idled while a task that may use it waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Episode {
    pub from_ns: u64,
    pub to_ns: u64,
    /// CPU time lost, ns.
    pub cpu_ns: u64,
    /// The task that waited longest in it.
    pub task: String,
    pub task_cpu: u32,
    /// The CPU that idled longest in it, of those that the task may use.
    pub idle_cpu: u32,
}

const WORST: usize = 5;

/// Groups that may use the same CPUs.
struct Class {
    /// `None`: all CPUs.
    cpus: Option<Vec<u32>>,
    /// Times in which at least one of them idles, and the sum of these up to each one's start.
    idle: Vec<(u64, u64, u64)>,
}

/// The idle spans, for each set of CPUs that groups may use.
pub struct Idle {
    classes: Vec<Class>,
    of_group: Vec<usize>,
}

impl Idle {
    /// From the stretches of all CPUs.
    pub fn new(timeline: &Timeline) -> Idle {
        let mut sets: Vec<Option<Vec<u32>>> = Vec::new();
        let mut of_group = Vec::new();
        for set in &timeline.allowed {
            let known = sets.iter().position(|known| known == set);
            of_group.push(known.unwrap_or(sets.len()));
            if known.is_none() {
                sets.push(set.clone());
            }
        }
        let class = |cpus: Option<Vec<u32>>| Class { idle: idle_times(timeline, &cpus), cpus };
        Idle { classes: sets.into_iter().map(class).collect(), of_group }
    }

    /// How long the CPUs of a wait were busy while another CPU that the task may use idled.
    pub fn elsewhere_ns(&self, timeline: &Timeline, wait: &RunDelay, cpu_idle_ns: u64) -> u64 {
        let class = &self.classes[self.of_group[timeline.tasks[wait.task].group]];
        let any = class.idle_until(wait.to_ns) - class.idle_until(wait.from_ns);
        any.saturating_sub(cpu_idle_ns)
    }

    /// The loss, and its worst episodes.
    pub fn while_waiting(&self, timeline: &Timeline) -> IdleWhileWaiting {
        let mut sweep = Sweep::new(self);
        for (at_ns, change) in self.changes(timeline) {
            sweep.until(at_ns);
            sweep.change(self, change);
        }
        sweep.until(timeline.end_ns);
        sweep.end_episode();
        let Sweep { mut all, mut episodes, .. } = sweep;
        all.episodes = episodes.len() as u64;
        episodes.sort_by_key(|episode| (std::cmp::Reverse(episode.cpu_ns), episode.from_ns));
        episodes.truncate(WORST);
        episodes.iter_mut().for_each(|episode| self.describe(timeline, episode));
        all.worst = episodes;
        all
    }

    /// All changes of idle CPUs and waiting tasks, in order of time.
    fn changes(&self, timeline: &Timeline) -> Vec<(u64, SpanEdge)> {
        let mut changes = Vec::new();
        for wait in &timeline.waits {
            let class = self.of_group[timeline.tasks[wait.task].group];
            changes.push((wait.from_ns, SpanEdge::Waits(class, true)));
            changes.push((wait.to_ns, SpanEdge::Waits(class, false)));
        }
        for (cpu, stretches) in timeline.stretches.iter().enumerate() {
            for stretch in stretches.iter().filter(|stretch| stretch.task.is_none()) {
                changes.push((stretch.from_ns, SpanEdge::Idles(cpu as u32, true)));
                changes.push((stretch.to_ns, SpanEdge::Idles(cpu as u32, false)));
            }
        }
        changes.sort_unstable();
        changes
    }

    fn describe(&self, timeline: &Timeline, episode: &mut Episode) {
        let (from_ns, to_ns) = (episode.from_ns, episode.to_ns);
        let overlap = |a: u64, b: u64| b.min(to_ns).saturating_sub(a.max(from_ns));
        let idle_cpu = |cpus: &Option<Vec<u32>>| {
            let all: Vec<u32> = (0..timeline.stretches.len() as u32).collect();
            let idled = |&cpu: &u32| {
                let within = timeline.within(cpu, from_ns, to_ns);
                let idle = within.filter(|(stretch, _)| stretch.task.is_none());
                (idle.map(|(_, ns)| ns).sum::<u64>(), u32::MAX - cpu)
            };
            let best = cpus.as_ref().unwrap_or(&all).iter().copied().max_by_key(idled);
            best.filter(|cpu| idled(cpu).0 > 0)
        };
        let idle_cpus: Vec<Option<u32>> =
            self.classes.iter().map(|class| idle_cpu(&class.cpus)).collect();
        let class = |wait: &RunDelay| self.of_group[timeline.tasks[wait.task].group];
        let usable = timeline.waits.iter().filter(|wait| idle_cpus[class(wait)].is_some());
        let longest = usable.max_by_key(|wait| overlap(wait.from_ns, wait.to_ns));
        if let Some(wait) = longest {
            episode.task = timeline.tasks[wait.task].name.clone();
            let part = wait.parts.iter().max_by_key(|part| overlap(part.from_ns, part.to_ns));
            episode.task_cpu = part.map_or(0, |part| part.cpu);
            episode.idle_cpu = idle_cpus[class(wait)].unwrap_or_default();
        }
    }
}

impl Class {
    /// How long at least one of the CPUs has idled up to a time.
    fn idle_until(&self, at_ns: u64) -> u64 {
        let after = self.idle.partition_point(|&(from_ns, ..)| from_ns < at_ns);
        let Some(&(from_ns, to_ns, before)) = after.checked_sub(1).map(|last| &self.idle[last])
        else {
            return 0;
        };
        before + at_ns.min(to_ns) - from_ns
    }
}

/// Whether a CPU is one of those that a class may use.
fn holds(cpus: &Option<Vec<u32>>, cpu: u32) -> bool {
    cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu))
}

/// Times in which at least one of the CPUs idles, in order, with the sum of those before.
fn idle_times(timeline: &Timeline, cpus: &Option<Vec<u32>>) -> Vec<(u64, u64, u64)> {
    let of_class = timeline.stretches.iter().zip(0..).filter(|&(_, cpu)| holds(cpus, cpu));
    let idle = of_class
        .flat_map(|(stretches, _)| stretches.iter().filter(|stretch| stretch.task.is_none()));
    let mut times: Vec<(u64, u64)> = idle.map(|stretch| (stretch.from_ns, stretch.to_ns)).collect();
    times.sort_unstable();
    let mut joined: Vec<(u64, u64, u64)> = Vec::new();
    for (from_ns, to_ns) in times {
        match joined.last_mut() {
            Some(last) if from_ns <= last.1 => last.1 = last.1.max(to_ns),
            last => {
                let before = last.map_or(0, |&mut (a, b, before)| before + b - a);
                joined.push((from_ns, to_ns, before));
            }
        }
    }
    joined
}

/// Where a span begins or ends; ends sort before beginnings of the same time, so that spans do not
/// overlap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SpanEdge {
    /// A task of a class begins or ends waiting.
    Waits(usize, bool),
    /// A CPU begins or ends idling.
    Idles(u32, bool),
}

/// The state between two changes.
struct Sweep {
    now_ns: u64,
    waiting: Vec<u64>,
    idling: Vec<u64>,
    idle_cpus: u64,
    /// Classes, those with the fewest CPUs first.
    order: Vec<usize>,
    all: IdleWhileWaiting,
    episode: Option<Episode>,
    episodes: Vec<Episode>,
}

impl Sweep {
    fn new(idle: &Idle) -> Sweep {
        let classes = idle.classes.len();
        let mut order: Vec<usize> = (0..classes).collect();
        let size = |&class: &usize| idle.classes[class].cpus.as_ref().map_or(usize::MAX, Vec::len);
        order.sort_by_key(size);
        Sweep {
            now_ns: 0,
            waiting: vec![0; classes],
            idling: vec![0; classes],
            idle_cpus: 0,
            order,
            all: IdleWhileWaiting::default(),
            episode: None,
            episodes: Vec::new(),
        }
    }

    /// The number of CPUs that could be busy and are not.
    fn lost(&self) -> u64 {
        let of_class = |&class: &usize| self.waiting[class].min(self.idling[class]);
        self.order.iter().map(of_class).sum::<u64>().min(self.idle_cpus)
    }

    fn until(&mut self, at_ns: u64) {
        let ns = at_ns.saturating_sub(self.now_ns);
        if ns == 0 {
            return;
        }
        let lost = self.lost();
        if lost == 0 {
            self.end_episode();
        } else {
            let from_ns = self.now_ns;
            let new = || Episode { from_ns, ..Episode::default() };
            let episode = self.episode.get_or_insert_with(new);
            episode.to_ns = at_ns;
            episode.cpu_ns += lost * ns;
            self.all.cpu_ns += lost * ns;
            self.all.time_ns += ns;
        }
        self.now_ns = at_ns;
    }

    fn end_episode(&mut self) {
        self.episodes.extend(self.episode.take());
    }

    fn change(&mut self, idle: &Idle, change: SpanEdge) {
        let step = |count: &mut u64, up: bool| *count = if up { *count + 1 } else { *count - 1 };
        match change {
            SpanEdge::Waits(class, up) => step(&mut self.waiting[class], up),
            SpanEdge::Idles(cpu, up) => {
                step(&mut self.idle_cpus, up);
                for (class, count) in idle.classes.iter().zip(&mut self.idling) {
                    if holds(&class.cpus, cpu) {
                        step(count, up);
                    }
                }
            }
        }
    }
}
