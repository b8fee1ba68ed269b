// SPDX-License-Identifier: GPL-2.0-only
//! What recording costs: the programs' own time, as the kernel counts it, and this process's.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use libbpf_rs::Object;
use nix::sys::resource::{UsageWho, getrusage};

use crate::probes::{count_runs, run_statistics};

/// CPU time that a recording took from the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// In the programs; `None` where the kernel does not count it for this user.
    pub programs_ns: Option<u64>,
    /// How often one of them ran.
    pub runs: u64,
    pub own_ns: u64,
    pub length_ns: u64,
    /// How many CPUs could work meanwhile.
    pub cpus: u32,
}

impl Cost {
    /// The part of the machine's CPU time, in percent.
    pub fn percent(&self) -> Option<f64> {
        let machine_ns = self.length_ns as f64 * f64::from(self.cpus);
        let taken_ns = (self.programs_ns? + self.own_ns) as f64;
        (machine_ns > 0.0).then(|| 100.0 * taken_ns / machine_ns)
    }

    /// What one event took of the task at work, on average; programs of other tasks and of
    /// interrupts ran, too.
    pub fn event_ns(&self) -> Option<u64> {
        self.programs_ns?.checked_div(self.runs)
    }
}

/// Counts while the programs are attached.
pub struct Meter {
    /// The kernel counts as long as this is open; `None`: it does not for this user.
    counting: Option<OwnedFd>,
    /// Runs and time.
    programs_before: (u64, u64),
    own_before: Duration,
}

impl Meter {
    pub fn start(object: &Object) -> Meter {
        Meter { counting: count_runs(), programs_before: programs(object), own_before: own_time() }
    }

    pub fn finish(&self, object: &Object, length_ns: u64, cpus: u32) -> Cost {
        let ((runs_before, before_ns), (runs, ns)) = (self.programs_before, programs(object));
        let programs_ns = ns.saturating_sub(before_ns);
        Cost {
            programs_ns: self.counting.as_ref().map(|_| programs_ns),
            runs: runs.saturating_sub(runs_before),
            own_ns: own_time().saturating_sub(self.own_before).as_nanos() as u64,
            length_ns,
            cpus,
        }
    }
}

/// How often all programs ran so far, and for how long, as far as it was counted.
fn programs(object: &Object) -> (u64, u64) {
    let loaded = object.progs().filter(|program| program.autoload());
    let counted = loaded.filter_map(|program| run_statistics(program.as_fd().as_raw_fd()));
    counted.fold((0, 0), |(runs, sum_ns), (more, ns)| (runs + more, sum_ns + ns))
}

/// The CPU time of this process.
fn own_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
    let of = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1_000)
    };
    usage.map(|usage| of(usage.user_time()) + of(usage.system_time())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_cost_is_a_part_of_all_cpus_time() {
        let cost = Cost { programs_ns: Some(30), runs: 3, own_ns: 10, length_ns: 1_000, cpus: 4 };
        assert_eq!((cost.percent(), cost.event_ns()), (Some(1.0), Some(10)));
        assert_eq!(Cost { programs_ns: None, ..cost }.percent(), None);
        assert_eq!(Cost { length_ns: 0, ..cost }.percent(), None);
    }

    #[test]
    fn the_process_has_used_time() {
        let before = own_time();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {}
        assert!(own_time() > before);
    }
}
