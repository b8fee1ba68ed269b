// SPDX-License-Identifier: GPL-2.0-only
/*
 * ule: ULE, FreeBSD's scheduler.
 *
 * Idea: The ratio of a task's running to its voluntary sleep of the last seconds is its score. With
 *       score and nice value below a threshold it is interactive, and goes before all others, by
 *       its score. The others take turns by a calendar: the more one uses the CPU and the nicer it
 *       is, the later the day that it is written down for, but that day comes.
 * Good at: Interactive tasks beside many hogs, and many of all: no step depends on their number.
 * Bad at: The cut: who runs for more than about 38 % of its time waits with the hogs. Interactive
 *         tasks that fill the CPU together, each below the cut, starve all others for as long.
 *         Nice values move the cut and the day in the calendar, and hardly the share.
 * Origin: Jeff Roberson, FreeBSD 5.1 (2003); as of FreeBSD 12.
 * Family: 2003, Jeff Roberson; after o1
 * Queue: Three for each CPU: interactive by priority, calendar, idle; enqueue O(1), pick O(1).
 * Slice: 94 ms (12 ticks at 127 Hz), divided by the other tasks of the CPU, at least 16 ms.
 * Wake-up: Sleep is added to the history; who is interactive preempts who is not.
 * Balancing: An idle CPU steals; about each second a task goes from the most to the least loaded.
 * Differs: Every wake-up preempts as one from another CPU does: FreeBSD's interrupts are threads,
 *          after which a CPU chooses anew. Queues are ordered trees. All CPUs share one cache. A
 *          slice ends at this kernel's next tick. No lent priorities. CPU 0, if it idles, is woken
 *          for balancing. Who is displaced by a real-time task waits for its CPU.
 */
#include <scx/common.bpf.h>
#include "include/idle.h"
#include "include/nice.h"

char _license[] SEC("license") = "GPL";

/* The score from which on a task is not interactive any more. */
const volatile u64 interact = 30;
/* A slice, and the part of it that is left with many tasks, in ticks of 127 Hz. */
const volatile u64 slice = 12, slice_min_divisor = 6;
/* Idle CPUs steal, from those with so many runnable tasks. */
const volatile bool steal_idle = true;
const volatile u64 steal_thresh = 2;
/* CPUs are balanced, each 0.5 to 1.5 times so many ticks of 127 Hz. */
const volatile bool balance = true;
const volatile u64 balance_interval = 128;
/* For so long a CPU's cache is warm, ms. */
const volatile u64 affinity = 1;
/* There are interactive tasks. */
const volatile bool interactivity = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

UEI_DEFINE(uei);

struct task_ctx {
	u64 runtime, slptime;			/* the history, ticks << 10 */
	u64 use, use_first, use_last;		/* CPU use: ticks << 10, and from and until when */
	u64 charged_ns;				/* until when it has paid */
	u64 since;				/* when it fell asleep, ticks; 0 if it did not */
	u64 used;				/* of its slice, ticks of 127 Hz */
	u64 place;				/* in its queue */
	u32 prio, queue;
	s32 cpu;				/* where it was queued */
	bool is_new, is_put, is_over;
};
#include "include/task_ctx.h"

/* Where in it tasks are inserted, and removed. */
struct calendar {
	u64 insert, remove;
};

struct cpu_ctx {
	s32 curr;		/* who runs there; 0: nobody of ours */
	u32 prio;		/* of who runs */
	u64 clock_ns;		/* until when the calendar has advanced */
	u64 next_balance;	/* ns; of CPU 0 */
	struct calendar calendar;
	bool need_resched, balance_due;
};
#include "include/cpu_ctx.h"
#include "include/interact.h"
#include "include/calendar.h"
#include "include/counts.h"
#include "include/steal.h"

s32 BPF_STRUCT_OPS(ule_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 found;

	if (!nr_running(prev_cpu) && clock_ticks() - ctx_of(p)->use_last <= affinity)
		return prev_cpu;
	found = lowest(p, prev_cpu, true);
	if (found < 0)
		found = lowest(p, prev_cpu, false);
	return found < 0 ? prev_cpu : found;
}

