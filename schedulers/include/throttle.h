// SPDX-License-Identifier: GPL-2.0-only
/*
 * Quotas of control groups: what a group may use of the CPUs in each period.
 *
 * Each group with a quota has a balance. What its tasks and those of its child groups run is taken
 * from it, and a timer adds the quota after each period. While the balance is not positive, the
 * group is throttled: its tasks are parked, in a queue of their CPU, and count nowhere. Linux
 * hands the balance out to CPUs in parts of 5 ms; here all of them use one.
 *
 * The scheduler includes this after balance.h, and defines `detach_throttled()`.
 */
#ifndef FAIRGROUND_THROTTLE_H
#define FAIRGROUND_THROTTLE_H

#include "balance.h"

#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#endif

/* The queue in which a CPU keeps the tasks of throttled groups. */
#define PARKED(cpu) (2 * MAX_CPUS + (cpu))
/* What Linux takes for no quota is more. */
#define MOST_QUOTA_US (1ULL << 40)
#define NS_PER_US 1000ULL

struct period_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct period_timer);
} period_timers SEC(".maps");

/* Stops counting a waiting task that is to be parked. The scheduler defines it. */
static void detach_throttled(struct task_struct *p, struct fair_task *task);

/* Makes each CPU look, at once where tasks are parked (`unthrottle_cfs_rq`). */
__noinline s32 wake_parked(void)
{
	u32 cpu;

	sort_all();
	bpf_for(cpu, 0, nr_cpus) {
		if (scx_bpf_dsq_nr_queued(PARKED(cpu)) > 0)
			wake_or_preempt(cpu);
	}
	return 0;
}

static int refill(void *map, u32 *number, struct period_timer *timer);

/* Begins the first periods of a group and of those that it is in (`start_cfs_bandwidth`). */
__noinline s32 begin_periods(u32 number)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		struct fair_group *group = group_at(number);
		struct period_timer *timer = bpf_map_lookup_elem(&period_timers, &number);

		number = group->parent;
		if (!group->quota_ns || group->has_begun || !timer)
			continue;
		group->has_begun = true;
		bpf_timer_start(&timer->timer, group->period_ns, 0);
	}
	return 0;
}

/* Tells whether a task may not be queued because its group is throttled. For `ops.enqueue`. */
static inline bool may_not_run(const struct fair_task *task)
{
	if (!has_quotas)
		return false;
	begin_periods(task->member.group);
	return is_throttled(task->member.group);
}

/* Parks a task of a throttled group instead of queueing it. For `ops.enqueue`. */
static inline void park(struct task_struct *p, struct fair_task *task, u64 enq_flags)
{
	detach_throttled(p, task);
	scx_bpf_dsq_insert(p, PARKED(scx_bpf_task_cpu(p)), SCX_SLICE_INF, enq_flags);
}

/* Parks the waiting tasks of throttled groups (`throttle_cfs_rq`). */
__noinline s32 park_waiting(u32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *task = fair_task(p);

		if (task && is_throttled(task->member.group) &&
		    scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, PARKED(cpu), 0))
			detach_throttled(p, task);
	}
	return 0;
}

/* Queues the parked tasks whose groups may run again (`unthrottle_cfs_rq`). */
__noinline s32 unpark(u32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, PARKED(cpu), 0) {
		struct fair_task *task = fair_task(p);
		u64 place;

		if (!task || is_throttled(task->member.group))
			continue;
		count_in_group(p, task);
		place = attach_task(p, task, cpu);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, place);
		scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, cpu, 0);
	}
	return 0;
}

/* Handles `ops.dispatch`, before a task is chosen. */
static inline void sort_throttled(u32 cpu)
{
	if (!has_quotas || !*of_cpu(must_sort, cpu))
		return;
	*of_cpu(must_sort, cpu) = false;
	park_waiting(cpu);
	unpark(cpu);
}

/* Lets a group run again (`distribute_cfs_runtime`). */
static inline void unthrottle(struct fair_group *group)
{
	if (!group->is_throttled)
		return;
	group->is_throttled = false;
	wake_parked();
}

/*
 * Adds the quota after a period. What is left of earlier ones is at most `burst_ns`
 * (`__refill_cfs_bandwidth_runtime`).
 */
static int refill(void *map, u32 *number, struct period_timer *timer)
{
	struct fair_group *group = group_at(*number);
	s64 most = group->quota_ns + group->burst_ns, balance = group->balance + group->quota_ns;

	if (!group->quota_ns)
		return 0;
	__sync_fetch_and_add(&group->balance, (balance > most ? most : balance) - group->balance);
	if (group->balance > 0)
		unthrottle(group);
	bpf_timer_start(&timer->timer, group->period_ns, 0);
	return 0;
}

/* Gives a group a quota and its first balance, or takes its quota away (`tg_set_cfs_bandwidth`). */
static inline void set_bandwidth(u32 number, u64 period_us, u64 quota_us, u64 burst_us)
{
	struct period_timer *timer = bpf_map_lookup_elem(&period_timers, &number);
	struct fair_group *group = group_at(number);

	if (!timer)
		return;
	if (quota_us >= MOST_QUOTA_US || !period_us) {
		group->quota_ns = 0;
		unthrottle(group);
		return;
	}
	group->period_ns = period_us * NS_PER_US;
	group->burst_ns = burst_us * NS_PER_US;
	group->quota_ns = quota_us * NS_PER_US;
	group->balance = group->quota_ns;
	has_quotas = true;
	unthrottle(group);
	/* It fails if the timer has been made before. */
	bpf_timer_init(&timer->timer, &period_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&timer->timer, refill);
	group->has_begun = false;
}

/* Makes the queues of parked tasks, when the first control group comes. */
static inline s32 create_parked(void)
{
	static bool has_parked;
	s32 err = 0;
	u32 cpu;

	if (has_parked)
		return 0;
	has_parked = true;
	bpf_for(cpu, 0, nr_cpus)
		err = err ?: scx_bpf_create_dsq(PARKED(cpu), -1);
	return err;
}

#endif /* FAIRGROUND_THROTTLE_H */
