// SPDX-License-Identifier: GPL-2.0-only
//! A busy loop of known length.

use crate::player::call_costs::CallCosts;
use crate::player::clock::own_cpu_ns;

/// Under instruction counting one instruction is one nanosecond and a round is two instructions, so
/// the calibration is a definition there.
pub const VIRTUAL_ROUNDS_PER_MS: u64 = 500_000;

/// How CPU time is used on this machine.
#[derive(Clone, Copy, Debug)]
pub struct BusyLoop {
    /// Rounds of one millisecond of CPU time.
    pub rounds_per_ms: u64,
    rounds: fn(u64),
    /// What is used besides, by the player's calls.
    pub calls: CallCosts,
}

impl BusyLoop {
    /// Where instructions are the clock.
    pub fn counted() -> BusyLoop {
        let (rounds_per_ms, calls) = (VIRTUAL_ROUNDS_PER_MS, CallCosts::default());
        BusyLoop { rounds_per_ms, rounds: count, calls }
    }

    /// Where time is the clock, and this many rounds take a millisecond, see [`calibrate`].
    pub fn timed(rounds_per_ms: u64) -> BusyLoop {
        BusyLoop { rounds_per_ms, rounds: spin, calls: CallCosts::default() }
    }

    /// Uses the CPU for this many rounds.
    pub fn spin(&self, rounds: u64) {
        (self.rounds)(rounds);
    }
}

/// Rounds that one block of [`count`] stands for.
#[cfg(target_arch = "x86_64")]
const BLOCK_ROUNDS: u64 = 64;

/// Executes as many instructions as [`spin`], nearly all of them in blocks without a jump. An
/// emulator has work to do at each jump and none for a `nop`, so it gets through a millisecond in
/// a twentieth of the time.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn count(rounds: u64) {
    let blocks = rounds / BLOCK_ROUNDS;
    if blocks > 0 {
        // SAFETY: only a register changes.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept {nops}",
                "nop",
                ".endr",
                "dec {0}",
                "jnz 2b",
                inout(reg) blocks => _,
                nops = const 2 * BLOCK_ROUNDS - 2,
                options(nomem, nostack)
            );
        }
    }
    spin(rounds % BLOCK_ROUNDS);
}

#[cfg(not(target_arch = "x86_64"))]
fn count(rounds: u64) {
    spin(rounds);
}

/// Uses the CPU for this many rounds of two instructions (decrement, jump).
#[inline(never)]
fn spin(rounds: u64) {
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
        BusyLoop::counted().spin(1_000_000);
        BusyLoop::counted().spin(0);
    }
}
