// SPDX-License-Identifier: GPL-2.0-only
/*
 * pds: The Priority and Deadline based Scheduler of Project C.
 *
 * Idea: Slices are equal, and whoever has a new one also has a deadline, the later the nicer it is.
 *       Every CPU runs the earliest of its own tasks. Early versions sort exactly, in a skip list.
 *       Later ones cut time into slots of 4 or 8 ms: a list for each slot, and all that is due is
 *       equal, in the order of its coming.
 * Good at: Waking up: who has slept is due. No step of the later versions depends on the number of
 *          tasks. Nobody starves.
 * Bad at: High load: when all have waited for longer than their deadlines, nice values mean
 *         nothing, and a woken task waits for everybody. Little balancing.
 * Origin: Alfred Chen (2017), after BFS. Project C for Linux 7.1; `era` has others.
 * Family: 2017, Alfred Chen; after bfs
 * Queue: One for each CPU, lists by slot, once a skip list; O(1), here enqueue O(log n).
 * Slice: Fixed, 4.19 ms.
 * Wake-up: Takes an idle CPU, else the nearest with a later slot; strictly earlier slots preempt.
 * Balancing: An idle CPU takes tasks from the nearest that has some waiting.
 * Differs: The lists, or the skip list, are one queue, ordered by slot and turn, or by deadline.
 *          There are no active moves between the siblings of a core and no kinds of cores, and
 *          siblings are not told from others that share the cache; PDS-mq's classes of CPUs are
 *          its deadlines here. There is no SCHED_ISO. Real-time tasks have a class of their own;
 *          who is displaced by one stays on its CPU.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* For which Linux: 50400 (PDS-mq 0.99o), 50900 (to 5.10), 51500 (to 6.1), 60600, or 70100. */
const volatile u32 era = 70100;
/* sched_yield(): 0 does nothing, 1 is the end of the slice, for PDS-mq only another choice. */
const volatile u32 yield_type = 1;
/* Deadlines depend on nice values. */
const volatile bool nice_deadlines = true;
/* A slice ends exactly, by a timer of its CPU; else at this kernel's next tick. */
const volatile bool exact_slices = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* An idle CPU takes tasks from others. */
const volatile bool idle_pull = true;

UEI_DEFINE(uei);

struct task_ctx {
	u64 deadline;		/* a slot, or ns in a skip list */
	s64 time_slice;		/* what is left, ns */
	u64 charged_ns;		/* until when the running task has paid, or 0 */
	s32 queued_on;		/* the CPU whose place it has */
	bool is_new;
	bool has_cpu;		/* an idle one that takes it */
	bool is_displaced;	/* by a real-time task */
};
#include "include/task_ctx.h"

/* A skip list's keys are deadlines of which the last bits are cut off. */
#define SKIPLIST_SHIFT 8
#define RANK_SHIFT (era < 51500 ? SKIPLIST_SHIFT : 40)
#include "include/project_c.h"

/* How far away the nearest deadline is, in slots. */
#define SCHED_EDGE_DELTA 12
/* Until when older deadlines are still told apart, and how far later ones can be: to 6.1. */
#define OLDEST 24
#define FARTHEST 39

/* Skip lists: how far away a deadline is, ns, by `nice_index()`. */
static u64 prio_deadlines[NICE_LEVELS];

static bool has_skip_list(void)
{
	return era < 51500;
}

static s64 timeslice(void)
{
	return era == 50900 ? 4 * NS_PER_MS : 4 * NS_PER_SHORT_MS;
}

/* The present slot. */
static u64 time_edge(void)
{
	return scx_bpf_now() >> (era < 60600 ? 22 : 23);
}

static u64 new_deadline(const struct task_struct *p)
{
	u32 index = nice_deadlines ? nice_index(p) : 20;

	if (has_skip_list())
		return scx_bpf_now() + prio_deadlines[index % NICE_LEVELS];
	return time_edge() + (era < 60600 ? index : SCHED_EDGE_DELTA + index / 2);
}

/* All that is due is in one slot, the present one. Who comes from another CPU is not too far. */
static u64 slot_of(u64 deadline)
{
	u64 edge = time_edge(), first = era < 60600 ? edge - OLDEST : edge;
	u64 last = edge + (era < 60600 ? FARTHEST : SCHED_EDGE_DELTA + 19);

	return time_before(deadline, first) ? first : time_before(last, deadline) ? last : deadline;
}

static u64 rank_of(struct task_struct *p, struct task_ctx *task)
{
	return has_skip_list() ? task->deadline >> SKIPLIST_SHIFT : slot_of(task->deadline);
}

static void renew(struct task_struct *p, struct task_ctx *task)
{
	task->time_slice = timeslice();
	task->deadline = new_deadline(p);
}

s32 BPF_STRUCT_OPS(pds_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return choose_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(pds_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue(p, enq_flags);
}

void BPF_STRUCT_OPS(pds_dispatch, s32 cpu, struct task_struct *prev)
{
	choose(cpu, prev);
}

void BPF_STRUCT_OPS(pds_running, struct task_struct *p)
{
	note_running(scx_bpf_task_cpu(p), p);
}

void BPF_STRUCT_OPS(pds_tick, struct task_struct *p)
{
	check_slice(p);
}

void BPF_STRUCT_OPS(pds_stopping, struct task_struct *p, bool runnable)
{
	note_stopping(scx_bpf_task_cpu(p), p, runnable);
}

bool BPF_STRUCT_OPS(pds_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *task = ctx_of(from);
	s32 cpu = scx_bpf_task_cpu(from);

	if (!yield_type || (era >= 70100 && !scx_bpf_dsq_nr_queued(cpu)))
		return false;
	if (era != 50400) {
		renew(from, task);
		requeue(cpu, from, task);
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* A child shares its parent's slice. In a skip list it also has its deadline, if it has a share. */
s32 BPF_STRUCT_OPS_SLEEPABLE(pds_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	renew(p, task);
	if (!args->fork)
		return 0;
	task->is_new = true;
	if (share_with_child(forker, task) && has_skip_list())
		task->deadline = ctx_of(forker)->deadline;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(pds_init)
{
	u64 offset = era == 50400 ? 6 * NS_PER_SHORT_MS : 4 * NS_PER_SHORT_MS;
	u32 i;

	bpf_for(i, 0, NICE_LEVELS) {
		prio_deadlines[i % NICE_LEVELS] = offset;
		offset = offset * 11 / 10;
	}
	return init_queues();
}

void BPF_STRUCT_OPS(pds_exit, struct scx_exit_info *ei)
{
	turns_are_over = true;
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(pds,
	       .select_cpu	= (void *)pds_select_cpu,
	       .enqueue		= (void *)pds_enqueue,
	       .dispatch	= (void *)pds_dispatch,
	       .running		= (void *)pds_running,
	       .tick		= (void *)pds_tick,
	       .stopping	= (void *)pds_stopping,
	       .yield		= (void *)pds_yield,
	       .init_task	= (void *)pds_init_task,
	       .init		= (void *)pds_init,
	       .exit		= (void *)pds_exit,
	       .name		= "pds");
