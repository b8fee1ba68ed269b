// SPDX-License-Identifier: GPL-2.0-only
/*
 * baby: The Baby scheduler, one list, one comparison, in six variants.
 *
 * Idea: Each CPU has a plain list, newest first. At a tick or a wake-up the CPU compares all of it
 *       and runs the best, by the variant: the earliest deadline, which is renewed when it has
 *       passed; the next in turn; the smallest vruntime; the highest ratio of lifetime to runtime;
 *       the highest bid from an account of credit; or the lowest level of use, then the deadline.
 * Good at: Being read: a variant is a key and what changes it.
 * Bad at: Many tasks: all but rr look at each task. vrt keeps a sleeper's old vruntime, so a long
 *         sleeper has the CPU alone until it has caught up: others starve. In dl who often sleeps
 *         early rises to nice -20 and stays there. mlfq starves who is on a high level, as long as
 *         lower ones want the CPU.
 * Origin: Hamad Al Marri, patches for Linux 5.14, to teach.
 * Family: 2021, Hamad Al Marri; after cfs
 * Queue: One list for each CPU; enqueue O(1), pick O(n), rr O(1).
 * Slice: To the next tick; cr 1 ms, mlfq 1.18 ms times the level, both by ticks.
 * Wake-up: Preempts if it is better, in rr always. No credit and no limit for who has slept.
 * Balancing: CPU 0's ticks move one task from the longest list to the shortest; an idle CPU pulls.
 * Differs: CPU 0, if it idles, is woken by the ticks of CPUs where tasks wait. A tick that ends a
 *          turn is one account in vrt and hrrn, not two, and waking another is none. Times that the
 *          original ends by high-resolution ticks, which are off by default, end by ticks.
 *          A task that may not use the CPU with the fewest tasks goes to one that it may.
 *          Who is displaced by a real-time task waits for its CPU.
 */
#include <scx/common.bpf.h>
#include "include/idle.h"
#include "include/nice.h"
#include "include/scan.h"

char _license[] SEC("license") = "GPL";

/* Which one: 0 dl, 1 rr, 2 vrt, 3 hrrn, 4 cr, 5 mlfq. */
const volatile u32 variant = 0;
/* How far off a deadline is at nice 0 (dl), and the slice on level 1 (mlfq). */
const volatile s64 deadline_ns = 1180000;
/* dl: the window in which bursts are summed; less than this before its end is a hog's; who is
 * within this of what it used in the last window is expected to end soon, and not preempted. */
const volatile u64 burst_window_ns = 200000000, hog_margin_ns = 25000000, guard_ns = 5000000;
/* cr: a turn; for how many turns a CPU's cash lasts, what it is, and the most that one gets. */
const volatile u64 cr_slice_ns = 1000000, cr_turns = 12;
const volatile u64 cr_cash = 1000000000, cr_payment = 100000000;
/* dl and mlfq: who sleeps before its deadline becomes better by a nice level, for good. */
const volatile bool adaptive_priority = true;
/* dl: who is expected to end soon is not preempted. */
const volatile bool guard = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs, other than at a wake-up. */
const volatile bool balancing = true;

UEI_DEFINE(uei);

enum { DEADLINE, ROUND_ROBIN, VIRTUAL_TIME, RESPONSE_RATIO, CREDIT, FEEDBACK };

struct task_ctx {
	u64 sum_exec;			/* the CPU time that is accounted for */
	u64 vruntime;			/* vrt, hrrn */
	u64 start;			/* of its life (hrrn), of the window (dl, mlfq), ns */
	u64 deadline;			/* dl, mlfq */
	u64 bursts, prev_bursts;	/* CPU time in this window, and in the last one */
	u64 credit, bid;		/* cr */
	s32 better;			/* by how many nice levels it has been raised */
	u32 level;			/* mlfq */
	s32 cpu;			/* where it was queued last; -1: nowhere */
	bool is_new, yielded, is_early;
};
#include "include/task_ctx.h"

struct cpu_ctx {
	s32 curr;		/* who runs there; 0: nobody of ours */
	u64 picked;		/* its CPU time when it was picked */
	u64 since;		/* when it was last accounted for, ns */
	u64 min_vruntime;	/* of whoever was accounted for last */
	u64 cash;
	u64 turns;
	bool need_resched, balance_due, is_charged;
};
#include "include/cpu_ctx.h"

static u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(cpu);
}
#include "include/counts.h"
#include "include/baby.h"
#include "include/one_list.h"

