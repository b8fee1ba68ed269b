// SPDX-License-Identifier: GPL-2.0-only
//! The interrupts of a workload, one source for each CPU.

use crate::play::Refusal;
use crate::play::limits::{self, TIME_US_MAX};
use crate::{InterruptLoad, Workload};

/// The shortest time between two interrupts: that of Linux's `cpu-clock` events.
const EVERY_US_MIN: u64 = 10;
/// The longest work for an interrupt: a CPU that is away longer counts as locked up.
const LENGTH_US_MAX: u64 = 10_000;
/// How much of a CPU interrupts may take.
const SHARE_PERCENT_MAX: u64 = 90;
const NS_PER_US: u64 = 1_000;

/// What interrupts a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptSource {
    pub cpu: u32,
    pub every_ns: u64,
    pub length_ns: u64,
}

/// All of them, in the order of the workload's tables and of the CPUs in each.
///
/// # Errors
/// A table that cannot be played.
pub fn sources(workload: &Workload, cpus: u32) -> Result<Vec<InterruptSource>, Refusal> {
    let mut all = Vec::new();
    for (index, load) in workload.interrupts.iter().enumerate() {
        add(load, cpus, &mut all)
            .map_err(|refusal| refusal.inside(format_args!("interrupt[{index}]")))?;
    }
    Ok(all)
}

fn add(load: &InterruptLoad, cpus: u32, all: &mut Vec<InterruptSource>) -> Result<(), Refusal> {
    check(load, cpus)?;
    let (every_ns, length_ns) = (load.every_us * NS_PER_US, load.length_us * NS_PER_US);
    let is_chosen = |cpu: &u32| load.cpus.is_empty() || load.cpus.contains(cpu);
    for cpu in (0..cpus).filter(is_chosen) {
        all.push(InterruptSource { cpu, every_ns, length_ns });
        let of_cpu = all.iter().filter(|source| source.cpu == cpu);
        let percent: u64 = of_cpu.map(|source| source.length_ns * 100 / source.every_ns).sum();
        if percent > SHARE_PERCENT_MAX {
            return Err(Refusal::new(
                format!("the interrupts of CPU {cpu} take {percent} % of it"),
                format!("leave time for tasks: {SHARE_PERCENT_MAX} % at most"),
            ));
        }
    }
    Ok(())
}

fn check(load: &InterruptLoad, cpus: u32) -> Result<(), Refusal> {
    limits::range("time between interrupts in µs", load.every_us, EVERY_US_MIN, TIME_US_MAX)
        .map_err(|refusal| refusal.inside("every_us"))?;
    limits::range("an interrupt's length in µs", load.length_us, 1, LENGTH_US_MAX)
        .map_err(|refusal| refusal.inside("length_us"))?;
    limits::affinity(&load.cpus, cpus).map_err(|refusal| refusal.inside("cpus"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(tables: &[(u64, u64, &[u32])]) -> Workload {
        let table = |&(every_us, length_us, cpus): &(u64, u64, &[u32])| InterruptLoad {
            every_us,
            length_us,
            cpus: cpus.to_vec(),
        };
        Workload { interrupts: tables.iter().map(table).collect(), ..Workload::default() }
    }

    #[test]
    fn a_table_without_cpus_interrupts_all() {
        let found = sources(&workload(&[(1_000, 50, &[]), (200, 10, &[1])]), 2).unwrap();
        let found = found.iter().map(|source| (source.cpu, source.every_ns, source.length_ns));
        let expected = [(0, 1_000_000, 50_000), (1, 1_000_000, 50_000), (1, 200_000, 10_000)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_leaves_no_time_is_refused() {
        for (tables, place) in [
            (&[(5, 1, &[][..])][..], "interrupt[0].every_us"),
            (&[(100, 0, &[])], "interrupt[0].length_us"),
            (&[(100, 1, &[]), (100, 1, &[7])], "interrupt[1].cpus"),
            (&[(100, 60, &[]), (100, 31, &[1])], "interrupt[1]"),
            (&[(1_000, 2_000, &[])], "interrupt[0]"),
        ] {
            let refused = sources(&workload(tables), 2).unwrap_err();
            assert_eq!(refused.path, place, "{refused}");
        }
        assert!(sources(&workload(&[(100, 90, &[])]), 2).is_ok());
    }
}
