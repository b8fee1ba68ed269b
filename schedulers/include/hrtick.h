// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timer for each CPU that ends a slice where it ends, not at the next tick: the kernel's HRTICK.
 * It only makes the CPU choose anew; whoever may go on does.
 */
#ifndef FAIRGROUND_HRTICK_H
#define FAIRGROUND_HRTICK_H

#include "lag.h"

/* The kernel's `CLOCK_MONOTONIC`. */
#define MONOTONIC 1
/* No timer is set to a shorter time, so that it does not only interrupt. */
#define HRTICK_LEAST_NS 10000

struct hrtick {
	struct bpf_timer timer;
	/* When it fires; 0, or in the past, if it is not set. */
	u64 expires;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct hrtick);
} hrticks SEC(".maps");

/* How long who runs has left of its slice, or of its protection. */
static inline u64 hrtick_left_ns(const struct running *curr)
{
	s64 left = earlier_of(curr->deadline, curr->vprot) - live_vruntime(curr);

	return left > 0 ? left * curr->weight / NICE_0_WEIGHT : 0;
}

static inline void set_hrtick(struct hrtick *hrtick, u64 in_ns)
{
	in_ns = in_ns > HRTICK_LEAST_NS ? in_ns : HRTICK_LEAST_NS;
	hrtick->expires = scx_bpf_now() + in_ns;
	bpf_timer_start(&hrtick->timer, in_ns, 0);
}

/* Perhaps another task runs by now than the one for which it was set. */
static int hrtick_fires(void *map, u32 *cpu, struct hrtick *hrtick)
{
	const struct running *curr = of_cpu(currs, *cpu);
	u64 left_ns = hrtick_left_ns(curr);

	hrtick->expires = 0;
	if (curr->is_set && left_ns > HRTICK_LEAST_NS)
		set_hrtick(hrtick, left_ns);
	else
		scx_bpf_kick_cpu(*cpu, SCX_KICK_PREEMPT);
	return 0;
}

static inline s32 make_hrticks(u32 cpus)
{
	u32 cpu;

	bpf_for(cpu, 0, cpus) {
		u32 key = cpu;
		struct hrtick *hrtick = bpf_map_lookup_elem(&hrticks, &key);

		if (!hrtick)
			return -E2BIG;
		bpf_timer_init(&hrtick->timer, &hrticks, MONOTONIC);
		bpf_timer_set_callback(&hrtick->timer, hrtick_fires);
	}
	return 0;
}

/*
 * The CPU shall choose anew when who runs has nothing left. A timer that fires earlier stays as it
 * is, because setting one costs more than a switch.
 */
static inline void arm_hrtick(const struct running *curr, u32 cpu)
{
	struct hrtick *timer;
	u64 left_ns, now;

	if (!hrtick || !curr->is_set || of_cpu(loads, cpu)->nr_running < 2)
		return;
	timer = bpf_map_lookup_elem(&hrticks, &cpu);
	if (!timer)
		return;
	left_ns = hrtick_left_ns(curr);
	now = scx_bpf_now();
	if (time_before(timer->expires, now) || time_before(now + left_ns, timer->expires))
		set_hrtick(timer, left_ns);
}

#endif /* FAIRGROUND_HRTICK_H */
