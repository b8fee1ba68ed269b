// SPDX-License-Identifier: GPL-2.0-only
//! What recording costs: the programs' own time, as the kernel counts it, and this process's.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use libbpf_rs::Object;
use nix::sys::resource::{UsageWho, getrusage};

use crate::probes::run_statistics;

/// CPU time that a recording took from the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// In the programs; `None` where the kernel does not count it for this user.
    pub programs_ns: Option<u64>,
    pub own_ns: u64,
    /// How long it lasted.
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
}

/// Counting costs time itself, so the kernel counts in one look of five, and the rest is taken to
/// be like that.
const LOOKS: u32 = 20;
const COUNTED_LOOKS: u32 = 4;

#[derive(Default)]
pub struct Meter {
    looks: u32,
    own_before: Duration,
    counting: Option<Counting>,
    counted: Duration,
    counted_ns: u64,
}

struct Counting {
    _switch: OwnedFd,
    since: Instant,
    before_ns: u64,
}

impl Meter {
    pub fn start(&mut self) {
        self.own_before = own_time();
    }

    /// A look at the events is over.
    pub fn tick(&mut self, object: &Object) {
        let counts = self.looks % LOOKS < COUNTED_LOOKS;
        self.looks += 1;
        match (counts, self.counting.is_some()) {
            (true, false) => self.counting = Counting::begin(object),
            (false, true) => self.end(object),
            _ => {}
        }
    }

    fn end(&mut self, object: &Object) {
        if let Some(counting) = self.counting.take() {
            self.counted += counting.since.elapsed();
            self.counted_ns += programs_ns(object).saturating_sub(counting.before_ns);
        }
    }

    pub fn finish(&mut self, object: &Object, length_ns: u64, cpus: u32) -> Cost {
        self.end(object);
        let counted_ns = self.counted.as_nanos() as f64;
        let scale = length_ns as f64 / counted_ns;
        Cost {
            programs_ns: (counted_ns > 0.0).then_some((self.counted_ns as f64 * scale) as u64),
            own_ns: own_time().saturating_sub(self.own_before).as_nanos() as u64,
            length_ns,
            cpus,
        }
    }
}

impl Counting {
    fn begin(object: &Object) -> Option<Counting> {
        // SAFETY: no pointers; the descriptor is new and ours.
        let switch = unsafe {
            let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
        }?;
        let (since, before_ns) = (Instant::now(), programs_ns(object));
        Some(Counting { _switch: switch, since, before_ns })
    }
}

/// The time in all programs so far, as far as it was counted.
fn programs_ns(object: &Object) -> u64 {
    let loaded = object.progs().filter(|program| program.autoload());
    loaded.filter_map(|program| run_statistics(program.as_fd().as_raw_fd())).map(|(_, ns)| ns).sum()
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

    #[test]
    fn the_cost_is_a_part_of_all_cpus_time() {
        let cost = Cost { programs_ns: Some(30), own_ns: 10, length_ns: 1_000, cpus: 4 };
        assert_eq!(cost.percent(), Some(1.0));
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
