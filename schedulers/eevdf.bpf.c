// SPDX-License-Identifier: GPL-2.0-only
/*
 * eevdf: Earliest Eligible Virtual Deadline First, Linux 6.6 to 7.x.
 *
 * Idea: Every task asks for a slice. It is eligible while it has had no more than its share, and it
 *       shall have its slice by its virtual deadline. Among the eligible the earliest deadline
 *       runs. Whoever sleeps is owed later what it was owed before, and owes what it owed.
 * Good at: Exact shares, bounded lag, and latency that a task can ask for: a shorter slice is an
 *          earlier deadline, but no more CPU time.
 * Bad at: Waking up: a sleeper has no bonus, so it waits for the slices of those before it.
 * Origin: Ion Stoica and Hussein Abdel-Wahab, 1995; Peter Zijlstra, Linux 6.6 (2023).
 * Family: 2023, Peter Zijlstra; after cfs
 * Queue: One for each CPU, by virtual deadline; enqueue O(log n), pick O(n) among the eligible.
 * Slice: What the task asks for, 0.7 ms (one CPU) without its asking.
 * Wake-up: Keeps its lag, preempts a later deadline where the running one's slice is over.
 * Balancing: An idle CPU takes from the busiest.
 * Differs: No groups, no load averages, no balancing of busy CPUs: an idle one takes from the
 *          busiest. The earliest eligible is found by going through the queue. Of a CPU's sleepers
 *          64 at most keep their places in it. From 7.0 on the longest slice of a queue bounds lag,
 *          here the task's own: where nobody asks for slices these are one.
 */
#ifndef OVERLAY	/* An overlay has its own of these: see include/overlay.h. */
#include <scx/common.bpf.h>
#include "include/exit.h"

char _license[] SEC("license") = "GPL";

/* Which Linux: 60600, 61200 or 70000 stand for 6.6, 6.12 and 7.x. */
const volatile u32 era = 70000;
/* The slice that a task asks for, on one CPU; -1 is the era's, 0.75 or 0.7 ms. */
const volatile s64 base_slice_ns = -1;
/* How it grows with the CPUs, 8 at most: 0 not, 1 by the logarithm, 2 linearly. */
const volatile u32 sched_tunable_scaling = 1;
/* Features. Lag is kept over sleep; a new task's first slice is half as long; who moves to another
 * CPU keeps its deadline (from 6.12 on). */
const volatile bool place_lag = true, place_deadline_initial = true, place_rel_deadline = true;
/* Who runs goes on until its slice is over or it is not eligible any more; woken tasks may preempt;
 * those with a shorter slice even before that (from 6.12 on). */
const volatile bool run_to_parity = true, wakeup_preemption = true, preempt_short = true;
/* Who sleeps while it is not eligible loses its debt as time passes, but gains nothing. */
const volatile bool delay_dequeue = true, delay_zero = true;
/* A timer ends slices, not the tick: 7.x does so where setting timers is cheap. */
const volatile bool hrtick = false;
#endif

#include "include/fair.h"
#include "include/hrtick.h"
#include "include/lag.h"

/* The base slice of this era on this machine, and on one CPU; volatile for the verifier's sake. */
static volatile u64 default_slice, least_slice;

/* Tasks wait in DSQ `cpu` by deadline, `p->scx.dsq_vtime`. From 6.12 on slices may be their own. */
static inline u64 slice_of(const struct task_struct *p)
{
	return p->se.custom_slice && era >= 61200 ? p->se.slice : default_slice;
}

#include "include/placement.h"
#include "include/earliest_eligible.h"

/* Whether nobody shall preempt who runs, as long as it is eligible. */
static inline bool is_protected(const struct running *curr, u32 cpu, u64 vruntime)
{
	return IS_PROTECTED(cpu) && time_before(vruntime, curr->vprot);
}

