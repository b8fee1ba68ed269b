// SPDX-License-Identifier: GPL-2.0-only
/*
 * linux24: The goodness scheduler of Linux 2.4: one list and a scan.
 *
 * Idea: Time is cut into epochs. In each epoch a task gets some ticks by its nice value, plus half
 *       of those that it has left from the last one. A CPU looks at all tasks and takes the best:
 *       the most ticks left, with a bonus if the task ran here last and a small one if it shares
 *       the address space. When no task has ticks left, the next epoch begins.
 * Good at: A desktop with few tasks: a task that sleeps saves up ticks, and preempts hogs.
 * Bad at: Many tasks or CPUs: every choice looks at every runnable task, under one lock. A task
 *         that has used its ticks waits until all others have used theirs. Nice values are weak: 11
 *         : 1 at most.
 * Origin: Linus Torvalds; wake-up on many CPUs by Ingo Molnar (1998). Linux 2.4.17, 2001.
 * Family: 2001, Linus Torvalds and Ingo Molnar
 * Queue: One list for all CPUs; enqueue O(1), pick O(n) by goodness.
 * Slice: 60 ms at nice 0, 110 to 10 by nice, up to twice that for a sleeper.
 * Wake-up: Takes an idle CPU, else preempts where that gains most goodness.
 * Balancing: Not needed: all CPUs take from one list.
 * Differs: A new epoch reaches a task when a CPU next looks at it, with the same result as the
 *          original's walk over all tasks. A turn ends at this kernel's next tick. The ticks of a
 *          dead child return at once, not when the child is reaped. Kernel code can be preempted.
 *          With one CPU no wake-up is reported as synchronous. Real-time tasks have a class of
 *          their own; a task that one displaces waits for its CPU. Control groups have no effect:
 *          the original has none.
 */
#include <scx/common.bpf.h>
#include "include/common.h"
#include "include/scan.h"
#include "include/tick.h"

char _license[] SEC("license") = "GPL";

/* Timer interrupts per second. Slices follow from it, so that they are about 60 ms at nice 0. */
const volatile u64 hz = 100;
/* The bonus of a task on the CPU where it ran last, in ticks. It is 15 on i386. */
const volatile s64 proc_change_penalty_ticks = 15;
/* The bonus of a task whose address space is in use on the CPU, in ticks. */
const volatile s64 mm_bonus_ticks = 1;
/* A task that has slept keeps half of its ticks in the next epoch. */
const volatile bool sleeper_bonus = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* A new task takes half of its parent's ticks, and what it leaves returns to the parent. */
const volatile bool fork_shares = true;

UEI_DEFINE(uei);

/* The queue of all runnable tasks that do not run. */
#define RUNQUEUE 0
/* A parent has no more ticks than this after it has inherited some. */
#define MAX_COUNTER ((s64)(20 * hz / 100))
/* A counter does not change any more after this many epochs without running. */
#define EPOCHS_TO_FIXPOINT 9
/* The score of an idle CPU. Less any time, it is still higher than any gain. */
#define IDLE (1LL << 62)

struct task_ctx {
	s64 counter;		/* the ticks that it has left */
	u64 epoch;		/* the epoch to which these belong */
	u64 charged_ns;		/* the time until which it has paid */
	bool yield;		/* SCHED_YIELD: all other tasks go first once */
	bool synchronous;	/* its waker is about to sleep */
};
DEFINE_TASK_CTX()

struct cpu_ctx {
	s32 curr;		/* the pid of the running task; 0 if none of ours runs */
	u64 active_mm;		/* the address space in use */
	u64 last_schedule;	/* when it last switched, ns */
};
DEFINE_CPU_CTX()

static u64 epoch;
/* The places at the list's ends. A task's place is its `dsq_vtime`, which is never 0. */
static s64 head, tail;

/* Returns the ticks that a nice value gets in an epoch (`NICE_TO_TICKS`). */
static s64 nice_to_ticks(const struct task_struct *p)
{
	s64 value = 20 - nice_of(p);

	return (hz < 200 ? value >> 2 : hz < 400 ? value >> 1 : hz < 800 ? value :
		hz < 1600 ? value << 1 : value << 2) + 1;
}

