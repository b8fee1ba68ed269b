// SPDX-License-Identifier: GPL-2.0-only
/*
 * bmq: The BitMap Queue of Project C, strict levels with boosts.
 *
 * Idea: Every CPU has a list of tasks for each level, and runs the first of the best level. A level
 *       is nice plus a boost, halved. Using up a slice makes the boost worse by one, going to sleep
 *       makes it better by one; so who sleeps after less than a slice climbs, and hogs sink.
 * Good at: Waking up: a task that needs little is at once before all that need more. No step
 *          depends on the number of tasks.
 * Bad at: WARNING: levels are strict, and nobody ages. A hog of nice 0 starves one of nice 2 on its
 *         CPU for as long as it runs, and who sleeps starves whoever does not. After 30 s of that
 *         sched_ext throws the scheduler out: `ejected`. Shares by nice value: there are none.
 * Origin: Alfred Chen (2019), after the scheduler of Zircon. Project C for Linux 7.1; `era` has
 *         others.
 * Family: 2019, Alfred Chen; after pds
 * Queue: One for each CPU, lists by level and a bitmap; O(1), here enqueue O(log n).
 * Slice: Fixed, 4.19 ms.
 * Wake-up: Takes an idle CPU, else the nearest with a worse level; strictly better levels preempt.
 * Balancing: An idle CPU takes tasks from the nearest that has some waiting.
 * Differs: A level's lists are one queue, ordered by level and turn. There are no active moves
 *          between the siblings of a core and no kinds of cores, and siblings are not told from
 *          others that share the cache. Missing are yield_type 2 and, of 6.18 and later,
 *          prio_balance, which moves waiting tasks to CPUs that run worse ones. Real-time tasks
 *          have a class of their own; who is displaced by one stays on its CPU.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* For which Linux: 50400, 50700, 50900 (to 6.1), 60600 (to 6.11), 61200 (to 7.0) or 70100. */
const volatile u32 era = 70100;
/* sched_yield(): 0 does nothing, 1 is as bad as a hog's last slice. */
const volatile u32 yield_type = 1;
/* Sleeping and using up slices move tasks between levels. */
const volatile bool boosts = true;
/* From 61200: a step for each slice slept, which the patch means to give; it gives none. */
const volatile bool intended_wake_boost = false;
/* A slice ends exactly, by a timer of its CPU; else at this kernel's next tick. */
const volatile bool exact_slices = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* An idle CPU takes tasks from others. */
const volatile bool idle_pull = true;

UEI_DEFINE(uei);

struct task_ctx {
	s64 time_slice;		/* what is left, ns */
	u64 charged_ns;		/* until when the running task has paid, or 0 */
	u64 timestamp;		/* since when it runs or sleeps, ns */
	s32 boost_prio;		/* from -MAX_PRIORITY_ADJ, the best, to MAX_PRIORITY_ADJ */
	s32 queued_on;		/* the CPU whose place it has */
	bool is_new;
	bool has_cpu;		/* an idle one that takes it */
	bool is_displaced;	/* by a real-time task */
};
#include "include/task_ctx.h"
#define RANK_SHIFT 40
#include "include/project_c.h"

static s32 MAX_PRIORITY_ADJ;

static s64 timeslice(void)
{
	return era < 51500 ? 4 * NS_PER_MS : 4 * NS_PER_SHORT_MS;
}

/* The level. Two nice values share one, but not in the first versions. */
static u64 rank_of(struct task_struct *p, struct task_ctx *task)
{
	u32 prio = nice_of(p) + 20 + MAX_PRIORITY_ADJ + task->boost_prio;

	return era < 50900 ? prio : prio / 2;
}

/* SCHED_IDLE tasks are what they are in the last era. */
static bool may_change(const struct task_struct *p)
{
	return boosts && !(era >= 70100 && has_idle_policy(p));
}

/* Batch and idle tasks are never better than their nice value, and idle ones never boosted. */
static void boost(const struct task_struct *p, struct task_ctx *task, s32 steps)
{
	s32 limit = p->policy == POLICY_NORMAL ? -MAX_PRIORITY_ADJ : 0;

	if (!may_change(p))
		return;
	task->boost_prio = task->boost_prio - steps > limit ? task->boost_prio - steps : limit;
}

