// SPDX-License-Identifier: GPL-2.0-only
/*
 * echo: ECHO, shortest remaining time first by an estimate, in rounds.
 *
 * Idea: Of every task an average of its CPU bursts is kept. The smallest estimate runs first, but
 *       only for its part of a quota that all tasks of a CPU share; then it waits for the next
 *       round. A woken task joins the present round, and preempts if its estimate is smaller. CPU 0
 *       balances for all: who has the smallest estimate of all goes to where a larger one runs.
 * Good at: New tasks and short bursts: they run at once. Hogs are last in a round, but have a turn
 *          in each.
 * Bad at: Nice values: the quota is far shorter than a tick, so as shipped hogs share equally, be
 *         they nice or not. Messages to and fro: every smaller estimate is a switch. With the
 *         quota's timer, tens of thousands of switches each second.
 * Origin: Hamad Al Marri, patches for Linux 6.7 to 6.12, 2024 and 2025.
 * Family: 2024, Hamad Al Marri; after baby, tt
 * Queue: Two lists for each CPU, this round and the next, by estimate; enqueue O(n), pick O(1).
 * Slice: 35 us / n, at least 4.2 us, virtual; as shipped it ends at a tick, else by a timer.
 * Wake-up: Into this round at its estimate; preempts a larger one, and who has used its quota.
 * Balancing: CPU 0's ticks, by estimate and by count; a CPU that becomes idle pulls.
 * Differs: Ticks are this kernel's, not 625 each second. Queues are sched_ext's, which are searched
 *          for ties as the list has them. Every waker and wakee count as a close pair. CPU 0, if it
 *          idles, is woken by the ticks of CPUs where tasks wait. No NUMA, no load averages; the
 *          coldest task is who has not run for longest. New nice values do not touch estimates.
 *          Who is displaced by a real-time task waits for its CPU.
 */
#include <scx/common.bpf.h>
#include "include/idle.h"
#include "include/nice.h"
#include "include/scan.h"

char _license[] SEC("license") = "GPL";

/* What a CPU's tasks share in a round, and the least that one gets of it, virtual ns. */
const volatile u64 sched_bs_shared_quota = 35000;
const volatile u64 base_slice = 4200;
/* How a quota ends: 0 at a tick, as shipped; by a timer that takes it for real time, as the
 * kernel's HRTICK does (1), or that runs for exactly the virtual time, as the README has it (2). */
const volatile u32 hrtick = 0;
/* How much the last burst weighs in the estimate, of 1000; the past weighs the rest. */
const volatile u64 alpha = 500;
/* The order is by estimate; else rounds only. */
const volatile bool estimate = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs, other than at a wake-up. */
const volatile bool balancing = true;

UEI_DEFINE(uei);

struct task_ctx {
	u64 vburst;	/* since it slept, virtual ns, as all of these */
	u64 est;	/* the estimate */
	u64 ran;	/* since it was picked */
	u64 used;	/* of this round's quota */
	u64 sum_exec;	/* the CPU time that these account for */
	u64 place;	/* the estimate as which it is queued */
	u64 stamp;	/* when it was queued, as a number */
	s32 cpu;	/* where it was queued */
	u32 queue;	/* in which of the two */
	bool is_new, is_put, yielded;
};
#include "include/task_ctx.h"

struct cpu_ctx {
	s32 curr;		/* who runs there; 0: nobody of ours */
	u32 round;		/* which of the two queues is this round's */
	u64 stamp;
	u64 settled[2];		/* when each queue's first task was last taken, as a stamp */
	u64 est, ran, used;	/* of who runs, as of `since` */
	u64 since;
	u32 inverse_weight, weight;
	bool has_idle_policy, need_resched, balance_due;
};
#include "include/cpu_ctx.h"

static u64 queue_of(s32 cpu, u32 queue)
{
	return (u64)cpu * 2 + (queue & 1);
}

static u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(queue_of(cpu, 0)) + scx_bpf_dsq_nr_queued(queue_of(cpu, 1));
}
#include "include/counts.h"
#include "include/quota.h"

static void average(struct task_ctx *task)
{
	task->est = estimate ? (alpha * task->vburst + (1000 - alpha) * task->est) / 1000 : 0;
}

/* Who falls asleep learns twice: from its burst, and from one of nothing. */
static void end_burst(struct task_ctx *task)
{
	average(task);
	task->vburst = 0;
	average(task);
}

