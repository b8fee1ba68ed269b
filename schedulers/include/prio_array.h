// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run queue's active and expired array, each with a list for every priority, as one queue that is
 * ordered by `dsq_vtime`: first the array, then the priority, then the turn. Who is in the active
 * array stands before all in the expired one, better priorities before worse ones, and those of
 * equal priority in the order of their coming. When nobody is left in the active array, counting
 * its generation on swaps the two.
 */
#ifndef FAIRGROUND_PRIO_ARRAY_H
#define FAIRGROUND_PRIO_ARRAY_H

#include "scan.h"

#define GENERATION_SHIFT 48
#define PRIO_SHIFT 40
#define TURN_MASK ((1ULL << PRIO_SHIFT) - 1)
/* Between two turns there is room for who is put in front of somebody. */
#define TURN_STEP 16

struct prio_arrays {
	u64 generation;	/* of the active array, from 1 so that no place is 0 */
	u64 turn;
};

/* The place behind all of this priority, 0 (best) … 255. */
static inline u64 tail_of(struct prio_arrays *arrays, bool expired, u32 prio)
{
	arrays->turn += TURN_STEP;
	return (arrays->generation + expired) << GENERATION_SHIFT | (u64)prio << PRIO_SHIFT |
	       (arrays->turn & TURN_MASK);
}

static inline u32 prio_of(u64 place)
{
	return (place >> PRIO_SHIFT) & 0xff;
}

static inline bool is_expired(const struct prio_arrays *arrays, u64 place)
{
	return time_before(arrays->generation << GENERATION_SHIFT | TURN_MASK | 0xffULL << PRIO_SHIFT,
			   place);
}

/* Whether a task has its place in these arrays, not in another CPU's. */
static inline bool is_place_in(const struct prio_arrays *arrays, u64 place)
{
	return (u16)((place >> GENERATION_SHIFT) - arrays->generation + 1) <= 2;
}

/* In front of the parent, if that runs on this CPU and the new task is no thread of it; else 0. */
static inline u64 place_before_parent(const struct task_struct *p, s32 cpu)
{
	struct task_struct *parent = p->real_parent;

	if (!parent || parent->mm == p->mm || !scx_bpf_task_running(parent) ||
	    scx_bpf_task_cpu(parent) != cpu)
		return 0;
	return parent->scx.dsq_vtime - 1;
}

#endif /* FAIRGROUND_PRIO_ARRAY_H */
