// SPDX-License-Identifier: GPL-2.0-only
//! How long a process has been silent, or has worked: one that gets no CPU of a busy host is
//! neither silent nor at work, so that other work on the host changes no outcome.

use std::time::{Duration, Instant};

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
    /// The process's CPU time at `last`.
    used: Option<Duration>,
}

impl Silence {
    /// It begins now; the process has used this much CPU time.
    pub fn begin(limit: Duration, used: Option<Duration>) -> Silence {
        Silence { limit, total: Duration::ZERO, last: Instant::now(), used }
    }

    /// Leaves out the time since the last look: somebody has stopped the process.
    pub fn pause(&mut self) {
        self.last = Instant::now();
    }

    /// Adds the time since the last look; says whether the limit is reached.
    pub fn is_over(&mut self, used: Option<Duration>) -> bool {
        let wall = self.last.elapsed();
        if wall >= LOOK.min(self.limit / 8) {
            self.total +=
                counts(wall, self.used.zip(used).map(|(old, new)| new.saturating_sub(old)));
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

/// How much of the wall time counts for a process that used this much CPU time in it: never more
/// than all, all of it if it stood still or is gone, and else what it got.
fn counts(wall: Duration, used: Option<Duration>) -> Duration {
    match used {
        Some(used) if has_worked(wall, used) => used.min(wall),
        _ => wall,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starved_guest_is_not_silent_and_a_dead_one_is() {
        let ms = Duration::from_millis;
        assert_eq!(counts(ms(2000), Some(ms(200))), ms(200));
        assert_eq!(counts(ms(2000), Some(ms(8000))), ms(2000));
        assert_eq!(counts(ms(2000), Some(ms(10))), ms(2000));
        assert_eq!(counts(ms(2000), None), ms(2000));
    }
}
