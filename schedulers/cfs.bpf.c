// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfs: The Completely Fair Scheduler, Linux 2.6.24 to 6.5.
 *
 * Idea: An ideal CPU would run all tasks at once, each as fast as its weight. Each CPU's tasks wait
 *       by vruntime, the CPU time that they have had divided by their weight, and the smallest
 *       runs, for its part of a period in which everybody shall run once. Whoever slept comes back
 *       with a bounded credit, and preempts if it is behind by more than a granularity.
 * Good at: Exact shares by nice value, soon a CPU for those who sleep, without heuristics.
 * Bad at: Promises of latency: it grows with the number of tasks, and hangs on a task's weight.
 * Origin: Ingo Molnar, 2007; the fair class of Linux until EEVDF took its place in 6.6 (2023).
 * Family: 2007, Ingo Molnar; after o1, vtime
 * Queue: One for each CPU, a red-black tree by vruntime; enqueue O(log n), pick O(1).
 * Slice: By weight a part of 6 ms (one CPU), or of 0.75 ms for each task if they are many.
 * Wake-up: Has half a latency of credit at most, preempts who is 1 ms of vruntime ahead.
 * Balancing: An idle CPU takes from the busiest.
 * Differs: No groups, no load averages, no wide wake-ups, no balancing of busy CPUs: an idle one
 *          takes from the busiest at once, where Linux weighs the cost. What has changed between
 *          eras and is no constant or feature below is as in 6.5.
 */
#ifndef OVERLAY	/* An overlay has its own of these: see include/overlay.h. */
#include <scx/common.bpf.h>
#include "include/exit.h"

char _license[] SEC("license") = "GPL";

/* Which Linux: 20624, 20633, 50900 or 60500 stand for 2.6.24, 2.6.33, 5.9 and 6.5. */
const volatile u32 era = 60500;
/* Constants for one CPU; -1 is the era's. Everybody runs once in this time, */
const volatile s64 sched_latency_ns = -1;
/* unless that would be less for each than this; for SCHED_IDLE among others it is the other. */
const volatile s64 sched_min_granularity_ns = -1;
const volatile u64 sched_idle_min_granularity_ns = 750000;
/* Whoever wakes up preempts if it is further behind than this. */
const volatile s64 sched_wakeup_granularity_ns = -1;
/* Whether a new task goes before its parent. */
const volatile s64 sched_child_runs_first = -1;
/* How constants grow with the CPUs, 8 at most: 0 not, 1 by the logarithm, 2 linearly. */
const volatile u32 sched_tunable_scaling = 1;
/* Features. A sleeper's credit is half a latency, not a whole one (from 2.6.32 on); a new task
 * begins a slice behind; no slice is shorter than the minimum granularity (from 5.12 on). */
const volatile bool gentle_fair_sleepers = true, start_debit = true, base_slice = true;
/* Woken tasks may preempt; whom they preempt shall go on after them (from 2.6.29 on); even those
 * that do not preempt shall run next. */
const volatile bool wakeup_preemption = true, last_buddy = true, next_buddy = false;
#endif

#include "include/buddies.h"
#include "include/fair.h"
#include "include/running.h"
#include "include/tunables.h"

/* A CPU's queue. Tasks wait in DSQ `cpu` by vruntime, which is `p->scx.dsq_vtime`. */
struct queue {
	/* A floor of all vruntimes. It never goes back. */
	u64 min_vruntime;
	struct running curr;
	struct buddies buddies;
};

static struct queue queues[MAX_CPUS];

/* A task's part of the period on a CPU where it is counted, or not yet and joins (1). */
static inline u64 sched_slice(const struct task_struct *p, const struct load *load, u32 joins)
{
	u64 nr = load->nr_running + joins, weight = load->weight + joins * weight_of(p);
	u64 period = nr > nr_latency ? nr * min_granularity : latency, least = min_granularity;
	u64 slice = weight ? period * weight_of(p) / weight : period;

	if (!base_slice || era < 51200)
		return slice;
	if (has_idle_policy(p) && weight > nr * IDLE_WEIGHT)
		least = sched_idle_min_granularity_ns;
	return slice < least ? least : slice;
}

