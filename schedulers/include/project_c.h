// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core of BMQ and PDS, Project C: a queue of lists for each CPU, one list for each rank.
 *
 * A CPU always runs the first task of the best list. A running task stays in its list: preempted,
 * it is still the first. An idle CPU takes tasks from the nearest CPU where some wait.
 *
 * A task's place is its rank, with its turn in the lower bits. It is kept in `dsq_vtime`. The
 * scheduler defines the functions that are declared here without a body.
 */
#ifndef FAIRGROUND_PROJECT_C_H
#define FAIRGROUND_PROJECT_C_H

#include "common.h"
#include "near.h"
#include "scan.h"
#include "turn.h"

/* The scheduler's knobs: a woken task may preempt, and an idle CPU takes tasks from others. */
extern const volatile bool wakeup_preemption, idle_pull;

/* What is stored of a task. */
struct task_ctx {
	u64 deadline;		/* PDS: a slot, or ns in a skip list */
	u64 timestamp;		/* BMQ: when it began to run or sleep, ns */
	s32 boost_prio;		/* BMQ: from -max_priority_adj, the best, to max_priority_adj */
	struct task_turn turn;
	s32 queued_on;		/* the CPU whose place it has */
	bool is_new;
	bool has_cpu;		/* an idle CPU takes it */
};
DEFINE_TASK_CTX()

struct cpu_ctx {
	u64 place;	/* the place of the running task */
	u64 turn;	/* the turn of the task that has come last */
	bool is_busy;	/* it runs a task of ours */
};
DEFINE_CPU_CTX()

/* The most tasks that are moved at a time (`nr_migrate`). */
#define NR_MIGRATE 32

/* Returns the list of a task that comes now; the smaller, the better (`task_sched_prio`). */
static u64 rank_of(struct task_struct *p, struct task_ctx *task);
/* Returns the number of bits of a turn, below a rank. */
static u32 rank_shift(void);
/* Gives a task whose slice is used up a new one, and another rank (`sched_task_renew`). */
static void sched_task_renew(struct task_struct *p, struct task_ctx *task);

static inline u64 turns_mask(void)
{
	return (1ULL << rank_shift()) - 1;
}

/* Returns the place behind all tasks of a rank. */
static inline u64 tail_of(s32 cpu, u64 rank)
{
	return rank << rank_shift() | (++cpu_ctx(cpu)->turn & turns_mask());
}

/* Tells whether a rank is strictly better than that of the running task (`wakeup_preempt`). */
static inline bool is_better(u64 rank, s32 cpu)
{
	struct cpu_ctx *there = cpu_ctx(cpu);

	return there->is_busy && time_before(rank << rank_shift() | turns_mask(), there->place);
}

/*
 * Returns an idle CPU, else the nearest one that runs a worse rank, else the last one
 * (`select_task_rq`).
 */
static inline s32 select_task_rq(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 idle_cpu = claim_idle_cpu(p, prev_cpu, wake_flags);
	struct task_ctx *task = ctx_of(p);
	u64 rank = rank_of(p, task);
	u32 i;

	task->has_cpu = idle_cpu >= 0;
	if (task->has_cpu)
		return idle_cpu;
	bpf_for(i, 0, NR_DISTANCES * nr_cpus) {
		s32 cpu = nth_nearest(prev_cpu, i);

		if (cpu >= 0 && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && is_better(rank, cpu))
			return cpu;
	}
	return prev_cpu;
}

/*
 * Queues a task. A woken or migrated one goes to the tail of its list; a task that is put back
 * keeps its position (`enqueue_task`).
 */
static inline void enqueue_task(struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	bool comes = (enq_flags & SCX_ENQ_WAKEUP) || task->is_new;
	u64 rank = rank_of(p, task), place = p->scx.dsq_vtime;
	bool has_cpu = task->has_cpu || kick_idle_cpu_for(p), preempts;
	s32 cpu = scx_bpf_task_cpu(p);

	preempts = !has_cpu && comes && wakeup_preemption && is_better(rank, cpu);
	if (comes || task->queued_on != cpu) {
		place = tail_of(cpu, rank);
		note_other(cpu);
	}
	task->queued_on = cpu;
	task->has_cpu = task->is_new = false;
	if (preempts && is_before_all(cpu, place) && run_at_once(p, cpu, enq_flags)) {
		scx_bpf_task_set_dsq_vtime(p, place);
		return;
	}
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, place, enq_flags);
	if (preempts)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * Takes every other task that waits on another CPU and may run here. Returns how many. The function
 * is out of line because the verifier would walk its loop again for each CPU
 * (`migrate_pending_tasks`).
 */