/*
 * Gives a task the ticks of all epochs since it was last looked at (`recalculate` in `schedule`).
 */
static void recalculate(struct task_struct *p, struct task_ctx *task)
{
	u64 then = task->epoch, now = epoch, i;

	/* If two CPUs look at the task at once, one of them does the work. */
	if (then == now || __sync_val_compare_and_swap(&task->epoch, then, now) != then)
		return;
	for (i = 0; i < now - then && i < EPOCHS_TO_FIXPOINT; i++)
		task->counter = (sleeper_bonus ? task->counter >> 1 : 0) + nice_to_ticks(p);
}

/* Returns how desirable a task is on a CPU. 0 asks for a new epoch, -1 does not (`goodness`). */
static s64 goodness(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	recalculate(p, task);
	if (task->yield)
		return -1;
	if (!task->counter)
		return 0;
	return task->counter + 20 - nice_of(p) +
	       (nr_cpus > 1 && scx_bpf_task_cpu(p) == cpu ? proc_change_penalty_ticks : 0) +
	       (!p->mm || (u64)p->mm == cpu_ctx(cpu)->active_mm ? mm_bonus_ticks : 0);
}

/*
 * Charges the running task a tick for each timer interrupt that it has met
 * (`update_process_times`).
 */
static void update_process_times(struct task_struct *p, struct task_ctx *task)
{
	s64 ticks = pay_ticks(&task->charged_ns, hz);

	recalculate(p, task);
	task->counter = ticks < task->counter ? task->counter - ticks : 0;
}

s32 BPF_STRUCT_OPS(linux24_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	/*
	 * The waker leaves its CPU soon. If the woken task may run there, no other task is
	 * disturbed.
	 */
	ctx_of(p)->synchronous = (wake_flags & SCX_WAKE_SYNC) &&
				 bpf_cpumask_test_cpu(bpf_get_smp_processor_id(), p->cpus_ptr);
	return prev_cpu;
}

/* Returns how much better a task is than the one that runs on a CPU (`preemption_goodness`). */
static s64 preemption_goodness(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct task_struct *curr = bpf_task_from_pid(cpu_ctx(cpu)->curr);
	s64 gain = curr ? goodness(p, task, cpu) - goodness(curr, ctx_of(curr), cpu) : 0;

	if (curr)
		bpf_task_release(curr);
	return gain;
}

/*
 * Makes one CPU choose again: the one that the task ran on last if that idles, else the one that
 * has idled for longest, else the one where the task gains most. It may choose another task
 * (`reschedule_idle`).
 */
static void reschedule_idle(struct task_struct *p, struct task_ctx *task)
{
	s64 score, best = 0;
	s32 cpu, target = -1;

	bpf_for(cpu, 0, nr_cpus) {
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (!is_idle(cpu))
			score = wakeup_preemption ? preemption_goodness(p, task, cpu) : 0;
		else
			score = IDLE - (cpu == scx_bpf_task_cpu(p) ? 0 : cpu_ctx(cpu)->last_schedule);
		if (score > best) {
			best = score;
			target = cpu;
		}
	}
	if (target >= 0)
		wake_or_preempt(target);
}

void BPF_STRUCT_OPS(linux24_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	bool quiet = task->synchronous || task->yield;
	s64 place = p->scx.dsq_vtime;

	task->synchronous = task->yield = false;
	/* A woken or new task goes to the front of the list, and wins ties. */
	if ((enq_flags & SCX_ENQ_WAKEUP) || !place)
		place = __sync_sub_and_fetch(&head, 1);
	scx_bpf_dsq_insert_vtime(p, RUNQUEUE, SCX_SLICE_INF, place, enq_flags);
	if (!quiet)
		reschedule_idle(p, task);
}

/*
 * Finds the best task that may run on a CPU. `best` begins with the task that has run until now.
 * The function is out of line because its caller tries it in a loop (`schedule`).
 */