/* Whether a woken task is whom a new choice would take, while who runs is at `vruntime`. */
static __always_inline bool eevdf_preempts(const struct task_struct *p, struct fair_task *task,
					   u32 cpu, struct sums sums, u64 vruntime, u64 deadline)
{
	struct running *curr = of_cpu(currs, cpu);
	bool is_short = preempt_short && era >= 61200 &&
			(slice_of(p) < curr->slice || IS_SHORTER(task, curr));

	if (curr->has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL || (task->is_new && !is_short && era >= 70000))
		return false;
	if (is_eligible(sums, vruntime) && ((!is_short && is_protected(curr, cpu, vruntime)) ||
					    time_before(curr->deadline, deadline)))
		return false;
	return is_eligible(sums, task->vruntime) && !next_sleeper(cpu, sums, &deadline) &&
	       !pick_eevdf(cpu, sums, &deadline, false);
}

/* A woken task preempts, or at least shortens the protection of who is ahead of the average. */
static __always_inline void challenge(const struct task_struct *p, struct fair_task *task, u32 cpu,
				      struct sums sums, u64 vruntime)
{
	struct running *curr = of_cpu(currs, cpu);

	if (eevdf_preempts(p, task, cpu, sums, vruntime, task->deadline)) {
		curr->vprot = curr->vruntime;
		preempt(curr, cpu);
	} else if (run_to_parity && era >= 70000) {
		curr->vprot = earlier_of(curr->vprot,
					 average_of(sums, curr->vruntime) + curr->vslice);
	}
}

s32 CALLBACK(eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *task = of_cpu(sleepers, prev_cpu)->count ? fair_task(p) : NULL;

	/* It has not left yet. */
	if (task && task->is_delayed && is_asleep_on(prev_cpu, p, task))
		return prev_cpu;
	return select_fair_cpu(p, prev_cpu, wake_flags);
}

void CALLBACK(eevdf_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);
	bool is_woken, may_preempt, is_over;
	u64 vruntime = live_vruntime(curr);
	struct sums sums = {};

	if (!task)
		return;
	is_woken = task->is_new || enq_flags & SCX_ENQ_WAKEUP;
	may_preempt = is_woken && curr->is_set && wakeup_preemption;
	is_over = curr->is_set && update_deadline(curr, vruntime);
	if (!is_on(task, cpu))
		sums = join(p, task, cpu, vruntime, is_woken);
	else if (may_preempt)
		sums = sums_at(cpu, vruntime);
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, task->deadline, enq_flags);
	if (is_over && nr_queued_on(cpu) > 2)
		preempt(curr, cpu);
	else if (may_preempt)
		challenge(p, task, cpu, sums, vruntime);
	join_cpu(curr, task, cpu, p);
	if (may_preempt && of_cpu(loads, cpu)->nr_running == 2)
		arm_hrtick(curr, cpu);
}

void CALLBACK(eevdf_dispatch, s32 cpu, struct task_struct *prev)
{
	struct running *curr = of_cpu(currs, cpu);
	bool goes_on = could_go_on(prev), may_stay;
	struct sums sums;

	curr->need_resched = false;
	sums = goes_on ? account_curr(prev, cpu) : average_sums(cpu);
	may_stay = goes_on && is_eligible(sums, curr->vruntime);
	if (!may_stay || !is_protected(curr, cpu, curr->vruntime)) {
		sums = dismiss_sleepers(cpu, sums, goes_on ? curr : NULL);
		may_stay = goes_on && is_eligible(sums, curr->vruntime);
		if (pick_eevdf(cpu, sums, may_stay ? &curr->deadline : NULL, true))
			return;
	}
	arm_hrtick(curr, cpu);
	if (goes_on)
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	else if (!scx_bpf_dsq_move_to_local(cpu, 0))
		pull_task(cpu);
}

void CALLBACK(eevdf_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);
	struct sums sums;
	bool is_back;

	if (!task)
		return;
	if (!is_on(task, cpu))
		join(p, task, cpu, live_vruntime(curr), false);
	curr->deadline = task->deadline;
	is_back = begin_to_run(curr, p, task, task->vruntime);
	curr->slice = slice_of(p);
	curr->vslice = virtual_time_at(curr->inverse_weight, curr->slice);
	curr->vprot = run_to_parity ? curr->deadline : task->vruntime +
		      (era >= 70000 ? virtual_time_at(curr->inverse_weight, least_slice) : 0);
	arm_hrtick(curr, cpu);
	if (!is_back)
		return;
	/* After an interruption it need not be the right one any more. */
	sums = average_sums(cpu);
	if (pick_eevdf(cpu, sums, is_eligible(sums, curr->vruntime) ? &curr->deadline : NULL,
			   false)) {
		curr->vprot = curr->vruntime;
		preempt(curr, cpu);
	}
}

