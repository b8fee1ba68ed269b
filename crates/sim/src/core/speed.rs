// SPDX-License-Identifier: GPL-2.0-only
//! How fast each CPU works at present: its capacity, what busy siblings leave it of their core, and
//! the boost while few cores are busy.
//!
//! DIVERGES: kernel work has the same length at every speed, and a speed changes with the event
//! that makes a CPU busy or idle, before that event's kernel work. Real cores share by what their
//! threads do, boost by temperature too, and need time to change their frequency.

use model::Machine;

use super::Core;
use super::kernel::MachineState;
use super::topology::Topology;

/// Full speed. Speeds are whole numbers, the same on every host.
pub const FULL: u64 = 1024;

pub struct Speeds {
    /// At present, [`FULL`] is a nanosecond of work in a nanosecond.
    now: Vec<u64>,
    /// Of each CPU whose siblings are idle.
    capacity: Vec<u64>,
    /// What each busy thread of a core has while `n + 1` of them are busy, per cent.
    share: Vec<u64>,
    /// The cores' speed while `n + 1` of them are busy, per cent; the last counts for more.
    boost: Vec<u64>,
    busy_threads: Vec<u32>,
    busy_cores: u32,
}

impl Speeds {
    pub fn new(machine: &Machine, topology: &Topology) -> Speeds {
        let busy_share =
            |threads: u32| u64::from(if threads > 1 { machine.smt_percent } else { 100 });
        let mut speeds = Speeds {
            now: Vec::new(),
            capacity: topology.capacity.clone(),
            share: (1..=topology.smt).map(busy_share).collect(),
            boost: machine.boost_percent.iter().map(|percent| u64::from(*percent)).collect(),
            busy_threads: vec![0; topology.cores.len()],
            busy_cores: 0,
        };
        speeds.now = (0..topology.cpus).map(|cpu| speeds.at(cpu, cpu / topology.smt)).collect();
        speeds
    }

    #[inline]
    pub fn of(&self, cpu: u32) -> u64 {
        self.now[cpu as usize]
    }

    /// Whether no CPU's speed ever changes.
    #[inline]
    fn are_fixed(&self) -> bool {
        self.boost.is_empty() && self.share.last().is_none_or(|share| *share == 100)
    }

    fn at(&self, cpu: u32, core: u32) -> u64 {
        let threads = self.busy_threads[core as usize].max(1) as usize;
        let share = self.share[threads - 1];
        (self.capacity[cpu as usize] * share * self.boost_percent() / 10_000).max(1)
    }

    fn boost_percent(&self) -> u64 {
        let cores = self.busy_cores.max(1) as usize;
        self.boost.get(cores - 1).or(self.boost.last()).copied().unwrap_or(100)
    }
}

impl Core {
    /// `rq->clock_task` of a CPU, which stands still while it is idle, ns.
    pub fn clock_task(&self, cpu: u32) -> u64 {
        let here = self.machine.cpus.get(cpu as usize);
        here.map_or(0, |here| {
            if self.machine.is_idle(cpu) { here.idle_since } else { self.machine.clock(cpu) }
        })
    }

    /// `rq->clock_pelt - rq->lost_idle_time` of a CPU: its busy time in the measure of a full CPU,
    /// ns.
    ///
    /// DIVERGES: the boost of few busy cores, and what siblings take, are not counted.
    pub fn clock_pelt(&self, cpu: u32) -> u64 {
        let Some(here) = self.machine.cpus.get(cpu as usize) else { return 0 };
        let busy_ns = self.clock_task(cpu).saturating_sub(here.idle_ns);
        let capacity = self.machine.topology.capacity[cpu as usize];
        (u128::from(busy_ns) * u128::from(capacity) / u128::from(FULL)) as u64
    }
}

impl MachineState {
    /// A CPU has become busy or idle: its siblings have less or more of their core, and the boost
    /// may have changed for all.
    #[inline]
    pub(super) fn busy_changes(&mut self, cpu: u32, is_busy: bool, clock: u64) {
        let here = self.cpu_mut(cpu);
        if is_busy {
            here.idle_ns += clock.saturating_sub(here.idle_since);
        } else {
            here.idle_since = clock;
        }
        if !self.speeds.are_fixed() {
            self.change_speeds(cpu, is_busy);
        }
    }

    fn change_speeds(&mut self, cpu: u32, is_busy: bool) {
        let speeds = &mut self.speeds;
        let (smt, boost) = (self.topology.smt, speeds.boost_percent());
        let core = cpu / smt;
        let threads = &mut speeds.busy_threads[core as usize];
        if is_busy {
            speeds.busy_cores += u32::from(*threads == 0);
            *threads += 1;
        } else {
            *threads -= 1;
            speeds.busy_cores -= u32::from(*threads == 0);
        }
        let all_change = boost != speeds.boost_percent();
        let changed = if all_change { 0..self.topology.cpus } else { core * smt..(core + 1) * smt };
        changed.for_each(|other| self.change_speed(other));
    }

    /// Charges the running task at the old speed first.
    fn change_speed(&mut self, cpu: u32) {
        let speed = self.speeds.at(cpu, cpu / self.topology.smt);
        if speed == self.speeds.of(cpu) {
            return;
        }
        let works = self.cpus[cpu as usize].done_at != u64::MAX;
        if works {
            self.pause(cpu);
        }
        self.speeds.now[cpu as usize] = speed;
        if works {
            self.resume(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(machine: &Machine, busy: &[u32]) -> Vec<u64> {
        let topology = Topology::new(machine);
        let mut speeds = Speeds::new(machine, &topology);
        for core in busy {
            speeds.busy_cores += u32::from(speeds.busy_threads[*core as usize] == 0);
            speeds.busy_threads[*core as usize] += 1;
        }
        (0..machine.cpus).map(|cpu| speeds.at(cpu, cpu / machine.smt)).collect()
    }

    #[test]
    fn siblings_share_their_core() {
        let machine = Machine { cpus: 4, smt: 2, smt_percent: 60, ..Machine::default() };
        assert_eq!(speeds(&machine, &[0]), [FULL; 4]);
        assert_eq!(speeds(&machine, &[0, 0, 1]), [614, 614, FULL, FULL]);
    }

    #[test]
    fn few_busy_cores_are_faster_and_slow_ones_stay_slow() {
        let machine = Machine {
            cpus: 3,
            capacity: vec![1024, 1024, 512],
            boost_percent: vec![120, 110, 100],
            ..Machine::default()
        };
        assert_eq!(speeds(&machine, &[2]), [1228, 1228, 614]);
        assert_eq!(speeds(&machine, &[0, 1]), [1126, 1126, 563]);
        assert_eq!(speeds(&machine, &[0, 1, 2]), [1024, 1024, 512]);
    }
}
