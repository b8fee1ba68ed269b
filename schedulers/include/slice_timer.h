// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timer for each CPU that ends a slice where it ends, not at the next tick.
 *
 * The scheduler defines `slice_timer_fires()`, which may start the timer again.
 */
#ifndef FAIRGROUND_SLICE_TIMER_H
#define FAIRGROUND_SLICE_TIMER_H

#include "common.h"

#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#endif

struct slice_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct slice_timer);
} slice_timers SEC(".maps");

static int slice_timer_fires(void *map, int *cpu, struct slice_timer *timer);

/* Starts a CPU's timer, or moves it if it has been started. */
static inline void start_slice_timer(u32 cpu, u64 in_ns, u64 flags)
{
	struct slice_timer *timer = bpf_map_lookup_elem(&slice_timers, &cpu);

	if (timer)
		bpf_timer_start(&timer->timer, in_ns, flags);
}

/* Makes each CPU's timer. For `ops.init`, when `nr_cpus` is known. */
static inline s32 init_slice_timers(void)
{
	struct slice_timer *timer;
	u32 cpu;
	s32 err;

	bpf_for(cpu, 0, nr_cpus) {
		u32 key = cpu;

		timer = bpf_map_lookup_elem(&slice_timers, &key);
		if (!timer)
			return -E2BIG;
		err = bpf_timer_init(&timer->timer, &slice_timers, CLOCK_MONOTONIC) ?:
		      bpf_timer_set_callback(&timer->timer, slice_timer_fires);
		if (err)
			return err;
	}
	return 0;
}

#endif /* FAIRGROUND_SLICE_TIMER_H */