static __noinline void scan(s32 cpu, struct best *best)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, RUNQUEUE, 0) {
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			consider(best, p, goodness(p, ctx_of(p), cpu));
	}
}

void BPF_STRUCT_OPS(linux24_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	u32 i;

	if (task)
		update_process_times(prev, task);
	bpf_for(i, 0, ATTEMPTS) {
		struct best best = {};

		if (task)
			consider(&best, prev, goodness(prev, task, cpu));
		scan(cpu, &best);
		if (best.pid && !best.score) {
			/* No task that may run here has ticks left. */
			__sync_fetch_and_add(&epoch, 1);
		} else if (task && best.pid == prev->pid) {
			task->yield = false;
			scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
			return;
		} else if (!best.pid || take(RUNQUEUE, best.pid)) {
			return;
		}
	}
	scx_bpf_dsq_move_to_local(RUNQUEUE, 0);
}

void BPF_STRUCT_OPS(linux24_running, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));

	ctx_of(p)->charged_ns = scx_bpf_now();
	here->curr = p->pid;
	/* A kernel thread borrows the address space that it finds. */
	if (p->mm)
		here->active_mm = (u64)p->mm;
}

void BPF_STRUCT_OPS(linux24_tick, struct task_struct *p)
{
	update_process_times(p, ctx_of(p));
	if (!ctx_of(p)->counter)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(linux24_stopping, struct task_struct *p, bool runnable)
{
	update_process_times(p, ctx_of(p));
	cpu_ctx(scx_bpf_task_cpu(p))->curr = 0;
	cpu_ctx(scx_bpf_task_cpu(p))->last_schedule = scx_bpf_now();
}

/*
 * All other tasks go first, even at the price of a new epoch. If no task waits, nothing happens
 * (`sys_sched_yield`).
 */
bool BPF_STRUCT_OPS(linux24_yield, struct task_struct *from, struct task_struct *to)
{
	if (!to && scx_bpf_dsq_nr_queued(RUNQUEUE)) {
		ctx_of(from)->yield = true;
		scx_bpf_task_set_dsq_vtime(from, __sync_add_and_fetch(&tail, 1));
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(linux24_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p), *parent = ctx_of(forker);

	if (!task)
		return -ENOMEM;
	task->counter = nice_to_ticks(p);
	task->epoch = epoch;
	if (!args->fork || !fork_shares)
		return 0;
	/*
	 * The child gets half of its parent's ticks, rounded up, and the parent keeps the rest
	 * (`do_fork`).
	 */
	update_process_times(forker, parent);
	task->counter = (parent->counter + 1) >> 1;
	parent->counter >>= 1;
	if (!parent->counter)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(forker), SCX_KICK_PREEMPT);
	return 0;
}

/* The ticks that a dead child has left return to its parent (`release_task`). */
void BPF_STRUCT_OPS(linux24_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_struct *parent = p->real_parent;
	struct task_ctx *to, *from;
	s64 counter;

	if (!parent || !fork_shares)
		return;
	to = ctx_of(parent);
	from = ctx_of(p);
	recalculate(parent, to);
	counter = to->counter + from->counter;
	to->counter = counter < MAX_COUNTER ? counter : MAX_COUNTER;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(linux24_init)
{
	nr_cpus = scx_bpf_nr_cpu_ids();
	return scx_bpf_create_dsq(RUNQUEUE, -1);
}

void BPF_STRUCT_OPS(linux24_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(linux24_ops,
	       .select_cpu	= (void *)linux24_select_cpu,
	       .enqueue		= (void *)linux24_enqueue,
	       .dispatch	= (void *)linux24_dispatch,
	       .running		= (void *)linux24_running,
	       .tick		= (void *)linux24_tick,
	       .stopping	= (void *)linux24_stopping,
	       .yield		= (void *)linux24_yield,
	       .init_task	= (void *)linux24_init_task,
	       .exit_task	= (void *)linux24_exit_task,
	       .init		= (void *)linux24_init,
	       .exit		= (void *)linux24_exit,
	       .name		= "linux24");
