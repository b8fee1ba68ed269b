// SPDX-License-Identifier: GPL-2.0-only
/*
 * bmq: The BitMap Queue of Project C: strict levels with boosts.
 *
 * Idea: Every CPU has a list of tasks for each level, and runs the first task of the best level. A
 *       level is half of the nice value plus a boost. Using up a slice makes the boost worse by
 *       one; going to sleep makes it better by one. So a task that sleeps after less than a slice
 *       climbs, and hogs sink.
 * Good at: Waking up: a task that needs little runs before all that need more. No step depends on
 *          the number of tasks.
 * Bad at: WARNING: levels are strict, and no task ages. A hog of nice 0 starves one of nice 2 on
 *         its CPU for as long as it runs, and a task that sleeps starves one that does not. After
 *         30 s of that, sched_ext ejects the scheduler (`ejected`). Nice values give no shares.
 *         Little balancing: two hogs may share a CPU while a nicer hog has one to itself.
 * Origin: Alfred Chen, 2019, after the scheduler of Zircon. Project C, the patch for Linux 7.1;
 *         `era` selects others.
 * Family: 2019, Alfred Chen; after pds
 * Queue: One for each CPU, lists by level and a bitmap; O(1), here enqueue O(log n).
 * Slice: Fixed, 4.19 ms.
 * Wake-up: Takes an idle CPU, else the nearest with a worse level; strictly better levels preempt.
 * Balancing: An idle CPU takes tasks from the nearest that has some waiting.
 * Differs: The lists of all levels are one queue, ordered by level and turn. Tasks are not moved
 *          actively between the siblings of a core, kinds of cores are unknown, and siblings count
 *          as any CPUs that share a cache. yield_type 2 is missing; so is prio_balance of 6.17 and
 *          later, by which a CPU that keeps its task sends others to CPUs that run worse ones.
 *          Real-time tasks have a class of their own: a task that one displaces stays on its CPU,
 *          and a real-time task's run time does not shorten its children's slices. Tasks that exist
 *          when the scheduler is loaded begin with their best boost, because their earlier sleeps
 *          are not known. Control groups have no effect: the original has none.
 */
#include <scx/common.bpf.h>
#include "include/project_c.h"

char _license[] SEC("license") = "GPL";

/* The version of Linux: 50400, 50700, 50900 (to 6.1), 60600 (to 6.11), 61200 (to 7.0) or 70100. */
const volatile u32 era = 70100;
/*
 * What sched_yield() does: nothing (0), or it makes a task as bad as a hog's last slice does (1).
 */
const volatile u32 yield_type = 1;
/* Sleeping and using up slices move tasks between levels. */
const volatile bool boosts = true;
/*
 * From 61200 on: a wake-up gives a step for each slice slept. The patch means to, but gives none.
 */
const volatile bool intended_wake_boost = false;
/* A timer ends slices exactly. Without it, they end at this kernel's next tick. */
const volatile bool exact_slices = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* An idle CPU takes tasks from others. */
const volatile bool idle_pull = true;

UEI_DEFINE(uei);

#include "include/bmq_eras.h"

/* Returns the number of bits of a turn. No counterpart: the patch has a list for each rank. */
static u32 rank_shift(void)
{
	return 40;
}

/* Returns a task's level (`task_sched_prio`). */
static u64 rank_of(struct task_struct *p, struct task_ctx *task)
{
	return level_of(nice_of(p) + 20 + max_priority_adj() + task->boost_prio);
}

/*
 * Returns the best boost of a task. Batch and idle tasks are never better than their nice value
 * (`boost_task`).
 */
static s32 best_boost(const struct task_struct *p)
{
	return p->policy == POLICY_BATCH || has_idle_policy(p) ? 0 : -max_priority_adj();
}

/* Moves the task to a better level, up to its limit (`boost_task`). */
static void boost_task(const struct task_struct *p, struct task_ctx *task, s32 steps)
{
	s32 limit = best_boost(p);

	if (!boosts || (has_idle_policy(p) && !may_boost_idle_policy()))
		return;
	task->boost_prio = task->boost_prio - steps > limit ? task->boost_prio - steps : limit;
}