/* The slice is over, or somebody is a whole one behind. `ran`: since it was picked. */
static inline bool is_slice_over(u64 slice, u64 ran, s64 ahead)
{
	if (era >= 60000 && slice > latency)
		slice = latency;
	return ran > slice || (ran >= min_granularity && ahead > (s64)slice);
}

/* `left`: the first of those that wait. */
static inline void update_min_vruntime(struct queue *rq, const struct task_struct *left)
{
	u64 vruntime = rq->curr.is_set ? live_vruntime(&rq->curr) : rq->min_vruntime;

	if (left && (!rq->curr.is_set || time_before(left->scx.dsq_vtime, vruntime)))
		vruntime = left->scx.dsq_vtime;
	rq->min_vruntime = later_of(rq->min_vruntime, vruntime);
}

/* A sleeper comes back to where it was, but not further behind than its credit. */
static inline u64 place_woken(const struct task_struct *p, const struct queue *rq, u64 vruntime)
{
	u64 credit = has_idle_policy(p) && era >= 60000 ? min_granularity : latency;

	if (gentle_fair_sleepers && era >= 20632)
		credit /= 2;
	return later_of(vruntime, rq->min_vruntime - credit);
}

/* A new task begins where its parent is, but not before all others have had a turn. */
static inline u64 place_new(const struct task_struct *p, struct queue *rq, const struct load *load)
{
	u64 parent = live_vruntime(&rq->curr), least = rq->min_vruntime;

	if (start_debit)
		least += virtual_time(p, sched_slice(p, load, 1));
	if (!child_runs_first || !time_before(parent, least))
		return later_of(least, parent);
	/* They change places. */
	rq->curr.vruntime += least - parent;
	return parent;
}

/* A vruntime means something on its own CPU only; on another it is as far from the floor. */
static inline u64 rebased(u64 vruntime, s32 from, s32 to)
{
	return vruntime - of_cpu(queues, from)->min_vruntime + of_cpu(queues, to)->min_vruntime;
}

/* Whether a woken or new task preempts the one that runs; buddies remember it. */
static inline bool cfs_preempts(struct task_struct *p, struct queue *rq, s32 cpu, u64 vruntime,
				bool is_new)
{
	bool is_crowded = of_cpu(loads, cpu)->nr_running >= nr_latency;
	s64 behind = live_vruntime(&rq->curr) - vruntime;

	if (!rq->curr.is_set || rq->curr.need_resched)
		return false;
	if (rq->curr.has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL || !wakeup_preemption)
		return false;
	if (next_buddy && is_crowded && !is_new)
		rq->buddies.next = p->pid;
	if (is_new && child_runs_first && behind > 0)
		return true;
	if (behind <= (s64)GRANULARITY(p, virtual_time(p, wakeup_granularity)))
		return false;
	rq->buddies.next = p->pid;
	if (last_buddy && is_crowded && era >= 20629)
		rq->buddies.last = rq->curr.pid;
	return true;
}

s32 CALLBACK(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_fair_cpu(p, prev_cpu, wake_flags);
}

void CALLBACK(cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = fair_task(p);
	bool is_woken = enq_flags & SCX_ENQ_WAKEUP, is_new;
	u64 vruntime;

	if (!task)
		return;
	is_new = task->is_new;
	if (is_woken || is_new)
		update_min_vruntime(rq, __COMPAT_scx_bpf_dsq_peek(cpu));
	vruntime = rebased(p->scx.dsq_vtime, task->load.cpu, cpu);
	if (is_woken)
		vruntime = place_woken(p, rq, vruntime);
	join_cpu(&rq->curr, task, cpu, p);
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, vruntime, enq_flags);
	if ((is_woken || is_new) && cfs_preempts(p, rq, cpu, vruntime, is_new))
		preempt(&rq->curr, cpu);
}

