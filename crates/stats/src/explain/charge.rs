// SPDX-License-Identifier: GPL-2.0-only
//! Charges every wait to the groups that its CPU ran during it.

use std::collections::BTreeMap;

use super::Spent;
use super::idle::Idle;
use super::timeline::{CpuSpan, Timeline};

/// The time of a CPU from the start to some moment, by group, then idling.
pub struct Meter<'a> {
    stretches: &'a [CpuSpan],
    timeline: &'a Timeline,
    place: usize,
    now_ns: u64,
    pub sums: Vec<u64>,
}

impl<'a> Meter<'a> {
    pub fn new(timeline: &'a Timeline, cpu: usize) -> Meter<'a> {
        let sums = vec![0; timeline.groups.len() + 1];
        Meter { stretches: &timeline.stretches[cpu], timeline, place: 0, now_ns: 0, sums }
    }

    /// Advances to this time, which must not be in the past.
    pub fn advance(&mut self, to_ns: u64) {
        while let Some(stretch) = self.stretches.get(self.place)
            && self.now_ns < to_ns
        {
            let stop_ns = stretch.to_ns.min(to_ns);
            let idle = self.timeline.groups.len();
            let whose = stretch.task.map_or(idle, |task| self.timeline.tasks[task].group);
            self.sums[whose] += stop_ns.saturating_sub(self.now_ns.max(stretch.from_ns));
            self.now_ns = stop_ns;
            self.place += usize::from(stop_ns == stretch.to_ns);
        }
    }
}

/// Where each task's time went.
pub fn tasks(timeline: &Timeline, idle: &Idle) -> Vec<Spent> {
    let (sums, idle_ns) = charges(timeline);
    let mut tasks: Vec<Spent> = timeline.tasks.iter().map(|past| spent(timeline, past)).collect();
    for (task, sums) in tasks.iter_mut().zip(sums) {
        add(&mut task.instead_ns, timeline.groups.iter().cloned().zip(sums));
    }
    for (wait, cpu_idle_ns) in timeline.waits.iter().zip(idle_ns) {
        let task = &mut tasks[wait.task];
        task.waits += 1;
        task.longest_wait_ns = task.longest_wait_ns.max(wait.to_ns - wait.from_ns);
        task.cpu_idle_ns += cpu_idle_ns;
        task.other_idle_ns += idle.elsewhere_ns(timeline, wait, cpu_idle_ns);
    }
    tasks.retain(|task| task.lifetime_ns > 0);
    tasks
}

/// For each task, the time of the CPUs that it waited on by group; for each wait, how long they
/// idled: the CPU's sums at the end of a part minus those at its beginning.
fn charges(timeline: &Timeline) -> (Vec<Vec<u64>>, Vec<u64>) {
    let mut boundaries: Vec<Vec<(u64, usize, bool)>> = vec![Vec::new(); timeline.stretches.len()];
    for (number, wait) in timeline.waits.iter().enumerate() {
        for part in &wait.parts {
            let on_cpu = &mut boundaries[part.cpu as usize];
            on_cpu.extend([(part.from_ns, number, true), (part.to_ns, number, false)]);
        }
    }
    let idle = timeline.groups.len();
    let mut sums = vec![vec![0_u64; idle]; timeline.tasks.len()];
    let mut idle_ns = vec![0_u64; timeline.waits.len()];
    for (cpu, mut on_cpu) in boundaries.into_iter().enumerate() {
        on_cpu.sort_unstable();
        let mut meter = Meter::new(timeline, cpu);
        for (at_ns, wait, begins) in on_cpu {
            meter.advance(at_ns);
            // The final difference is never negative; intermediate ones may wrap.
            let change = |sum: &mut u64, now: u64| {
                *sum = if begins { sum.wrapping_sub(now) } else { sum.wrapping_add(now) };
            };
            let own = &mut sums[timeline.waits[wait].task];
            own.iter_mut().zip(&meter.sums).for_each(|(sum, now)| change(sum, *now));
            change(&mut idle_ns[wait], meter.sums[idle]);
        }
    }
    (sums, idle_ns)
}

fn spent(timeline: &Timeline, past: &super::TaskTimes) -> Spent {
    let idle_ns = past.sleeping_ns + past.blocked_ns;
    Spent {
        name: past.name.clone(),
        group: timeline.groups[past.group].clone(),
        pid: past.pid,
        tasks: 1,
        lifetime_ns: past.running_ns + past.waiting_ns + idle_ns,
        running_ns: past.running_ns,
        waiting_ns: past.waiting_ns,
        sleeping_ns: past.sleeping_ns,
        blocked_ns: past.blocked_ns,
        preemptions: past.preemptions,
        moves: past.moves,
        ..Spent::default()
    }
}

fn add(sums: &mut BTreeMap<String, u64>, more: impl Iterator<Item = (String, u64)>) {
    for (name, ns) in more.filter(|&(_, ns)| ns > 0) {
        *sums.entry(name).or_default() += ns;
    }
}

/// The sums over each group's tasks.
pub fn groups(timeline: &Timeline, tasks: &[Spent]) -> Vec<Spent> {
    let group = |name: &String| {
        let of_group = tasks.iter().filter(|task| task.group == *name);
        let empty = Spent { name: name.clone(), group: name.clone(), ..Spent::default() };
        of_group.fold(empty, plus)
    };
    timeline.groups.iter().map(group).filter(|group| group.tasks > 0).collect()
}

fn plus(mut sum: Spent, task: &Spent) -> Spent {
    sum.tasks += task.tasks;
    sum.lifetime_ns += task.lifetime_ns;
    sum.running_ns += task.running_ns;
    sum.waiting_ns += task.waiting_ns;
    sum.sleeping_ns += task.sleeping_ns;
    sum.blocked_ns += task.blocked_ns;
    sum.waits += task.waits;
    sum.preemptions += task.preemptions;
    sum.moves += task.moves;
    sum.longest_wait_ns = sum.longest_wait_ns.max(task.longest_wait_ns);
    sum.cpu_idle_ns += task.cpu_idle_ns;
    sum.other_idle_ns += task.other_idle_ns;
    add(&mut sum.instead_ns, task.instead_ns.iter().map(|(name, &ns)| (name.clone(), ns)));
    sum
}
