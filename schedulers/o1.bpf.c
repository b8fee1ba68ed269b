// SPDX-License-Identifier: GPL-2.0-only
/*
 * o1: The O(1) scheduler of Linux 2.6, active and expired arrays.
 *
 * Idea: Every CPU has two arrays of lists, one list for each priority, and runs the first task of
 *       the best list of the active one. Who has used its time slice goes to the expired array;
 *       when the active one is empty, they are swapped. Priority is nice, better or worse by how
 *       much a task has slept of late (include/sleep_avg.h). Who has slept enough is interactive
 *       and stays active, unless the expired ones have starved for too long.
 * Good at: Many tasks and CPUs: no step depends on their number. Interactive tasks are soon served.
 * Bad at: Guessing: who sleeps a lot and then computes is served first, at others' cost, and who
 *         is expired waits for everybody's slice. Slices jump from 100 to 420 ms at nice -1.
 * Origin: Ingo Molnar (2002), Con Kolivas (2003). Linux 2.6.20; `early` is patch J7 for 2.4.17.
 * Family: 2002, Ingo Molnar and Con Kolivas; after linux24
 * Queue: Two arrays of 40 lists for each CPU, by priority; enqueue O(1), pick O(1).
 * Slice: 100 ms at nice 0, 800 to 5 by nice.
 * Wake-up: Preempts a worse priority; sleep makes it better by 5 at most, computing worse.
 * Balancing: An idle CPU takes at once, busy ones by count now and then.
 * Differs: A turn ends at this kernel's next tick; the excess is taken from the next. An idle CPU
 *          looks for work when some comes, not each millisecond. Also 2.6 balances by counting, as
 *          J7 does, without heed of exec and hardware siblings. Wake-ups by interrupts, and with
 *          one CPU synchronous ones, are as any others. New nice values count from the next slice.
 */
#include <scx/common.bpf.h>
#include "include/exit.h"
#include "include/idle.h"
#include "include/nice.h"
#include "include/prio_array.h"
#include "include/tick.h"

char _license[] SEC("license") = "GPL";

/* Patch J7 of January 2002, with its constants, instead of Linux 2.6.20. */
const volatile bool early = false;
/* Slices depend on nice, priority on sleep. */
const volatile bool nice_timeslices = true;
const volatile bool interactivity_bonus = true;
/* Interactive tasks stay in the active array. */
const volatile bool interactive_reinsertion = true;
/* … unless the expired ones have starved. */
const volatile bool starvation_limit = true;
/* Interactive tasks of equal priority take turns within a slice; 2.6. */
const volatile bool timeslice_granularity = true;
/* A new process runs before its parent, with its priority; 2.6. */
const volatile bool child_runs_first = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs. */
const volatile bool balancing = true;

struct task_ctx {
	s64 time_slice;		/* ticks */
	u64 charged_ns;		/* until when they are paid */
	u64 sleep_avg;		/* ns */
	u64 timestamp;		/* since when it sleeps, waits or runs, ns */
	u32 prio;		/* 0 (best) … 39 */
	bool is_new;
	bool first_time_slice;	/* half of which was its parent's */
	bool synchronous;	/* its waker is about to sleep */
	bool uninterruptible;	/* its sleep */
	bool interactive_sleep;	/* as which waiting counts, too */
};
#include "include/task_ctx.h"
#include "include/sleep_avg.h"

struct cpu_ctx {
	struct prio_arrays arrays;
	u64 expired_timestamp;	/* since when somebody is expired, ns, or 0 */
	u64 next_balance;	/* ns */
	u32 best_expired_prio;	/* by nice alone */
	u32 prio;		/* of the task that runs */
};
#include "include/cpu_ctx.h"
#include "include/pull.h"

static bool expired_starving(struct cpu_ctx *here, const struct task_struct *p)
{
	u64 waited = scx_bpf_now() - here->expired_timestamp;

	if (!starvation_limit)
		return false;
	if (!early && nice_index(p) > here->best_expired_prio)
		return true;
	return here->expired_timestamp && waited > STARVATION_LIMIT * nr_running(scx_bpf_task_cpu(p));
}

static void requeue(struct cpu_ctx *here, struct task_struct *p, u32 prio, bool expired)
{
	scx_bpf_task_set_dsq_vtime(p, tail_of(&here->arrays, expired, prio));
}

/* The slice is over: here is a new one. */
static void expire(struct cpu_ctx *here, struct task_struct *p, struct task_ctx *task)
{
	bool stays;

	task->prio = effective_prio(p, task);
	task->time_slice += task_timeslice(p);
	task->first_time_slice = false;
	stays = interactive_reinsertion && is_interactive(p, task) && !expired_starving(here, p);
	requeue(here, p, task->prio, !stays);
	if (!here->expired_timestamp && (!early || !stays))
		here->expired_timestamp = scx_bpf_now();
	if (!stays && nice_index(p) < here->best_expired_prio)
		here->best_expired_prio = nice_index(p);
}

/* The timer interrupts that the running task has met. True if others are to have a turn. */
static bool charge(struct task_struct *p, struct task_ctx *task)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));
	u64 ticks = pay_ticks(&task->charged_ns, HZ);

	if (!ticks)
		return false;
	count_run(task, ticks);
	task->time_slice -= ticks;
	if (task->time_slice <= 0)
		expire(here, p, task);
	else if (timeslice_granularity && has_had_turn(p, task, task_timeslice(p), ticks, nr_cpus))
		requeue(here, p, task->prio, is_expired(&here->arrays, p->scx.dsq_vtime));
	else
		return false;
	return true;
}