static void deboost(const struct task_struct *p, struct task_ctx *task)
{
	if (may_change(p) && task->boost_prio < MAX_PRIORITY_ADJ)
		task->boost_prio++;
}

static void renew(struct task_struct *p, struct task_ctx *task)
{
	task->time_slice = timeslice();
	if (era < 60600 || era >= 61200)
		deboost(p, task);
}

/* The better a task is already, the shorter it must run to become better yet: before 61200. */
static u64 boost_threshold(const struct task_ctx *task)
{
	s32 shift;

	if (era >= 60600)
		shift = (14 - task->boost_prio) >> 1;
	else
		shift = (era < 50900 ? 10 : 15) - MAX_PRIORITY_ADJ - task->boost_prio;
	return (u64)timeslice() >> (u32)shift;
}

static void fall_asleep(const struct task_struct *p, struct task_ctx *task)
{
	u64 now = scx_bpf_now(), ran = now - task->timestamp;

	task->timestamp = now;
	if (era >= 61200 || ran < boost_threshold(task))
		boost(p, task, 1);
	else if (era >= 60600 && ran > timeslice())
		deboost(p, task);
}

static void wake_up(const struct task_struct *p, struct task_ctx *task)
{
	u64 slices = (scx_bpf_now() - task->timestamp) / timeslice();

	if (era < 61200 && slices)
		boost(p, task, 1);
	else if (intended_wake_boost)
		boost(p, task, slices < 2 * MAX_PRIORITY_ADJ ? slices : 2 * MAX_PRIORITY_ADJ);
}

s32 BPF_STRUCT_OPS(bmq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(bmq_runnable, struct task_struct *p, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_WAKEUP)
		wake_up(p, ctx_of(p));
}

void BPF_STRUCT_OPS(bmq_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue(p, enq_flags);
}

void BPF_STRUCT_OPS(bmq_dispatch, s32 cpu, struct task_struct *prev)
{
	choose(cpu, prev);
}

void BPF_STRUCT_OPS(bmq_running, struct task_struct *p)
{
	ctx_of(p)->timestamp = scx_bpf_now();
	note_running(scx_bpf_task_cpu(p), p);
}

void BPF_STRUCT_OPS(bmq_tick, struct task_struct *p)
{
	check_slice(p);
}

void BPF_STRUCT_OPS(bmq_stopping, struct task_struct *p, bool runnable)
{
	note_stopping(scx_bpf_task_cpu(p), p, runnable);
}

void BPF_STRUCT_OPS(bmq_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		fall_asleep(p, ctx_of(p));
}

/* Who yields to others becomes as bad as it can be. */
bool BPF_STRUCT_OPS(bmq_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *task = ctx_of(from);
	s32 cpu = scx_bpf_task_cpu(from);

	if (!yield_type || (era >= 70100 && !scx_bpf_dsq_nr_queued(cpu)))
		return false;
	if (boosts)
		task->boost_prio = MAX_PRIORITY_ADJ;
	requeue(cpu, from, task);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* What a child makes of its parent's boost. */
static s32 inherited(s32 boost_prio)
{
	if (era >= 61200)
		return boost_prio;
	if (era >= 60600 || boost_prio >= 0)
		return MAX_PRIORITY_ADJ;
	return boost_prio + MAX_PRIORITY_ADJ;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bmq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->time_slice = timeslice();
	if (!args->fork)
		return 0;
	task->is_new = true;
	task->boost_prio = boosts ? inherited(ctx_of(forker)->boost_prio) : 0;
	share_with_child(forker, task);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bmq_init)
{
	MAX_PRIORITY_ADJ = era < 50900 ? 4 : era < 60600 ? 7 : 12;
	return init_queues();
}

void BPF_STRUCT_OPS(bmq_exit, struct scx_exit_info *ei)
{
	turns_are_over = true;
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(bmq,
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