static bool preempts(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct task_struct *curr = wakeup_preemption ? bpf_task_from_pid(cpu_ctx(cpu)->curr) : NULL;
	bool does = curr && beats(p, task, curr, cpu);

	if (curr)
		bpf_task_release(curr);
	return does;
}

static void preempt(s32 cpu)
{
	cpu_ctx(cpu)->need_resched = true;
	wake_or_preempt(cpu);
}

s32 BPF_STRUCT_OPS(baby_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return fewest_cpu(p, prev_cpu, 0);
}

void BPF_STRUCT_OPS(baby_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);
	bool moves = task->is_new || task->cpu != cpu;

	if (moves)
		place(p, task, cpu);
	if (variant == CREDIT && (moves || is_woken))
		pay(cpu_ctx(cpu), task, nr_running(cpu) + 1);
	task->is_new = false;
	scx_bpf_dsq_insert(p, cpu, SCX_SLICE_INF, enq_flags | (variant == ROUND_ROBIN ? 0 : SCX_ENQ_HEAD));
	if (is_woken && preempts(p, task, cpu))
		preempt(cpu);
	else
		wake_up_if_free(cpu);
}

/* The first of a CPU's tasks that may run on another goes there. */
static __noinline bool migrate_first(s32 from, s32 to)
{
	struct task_struct *p;
	bool has_moved = false;

	bpf_for_each(scx_dsq, p, from, 0) {
		struct task_ctx *task = ctx_of(p);

		if (!bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		place(p, task, to);
		if (variant == CREDIT)
			pay(cpu_ctx(to), task, nr_running(to) + 1);
		has_moved = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, to, variant == ROUND_ROBIN ? 0 : SCX_ENQ_HEAD);
		if (has_moved && preempts(p, task, to))
			preempt(to);
		else if (has_moved)
			wake_up_for_work(to);
		break;
	}
	return has_moved;
}

void BPF_STRUCT_OPS(baby_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	struct extremes extremes = {};
	bool goes_on;

	if (here->balance_due || !task)
		find_extremes(&extremes);
	if (here->balance_due && extremes.most - extremes.least >= 2)
		migrate_first(extremes.busiest, extremes.laziest);
	goes_on = task && here->balance_due && !here->need_resched;
	here->balance_due = here->need_resched = false;
	if (task && !goes_on) {
		account(prev, task, cpu);
		here->is_charged = true;
	}
	if (!goes_on && pick(cpu, prev, task))
		return;
	if (!task) {
		if (balancing && extremes.most >= 2 && migrate_first(extremes.busiest, cpu))
			pick(cpu, prev, NULL);
		return;
	}
	task->yielded = false;
	if (!goes_on)
		set_next(prev, task, cpu);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(baby_running, struct task_struct *p)
{
	set_next(p, ctx_of(p), scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(baby_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = ctx_of(p);

	account(p, task, cpu);
	if (is_over(p, task, cpu))
		here->need_resched = here->is_charged = true;
	if ((balancing && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(baby_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	task->is_early = task->deadline > scx_bpf_now();
	account(p, task, cpu);
	task->yielded = false;
	cpu_ctx(cpu)->curr = 0;
}

/* Who sleeps before its deadline has a better priority from now on. */
void BPF_STRUCT_OPS(baby_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		raise(p, ctx_of(p));
}

bool BPF_STRUCT_OPS(baby_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->yielded = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(baby_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *parent = ctx_of(bpf_get_current_task_btf()), *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	task->cpu = -1;
	task->level = 1;
	task->bid = MIN_BID;
	task->start = scx_bpf_now();
	if (args->fork && variant == FEEDBACK) {
		task->start = parent->start;
		task->bursts = parent->bursts;
		task->prev_bursts = parent->prev_bursts;
		task->level = parent->level;
	}
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(baby_init)
{
	u32 cpu;
	s32 err = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(cpu, 0, nr_cpus) {
		cpu_ctx(cpu)->cash = cr_cash;
		err = err ?: scx_bpf_create_dsq(cpu, -1);
	}
	return err;
}

void BPF_STRUCT_OPS(baby_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(baby,
	       .select_cpu	= (void *)baby_select_cpu,
	       .enqueue		= (void *)baby_enqueue,
	       .dispatch	= (void *)baby_dispatch,
	       .running		= (void *)baby_running,
	       .tick		= (void *)baby_tick,
	       .stopping	= (void *)baby_stopping,
	       .quiescent	= (void *)baby_quiescent,
	       .yield		= (void *)baby_yield,
	       .init_task	= (void *)baby_init_task,
	       .init		= (void *)baby_init,
	       .exit		= (void *)baby_exit,
	       .name		= "baby");
