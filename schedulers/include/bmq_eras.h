// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between the versions of BMQ.
 *
 * The knob `era` is the Linux version of the patch. Nothing else reads it.
 */
#ifndef FAIRGROUND_BMQ_ERAS_H
#define FAIRGROUND_BMQ_ERAS_H

/* Returns by how many levels a task can be boosted or deboosted (`MAX_PRIORITY_ADJ`). */
static inline s32 max_priority_adj(void)
{
	return era < 50900 ? 4 : era < 60600 ? 7 : 12;
}

/* Returns a whole slice, ns (`sched_timeslice_ns`). */
static inline s64 timeslice(void)
{
	return era < 51500 ? 4 * NS_PER_MS : 4 * NS_PER_SHORT_MS;
}

/* Returns the level of a priority. From 5.9 on two nice values share one (`task_sched_prio`). */
static inline u64 level_of(u32 prio)
{
	return era < 50900 ? prio : prio / 2;
}

/* Tells whether a SCHED_IDLE task is boosted when it goes to sleep (`boost_task`). */
static inline bool may_boost_idle_policy(void)
{
	return era < 61200;
}

/* Tells whether a SCHED_IDLE task is deboosted when it has used up a slice (`deboost_task`). */
static inline bool may_deboost_idle_policy(void)
{
	return era < 70100;
}

/* Tells whether a task is deboosted when it gets a new slice (`sched_task_renew`). */
static inline bool new_slice_deboosts(void)
{
	return era < 60600 || era >= 61200;
}

/*
 * Returns for how long a task may have run to be boosted when it goes to sleep. The higher its
 * boost is already, the shorter the time (`boost_threshold`).
 */
static inline u64 boost_threshold(const struct task_ctx *task)
{
	s32 shift;

	if (era >= 60600)
		shift = (14 - task->boost_prio) >> 1;
	else
		shift = (era < 50900 ? 10 : 15) - max_priority_adj() - task->boost_prio;
	return (u64)timeslice() >> (u32)shift;
}

/*
 * Tells whether a task that has run for `ran` is boosted when it goes to sleep. From 6.12 on every
 * task is (`sched_task_deactivate`).
 */
static inline bool sleep_boosts(const struct task_ctx *task, u64 ran)
{
	return era >= 61200 || ran < boost_threshold(task);
}

/*
 * Tells whether a task that is not boosted when it goes to sleep is deboosted
 * (`sched_task_deactivate`).
 */
static inline bool sleep_deboosts(u64 ran)
{
	return era >= 60600 && ran > timeslice();
}

/* Tells whether a task is boosted when it wakes up after so many slices (`sched_task_ttwu`). */
static inline bool wakeup_boosts(u64 slices)
{
	return era < 61200 && slices;
}

/* Tells whether sched_yield() has no effect where no other task waits (`do_sched_yield`). */
static inline bool yields_only_to_others(void)
{
	return era >= 70100;
}

/* Returns the boost of a child (`sched_task_fork`). */
static inline s32 inherited(s32 boost_prio)
{
	if (era >= 61200)
		return boost_prio;
	if (era >= 60600 || boost_prio >= 0)
		return max_priority_adj();
	return boost_prio + max_priority_adj();
}

#endif /* FAIRGROUND_BMQ_ERAS_H */
