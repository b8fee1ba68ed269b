// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timer interrupts of a kernel whose HZ is not this one's.
 *
 * Old schedulers charge a whole tick to the task that runs when the timer interrupts, and nothing
 * to any other. Here the interrupts are the multiples of a tick on the clock, so that what is
 * charged does not depend on this kernel's HZ; only the end of a turn waits for this kernel's next
 * tick.
 */
#ifndef FAIRGROUND_TICK_H
#define FAIRGROUND_TICK_H

#define NS_PER_SECOND 1000000000ULL

/*
 * Returns how many interrupts there have been since a time, at `hz` a second, and sets that time to
 * now.
 */
static inline u64 pay_ticks(u64 *since_ns, u64 hz)
{
	u64 tick_ns = NS_PER_SECOND / hz, then = *since_ns, now = scx_bpf_now();

	*since_ns = now;
	/* Clocks of two CPUs may differ a little. */
	return now > then ? now / tick_ns - then / tick_ns : 0;
}

#endif /* FAIRGROUND_TICK_H */
