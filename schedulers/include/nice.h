// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nice values and weights: how much CPU time a nice value is worth.
 *
 * One step is a factor of about 1.25, so that one nice level is 10 % of the CPU when two tasks
 * compete.
 *
 * `p->scx.weight` is not used because it is this table divided by 10.24 and rounded: nice 19
 * becomes 1 where it should be 1.46, and loses a third of its share.
 */
#ifndef FAIRGROUND_NICE_H
#define FAIRGROUND_NICE_H

/* The weight of nice 0. */
#define NICE_0_WEIGHT 1024ULL

/* `static_prio` of nice -20; of nice 0 it is 120, of nice 19 it is 139. */
#define HIGHEST_STATIC_PRIO 100
#define NICE_LEVELS 40

/* By `static_prio - HIGHEST_STATIC_PRIO`; the numbers are `sched_prio_to_weight[]` of Linux. */
static const u32 nice_weights[NICE_LEVELS] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
	1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,
	110,   87,    70,    56,    45,    36,    29,    23,    18,    15,
};

/*
 * 2^32 / weight, so that a division by a weight is a multiplication: `sched_prio_to_wmult[]`.
 */
static const u32 nice_inverse_weights[NICE_LEVELS] = {
	48388,    59856,    76040,    92818,    118348,    147320,    184698,    229616,
	287308,   360437,   449829,   563644,   704093,    875809,    1099582,   1376151,
	1717300,  2157191,  2708050,  3363326,  4194304,   5237765,   6557202,   8165337,
	10153587, 12820798, 15790321, 19976592, 24970740,  31350126,  39045157,  49367440,
	61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
};

/* The index of a task's nice value. A real-time task counts as -20. */
static inline u32 nice_index(const struct task_struct *p)
{
	u32 index = p->static_prio - HIGHEST_STATIC_PRIO;

	return index < NICE_LEVELS ? index : 0;
}

/* -20 … 19 */
static inline s32 nice_of(const struct task_struct *p)
{
	return (s32)nice_index(p) - 20;
}

/* `p->policy`: SCHED_OTHER, SCHED_BATCH; and SCHED_IDLE, of equal weight at every nice value. */
#define POLICY_NORMAL 0
#define POLICY_BATCH 3
#define POLICY_IDLE 5
#define IDLE_WEIGHT 3
#define IDLE_INVERSE_WEIGHT 1431655765U

static inline bool has_idle_policy(const struct task_struct *p)
{
	return p->policy == POLICY_IDLE;
}

/* Whether it is one of a process's later threads. */
static inline bool is_thread(const struct task_struct *p)
{
	return p->pid != p->tgid;
}

/* The weight in a row of the tables. */
static inline u32 weight_at(const struct task_struct *p, u32 index)
{
	return has_idle_policy(p) ? IDLE_WEIGHT : nice_weights[index];
}

static inline u32 inverse_weight_at(const struct task_struct *p, u32 index)
{
	return has_idle_policy(p) ? IDLE_INVERSE_WEIGHT : nice_inverse_weights[index];
}

static inline u32 weight_of(const struct task_struct *p)
{
	return weight_at(p, nice_index(p));
}

static inline u32 inverse_weight_of(const struct task_struct *p)
{
	return inverse_weight_at(p, nice_index(p));
}

/* Virtual time at an inverse weight: 2^32 / weight * 1024, so 2^22 is 1. */
static inline u64 virtual_time_at(u32 inverse_weight, u64 real_ns)
{
	return (real_ns * inverse_weight) >> 22;
}

/* Real to virtual time: the smaller the weight, the faster it passes. At nice 0 they are equal. */
static inline u64 virtual_time(const struct task_struct *p, u64 real_ns)
{
	return virtual_time_at(inverse_weight_of(p), real_ns);
}

#endif /* FAIRGROUND_NICE_H */
