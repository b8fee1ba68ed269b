// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list for each CPU from which the task with the lowest value runs.
 *
 * Values change while tasks wait, so every choice looks at all of them; among equals the one that
 * was queued last wins. The scheduler's FAIR_TASK_FIELDS have a `place`, and it defines
 * `value_of()`.
 */
#ifndef FAIRGROUND_LOWEST_H
#define FAIRGROUND_LOWEST_H

#include "fair.h"
#include "scan.h"

/* Returns the value of a waiting task. The scheduler defines it. */
static s64 value_of(const struct fair_task *task, u64 now);

/*
 * Finds the waiting task with the lowest value, but not the one with the pid `skip`. The function
 * is out of line because the verifier would walk its loop again for each caller's state
 * (`__pick_first_entity`, `entity_before`).
 */
static __noinline void find_lowest(s32 cpu, u64 now, s32 skip, struct best *best)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *task = fair_task(p);

		if (task && p->pid != skip)
			consider_at(best, p->pid, -value_of(task, now), task->place);
	}
}

/* Tells whether the running task, with this value, gives way to the best of the waiting ones. */
static inline bool gives_way(const struct best *best, s64 value, bool wins_ties)
{
	return best->pid && (wins_ties ? value > -best->score : value >= -best->score);
}

/* Tells whether the running task gives way to any waiting one (`check_preempt_tick`). */
static inline bool should_give_way(s32 cpu, s64 value, bool wins_ties)
{
	struct best best = {};

	find_lowest(cpu, scx_bpf_now(), 0, &best);
	return gives_way(&best, value, wins_ties);
}

/*
 * Runs the lowest task next. `value` is that of the task that has run until now, NULL if it cannot
 * continue. Returns false if it continues, or no task waits (`pick_next_entity`).
 */
static inline bool run_lowest(s32 cpu, const s64 *value, bool wins_ties)
{
	u64 now = scx_bpf_now();
	u32 i;

	bpf_for(i, 0, ATTEMPTS) {
		struct best best = {};

		find_lowest(cpu, now, 0, &best);
		if (!best.pid || (value && !gives_way(&best, *value, wins_ties)))
			return false;
		if (take(cpu, best.pid))
			return true;
	}
	return false;
}

#endif /* FAIRGROUND_LOWEST_H */
