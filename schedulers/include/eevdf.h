// SPDX-License-Identifier: GPL-2.0-only
/*
 * EEVDF: its decisions and callbacks. The scheduler has defined the knobs that `eevdf` has; for an
 * overlay those below are as in Linux 7.x.
 */
#ifndef FAIRGROUND_EEVDF_H
#define FAIRGROUND_EEVDF_H

#ifdef OVERLAY
#define base_slice_ns (-1)
#define place_lag true
#define place_deadline_initial true
#define place_rel_deadline true
#define run_to_parity true
#define preempt_short true
#define delay_dequeue true
#define delay_zero true
#define hrtick false
#endif

#include "lag.h"
#include "fair.h"
#include "hrtick.h"

/* The base slice of this era on this machine, and on one CPU; volatile for the verifier's sake. */
static volatile u64 default_slice, least_slice;

/* Tasks wait in DSQ `cpu` by deadline, `p->scx.dsq_vtime`. From 6.12 on slices may be their own. */
static inline u64 slice_of(const struct task_struct *p)
{
	return p->se.custom_slice && era >= 61200 ? p->se.slice : default_slice;
}

/* No lag is more than this. */
static inline s64 lag_limit(const struct task_struct *p)
{
	u64 limit = era >= 70000 ? slice_of(p) + TICK_NS : 2 * slice_of(p);

	return virtual_time(p, limit < TICK_NS ? TICK_NS : limit) >> LAG_SHIFT;
}

/* Where a task begins that joins a queue. Returns its deadline. */
static __always_inline u64 place(const struct task_struct *p, struct fair_task *task, u32 cpu,
				 struct sums sums, bool is_woken)
{
	bool keeps = !is_woken && task->left_weight && place_rel_deadline && era >= 61200;
	u64 vslice = virtual_time(p, slice_of(p));

	reweight(task, weight_of(p));
	join_with_lag(task, cpu, sums, weight_of(p), place_lag ? task->vlag : 0);
	if (HAS_HALF_SLICE(task, is_woken))
		vslice /= 2;
	return task->vruntime + (keeps ? task->rel_deadline : vslice);
}

/* A sleeper that was not eligible comes back: its debt has become less, or has gone. */
static __always_inline u64 requeue_delayed(const struct task_struct *p, struct fair_task *task,
					   u32 cpu, struct sums sums)
{
	s64 vlag = lag_of(task, sums, lag_limit(p)), least = task->vlag;

	if (vlag < 0 && task->load.cpu == cpu && task->left_weight == weight_of(p)) {
		join_average(task, cpu, task->left_weight);
		return task->vruntime + task->rel_deadline;
	}
	task->vlag = vlag > 0 && delay_zero ? 0 : vlag > least ? vlag : least;
	return place(p, task, cpu, sums, true);
}

/* Puts a task into a CPU's average, unless it is there already. Returns its deadline. */
static inline u64 join(const struct task_struct *p, struct fair_task *task, s32 cpu, bool is_woken)
{
	bool is_counted = task->load.weight;
	struct sums sums;

	if (is_counted && task->load.cpu == cpu)
		return p->scx.dsq_vtime;
	if (is_counted)
		leave_average(task, live_sums(task->load.cpu), p->scx.dsq_vtime, lag_limit(p));
	sums = live_sums(cpu);
	if (!is_counted && task->is_delayed && is_woken)
		return requeue_delayed(p, task, cpu, sums);
	return place(p, task, cpu, sums, is_woken);
}

/* Whether nobody shall preempt who runs, as long as it is eligible. */
static inline bool is_protected(const struct running *curr, u32 cpu, u64 vruntime)
{
	return IS_PROTECTED(cpu) && time_before(vruntime, curr->vprot);
}

/* Whether a woken task is whom a new choice would take. */
static inline bool eevdf_preempts(const struct task_struct *p, struct fair_task *task, u32 cpu,
				  u64 deadline)
{
	struct running *curr = of_cpu(currs, cpu);
	struct sums sums = live_sums(cpu);
	bool is_short = preempt_short && era >= 61200 &&
			(slice_of(p) < curr->slice || IS_SHORTER(task, curr));
	u64 vruntime = live_vruntime(curr);

	if (curr->has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL || (task->is_new && !is_short && era >= 70000))
		return false;
	if (is_eligible(sums, vruntime) && ((!is_short && is_protected(curr, cpu, vruntime)) ||
					    time_before(curr->deadline, deadline)))
		return false;
	return is_eligible(sums, task->vruntime) && !pick_eevdf(cpu, sums, &deadline, false);
}

CALLBACK(s32, eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_fair_cpu(p, prev_cpu, wake_flags);
}