static void account(struct task_struct *p, struct task_ctx *task)
{
	u64 virtual = virtual_time(p, p->se.sum_exec_runtime - task->sum_exec);

	task->sum_exec = p->se.sum_exec_runtime;
	task->vburst += virtual;
	task->ran += virtual;
	task->used += virtual;
}

static void set_next(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	task->is_put = false;
	task->ran = 0;
	task->sum_exec = p->se.sum_exec_runtime;
	here->curr = p->pid;
	here->est = task->est;
	here->ran = 0;
	here->used = task->used;
	here->since = scx_bpf_now();
	here->weight = weight_of(p);
	here->inverse_weight = inverse_weight_of(p);
	here->has_idle_policy = has_idle_policy(p);
	arm(cpu);
}
#include "include/rounds.h"
#include "include/candidate.h"

/* Whether a woken task takes the CPU from who runs there. */
static bool preempts(const struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	if (!here->curr || !wakeup_preemption)
		return false;
	if (here->has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL)
		return false;
	/* It is not in its queue yet. */
	return here->used + unaccounted(here) >= quota(nr_running(cpu) + 1) || task->est < here->est;
}

s32 BPF_STRUCT_OPS(echo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id();

	if ((wake_flags & SCX_WAKE_FORK) || !bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return fewest_cpu(p, prev_cpu, this_cpu);
	if (is_idle(this_cpu))
		return is_idle(prev_cpu) ? prev_cpu : this_cpu;
	return (wake_flags & SCX_WAKE_SYNC) && nr_running(this_cpu) == 1 ? this_cpu : prev_cpu;
}

void BPF_STRUCT_OPS(echo_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);

	if (is_woken)
		task->used = 0;
	/* Who was put back or moved has its queue. */
	if (is_woken || (task->cpu != cpu && !task->is_put))
		join(task, cpu, cpu_ctx(cpu)->round);
	task->is_new = task->is_put = false;
	scx_bpf_dsq_insert_vtime(p, queue_of(cpu, task->queue), SCX_SLICE_INF, task->place, enq_flags);
	wake_up_if_free(cpu);
	if (is_woken && preempts(p, task, cpu))
		preempt(cpu);
	else if (cpu_ctx(cpu)->curr)
		arm(cpu);
}

void BPF_STRUCT_OPS(echo_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	bool goes_on = task && here->balance_due && !here->need_resched;

	if (here->balance_due)
		balance_all();
	goes_on &= !here->need_resched;
	here->balance_due = here->need_resched = false;
	if (task && !goes_on)
		put_prev(prev, task, cpu);
	if (!task && !pick(NULL, cpu) && balancing && pull_task(cpu))
		pick(NULL, cpu);
	if (!task || (!goes_on && pick(task, cpu)))
		return;
	if (!goes_on)
		set_next(prev, task, cpu);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(echo_running, struct task_struct *p)
{
	set_next(p, ctx_of(p), scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(echo_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->need_resched |= is_over(cpu);
	if ((balancing && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(echo_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	if (runnable && !task->is_put)
		put_prev(p, task, cpu);
	account(p, task);
	cpu_ctx(cpu)->curr = 0;
}

void BPF_STRUCT_OPS(echo_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		end_burst(ctx_of(p));
}

bool BPF_STRUCT_OPS(echo_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->yielded = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(echo_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(echo_init)
{
	u32 i;
	s32 err = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(i, 0, nr_cpus) {
		err = err ?: scx_bpf_create_dsq(queue_of(i, 0), -1);
		err = err ?: scx_bpf_create_dsq(queue_of(i, 1), -1);
		err = err ?: init_timer(i);
	}
	return err;
}

void BPF_STRUCT_OPS(echo_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(echo,
	       .select_cpu	= (void *)echo_select_cpu,
	       .enqueue		= (void *)echo_enqueue,
	       .dispatch	= (void *)echo_dispatch,
	       .running		= (void *)echo_running,
	       .tick		= (void *)echo_tick,
	       .stopping	= (void *)echo_stopping,
	       .quiescent	= (void *)echo_quiescent,
	       .yield		= (void *)echo_yield,
	       .init_task	= (void *)echo_init_task,
	       .init		= (void *)echo_init,
	       .exit		= (void *)echo_exit,
	       .name		= "echo");
