// SPDX-License-Identifier: GPL-2.0-only
/*
 * ULE's three queues for each CPU: of the interactive, by priority; the calendar of the others; and
 * of SCHED_IDLE. A calendar is a ring of buckets. A task is put as many behind the insertion index
 * as its priority says, and the removal index follows, so everybody's turn comes. Buckets are
 * numbered on and on here, which makes the ring a queue that is ordered by them. The scheduler has
 * defined `struct task_ctx` and `struct cpu_ctx` before it includes this.
 */
#ifndef FAIRGROUND_CALENDAR_H
#define FAIRGROUND_CALENDAR_H

enum { INTERACTIVE, BATCH, IDLE, QUEUES };

#define BUCKETS 64
/* Levels of priority that share a list. */
#define LEVELS_PER_LIST 4

static inline u64 queue_of(s32 cpu, u32 queue)
{
	return (u64)cpu * 4 + queue;
}

static inline u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(queue_of(cpu, INTERACTIVE)) +
	       scx_bpf_dsq_nr_queued(queue_of(cpu, BATCH)) +
	       scx_bpf_dsq_nr_queued(queue_of(cpu, IDLE));
}

/* The bucket of a task whose priority is so far from the best one of the calendar. */
static inline u64 bucket_of(const struct calendar *calendar, u32 level)
{
	u64 bucket = calendar->insert + level * BUCKETS / BATCH_RANGE;
	u64 last = calendar->remove + BUCKETS - 1;

	return bucket < last ? bucket : last;
}

/* Where a task stands: at a list's end, or, if it was preempted, before all. */
static inline void place(struct task_ctx *task, s32 cpu, bool is_preempted)
{
	const struct calendar *calendar = &cpu_ctx(cpu)->calendar;
	u64 list = 0;

	task->queue = task->prio < INTERACTIVE_RANGE ? INTERACTIVE :
		      task->prio < MIN_IDLE ? BATCH : IDLE;
	if (task->queue == INTERACTIVE)
		list = task->prio / LEVELS_PER_LIST;
	else if (task->queue == BATCH)
		list = is_preempted ? calendar->remove :
				      bucket_of(calendar, task->prio - INTERACTIVE_RANGE);
	/* Whoever is put at a list's head stands before its others. */
	task->place = 2 * list + !is_preempted;
	task->cpu = cpu;
}

/* The first bucket in which somebody waits; `none` if nobody does. */
static inline u64 first_bucket(s32 cpu, u64 none)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, BATCH));

	return p ? p->scx.dsq_vtime / 2 : none;
}

/* A tick: the insertion index is at most one ahead of the bucket that is emptied. */
static inline void advance(s32 cpu)
{
	struct calendar *calendar = &cpu_ctx(cpu)->calendar;

	if (calendar->insert != calendar->remove)
		return;
	calendar->insert++;
	if (first_bucket(cpu, ~0ULL) > calendar->remove)
		calendar->remove = calendar->insert;
}

/* Somebody was taken out of the calendar: perhaps a bucket is empty now. */
static inline void follow(s32 cpu)
{
	struct calendar *calendar = &cpu_ctx(cpu)->calendar;

	if (calendar->insert != calendar->remove && first_bucket(cpu, ~0ULL) > calendar->remove)
		calendar->remove++;
}

/* Whether a task that stands there goes before all that wait. */
static inline bool is_first(const struct task_ctx *task, s32 cpu)
{
	u32 queue;

	bpf_for(queue, 0, QUEUES) {
		struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, queue));

		if (p)
			return task->queue < queue ||
			       (task->queue == queue && task->place < p->scx.dsq_vtime);
	}
	return true;
}

/* Runs the first of a CPU's tasks there. */
static inline bool run_first(s32 cpu)
{
	u32 queue;

	bpf_for(queue, 0, QUEUES) {
		if (!scx_bpf_dsq_nr_queued(queue_of(cpu, queue)) ||
		    !scx_bpf_dsq_move_to_local(queue_of(cpu, queue), 0))
			continue;
		if (queue == BATCH)
			follow(cpu);
		return true;
	}
	return false;
}

/* The first task of a queue that may run on another CPU goes there. */
static __noinline bool migrate_from(s32 from, u32 queue, s32 to)
{
	struct task_struct *p;
	bool has_moved = false;

	bpf_for_each(scx_dsq, p, queue_of(from, queue), 0) {
		struct task_ctx *task = ctx_of(p);

		if (!bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		place(task, to, false);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, task->place);
		has_moved = scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, queue_of(to, queue), 0);
		break;
	}
	if (has_moved && queue == BATCH)
		follow(from);
	return has_moved;
}

static inline bool migrate(s32 from, s32 to)
{
	return migrate_from(from, INTERACTIVE, to) || migrate_from(from, BATCH, to) ||
	       migrate_from(from, IDLE, to);
}

#endif /* FAIRGROUND_CALENDAR_H */