CALLBACK(void, eevdf_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);
	bool is_woken, may_preempt, is_over;
	u64 deadline;

	if (!task)
		return;
	is_woken = task->is_new || enq_flags & SCX_ENQ_WAKEUP;
	may_preempt = is_woken && curr->is_set && wakeup_preemption;
	is_over = curr->is_set && update_deadline(curr, live_vruntime(curr));
	deadline = join(p, task, cpu, is_woken);
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, deadline, enq_flags);
	if (is_over && of_cpu(loads, cpu)->nr_running > 2) {
		preempt(curr, cpu);
	} else if (may_preempt && eevdf_preempts(p, task, cpu, deadline)) {
		curr->vprot = curr->vruntime;
		preempt(curr, cpu);
	} else if (may_preempt && run_to_parity && era >= 70000) {
		/* At least it shortens the protection of who is ahead of the average. */
		curr->vprot = earlier_of(curr->vprot, avg_vruntime(cpu) + curr->vslice);
	}
	join_cpu(curr, task, cpu, p);
	if (may_preempt && of_cpu(loads, cpu)->nr_running == 2)
		arm_hrtick(curr, cpu);
}

CALLBACK(void, eevdf_dispatch, s32 cpu, struct task_struct *prev)
{
	struct running *curr = of_cpu(currs, cpu);
	bool goes_on = could_go_on(prev), may_stay;
	struct sums sums;

	curr->need_resched = false;
	sums = goes_on ? account_curr(prev, fair_task(prev), cpu) : average_sums(cpu);
	may_stay = goes_on && is_eligible(sums, curr->vruntime);
	if ((!may_stay || !is_protected(curr, cpu, curr->vruntime)) &&
	    pick_eevdf(cpu, sums, may_stay ? &curr->deadline : NULL, true))
		return;
	arm_hrtick(curr, cpu);
	if (goes_on)
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	else if (!scx_bpf_dsq_move_to_local(cpu, 0))
		pull_task(cpu);
}

CALLBACK(void, eevdf_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);
	struct sums sums;
	bool is_back;

	if (!task)
		return;
	curr->deadline = join(p, task, cpu, false);
	curr->slice = slice_of(p);
	curr->vslice = virtual_time(p, curr->slice);
	curr->vprot = run_to_parity ? curr->deadline : task->vruntime +
		      (era >= 70000 ? virtual_time(p, least_slice) : 0);
	is_back = begin_to_run(curr, p, task, task->vruntime);
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

CALLBACK(void, eevdf_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	u64 deadline = of_cpu(currs, cpu)->deadline;
	bool is_over;

	account_curr(p, fair_task(p), cpu);
	is_over = deadline != of_cpu(currs, cpu)->deadline;
	if (era >= 70000)
		is_over |= !time_before(of_cpu(currs, cpu)->vruntime, of_cpu(currs, cpu)->vprot);
	if (is_over && of_cpu(loads, cpu)->nr_running > 1)
		scx_bpf_task_set_slice(p, 0);
}

CALLBACK(void, eevdf_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_task *task = fair_task(p);

	account_curr(p, task, cpu);
	if (task)
		task->vruntime = of_cpu(currs, cpu)->vruntime;
	scx_bpf_task_set_dsq_vtime(p, of_cpu(currs, cpu)->deadline);
	stop_to_run(of_cpu(currs, cpu), task, runnable);
}

CALLBACK(void, eevdf_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);
	struct sums sums;

	if (!task || !task->load.weight)
		return;
	sums = live_sums(task->load.cpu);
	task->is_delayed = delay_dequeue && era >= 61200 && (deq_flags & SCX_DEQ_SLEEP) &&
			   !is_eligible(sums, task->vruntime);
	end_interruption(of_cpu(currs, task->load.cpu), task);
	leave_average(task, sums, p->scx.dsq_vtime, lag_limit(p));
}

/* Who yields forfeits what is left of its slice; before 7.x, it only goes behind others. */
static inline void forfeit(struct running *curr, u32 cpu)
{
	if (era >= 70000 && !is_eligible(average_sums(cpu), curr->vruntime))
		return;
	if (era >= 70000) {
		average_add(cpu, 0, curr->weight * (curr->deadline - curr->vruntime));
		curr->vruntime = curr->deadline;
	}
	curr->deadline += curr->vslice;
}

CALLBACK(bool, eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	s32 cpu = scx_bpf_task_cpu(from);
	struct running *curr = of_cpu(currs, cpu);

	account_curr(from, fair_task(from), cpu);
	if (of_cpu(loads, cpu)->nr_running > 1)
		forfeit(curr, cpu);
	curr->vprot = curr->vruntime;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

CALLBACK(s32, eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_fair_task(p, args->fork);
}

/* For `ops.init`. */
static inline s32 eevdf_create(void)
{
	s32 err = create_queues();

	least_slice = base_slice_ns >= 0 ? base_slice_ns : era >= 70000 ? 700000 : 750000;
	default_slice = scaled(least_slice, sched_tunable_scaling);
	return err ?: hrtick ? make_hrticks(nr_cpus) : 0;
}

#endif /* FAIRGROUND_EEVDF_H */
