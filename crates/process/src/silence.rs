// SPDX-License-Identifier: GPL-2.0-only
//! How long a process has been silent, or has worked: one that gets no CPU of a busy host is
//! neither silent nor at work, so that other work on the host changes no outcome.

use std::time::{Duration, Instant};

use crate::patient::state;

/// The part of a CPU with which a process counts as running. One that uses less stands still, and
/// its silence is as long as the time that passes.
const RUNNING: f64 = 0.02;
/// How long is looked at before that is decided, at most.
const LOOK: Duration = Duration::from_secs(2);

/// A silence that goes on, up to a limit.
pub struct Silence {
    limit: Duration,
    total: Duration,
    last: Instant,
    process: Option<libc::pid_t>,
    /// The process's CPU time at `last`.
    used: Option<Duration>,
}

impl Silence {
    /// It begins now. Without a process all time counts.
    pub fn begin(limit: Duration, process: Option<libc::pid_t>) -> Silence {
        let used = process.and_then(crate::cpu_time);
        Silence { limit, total: Duration::ZERO, last: Instant::now(), process, used }
    }

    /// Leaves out the time since the last look: somebody has stopped the process.
    pub fn pause(&mut self) {
        self.last = Instant::now();
    }

    /// Adds the time since the last look; says whether the limit is reached.
    pub fn is_over(&mut self) -> bool {
        let wall = self.last.elapsed();
        if wall >= LOOK.min(self.limit / 8) {
            let used = self.process.and_then(crate::cpu_time);
            let got = self.used.zip(used).map(|(old, new)| new.saturating_sub(old));
            self.total += counts(wall, got, self.process.is_some_and(is_runnable));
            self.last = Instant::now();
            self.used = used;
        }
        self.total >= self.limit
    }
}

/// Whether a process that has had this much wall time since the last look has worked in it.
pub fn has_worked(wall: Duration, used: Duration) -> bool {
    used >= wall.mul_f64(RUNNING)
}

/// Whether the process's first thread runs or waits for a CPU. On a busy host one that is nice can
/// get less than [`RUNNING`] of a CPU.
fn is_runnable(process: libc::pid_t) -> bool {
    state(process) == Some('R')
}

/// How much of the wall time counts for a process that used this much CPU time in it: never more
/// than all, all of it if it stood still or is gone, and else what it got.
fn counts(wall: Duration, used: Option<Duration>, is_runnable: bool) -> Duration {
    match used {
        Some(used) if is_runnable || has_worked(wall, used) => used.min(wall),
        _ => wall,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starved_guest_is_not_silent_and_a_dead_one_is() {
        let ms = Duration::from_millis;
        assert_eq!(counts(ms(2000), Some(ms(200)), false), ms(200));
        assert_eq!(counts(ms(2000), Some(ms(8000)), true), ms(2000));
        assert_eq!(counts(ms(2000), Some(ms(10)), false), ms(2000));
        assert_eq!(counts(ms(2000), Some(ms(10)), true), ms(10));
        assert_eq!(counts(ms(2000), None, false), ms(2000));
    }

    #[test]
    fn one_that_computes_is_runnable_and_one_that_sleeps_is_not() {
        for (command, computes) in [("while :; do :; done", true), ("exec sleep 600", false)] {
            let mut shell = std::process::Command::new("sh");
            let mut child = shell.args(["-c", command]).spawn().expect("a shell");
            let pid = child.id() as i32;
            // Once it has begun: the test ends only if it comes to this.
            while is_runnable(pid) != computes {
                std::thread::yield_now();
            }
            child.kill().and_then(|()| child.wait()).expect("it ends");
            assert!(!is_runnable(pid), "it is gone");
        }
    }
}
