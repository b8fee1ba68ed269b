// SPDX-License-Identifier: GPL-2.0-only
/*
 * bfs: The Brain Fuck Scheduler: one queue and the earliest virtual deadline.
 *
 * Idea: All CPUs share one list of tasks. All slices are equal, and each comes with a deadline: now
 *       plus a time that grows by a tenth with each nice value. A CPU searches the whole list and
 *       takes the earliest deadline. A woken task keeps its deadline and may preempt the task with
 *       the latest one. Sleep is not measured; a task that sleeps simply has an early deadline.
 * Good at: A desktop with few CPUs: no CPU idles while work waits, and any CPU may take the task
 *          that is due.
 * Bad at: Many tasks or CPUs: every choice looks at every waiting task, under one lock. Caches go
 *         cold. Nice values mean less the more tasks there are, and the first deadlines of nice 0
 *         and nice 1 are equal. Idle-policy tasks starve while others wait.
 * Origin: Con Kolivas, 2009. This is BFS 0.467 of 2015; `early` is the version for Linux 2.6.33.
 * Family: 2009, Con Kolivas; after rr
 * Queue: One for all CPUs, a list; enqueue O(1), pick O(n), the earliest virtual deadline.
 * Slice: Fixed, 6.29 ms.
 * Wake-up: Takes an idle CPU, else preempts the latest deadline of all CPUs; the old deadline is
 *          kept.
 * Balancing: Not needed: all CPUs take from one queue.
 * Differs: A slice ends when it is used up, not at a tick. SCHED_ISO is missing, and so is care for
 *          slow CPUs and for the siblings of a core. Among idle CPUs, a task takes its last one,
 *          else the one that sched_ext finds nearest. Real-time tasks have a class of their own; a
 *          task that one displaces stays on its CPU. With one CPU no wake-up is reported as
 *          synchronous, so woken tasks preempt their wakers. A process that is created as its
 *          creator's sibling (CLONE_PARENT) counts as its child. yield_to() hands nothing over.
 *          Control groups have no effect: the original has none.
 */
#include <scx/common.bpf.h>
#include "include/near.h"
#include "include/scan.h"
#include "include/tick.h"
#include "include/virtual_deadline.h"

char _license[] SEC("license") = "GPL";

/* The version for Linux 2.6.33, with deadlines in ticks, instead of 0.467. */
const volatile bool early = false;
/* A slice, in milliseconds. The early version has longer ones on more CPUs. */
const volatile u64 rr_interval_ms = 6;
/* 0.467: the earliest deadline runs, however far from its cache the task is. */
const volatile bool interactive = true;
/* The early version: timer interrupts per second, in which deadlines are counted. */
const volatile u64 hz = 1000;
/* A timer ends slices exactly. Without it, they end at this kernel's next tick. */
const volatile bool exact_slices = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* A task that sleeps keeps its deadline. Without this it has a new one when it wakes up. */
const volatile bool keep_deadline = true;

UEI_DEFINE(uei);

/* The lists of waiting tasks. That of SCHED_IDLE is looked at when the other is empty. */
enum { NORMAL, IDLEPRIO };

#define TICK_NS (NS_PER_SECOND / hz)
/* The score of a task that is due: the highest. */
#define DUE ((s64)(~0ULL >> 1))

/*
 * Returns a slice. The early one is longer the more CPUs there are: 6, 12, 18, 18, 24 ms … for 1,
 * 2, 4, 5, 8 (`timeslice`, `update_cpu_capacity`: 1 + ilog2).
 */
static u64 timeslice(void)
{
	u64 doublings = 0, cpus = nr_cpus;

	if (!early)
		return rr_interval_ms * NS_PER_SHORT_MS;
	while (cpus >>= 1)
		doublings++;
	return rr_interval_ms * (1 + doublings) * NS_PER_MS;
}

/*
 * Returns how far away a new deadline is; in the early version it is a number of ticks
 * (`task_deadline_diff`).
 */
static u64 offset_of(const struct task_struct *p)
{
	u64 ticks = ratio_of(p) * timeslice() / 100 / TICK_NS;

	return early ? (ticks ?: 1) * TICK_NS : virtual_offset(p);
}

/* Gives a task a new slice and deadline (`time_slice_expired`). */
static void refill(const struct task_struct *p, struct task_ctx *task)
{
	u64 now = scx_bpf_now();

	task->turn.time_slice = timeslice();
	task->deadline = (early ? now - now % TICK_NS : now) + offset_of(p);
	task->first_time_slice = false;
}

/*
 * Returns the deadline as a CPU sees it: because of caches, it is later elsewhere
 * (`cache_distance`).
 */
static u64 deadline_on(s32 cpu, struct task_struct *p)
{
	u32 away = distance(cpu, scx_bpf_task_cpu(p));
	u64 deadline = ctx_of(p)->deadline;

	if (early)
		return deadline + (away < SAME_NODE ? 0 : away == SAME_NODE ? 1 : 3) * offset_of(p);
	return interactive || away == SAME_CPU ? deadline : deadline << (away + 1);
}

s32 BPF_STRUCT_OPS(bfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = claim_idle_cpu(p, prev_cpu, wake_flags);

	ctx_of(p)->synchronous = wake_flags & SCX_WAKE_SYNC;
	ctx_of(p)->has_cpu = cpu >= 0;
	return cpu >= 0 ? cpu : prev_cpu;
}

