// SPDX-License-Identifier: GPL-2.0-only
/*
 * tt: The Task Type scheduler, Linux 5.14 to 6.3.
 *
 * Idea: The task that has run the least part of its life, of the last 23 s, runs. How it sleeps and
 *       runs tells its type, from REALTIME to BATCH, and that, what running costs it: each account
 *       costs or saves a fixed part of a tick for each level of priority.
 * Good at: Periodic media tasks, which become REALTIME: they sleep and run regularly and briefly.
 * Bad at: Nice values, which are worth 0.5 to 1.475, and in 6.3 count for hardly anybody. Equals,
 *         which change places at every tick. STARVATION: as with CacULE, who has slept for long and
 *         then computes has the CPU alone for seconds; and who yields beside a hog waits until that
 *         sleeps, for its mark makes it the last until it is chosen.
 * Origin: Hamad Al Marri, 2021 to 2023; 5.14 to 5.16 on its own, from 6.x on grafted on CFS.
 * Family: 2021, Hamad Al Marri; after cacule
 * Queue: One for each CPU, a list, newest first; pick O(n).
 * Slice: 5.15: none, at every tick the lowest runs. 6.3: CFS's.
 * Wake-up: 5.15: a lower value preempts at once. 6.3: as CFS. An idle CPU, else the least crowded.
 * Balancing: 5.15: CPU 0's tick moves a task from the longest queue to the shortest.
 * Differs: Without the candidate, global and power-saving balancers, dedicated CPUs, and idle CPUs
 *          that poll. A switch that a tick or wake-up has caused is no account of its own. The list
 *          is kept by CFS's vruntime, in O(log n), with each task's place beside it.
 */
#include <scx/common.bpf.h>
#include "include/exit.h"

char _license[] SEC("license") = "GPL";

/* Which Linux: 51500 and 60300 stand for 5.15 and 6.3. */
const volatile u32 era = 51500;
/* Types change what running costs: what REALTIME tasks pay, */
const volatile bool task_types = true;
const volatile s32 tt_rt_prio = -20;
/* and in 6.3 the others, whatever their nice values are. */
const volatile s32 tt_interactive_prio = -10, tt_cpu_bound_prio = -15, tt_batch_prio = 19;
/* How much of its life counts, in nominal milliseconds of 2^20 ns. */
const volatile u64 tt_max_lifetime = 22000;
/* Busy CPUs are balanced: 0 normally, 2 as in CFS, which is not; -1 is the era's, 0 or 2. */
const volatile s32 tt_balancer_opt = -1;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

#define is_5_15 (era < 60000)
#define balances (tt_balancer_opt < 0 ? is_5_15 : !tt_balancer_opt)

/* What it changes of CFS. In 5.15 nobody is far enough behind to preempt by vruntime. */
#define OVERLAY
#define OVERLAY_TASK struct typed typed; s64 place;
#define OVERLAY_RUNNING s64 newest;
#define GRANULARITY(p, virtual_ns) (is_5_15 ? 1LL << 62 : (virtual_ns))
#define gentle_fair_sleepers true
#define sched_tunable_scaling 1
#define sched_latency_ns (-1)
#define sched_min_granularity_ns (-1)
#define sched_wakeup_granularity_ns (-1)

#include "include/task_type.h"
#include "cfs.bpf.c"
#include "include/even_out.h"

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

static s64 value_of(const struct fair_task *task, u64 now)
{
	return hrrn(&task->typed.window, now);
}

#include "include/lowest.h"

/* Who comes to a CPU is an event for who runs there, if anybody does; whose value is returned. */
static s64 account_curr(const struct running *curr)
{
	struct task_struct *p = curr->is_set ? bpf_task_from_pid(curr->pid) : NULL;
	struct fair_task *task;
	s64 value = 0;

	if (!p)
		return 0;
	task = fair_task(p);
	if (task) {
		/* Not while it is interrupted. */
		if (curr->inverse_weight)
			account_run(p, &task->typed, true, CONFIG_HZ);
		value = value_of(task, scx_bpf_now());
	}
	bpf_task_release(p);
	return value;
}

/* 5.15: Whether a woken or new task preempts the one that runs, which has this value. */
static bool tt_preempts(const struct task_struct *p, const struct fair_task *task,
			const struct running *curr, s64 value)
{
	if (!curr->is_set || curr->need_resched || p->policy != POLICY_NORMAL)
		return false;
	return wakeup_preemption && value_of(task, scx_bpf_now()) < value;
}

s32 BPF_STRUCT_OPS(tt_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id(), cpu;
	bool is_idle = false;

	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle)
		return cpu;
	if (wake_flags & SCX_WAKE_SYNC && of_cpu(loads, this_cpu)->nr_running == 1 &&
	    bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return this_cpu;
	return least_crowded_cpu(p, prev_cpu);
}

