// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between the versions of TT.
 *
 * The knob `era` is the Linux version: 51500 is 5.15, and 60100 is 6.1. In 5.15 TT replaces CFS, so
 * that no rule of CFS decides who runs. From 6.x on it is a part of CFS, and changes which task
 * CFS's rules apply to. Nothing else reads `era`, but for the constants of CFS, see cfs_eras.h.
 */
#ifndef FAIRGROUND_TT_ERAS_H
#define FAIRGROUND_TT_ERAS_H

/* Tells whether TT is a part of CFS, and not a scheduler of its own. */
static inline bool is_on_cfs(void)
{
	return era >= 60000;
}

/* Tells whether the normal balancer is on (`tt_balancer_opt`). */
static inline bool has_normal_balancer(void)
{
	return tt_balancer_opt < 0 ? !is_on_cfs() : !tt_balancer_opt;
}

/*
 * Tells whether CFS's balancer is on, which also places woken tasks; there is one from 6.x on
 * (`tt_balancer_opt`, `select_task_rq_fair`).
 */
static inline bool has_cfs_balancer(void)
{
	return is_on_cfs() && !has_normal_balancer();
}

/*
 * Returns the vruntime by which a task is typed. From 6.x on the mark of a task that has yielded
 * counts as a part of the number, so that the task becomes BATCH (`detect_type`).
 */
static inline u64 typed_vruntime(u64 vruntime)
{
	return is_on_cfs() ? vruntime : vruntime & ~YIELD_MARK;
}

/*
 * Tells whether the mark puts a task behind all others. From 6.x on the product loses the mark,
 * which has no effect here (`HRRN_PERCENT`).
 */
static inline bool is_marked_last(u64 vruntime)
{
	return !is_on_cfs() && vruntime & YIELD_MARK;
}

/* Returns the percentage of its life that a CPU_BOUND task has run (`is_cpu_bound`). */
static inline u64 cpu_bound_percent(void)
{
	return is_on_cfs() ? 90 : 80;
}

/*
 * Tells whether a type has a nice value of its own. In 5.15 only REALTIME has one
 * (`convert_to_vruntime`).
 */
static inline bool has_own_prio(u32 type)
{
	return type == REALTIME || (is_on_cfs() && type != NO_TYPE);
}

/*
 * Returns when a task that wakes up fell asleep. From 6.x on a task that has moved seems to have
 * slept since the boot (`migrate_task_rq_fair`).
 */
static inline u64 slept_from(u64 exec_start, bool has_migrated)
{
	return has_migrated && is_on_cfs() ? 0 : exec_start;
}

/*
 * Tells whether an account is made after `ran` nanoseconds. From 6.x on one is made even if the
 * task has not run since the last: the original reads the clock each time, which has always moved
 * by then.
 */
static inline bool is_account(s64 ran)
{
	return ran > 0 || (is_on_cfs() && !ran);
}

/*
 * Returns what an account adds to the burst: virtual time in 5.15, real time from 6.x on
 * (`update_curr`).
 */
static inline u64 burst_of_account(u64 cost, u64 ran)
{
	return is_on_cfs() ? ran : cost;
}

#endif /* FAIRGROUND_TT_ERAS_H */