void CALLBACK(eevdf_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	u64 deadline = of_cpu(currs, cpu)->deadline;
	bool is_over;

	account_curr(p, cpu);
	is_over = deadline != of_cpu(currs, cpu)->deadline;
	if (era >= 70000)
		is_over |= !time_before(of_cpu(currs, cpu)->vruntime, of_cpu(currs, cpu)->vprot);
	if (is_over && nr_queued_on(cpu) > 1)
		scx_bpf_task_set_slice(p, 0);
}

void CALLBACK(eevdf_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);

	/* Mostly `ops.dispatch` has just done so. */
	if (p->se.sum_exec_runtime != curr->sum_exec)
		account_with(p, task, cpu);
	if (task) {
		task->vruntime = curr->vruntime;
		task->deadline = curr->deadline;
	}
	stop_to_run(curr, task, runnable);
}

/* A counted task sleeps, or leaves for another reason. */
static inline void leave(const struct task_struct *p, struct fair_task *task, u64 deq_flags)
{
	struct sums sums = live_sums(task->load.cpu);

	end_interruption(of_cpu(currs, task->load.cpu), task);
	task->is_delayed = delay_dequeue && era >= 61200 && (deq_flags & SCX_DEQ_SLEEP) &&
			   !is_eligible(sums, task->vruntime) && stay_asleep(p, task);
	if (!task->is_delayed)
		leave_average(task, sums, lag_limit(p, task));
}

void CALLBACK(eevdf_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);

	if (task && task->load.weight)
		leave(p, task, deq_flags);
	if (task && deq_flags & SCX_DEQ_SLEEP)
		SLEEPS(p, task);
}

/* Who yields forfeits what is left of its slice; before 7.x, it only goes behind others. */
static inline void forfeit(struct running *curr, u32 cpu, struct sums sums)
{
	if (era >= 70000 && !is_eligible(sums, curr->vruntime))
		return;
	if (era >= 70000) {
		average_add(cpu, 0, curr->weight * (curr->deadline - curr->vruntime));
		curr->vruntime = curr->deadline;
	}
	curr->deadline += curr->vslice;
}

bool CALLBACK(eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	s32 cpu = scx_bpf_task_cpu(from);
	struct running *curr = of_cpu(currs, cpu);
	struct sums sums = account_curr(from, cpu);

	if (of_cpu(loads, cpu)->nr_running > 1)
		forfeit(curr, cpu, sums);
	curr->vprot = curr->vruntime;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 CALLBACK(eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_fair_task(p, args->fork);
}

s32 CALLBACK_SLEEPABLE(eevdf_init)
{
	s32 err = create_queues();

	least_slice = base_slice_ns >= 0 ? base_slice_ns : era >= 70000 ? 700000 : 750000;
	default_slice = scaled(least_slice, sched_tunable_scaling);
	return err ?: hrtick ? make_hrticks(nr_cpus) : 0;
}

#ifndef OVERLAY
SCX_OPS_DEFINE(eevdf,
	       .select_cpu	= (void *)eevdf_select_cpu,
	       .enqueue		= (void *)eevdf_enqueue,
	       .dispatch	= (void *)eevdf_dispatch,
	       .running		= (void *)eevdf_running,
	       .tick		= (void *)eevdf_tick,
	       .stopping	= (void *)eevdf_stopping,
	       .quiescent	= (void *)eevdf_quiescent,
	       .yield		= (void *)eevdf_yield,
	       .init_task	= (void *)eevdf_init_task,
	       .init		= (void *)eevdf_init,
	       .exit		= (void *)record_exit,
	       .name		= "eevdf");
#endif