void BPF_STRUCT_OPS(tt_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = &of_cpu(queues, cpu)->curr;
	struct fair_task *task = fair_task(p);
	bool is_woken;
	s64 value;

	if (!task)
		return;
	is_woken = task->is_new || enq_flags & SCX_ENQ_WAKEUP;
	if (enq_flags & SCX_ENQ_WAKEUP)
		end_sleep(&task->typed, task->load.cpu != cpu, scx_bpf_now());
	task->place = --curr->newest;
	value = account_curr(curr);
	cfs_enqueue(p, enq_flags);
	if (is_5_15 && is_woken && tt_preempts(p, task, curr, value))
		preempt(curr, cpu);
}

void BPF_STRUCT_OPS(tt_dispatch, s32 cpu, struct task_struct *prev)
{
	struct running *curr = &of_cpu(queues, cpu)->curr;
	struct fair_task *task = could_go_on(prev) ? fair_task(prev) : NULL;
	s64 value = 0;

	curr->need_resched = false;
	if (*of_cpu(donors, cpu))
		take_given(cpu);
	if (task) {
		scx_bpf_task_set_dsq_vtime(prev, account(curr, prev));
		value = value_of(task, scx_bpf_now());
	}
	if (run_lowest(cpu, task ? &value : NULL, false))
		return;
	if (!task) {
		pull_task(cpu);
		return;
	}
	task->typed.window.vruntime &= ~YIELD_MARK;
	curr->prev_sum_exec = prev->se.sum_exec_runtime;
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(tt_running, struct task_struct *p)
{
	struct fair_task *task = fair_task(p);

	cfs_running(p);
	if (!task)
		return;
	task->typed.exec_start = scx_bpf_now();
	task->typed.window.vruntime &= ~YIELD_MARK;
}

/* 6.3: CFS's rule for the best. It does not know negative numbers, so who is behind loses, too. */
static bool is_turn_over(const struct task_struct *p, s32 cpu, s64 value)
{
	struct running *curr = &of_cpu(queues, cpu)->curr;
	u64 slice = sched_slice(p, of_cpu(loads, cpu), 0);
	u64 ran = p->se.sum_exec_runtime - curr->prev_sum_exec;
	struct task_struct *first;
	struct best best = {};
	u64 ahead = 0;

	find_lowest(cpu, scx_bpf_now(), &best);
	if (!best.pid || ran < min_granularity)
		return false;
	if (is_slice_over(slice, ran, 0))
		return true;
	first = gives_way(&best, value, false) ? bpf_task_from_pid(best.pid) : NULL;
	if (!first)
		return false;
	ahead = p->scx.dsq_vtime - first->scx.dsq_vtime;
	bpf_task_release(first);
	return ahead > slice;
}

void BPF_STRUCT_OPS(tt_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_task *task = fair_task(p);
	s64 value;

	if (!task)
		return;
	account_run(p, &task->typed, true, CONFIG_HZ);
	value = value_of(task, scx_bpf_now());
	scx_bpf_task_set_dsq_vtime(p, account(&of_cpu(queues, cpu)->curr, p));
	if (is_5_15 ? should_give_way(cpu, value, false) : is_turn_over(p, cpu, value))
		scx_bpf_task_set_slice(p, 0);
	if (cpu == 0 && balances)
		even_out();
}

void BPF_STRUCT_OPS(tt_stopping, struct task_struct *p, bool runnable)
{
	struct fair_task *task = fair_task(p);

	if (task)
		account_run(p, &task->typed, !runnable, CONFIG_HZ);
	cfs_stopping(p, runnable);
}

void BPF_STRUCT_OPS(tt_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);

	cfs_quiescent(p, deq_flags);
	if (task && deq_flags & SCX_DEQ_SLEEP)
		end_burst(&task->typed);
}

bool BPF_STRUCT_OPS(tt_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *task = fair_task(from);

	if (task) {
		account_run(from, &task->typed, true, CONFIG_HZ);
		task->typed.window.vruntime |= YIELD_MARK;
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(tt_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = make_fair_task(p, args->fork);
	struct fair_task *task = fair_task(p);
	u64 now = scx_bpf_now();

	if (task)
		task->typed = (struct typed){ .window = { now, 1 }, .created = now,
					      .exec_start = now, .type = NO_TYPE };
	return err;
}

void BPF_STRUCT_OPS(tt_enable, struct task_struct *p)
{
	cfs_enable(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tt_init)
{
	return cfs_init();
}

SCX_OPS_DEFINE(tt,
	       .select_cpu	= (void *)tt_select_cpu,
	       .enqueue		= (void *)tt_enqueue,
	       .dispatch	= (void *)tt_dispatch,
	       .running		= (void *)tt_running,
	       .tick		= (void *)tt_tick,
	       .stopping	= (void *)tt_stopping,
	       .quiescent	= (void *)tt_quiescent,
	       .yield		= (void *)tt_yield,
	       .init_task	= (void *)tt_init_task,
	       .enable		= (void *)tt_enable,
	       .init		= (void *)tt_init,
	       .exit		= (void *)record_exit,
	       .name		= "tt");