s32 BPF_STRUCT_OPS(o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id();
	bool sync = wake_flags & SCX_WAKE_SYNC;

	ctx_of(p)->synchronous = sync && !early;
	if (early || !balancing || (wake_flags & SCX_WAKE_FORK) ||
	    !bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return prev_cpu;
	return is_woken_here(this_cpu, prev_cpu, sync) ? this_cpu : prev_cpu;
}

void BPF_STRUCT_OPS(o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);
	bool woken = enq_flags & SCX_ENQ_WAKEUP, comes = woken || task->is_new;
	bool quiet = !wakeup_preemption || (task->synchronous && cpu == bpf_get_smp_processor_id());
	u64 place = p->scx.dsq_vtime, now = scx_bpf_now();
	bool runs_first = task->is_new && child_runs_first && !early;
	u64 first = runs_first ? place_before_parent(p, cpu) : 0;

	if (woken)
		count_sleep(p, task, now - task->timestamp);
	if (comes || !is_place_in(&here->arrays, place))
		place = first ?: tail_of(&here->arrays, is_batch(p), task->prio);
	if (comes)
		task->timestamp = now;
	if (first)
		task->prio = prio_of(first);
	task->is_new = task->synchronous = false;
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, place, enq_flags);
	if (is_idle(cpu) || first || (comes && !quiet && prio_of(place) < here->prio))
		wake_or_preempt(cpu);
	else if (balancing)
		kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(o1_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	struct cpu_ctx *here = cpu_ctx(cpu);
	bool waits, idle = !task && !scx_bpf_dsq_nr_queued(cpu);
	u64 place;

	if (task) {
		charge(prev, task);
		count_run(task, 0);
	}
	if (balancing && (idle || scx_bpf_now() >= here->next_balance))
		load_balance(cpu, idle);
	waits = first_place(cpu, &place);
	if (!waits && !task) {
		here->expired_timestamp = 0;
		return;
	}
	if (task && (!waits || !time_before(place, prev->scx.dsq_vtime))) {
		waits = false;
		place = prev->scx.dsq_vtime;
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	}
	if (is_expired(&here->arrays, place)) {
		/* Nobody is active any more: swap. */
		here->arrays.generation++;
		here->expired_timestamp = 0;
		here->best_expired_prio = NOBODY;
	}
	if (waits)
		scx_bpf_dsq_move_to_local(cpu, 0);
}

void BPF_STRUCT_OPS(o1_running, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));
	struct task_ctx *task = ctx_of(p);
	u32 prio = task->prio;

	count_wait(p, task);
	if (task->prio != prio)
		requeue(here, p, task->prio, is_expired(&here->arrays, p->scx.dsq_vtime));
	task->charged_ns = scx_bpf_now();
	here->prio = task->prio;
}

void BPF_STRUCT_OPS(o1_tick, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));

	if (charge(p, ctx_of(p)) || (nr_cpus > 1 && scx_bpf_now() >= here->next_balance))
		scx_bpf_task_set_slice(p, 0);
	here->prio = ctx_of(p)->prio;
}

void BPF_STRUCT_OPS(o1_stopping, struct task_struct *p, bool runnable)
{
	charge(p, ctx_of(p));
	count_run(ctx_of(p), 0);
	if (!runnable)
		note_sleep(p, ctx_of(p));
	cpu_ctx(scx_bpf_task_cpu(p))->prio = NOBODY;
}

/* 2.6 sends who yields to the expired array; the early one makes it a little worse. */
bool BPF_STRUCT_OPS(o1_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *task = ctx_of(from);

	task->prio += early && task->prio < 39;
	requeue(cpu_ctx(scx_bpf_task_cpu(from)), from, task->prio, !early);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Parent and child share what the parent had. */
s32 BPF_STRUCT_OPS_SLEEPABLE(o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p), *parent = ctx_of(forker);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	task->timestamp = scx_bpf_now();
	task->time_slice = task_timeslice(p);
	if (args->fork)
		inherit(parent, task);
	task->prio = effective_prio(p, task);
	if (args->fork && !parent->time_slice) {
		expire(cpu_ctx(scx_bpf_task_cpu(forker)), forker, parent);
		scx_bpf_kick_cpu(scx_bpf_task_cpu(forker), SCX_KICK_PREEMPT);
	}
	return 0;
}

/* What a child leaves of its first slice goes back to its parent, which also learns from it. */
void BPF_STRUCT_OPS(o1_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_struct *forker = p->real_parent;
	bool here = forker && scx_bpf_task_cpu(p) == scx_bpf_task_cpu(forker);

	if (forker)
		learn_from_child(ctx_of(forker), ctx_of(p), here, task_timeslice(forker));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(o1_init)
{
	s32 err = create_queues();
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		cpu_ctx(cpu)->arrays.generation = 1;
		cpu_ctx(cpu)->best_expired_prio = cpu_ctx(cpu)->prio = NOBODY;
	}
	return err;
}

SCX_OPS_DEFINE(o1,
	       .select_cpu	= (void *)o1_select_cpu,
	       .enqueue		= (void *)o1_enqueue,
	       .dispatch	= (void *)o1_dispatch,
	       .running		= (void *)o1_running,
	       .tick		= (void *)o1_tick,
	       .stopping	= (void *)o1_stopping,
	       .yield		= (void *)o1_yield,
	       .init_task	= (void *)o1_init_task,
	       .exit_task	= (void *)o1_exit_task,
	       .init		= (void *)o1_init,
	       .exit		= (void *)record_exit,
	       .name		= "o1");
