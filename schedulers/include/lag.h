// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lag: what a task is owed, V - v in virtual time. It is kept while the task is away, and given
 * back when it joins a queue again, be it another one.
 */
#ifndef FAIRGROUND_LAG_H
#define FAIRGROUND_LAG_H

/*
 * A task's place while it is queued; and when it left: its lag, deadline from there, weight, and
 * place among the sleepers.
 */
#define FAIR_TASK_MORE \
	u64 vruntime, deadline; \
	s64 vlag, rel_deadline; \
	u32 left_weight; \
	u32 place; \
	bool is_delayed;

/* Of who runs: deadline, slice, that in virtual time, and until when nobody preempts it. */
#define RUNNING_MORE \
	u64 deadline, slice, vslice, vprot;

#include "average.h"
#include "running.h"

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

#define TICK_NS (1000000000ULL / CONFIG_HZ)

/* Who runs on each CPU. */
static struct running currs[MAX_CPUS];

/* A CPU's sums when its running task has come to this vruntime since the last account. */
static __always_inline struct sums advanced(struct sums sums, u32 cpu, u64 vruntime)
{
	const struct running *curr = of_cpu(currs, cpu);

	if (curr->is_set)
		sums.weighted += curr->weight * (vruntime - curr->vruntime);
	return sums;
}

static inline struct sums sums_at(u32 cpu, u64 vruntime)
{
	return advanced(average_sums(cpu), cpu, vruntime);
}

/* At this moment. */
static inline struct sums live_sums(u32 cpu)
{
	return sums_at(cpu, live_vruntime(of_cpu(currs, cpu)));
}

/* V of a CPU. The vruntime of who runs there, or ran last, is never far from it. */
static inline u64 avg_vruntime(u32 cpu)
{
	return average_of(live_sums(cpu), of_cpu(currs, cpu)->vruntime);
}

/* Its lag behind the V of its CPU's sums. It is bounded, however tasks come and go. */
static inline s64 lag_of(const struct fair_task *task, struct sums sums, s64 limit)
{
	u64 near = of_cpu(currs, task->load.cpu)->vruntime;
	s64 lag = average_of(sums, near) - task->vruntime;

	return lag > limit ? limit : lag < -limit ? -limit : lag;
}

/* A queued task leaves its CPU's average, and remembers its lag and deadline. */
static inline void leave_average(struct fair_task *task, struct sums sums, s64 limit)
{
	s64 weight = task->load.weight;

	task->vlag = lag_of(task, sums, limit);
	task->rel_deadline = task->deadline - task->vruntime;
	task->left_weight = weight;
	average_add(task->load.cpu, -weight, -weight * (s64)task->vruntime);
	load_leave(&task->load);
}

/* It joins a CPU's average where its vruntime is. Returns the new sums, as of the last account. */
static __always_inline struct sums join_average(struct fair_task *task, u32 cpu, s64 weight)
{
	load_join(&task->load, cpu, weight);
	return average_add(cpu, weight, weight * (s64)task->vruntime);
}

/* It has another weight than when it left: what it is owed in real time stays the same. */
static inline void reweight(struct fair_task *task, s64 weight)
{
	if (!task->left_weight || task->left_weight == weight)
		return;
	task->vlag = divide_down(task->vlag * task->left_weight, weight);
	task->rel_deadline = divide_down(task->rel_deadline * task->left_weight, weight);
	task->left_weight = weight;
}

/*
 * It joins so that its lag is as before. Since that moves V towards it, it begins further from V:
 * at (W + w) / W times its lag. Nobody is owed anything by an empty queue. Returns the new sums, as
 * of the last account.
 */
static __always_inline struct sums join_with_lag(struct fair_task *task, u32 cpu, struct sums sums,
						 s64 weight, s64 vlag)
{
	if (sums.weight)
		vlag += divide_down(vlag * weight, sums.weight);
	else
		vlag = 0;
	task->vruntime = average_of(sums, of_cpu(currs, cpu)->vruntime) - vlag;
	return join_average(task, cpu, weight);
}

/* Whoever has had its slice asks for the next. Returns whether that is so. */
static inline bool update_deadline(struct running *curr, u64 vruntime)
{
	if (time_before(vruntime, curr->deadline))
		return false;
	curr->deadline = vruntime + curr->vslice;
	return true;
}

/*
 * Accounts for what the running task has run. Returns its CPU's sums with that. `task` may be NULL
 * where nothing asks for it.
 */
static __always_inline struct sums account_with(struct task_struct *p, struct fair_task *task,
						u32 cpu)
{
	struct running *curr = of_cpu(currs, cpu);
	u64 ran = p->se.sum_exec_runtime - curr->sum_exec;
	u64 before = curr->vruntime, now = account(curr, p);
	struct sums sums = average_add(cpu, 0, curr->weight * (now - before));
	u32 weight = curr->weight;

	if (ran)
		ACCOUNTED(p, task, curr, cpu, ran);
	if (curr->weight != weight)
		sums = average_sums(cpu);
	update_deadline(curr, curr->vruntime);
	return sums;
}

static __always_inline struct sums account_curr(struct task_struct *p, u32 cpu)
{
	return account_with(p, ACCOUNTED_TASK(p), cpu);
}

#endif /* FAIRGROUND_LAG_H */
