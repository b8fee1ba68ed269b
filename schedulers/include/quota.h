// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECHO's quota: what a task may run in a round, and how that ends. The scheduler has defined the
 * knobs, `struct cpu_ctx` and `queue_of()`, which are named here, before it includes this.
 */
#ifndef FAIRGROUND_QUOTA_H
#define FAIRGROUND_QUOTA_H

struct quota_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct quota_timer);
} timers SEC(".maps");

/* A task's part of the shared quota if so many are runnable. */
static inline u64 quota(u32 runnable)
{
	u64 part = sched_bs_shared_quota / (runnable ?: 1);

	return part > base_slice ? part : base_slice;
}

/* What who runs has had since the last account, virtual ns. */
static inline u64 unaccounted(struct cpu_ctx *here)
{
	s64 ns = scx_bpf_now() - here->since;

	return virtual_time_at(here->inverse_weight, ns > 0 ? ns : 0);
}

/* Whether who runs has to go, as a tick sees it. */
static inline bool is_over(s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u64 virtual = unaccounted(here);
	struct task_struct *first;
	u32 runnable = nr_running(cpu);

	if (runnable < 2)
		return false;
	if (here->used + virtual >= quota(runnable))
		return true;
	first = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, here->round));
	return first && first->scx.dsq_vtime < here->est && here->ran + virtual >= base_slice;
}

static inline void preempt(s32 cpu)
{
	cpu_ctx(cpu)->need_resched = true;
	wake_or_preempt(cpu);
}

/* When the quota of who runs shall be looked at next. */
static inline void arm(s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct quota_timer *timer;
	u64 ns, used;
	u32 runnable;

	if (!hrtick)
		return;
	timer = bpf_map_lookup_elem(&timers, &cpu);
	runnable = nr_running(cpu);
	if (!timer || runnable < 2)
		return;
	ns = quota(runnable);
	used = here->used + unaccounted(here);
	if (hrtick == 2)
		ns = ns > used ? (ns - used) * here->weight / NICE_0_WEIGHT + 1 : 1;
	bpf_timer_start(&timer->timer, ns, 0);
}

static int quota_ends(void *map, int *key, struct quota_timer *timer)
{
	s32 cpu = *key;

	if (cpu_ctx(cpu)->curr && is_over(cpu))
		preempt(cpu);
	else if (cpu_ctx(cpu)->curr)
		arm(cpu);
	return 0;
}

static inline s32 init_timer(u32 cpu)
{
	struct quota_timer *timer = bpf_map_lookup_elem(&timers, &cpu);

	if (!timer)
		return -E2BIG;
	return bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC) ?:
	       bpf_timer_set_callback(&timer->timer, quota_ends);
}

#endif /* FAIRGROUND_QUOTA_H */
