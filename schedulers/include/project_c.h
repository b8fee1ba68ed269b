// SPDX-License-Identifier: GPL-2.0-only
/*
 * What BMQ and PDS have in common, the core of Project C: every CPU has a queue of lists, a list
 * for each rank, and always runs the first task of the best one. Who runs stays in its list:
 * preempted, it is still the first. An idle CPU takes tasks from the nearest CPU where some wait.
 *
 * A task's place is its rank, with its turn below. It is kept in `dsq_vtime`. The scheduler defines
 * before it includes this `struct task_ctx`, the knobs `exact_slices`, `wakeup_preemption` and
 * `idle_pull`, and RANK_SHIFT, the bits of a turn; and then the functions that stand here without a
 * body.
 */
#ifndef FAIRGROUND_PROJECT_C_H
#define FAIRGROUND_PROJECT_C_H

#include "idle.h"
#include "nice.h"
#include "scan.h"

struct cpu_ctx {
	u64 place;	/* of the task that runs */
	u64 turn;	/* of who has come last */
	bool is_busy;	/* with a task of ours */
};
#include "cpu_ctx.h"
#include "turn.h"
#include "near.h"

/* The most tasks that are looked at when some are moved. */
#define NR_MIGRATE 32

/* Where a task that comes now belongs; the smaller, the better. */
static u64 rank_of(struct task_struct *p, struct task_ctx *task);
/* Its slice is used up: `task->time_slice` and whatever its rank depends on are new. */
static void renew(struct task_struct *p, struct task_ctx *task);

static u32 nr_cpus;

static inline u64 turns_mask(void)
{
	return (1ULL << RANK_SHIFT) - 1;
}

/* The place behind all of a rank. */
static inline u64 tail_of(s32 cpu, u64 rank)
{
	return rank << RANK_SHIFT | (++cpu_ctx(cpu)->turn & turns_mask());
}

/* Whether a rank is strictly better than that of who runs there. */
static inline bool is_better(u64 rank, s32 cpu)
{
	struct cpu_ctx *there = cpu_ctx(cpu);

	return there->is_busy && time_before(rank << RANK_SHIFT | turns_mask(), there->place);
}

/* An idle CPU, else the nearest that runs something worse, else the last one. */
static inline s32 choose_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 idle_cpu = claim_idle_cpu(p, prev_cpu, wake_flags);
	struct task_ctx *task = ctx_of(p);
	u64 rank = rank_of(p, task);
	u32 i;

	task->has_cpu = idle_cpu >= 0;
	if (task->has_cpu)
		return idle_cpu;
	bpf_for(i, 0, NR_DISTANCES * nr_cpus) {
		s32 cpu = nth_nearest(prev_cpu, i, nr_cpus);

		if (cpu >= 0 && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && is_better(rank, cpu))
			return cpu;
	}
	return prev_cpu;
}

/* Who comes stands at the end of its list, who has run keeps its place. */
static inline void enqueue(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	bool comes = (enq_flags & SCX_ENQ_WAKEUP) || task->is_new;
	u64 rank = rank_of(p, task), place = p->scx.dsq_vtime;
	s32 cpu = scx_bpf_task_cpu(p);

	if (comes || task->queued_on != cpu)
		place = tail_of(cpu, rank);
	task->queued_on = cpu;
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, place, enq_flags);
	if (!task->has_cpu && !kick_idle_cpu_for(p) && comes && wakeup_preemption &&
	    is_better(rank, cpu))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	task->has_cpu = task->is_new = task->is_displaced = false;
}

/* Takes every other task that waits on another CPU and may run here; returns how many. */
static __noinline u32 migrate(s32 from, s32 to)
{
	u32 i = 0, taken = 0, limit = scx_bpf_dsq_nr_queued(from);
	struct task_struct *p;

	if (limit > 2 * NR_MIGRATE)
		limit = 2 * NR_MIGRATE;
	bpf_for_each(scx_dsq, p, from, 0) {
		struct task_ctx *task = ctx_of(p);

		if (i >= limit)
			break;
		if (i++ % 2 || !bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		task->queued_on = to;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, tail_of(to, rank_of(p, task)));
		taken += scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, to, 0);
	}
	return taken;
}

static inline void pull_from_nearest(s32 cpu)
{
	u32 i;

	bpf_for(i, nr_cpus, NR_DISTANCES * nr_cpus) {
		s32 other = nth_nearest(cpu, i, nr_cpus);

		if (other >= 0 && scx_bpf_dsq_nr_queued(other) && migrate(other, cpu))
			return;
	}
}

static inline void note_running(s32 cpu, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->place = p->scx.dsq_vtime;
	here->is_busy = true;
	begin_turn(cpu, ctx_of(p));
}

static inline void note_stopping(s32 cpu, struct task_struct *p, bool runnable)
{
	cpu_ctx(cpu)->is_busy = false;
	leave_turn(cpu, ctx_of(p), runnable);
}

/* The end of its list. */
static inline void requeue(s32 cpu, struct task_struct *p, struct task_ctx *task)
{
	scx_bpf_task_set_dsq_vtime(p, tail_of(cpu, rank_of(p, task)));
	task->queued_on = cpu;
}

/* Chooses between who has run till now, if it could go on, and the first that waits. */
static inline void choose(s32 cpu, struct task_struct *prev)
{
	struct task_ctx *task;
	u64 place;

	prev = could_go_on(prev) ? prev : NULL;
	if (prev) {
		task = ctx_of(prev);
		charge(task);
		if (is_used_up(task)) {
			renew(prev, task);
			requeue(cpu, prev, task);
		}
	} else if (idle_pull && !scx_bpf_dsq_nr_queued(cpu)) {
		pull_from_nearest(cpu);
	}
	if (prev && (!first_place(cpu, &place) || !time_before(place, prev->scx.dsq_vtime))) {
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
		note_running(cpu, prev);
	} else {
		scx_bpf_dsq_move_to_local(cpu, 0);
	}
}

/*
 * A child has half of its parent's slice; if that is too little it keeps the whole one that it has,
 * and its parent has to choose anew. Returns whether it shares.
 */
static inline bool share_with_child(struct task_struct *forker, struct task_ctx *task)
{
	struct task_ctx *parent = ctx_of(forker);
	s64 whole = task->time_slice;

	/* The forker may be a real-time task. */
	if (!parent->charged_ns)
		return false;
	if (split_slice(parent, task))
		return true;
	task->time_slice = whole;
	scx_bpf_kick_cpu(scx_bpf_task_cpu(forker), SCX_KICK_PREEMPT);
	return false;
}

static inline s32 init_queues(void)
{
	s32 err;
	u32 cpu;

	nr_cpus = scx_bpf_nr_cpu_ids();
	note_places(nr_cpus);
	err = make_turns(nr_cpus);
	bpf_for(cpu, 0, nr_cpus)
		err = err ?: scx_bpf_create_dsq(cpu, -1);
	return err;
}

#endif /* FAIRGROUND_PROJECT_C_H */
