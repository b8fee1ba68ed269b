// SPDX-License-Identifier: GPL-2.0-only
/*
 * pds: The Priority and Deadline based Scheduler of Project C.
 *
 * Idea: Slices are equal. Each new slice comes with a deadline, later for nicer tasks. Every CPU
 *       runs the earliest of its own tasks. Early versions sort exactly, in a skip list. Later ones
 *       cut time into slots of 4 or 8 ms with a list for each slot; all tasks that are due are
 *       equal, and run in the order of arrival.
 * Good at: Waking up: a task that has slept is due. No step of the later versions depends on the
 *          number of tasks. No task starves.
 * Bad at: High load: when all tasks have waited beyond their deadlines, nice values mean nothing,
 *         and a woken task waits for all others. Little balancing: two hogs may share a CPU while a
 *         nicer hog has one to itself.
 * Origin: Alfred Chen, 2017, after BFS. Project C, the patch for Linux 7.1; `era` selects others.
 * Family: 2017, Alfred Chen; after bfs
 * Queue: One for each CPU, lists by slot, once a skip list; O(1), here enqueue O(log n).
 * Slice: Fixed, 4.19 ms.
 * Wake-up: Takes an idle CPU, else the nearest with a later slot; strictly earlier slots preempt.
 * Balancing: An idle CPU takes tasks from the nearest that has some waiting.
 * Differs: The lists, or the skip list, are one queue, ordered by slot and turn, or by deadline.
 *          Tasks are not moved actively between the siblings of a core, kinds of cores are unknown,
 *          and siblings count as any CPUs that share a cache. Deadlines replace the classes of CPUs
 *          of PDS-mq. SCHED_ISO and prio_balance of 6.17 and later are missing. Real-time tasks
 *          have a class of their own: a task that one displaces stays on its CPU, and a real-time
 *          task's run time does not shorten its children's slices. Control groups have no effect:
 *          the original has none.
 */
#include <scx/common.bpf.h>
#include "include/project_c.h"

char _license[] SEC("license") = "GPL";

/* The version of Linux: 50400 (PDS-mq 0.99o), 50900 (to 5.10), 51500 (to 6.1), 60600, or 70100. */
const volatile u32 era = 70100;
/*
 * What sched_yield() does: nothing (0), or it ends the slice (1); in PDS-mq the CPU only chooses
 * again.
 */
const volatile u32 yield_type = 1;
/* Deadlines depend on nice values. */
const volatile bool nice_deadlines = true;
/* A timer ends slices exactly. Without it, they end at this kernel's next tick. */
const volatile bool exact_slices = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* An idle CPU takes tasks from others. */
const volatile bool idle_pull = true;

UEI_DEFINE(uei);

#include "include/pds_eras.h"

/* A skip list's keys are deadlines without their last bits. */
#define SKIPLIST_SHIFT 8

/* How far away a deadline is in a skip list, ns, by `nice_index()`. */
static u64 prio_deadlines[NICE_LEVELS];

/* Returns the number of bits of a turn. No counterpart: the patch has a list for each rank. */
static u32 rank_shift(void)
{
	return has_skip_list() ? SKIPLIST_SHIFT : 40;
}

/* Returns the deadline that comes with a new slice, a slot or ns (`sched_task_renew`). */
static u64 new_deadline(const struct task_struct *p)
{
	u32 index = nice_deadlines ? nice_index(p) : 20;

	if (has_skip_list())
		return scx_bpf_now() + prio_deadlines[index % NICE_LEVELS];
	return time_edge() + slots_ahead(index);
}

/*
 * Returns the slot of a deadline. All that is due is in one slot, the present one, and a task that
 * comes from another CPU is not too far away (`task_sched_prio`).
 */
static u64 slot_of(u64 deadline)
{
	u64 edge = time_edge(), first = first_slot(edge), last = last_slot(edge);

	return time_before(deadline, first) ? first : time_before(last, deadline) ? last : deadline;
}

/* Returns the list of a task (`task_sched_prio`). */
static u64 rank_of(struct task_struct *p, struct task_ctx *task)
{
	return has_skip_list() ? task->deadline >> SKIPLIST_SHIFT : slot_of(task->deadline);
}

/* Gives a task a new slice and a new deadline (`sched_task_renew`). */
static void sched_task_renew(struct task_struct *p, struct task_ctx *task)
{
	task->turn.time_slice = timeslice();
	task->deadline = new_deadline(p);
}

s32 BPF_STRUCT_OPS(pds_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_task_rq(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(pds_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task(p, enq_flags);
}

void BPF_STRUCT_OPS(pds_dispatch, s32 cpu, struct task_struct *prev)
{
	choose_next_task(cpu, prev);
}

void BPF_STRUCT_OPS(pds_running, struct task_struct *p)
{
	note_running(scx_bpf_task_cpu(p), p);
}

void BPF_STRUCT_OPS(pds_tick, struct task_struct *p)
{
	check_slice(p, &ctx_of(p)->turn);
}

void BPF_STRUCT_OPS(pds_stopping, struct task_struct *p, bool runnable)
{
	note_stopping(scx_bpf_task_cpu(p), p, runnable);
}

void BPF_STRUCT_OPS(pds_quiescent, struct task_struct *p, u64 deq_flags)
{
	check_sleeper(p, deq_flags);
}

bool BPF_STRUCT_OPS(pds_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *task = ctx_of(from);
	s32 cpu = scx_bpf_task_cpu(from);

	if (!yield_type || (yields_only_to_others() && !scx_bpf_dsq_nr_queued(cpu)))
		return false;
	if (yield_ends_slice()) {
		sched_task_renew(from, task);
		requeue_task(cpu, from, task);
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/*
 * A child shares its parent's slice. In a skip list it also has its deadline, if it has a share of
 * one: a real-time parent has none.
 */
s32 BPF_STRUCT_OPS_SLEEPABLE(pds_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	sched_task_renew(p, task);
	if (!args->fork)
		return 0;
	task->is_new = true;
	if (share_with_child(forker, task) && has_skip_list() && ctx_of(forker)->turn.charged_ns)
		task->deadline = ctx_of(forker)->deadline;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(pds_init)
{
	u64 offset = nearest_deadline();
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

SCX_OPS_DEFINE(pds_ops,
	       .select_cpu	= (void *)pds_select_cpu,
	       .enqueue		= (void *)pds_enqueue,
	       .dispatch	= (void *)pds_dispatch,
	       .running		= (void *)pds_running,
	       .tick		= (void *)pds_tick,
	       .stopping	= (void *)pds_stopping,
	       .quiescent	= (void *)pds_quiescent,
	       .yield		= (void *)pds_yield,
	       .init_task	= (void *)pds_init_task,
	       .init		= (void *)pds_init,
	       .exit		= (void *)pds_exit,
	       .name		= "pds");
