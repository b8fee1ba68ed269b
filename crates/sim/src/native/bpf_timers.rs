// SPDX-License-Identifier: GPL-2.0-only
//! `bpf_timer`. The structure in the scheduler's map holds the timer's number plus one; 0 means
//! that it was not initialised.

use super::kfuncs::kfuncs;
use super::maps::{Map, errno};
use super::simulator::{This, Timer, TimerCallback, core};

/// `BPF_F_TIMER_ABS`: the time is absolute.
const ABSOLUTE: u64 = 1;
/// `BPF_F_TIMER_CPU_PIN`: simulated timers never leave their CPU anyway.
const PINNED: u64 = 2;
/// `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME`. The model has no `CLOCK_REALTIME` (0).
const CLOCKS: [u64; 2] = [1, 7];

/// The number of an initialised timer.
///
/// # Safety
/// `timer` must be a `struct bpf_timer` in a map.
unsafe fn number(timer: *mut u64) -> Option<u32> {
    // SAFETY: the caller's.
    (unsafe { timer.read() } as u32).checked_sub(1)
}

kfuncs! {
    fn bpf_timer_init(timer: *mut u64, map: *mut u8, clock: u64; this) -> i64 {
        if !CLOCKS.contains(&clock) {
            return errno::EINVAL;
        }
        if number(timer).is_some() {
            return errno::EBUSY;
        }
        let Some((key, value)) = (**map.cast::<*mut Map>()).key_of(timer.cast()) else {
            return errno::EINVAL;
        };
        let id = core(this).timer_new();
        (*this).timers.push(Timer { map, key, value, callback: None });
        timer.write(u64::from(id) + 1);
        0
    }

    fn bpf_timer_set_callback(timer: *mut u64, callback: Option<TimerCallback>; this) -> i64 {
        let Some(id) = number(timer) else { return errno::EINVAL };
        (&mut (*this).timers)[id as usize].callback = callback;
        0
    }

    fn bpf_timer_start(timer: *mut u64, ns: u64, flags: u64; this) -> i64 {
        let Some(id) = number(timer) else { return errno::EINVAL };
        if flags & !(ABSOLUTE | PINNED) != 0 || (&(*this).timers)[id as usize].callback.is_none() {
            return errno::EINVAL;
        }
        let core = core(this);
        let delay = if flags & ABSOLUTE != 0 { ns.saturating_sub(core.now()) } else { ns };
        core.timer_start(id, delay);
        0
    }

    fn bpf_timer_cancel(timer: *mut u64; this) -> i64 {
        match number(timer) {
            Some(id) => i64::from(core(this).timer_cancel(id)),
            None => errno::EINVAL,
        }
    }
}

/// Cancels the timers of an entry that is deleted.
///
/// # Safety
/// As for [`core`].
pub unsafe fn forget(this: This, map: *mut u8, key: &[u8]) {
    // SAFETY: the caller's.
    unsafe {
        let timers = &(*this).timers;
        let of_entry =
            timers.iter().enumerate().filter(|(_, timer)| timer.map == map && timer.key == key);
        for (id, _) in of_entry {
            core(this).timer_cancel(id as u32);
        }
    }
}

/// Calls the callback of a timer that has expired.
///
/// # Safety
/// Inside a callback of the engine.
pub unsafe fn expire(this: This, id: u32) {
    // SAFETY: the scheduler's function and memory; both live as long as the trial.
    unsafe {
        let timer = &mut (&mut (*this).timers)[id as usize];
        let (map, value) = (timer.map, timer.value);
        // The callback may start more timers, which moves the table but not the key.
        let key = timer.key.as_mut_ptr();
        if let Some(callback) = timer.callback {
            callback(map, key, value);
        }
    }
}