void CALLBACK(cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct queue *rq = of_cpu(queues, cpu);
	bool goes_on = prev && (prev->scx.flags & SCX_TASK_QUEUED);
	s32 pid;

	if (goes_on)
		scx_bpf_task_set_dsq_vtime(prev, account(&rq->curr, prev));
	rq->curr.need_resched = false;
	pid = favourite(&rq->buddies, cpu, goes_on ? prev : NULL, wakeup_granularity);
	if (goes_on && pid == prev->pid) {
		clear_buddies(&rq->buddies, pid);
		rq->curr.prev_sum_exec = prev->se.sum_exec_runtime;
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	} else if (!run_next(cpu, pid) && !goes_on) {
		pull_task(cpu);
	}
}

void CALLBACK(cfs_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = fair_task(p);

	/* It may have been pulled here. */
	if (task && task->load.cpu != cpu)
		scx_bpf_task_set_dsq_vtime(p, rebased(p->scx.dsq_vtime, task->load.cpu, cpu));
	clear_buddies(&rq->buddies, p->pid);
	/* After an interruption it need not be the right one any more. */
	if (begin_to_run(&rq->curr, p, task, p->scx.dsq_vtime))
		preempt(&rq->curr, cpu);
}

void CALLBACK(cfs_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct task_struct *left = __COMPAT_scx_bpf_dsq_peek(cpu);
	u64 vruntime = account(&rq->curr, p);

	scx_bpf_task_set_dsq_vtime(p, vruntime);
	if (left && is_slice_over(sched_slice(p, of_cpu(loads, cpu), 0),
				  p->se.sum_exec_runtime - rq->curr.prev_sum_exec,
				  vruntime - left->scx.dsq_vtime))
		scx_bpf_task_set_slice(p, 0);
}

void CALLBACK(cfs_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = fair_task(p);

	scx_bpf_task_set_dsq_vtime(p, account(&rq->curr, p));
	if (!runnable)
		update_min_vruntime(rq, __COMPAT_scx_bpf_dsq_peek(cpu));
	stop_to_run(&rq->curr, task, runnable);
}

void CALLBACK(cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	clear_buddies(&of_cpu(queues, task->load.cpu)->buddies, p->pid);
	leave_cpu(&of_cpu(queues, task->load.cpu)->curr, task);
	if (deq_flags & SCX_DEQ_SLEEP)
		SLEEPS(p, task);
}

bool CALLBACK(cfs_yield, struct task_struct *from, struct task_struct *to)
{
	of_cpu(queues, scx_bpf_task_cpu(from))->buddies.skip = from->pid;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 CALLBACK(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_fair_task(p, args->fork);
}

void CALLBACK(cfs_enable, struct task_struct *p)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct queue *rq = of_cpu(queues, cpu);
	bool is_new = begin_on(p, cpu);

	/* At a fork the parent runs here; otherwise nothing is known of the task's past. */
	update_min_vruntime(rq, __COMPAT_scx_bpf_dsq_peek(cpu));
	scx_bpf_task_set_dsq_vtime(p, is_new ? place_new(p, rq, of_cpu(loads, cpu)) :
					       rq->min_vruntime);
}

s32 CALLBACK_SLEEPABLE(cfs_init)
{
	s32 err = create_queues();

	set_tunables();
	return err;
}

#ifndef OVERLAY
SCX_OPS_DEFINE(cfs,
	       .select_cpu	= (void *)cfs_select_cpu,
	       .enqueue		= (void *)cfs_enqueue,
	       .dispatch	= (void *)cfs_dispatch,
	       .running		= (void *)cfs_running,
	       .tick		= (void *)cfs_tick,
	       .stopping	= (void *)cfs_stopping,
	       .quiescent	= (void *)cfs_quiescent,
	       .yield		= (void *)cfs_yield,
	       .init_task	= (void *)cfs_init_task,
	       .enable		= (void *)cfs_enable,
	       .init		= (void *)cfs_init,
	       .exit		= (void *)record_exit,
	       .name		= "cfs");
#endif
