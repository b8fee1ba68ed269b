// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between the versions of CFS.
 *
 * The knob `era` is the Linux version: 50900 is 5.9, and 20633 is 2.6.33. Nothing else reads it.
 * Times are those of one CPU, in nanoseconds.
 */
#ifndef FAIRGROUND_CFS_ERAS_H
#define FAIRGROUND_CFS_ERAS_H

/* Returns the period in which each task runs once (`sysctl_sched_latency`). */
static inline u64 sysctl_sched_latency(void)
{
	if (sched_latency_ns >= 0)
		return sched_latency_ns;
	return era < 20633 ? 20000000 : 6000000;
}

/*
 * Returns the least part of the period that a task gets when there are many
 * (`sysctl_sched_min_granularity`).
 */
static inline u64 sysctl_sched_min_granularity(void)
{
	if (sched_min_granularity_ns >= 0)
		return sched_min_granularity_ns;
	return era < 20633 ? 4000000 : era < 20637 ? 2000000 : 750000;
}

/*
 * Returns by how much a woken task must be behind to preempt (`sysctl_sched_wakeup_granularity`).
 */
static inline u64 sysctl_sched_wakeup_granularity(void)
{
	if (sched_wakeup_granularity_ns >= 0)
		return sched_wakeup_granularity_ns;
	return era < 20633 ? 10000000 : 1000000;
}

/* Tells whether a new task runs before its parent (`sysctl_sched_child_runs_first`). */
static inline bool sysctl_sched_child_runs_first(void)
{
	return sched_child_runs_first < 0 ? era < 20633 : sched_child_runs_first;
}

/* Tells whether a sleeper's credit is halved, as from 2.6.32 on (`GENTLE_FAIR_SLEEPERS`). */
static inline bool has_gentle_fair_sleepers(void)
{
	return gentle_fair_sleepers && era >= 20632;
}

/*
 * Tells whether no slice is shorter than the minimum granularity. This began with 5.12, and 5.10.y
 * has taken it over (`BASE_SLICE`).
 */
static inline bool has_base_slice(void)
{
	return base_slice && (era >= 51200 || era == 51000);
}

/*
 * Tells whether a preempted task runs again after the task that preempted it, as from 2.6.29 on
 * (`LAST_BUDDY`).
 */
static inline bool has_last_buddy(void)
{
	return last_buddy && era >= 20629;
}

/* Tells whether a SCHED_IDLE task's credit is only a minimum granularity (`place_entity`). */
static inline bool has_small_idle_credit(void)
{
	return era >= 60000;
}

/* Tells whether no slice is longer than a period (`check_preempt_tick`). */
static inline bool has_longest_slice(void)
{
	return era >= 60300;
}

#endif /* FAIRGROUND_CFS_ERAS_H */
