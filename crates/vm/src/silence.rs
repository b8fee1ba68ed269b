// SPDX-License-Identifier: GPL-2.0-only
//! How long a guest has been silent: a guest that gets no CPU of the host is not silent.

use std::time::{Duration, Instant};

/// The part of a CPU with which a machine counts as running. One that uses less stands still, and
/// its silence is as long as the time that passes.
const RUNNING: f64 = 0.02;
/// How long is looked at before that is decided.
const LOOK: Duration = Duration::from_secs(2);

/// A silence that goes on.
pub(crate) struct Silence {
    total: Duration,
    last: Instant,
    /// The machine's CPU time at `last`.
    used: Option<Duration>,
}

impl Silence {
    /// It begins now; the machine has used this much CPU time.
    pub fn begin(used: Option<Duration>) -> Silence {
        Silence { total: Duration::ZERO, last: Instant::now(), used }
    }

    /// Adds the time since the last look; returns the silence so far.
    pub fn goes_on(&mut self, used: Option<Duration>) -> Duration {
        let wall = self.last.elapsed();
        if wall >= LOOK {
            self.total +=
                counts(wall, self.used.zip(used).map(|(old, new)| new.saturating_sub(old)));
            self.last = Instant::now();
            self.used = used;
        }
        self.total
    }
}

/// How much of the wall time counts for a machine that used this much CPU time in it: never more
/// than all, all of it if it stood still or is gone, and else what it got.
fn counts(wall: Duration, used: Option<Duration>) -> Duration {
    match used {
        Some(used) if used >= wall.mul_f64(RUNNING) => used.min(wall),
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