/* Whether a task takes the CPU from who runs there. */
static bool preempts(struct task_ctx *task, s32 cpu)
{
	u32 prio = prio_on(cpu);

	if (!wakeup_preemption || prio == NOBODY || task->prio >= prio)
		return false;
	return prio == MIN_IDLE || (task->queue == INTERACTIVE && prio >= INTERACTIVE_RANGE);
}

void BPF_STRUCT_OPS(ule_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);

	if (is_woken)
		wake(p, task);
	if (is_woken || !task->is_put || task->cpu != cpu)
		place(task, cpu, false);
	task->is_new = task->is_put = false;
	scx_bpf_dsq_insert_vtime(p, queue_of(cpu, task->queue), SCX_SLICE_INF, task->place, enq_flags);
	if (is_woken && preempts(task, cpu))
		preempt(cpu);
	else
		wake_up_if_free(cpu);
}

/* Who has run until now goes to the end of its list, or, if its slice is not over, to the front. */
static void put_prev(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	charge(p, task);
	place(task, cpu, !task->is_over);
	task->used = task->is_over ? 0 : task->used;
	task->is_over = false;
	task->is_put = true;
}

static void set_next(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->curr = p->pid;
	here->prio = task->prio;
	task->charged_ns = scx_bpf_now();
	update_use(task, clock_ticks(), task->is_put && task->cpu == cpu);
	task->is_put = false;
}

void BPF_STRUCT_OPS(ule_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	bool goes_on = task && here->balance_due && !here->need_resched;

	if (here->balance_due)
		balance_cpus();
	here->balance_due = here->need_resched = false;
	if (task && !goes_on)
		put_prev(prev, task, cpu);
	if (!task && !run_first(cpu) && steal(cpu))
		run_first(cpu);
	if (!task || (!goes_on && !is_first(task, cpu) && run_first(cpu)))
		return;
	if (!goes_on)
		set_next(prev, task, cpu);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(ule_running, struct task_struct *p)
{
	set_next(p, ctx_of(p), scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(ule_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = ctx_of(p);
	bool is_time = scx_bpf_now() >= cpu_ctx(0)->next_balance;

	if (pay_ticks(&here->clock_ns, STATHZ))
		advance(cpu);
	charge(p, task);
	here->prio = task->prio;
	task->is_over = task->used >= slice_beside(waiting(cpu));
	if (task->is_over)
		here->need_resched = true;
	if ((is_time && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(ule_stopping, struct task_struct *p, bool runnable)
{
	if (!ctx_of(p)->is_put)
		charge(p, ctx_of(p));
	cpu_ctx(scx_bpf_task_cpu(p))->curr = 0;
}

void BPF_STRUCT_OPS(ule_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		ctx_of(p)->since = clock_ticks();
}

bool BPF_STRUCT_OPS(ule_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->is_over = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* A child is as its parent, which pays a tick for it. */
s32 BPF_STRUCT_OPS_SLEEPABLE(ule_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *parent = ctx_of(bpf_get_current_task_btf()), *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	task->use_first = task->use_last = clock_ticks();
	if (args->fork) {
		inherit(parent, task);
		parent->runtime += TICK_COST;
		limit_history(parent);
	}
	set_priority(p, task);
	return 0;
}

/* What a child has run counts as its parent's. */
void BPF_STRUCT_OPS(ule_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_struct *parent = p->real_parent;

	if (!parent || args->cancelled)
		return;
	ctx_of(parent)->runtime += ctx_of(p)->runtime;
	limit_history(ctx_of(parent));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(ule_init)
{
	u32 cpu, queue;
	s32 err = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(cpu, 0, nr_cpus) {
		bpf_for(queue, 0, QUEUES)
			err = err ?: scx_bpf_create_dsq(queue_of(cpu, queue), -1);
	}
	return err;
}

void BPF_STRUCT_OPS(ule_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(ule,
	       .select_cpu	= (void *)ule_select_cpu,
	       .enqueue		= (void *)ule_enqueue,
	       .dispatch	= (void *)ule_dispatch,
	       .running		= (void *)ule_running,
	       .tick		= (void *)ule_tick,
	       .stopping	= (void *)ule_stopping,
	       .quiescent	= (void *)ule_quiescent,
	       .yield		= (void *)ule_yield,
	       .init_task	= (void *)ule_init_task,
	       .exit_task	= (void *)ule_exit_task,
	       .init		= (void *)ule_init,
	       .exit		= (void *)ule_exit,
	       .name		= "ule");