/*
 * Preempts on the CPU with the worst task, which has the latest deadline, if this one is better
 * (`try_preempt`).
 */
static void try_preempt(struct task_struct *p, struct task_ctx *task)
{
	struct cpu_ctx worst = {};
	s32 cpu, target = -1;

	bpf_for(cpu, 0, nr_cpus) {
		struct cpu_ctx *there = cpu_ctx(cpu);

		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr) || there->prio < worst.prio ||
		    (there->prio == worst.prio && !time_before(worst.deadline, there->deadline)))
			continue;
		worst = *there;
		target = cpu;
	}
	if (target >= 0 && is_before(p, task->deadline, &worst))
		scx_bpf_kick_cpu(target, SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(bfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);

	if ((enq_flags & SCX_ENQ_WAKEUP) && !keep_deadline)
		refill(p, task);
	scx_bpf_dsq_insert(p, has_idle_policy(p) ? IDLEPRIO : NORMAL, SCX_SLICE_INF, enq_flags);
	if (wants_to_preempt(p, task, enq_flags))
		try_preempt(p, task);
}

/*
 * Finds the earliest task that may run on a CPU; the early version takes the first that is due. The
 * function is out of line because its caller tries it in a loop (`earliest_deadline_task`).
 */
static __noinline void scan(u64 list, s32 cpu, struct best *best)
{
	u64 now = scx_bpf_now();
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, list, 0) {
		u64 deadline = deadline_on(cpu, p);
		bool due = early && time_before(deadline, now);

		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		consider(best, p, due ? DUE : -(s64)deadline);
		if (due)
			return;
	}
}

/*
 * Takes the best task of a list to run here, unless that is the running task, which is the last of
 * its list (`earliest_deadline_task`).
 */
static bool take_earliest(u64 list, s32 cpu, struct task_struct *prev)
{
	u32 i;

	bpf_for(i, 0, ATTEMPTS) {
		struct best best = {};

		if (scx_bpf_dsq_nr_queued(list))
			scan(list, cpu, &best);
		if (prev)
			consider(&best, prev, -(s64)ctx_of(prev)->deadline);
		if (!best.pid)
			return false;
		if (prev && best.pid == prev->pid) {
			keep(cpu, prev);
			return true;
		}
		if (take(list, best.pid))
			return true;
	}
	return scx_bpf_dsq_move_to_local(list, 0);
}

void BPF_STRUCT_OPS(bfs_dispatch, s32 cpu, struct task_struct *prev)
{
	bool idle_policy;

	prev = contender(prev);
	idle_policy = prev && has_idle_policy(prev);
	if (!take_earliest(NORMAL, cpu, idle_policy ? NULL : prev))
		take_earliest(IDLEPRIO, cpu, idle_policy ? prev : NULL);
}

void BPF_STRUCT_OPS(bfs_running, struct task_struct *p)
{
	note_running(scx_bpf_task_cpu(p), p, ctx_of(p));
}

void BPF_STRUCT_OPS(bfs_tick, struct task_struct *p)
{
	check_slice(p, &ctx_of(p)->turn);
}

void BPF_STRUCT_OPS(bfs_stopping, struct task_struct *p, bool runnable)
{
	note_stopping(scx_bpf_task_cpu(p), p, runnable);
}

void BPF_STRUCT_OPS(bfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	check_sleeper(p, deq_flags);
}

/* The CPU chooses again, and may find the same task. */
bool BPF_STRUCT_OPS(bfs_yield, struct task_struct *from, struct task_struct *to)
{
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	refill(p, task);
	if (args->fork)
		task->first_time_slice = inherit(p, task);
	return 0;
}

/*
 * In the early version, what a child leaves of its first slice returns to its parent
 * (`sched_exit`).
 */
void BPF_STRUCT_OPS(bfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_ctx *task = ctx_of(p);

	if (early && task->first_time_slice && task->turn.time_slice > 0 && p->real_parent)
		ctx_of(p->real_parent)->turn.time_slice += task->turn.time_slice;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bfs_init)
{
	nr_cpus = scx_bpf_nr_cpu_ids();
	make_ratios(early ? 100 : 128);
	note_places();
	return init_slice_timers() ?: scx_bpf_create_dsq(NORMAL, -1) ?:
	       scx_bpf_create_dsq(IDLEPRIO, -1);
}

void BPF_STRUCT_OPS(bfs_exit, struct scx_exit_info *ei)
{
	turns_are_over = true;
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(bfs_ops,
	       .select_cpu	= (void *)bfs_select_cpu,
	       .enqueue		= (void *)bfs_enqueue,
	       .dispatch	= (void *)bfs_dispatch,
	       .running		= (void *)bfs_running,
	       .tick		= (void *)bfs_tick,
	       .stopping	= (void *)bfs_stopping,
	       .quiescent	= (void *)bfs_quiescent,
	       .yield		= (void *)bfs_yield,
	       .init_task	= (void *)bfs_init_task,
	       .exit_task	= (void *)bfs_exit_task,
	       .init		= (void *)bfs_init,
	       .exit		= (void *)bfs_exit,
	       .name		= "bfs");