static __noinline u32 migrate_pending_tasks(s32 from, s32 to)
{
	u32 taken = 0, left = scx_bpf_dsq_nr_queued(from);
	struct task_struct *p;
	bool is_other = false;

	if (left > 2 * NR_MIGRATE)
		left = 2 * NR_MIGRATE;
	/*
	 * The count goes down because the verifier would walk each round of a number that it knows.
	 */
	bpf_for_each(scx_dsq, p, from, 0) {
		struct task_ctx *task = ctx_of(p);

		if (!left--)
			break;
		is_other = !is_other;
		if (!is_other || !bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		task->queued_on = to;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, tail_of(to, rank_of(p, task)));
		taken += scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, to, 0);
	}
	return taken;
}

/* Takes tasks from the nearest CPU where some wait (`take_other_rq_tasks`). */
static inline void take_other_rq_tasks(s32 cpu)
{
	u32 i;

	bpf_for(i, nr_cpus, NR_DISTANCES * nr_cpus) {
		s32 other = nth_nearest(cpu, i);

		if (other >= 0 && scx_bpf_dsq_nr_queued(other) && migrate_pending_tasks(other, cpu))
			return;
	}
}

static inline void note_running(s32 cpu, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->place = p->scx.dsq_vtime;
	here->is_busy = true;
	begin_turn(cpu, &ctx_of(p)->turn);
	if (must_choose_again(cpu))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Puts a task at the end of its list (`requeue_task`). */
static inline void requeue_task(s32 cpu, struct task_struct *p, struct task_ctx *task)
{
	scx_bpf_task_set_dsq_vtime(p, tail_of(cpu, rank_of(p, task)));
	task->queued_on = cpu;
}

/* Gives a task that has used up its slice a new one, and another rank (`check_curr`). */
static inline void check_curr(s32 cpu, struct task_struct *p, struct task_ctx *task)
{
	if (!is_used_up(&task->turn))
		return;
	sched_task_renew(p, task);
	requeue_task(cpu, p, task);
}

static inline void note_stopping(s32 cpu, struct task_struct *p, bool runnable)
{
	struct task_ctx *task = ctx_of(p);

	cpu_ctx(cpu)->is_busy = false;
	leave_turn(cpu, p, &task->turn, runnable);
	if (runnable)
		check_curr(cpu, p, task);
}

/*
 * Picks the task that has run until now if it could continue, or the first that waits
 * (`choose_next_task`).
 */
static inline void choose_next_task(s32 cpu, struct task_struct *prev)
{
	struct task_ctx *task;
	u64 place;

	prev = could_go_on(prev) ? prev : NULL;
	if (prev) {
		task = ctx_of(prev);
		charge(&task->turn);
		check_curr(cpu, prev, task);
	} else if (idle_pull && !scx_bpf_dsq_nr_queued(cpu)) {
		take_other_rq_tasks(cpu);
	}
	if (prev && (!first_place(cpu, &place) || !time_before(place, prev->scx.dsq_vtime))) {
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
		note_running(cpu, prev);
	} else {
		scx_bpf_dsq_move_to_local(cpu, 0);
	}
}

/*
 * Gives a task that goes to sleep with too little of its slice left a new one at once
 * (`check_curr`).
 */
static inline void check_sleeper(struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *task = ctx_of(p);

	if ((deq_flags & SCX_DEQ_SLEEP) && is_used_up(&task->turn))
		sched_task_renew(p, task);
}

/*
 * Shares a slice with a child, which has half of it. If that is too little it has a whole slice,
 * and its parent's CPU has to choose again. Returns whether the child shares. A real-time parent
 * shares, too, but what it runs itself is not charged here, and it has a new slice at once
 * (`sched_cgroup_fork`).
 */
static inline bool share_with_child(struct task_struct *forker, struct task_ctx *task)
{
	struct task_ctx *parent = ctx_of(forker);
	bool is_ours = parent->turn.charged_ns;
	s64 whole = task->turn.time_slice;

	if (is_ours ? split_slice(&parent->turn, &task->turn) :
		      halve_slice(&parent->turn, &task->turn))
		return true;
	task->turn.time_slice = whole;
	if (is_ours)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(forker), SCX_KICK_PREEMPT);
	else
		parent->turn.time_slice = whole;
	return false;
}

static inline s32 init_queues(void)
{
	s32 err;
	u32 cpu;

	nr_cpus = scx_bpf_nr_cpu_ids();
	note_places();
	err = init_slice_timers();
	bpf_for(cpu, 0, nr_cpus)
		err = err ?: scx_bpf_create_dsq(cpu, -1);
	return err;
}

#endif /* FAIRGROUND_PROJECT_C_H */
