// SPDX-License-Identifier: GPL-2.0-only
/*
 * CFS: its queues, decisions and callbacks. The scheduler has defined the knobs that `cfs` has; for
 * an overlay those below are as in Linux 6.5.
 */
#ifndef FAIRGROUND_CFS_H
#define FAIRGROUND_CFS_H

#include "buddies.h"
#include "fair.h"
#include "running.h"

#ifdef OVERLAY
#define sched_idle_min_granularity_ns 750000
#define sched_child_runs_first (-1)
#define start_debit true
#define base_slice true
#define last_buddy true
#define next_buddy false
#endif

/* The constants of this era on this machine. */
static u64 latency, min_granularity, wakeup_granularity, nr_latency;
static bool child_runs_first;

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

CALLBACK(s32, cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_fair_cpu(p, prev_cpu, wake_flags);
}

CALLBACK(void, cfs_enqueue, struct task_struct *p, u64 enq_flags)
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

CALLBACK(void, cfs_dispatch, s32 cpu, struct task_struct *prev)
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

CALLBACK(void, cfs_running, struct task_struct *p)
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

CALLBACK(void, cfs_tick, struct task_struct *p)
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

CALLBACK(void, cfs_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = fair_task(p);

	scx_bpf_task_set_dsq_vtime(p, account_task(&rq->curr, p, task));
	if (!runnable)
		update_min_vruntime(rq, __COMPAT_scx_bpf_dsq_peek(cpu));
	stop_to_run(&rq->curr, task, runnable);
}

CALLBACK(void, cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	clear_buddies(&of_cpu(queues, task->load.cpu)->buddies, p->pid);
	leave_cpu(&of_cpu(queues, task->load.cpu)->curr, task);
}

CALLBACK(bool, cfs_yield, struct task_struct *from, struct task_struct *to)
{
	of_cpu(queues, scx_bpf_task_cpu(from))->buddies.skip = from->pid;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

CALLBACK(s32, cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_fair_task(p, args->fork);
}

CALLBACK(void, cfs_enable, struct task_struct *p)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct queue *rq = of_cpu(queues, cpu);
	bool is_new = begin_on(p, cpu);

	/* At a fork the parent runs here; otherwise nothing is known of the task's past. */
	update_min_vruntime(rq, __COMPAT_scx_bpf_dsq_peek(cpu));
	scx_bpf_task_set_dsq_vtime(p, is_new ? place_new(p, rq, of_cpu(loads, cpu)) :
					       rq->min_vruntime);
}

/* A knob, or else the value of the era; it grows with the CPUs. */
#define constant(knob, oldest, older, newer) \
	scaled((knob) >= 0 ? (knob) : era < 20633 ? (oldest) : era < 20637 ? (older) : (newer), \
	       sched_tunable_scaling)

/* For `ops.init`. */
static inline s32 cfs_create(void)
{
	s32 err = create_queues();

	latency = constant(sched_latency_ns, 20000000, 6000000, 6000000);
	min_granularity = constant(sched_min_granularity_ns, 4000000, 2000000, 750000);
	wakeup_granularity = constant(sched_wakeup_granularity_ns, 10000000, 1000000, 1000000);
	nr_latency = (latency + min_granularity - 1) / min_granularity;
	child_runs_first = sched_child_runs_first < 0 ? era < 20633 : sched_child_runs_first;
	return err;
}

#endif /* FAIRGROUND_CFS_H */