/* Moves the task to a worse level, up to the limit (`deboost_task`). */
static void deboost_task(const struct task_struct *p, struct task_ctx *task)
{
	if (!boosts || (has_idle_policy(p) && !may_deboost_idle_policy()))
		return;
	if (task->boost_prio < max_priority_adj())
		task->boost_prio++;
}

/* Gives a task a new slice, at a worse level (`sched_task_renew`). */
static void sched_task_renew(struct task_struct *p, struct task_ctx *task)
{
	task->turn.time_slice = timeslice();
	if (new_slice_deboosts())
		deboost_task(p, task);
}

/* Changes the boost of a task that goes to sleep (`sched_task_deactivate`). */
static void sched_task_deactivate(const struct task_struct *p, struct task_ctx *task)
{
	u64 now = scx_bpf_now(), ran = now - task->timestamp;

	task->timestamp = now;
	if (sleep_boosts(task, ran))
		boost_task(p, task, 1);
	else if (sleep_deboosts(ran))
		deboost_task(p, task);
}

/* Changes the boost of a task that wakes up (`sched_task_ttwu`). */
static void sched_task_ttwu(const struct task_struct *p, struct task_ctx *task)
{
	u64 slices = (scx_bpf_now() - task->timestamp) / timeslice();

	if (wakeup_boosts(slices))
		boost_task(p, task, 1);
	else if (intended_wake_boost)
		boost_task(p, task, slices < 2 * max_priority_adj() ? slices : 2 * max_priority_adj());
}

s32 BPF_STRUCT_OPS(bmq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_task_rq(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(bmq_runnable, struct task_struct *p, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_WAKEUP)
		sched_task_ttwu(p, ctx_of(p));
}

void BPF_STRUCT_OPS(bmq_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task(p, enq_flags);
}

void BPF_STRUCT_OPS(bmq_dispatch, s32 cpu, struct task_struct *prev)
{
	choose_next_task(cpu, prev);
}

void BPF_STRUCT_OPS(bmq_running, struct task_struct *p)
{
	ctx_of(p)->timestamp = scx_bpf_now();
	note_running(scx_bpf_task_cpu(p), p);
}

void BPF_STRUCT_OPS(bmq_tick, struct task_struct *p)
{
	check_slice(p, &ctx_of(p)->turn);
}

void BPF_STRUCT_OPS(bmq_stopping, struct task_struct *p, bool runnable)
{
	note_stopping(scx_bpf_task_cpu(p), p, runnable);
}

void BPF_STRUCT_OPS(bmq_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		sched_task_deactivate(p, ctx_of(p));
	check_sleeper(p, deq_flags);
}

/* A task that yields to others becomes as bad as it can be (`do_sched_yield_type_1`). */
bool BPF_STRUCT_OPS(bmq_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *task = ctx_of(from);
	s32 cpu = scx_bpf_task_cpu(from);

	if (!yield_type || (yields_only_to_others() && !scx_bpf_dsq_nr_queued(cpu)))
		return false;
	if (boosts)
		task->boost_prio = max_priority_adj();
	requeue_task(cpu, from, task);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bmq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->turn.time_slice = timeslice();
	if (!args->fork) {
		/* The task has slept often enough, like most tasks since the boot. */
		task->boost_prio = boosts ? best_boost(p) : 0;
		return 0;
	}
	task->is_new = true;
	task->boost_prio = boosts ? inherited(ctx_of(forker)->boost_prio) : 0;
	share_with_child(forker, task);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bmq_init)
{
	return init_queues();
}

void BPF_STRUCT_OPS(bmq_exit, struct scx_exit_info *ei)
{
	turns_are_over = true;
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(bmq_ops,
	       .select_cpu	= (void *)bmq_select_cpu,
	       .runnable	= (void *)bmq_runnable,
	       .enqueue		= (void *)bmq_enqueue,
	       .dispatch	= (void *)bmq_dispatch,
	       .running		= (void *)bmq_running,
	       .tick		= (void *)bmq_tick,
	       .stopping	= (void *)bmq_stopping,
	       .quiescent	= (void *)bmq_quiescent,
	       .yield		= (void *)bmq_yield,
	       .init_task	= (void *)bmq_init_task,
	       .init		= (void *)bmq_init,
	       .exit		= (void *)bmq_exit,
	       .name		= "bmq");
