// SPDX-License-Identifier: GPL-2.0-only
//! A busy loop of known length.

use crate::player::clock::own_cpu_ns;

/// Under instruction counting one instruction is one nanosecond and a round is two instructions, so
/// the calibration is a definition there.
pub const VIRTUAL_ROUNDS_PER_MS: u64 = 500_000;

/// Uses the CPU for this many rounds of two instructions (decrement, jump).
#[inline(never)]
pub fn spin(rounds: u64) {
    if rounds == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only a register changes.
    unsafe {
        std::arch::asm!("2:", "dec {0}", "jnz 2b", inout(reg) rounds => _, options(nomem, nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for round in 0..rounds {
        std::hint::black_box(round);
    }
}

/// Measures how many rounds this machine does in one millisecond of CPU time: the best of several
/// short tries, because every disturbance makes a try slower.
pub fn calibrate() -> u64 {
    const ROUNDS: u64 = 1_000_000;
    // The first tries also wake the CPU up from its lower frequencies.
    let best_ns = (0..24).map(|_| timed(ROUNDS)).min().unwrap_or(1).max(1);
    (ROUNDS * 1_000_000 / best_ns).max(1)
}

fn timed(rounds: u64) -> u64 {
    let before = own_cpu_ns();
    spin(rounds);
    own_cpu_ns() - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_rounds_take_longer() {
        let best = |rounds| (0..10).map(|_| timed(rounds)).min().unwrap();
        assert!(best(400_000) > best(100_000));
        assert!(calibrate() > 1_000);
        spin(0);
    }
}
