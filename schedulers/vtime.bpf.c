// SPDX-License-Identifier: GPL-2.0-only
/*
 * vtime: Weighted virtual time over one shared queue.
 *
 * Idea: A task's virtual time is the CPU time that it has used, divided by its weight. Every
 *       runnable task waits in one shared queue, ordered by virtual time. Every CPU takes the first
 *       task that may run there. A sleeper keeps at most one slice of the time that it left unused.
 * Good at: Fair shares by nice value, and low latency for tasks that sleep much, with little code.
 * Bad at: Many CPUs: all share one queue and its lock, and caches go cold. It never preempts: a
 *         woken task waits until a running task's slice is over.
 * Origin: Weighted fair queueing; scx_simple of the kernel's examples does it, too.
 * Family: 1989, Alan Demers, Srinivasan Keshav and Scott Shenker; after rr
 * Queue: One for all CPUs, a red-black tree by virtual time; enqueue O(log n), pick O(1).
 * Slice: Fixed, 20 ms.
 * Wake-up: Takes an idle CPU; never preempts; has at most one slice of credit.
 * Balancing: Not needed: all CPUs take from one queue.
 * Differs: From CFS: there is one queue for all CPUs, slices are fixed, and a woken task does not
 *          preempt.
 */
#include <scx/common.bpf.h>
#include "include/common.h"

char _license[] SEC("license") = "GPL";

/* How long a task may run before the next one's turn, in microseconds. */
const volatile u64 slice_us = 20000;

UEI_DEFINE(uei);

#define SHARED_DSQ 0

/* The latest virtual time at which a task has begun to run. It never goes back. */
static u64 vtime_now;

s32 BPF_STRUCT_OPS(vtime_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_us * 1000, 0);
	return cpu;
}

void BPF_STRUCT_OPS(vtime_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 slice_ns = slice_us * 1000;
	u64 vtime = p->scx.dsq_vtime;

	/* A long sleep must not become a claim to a CPU for as long. */
	if (time_before(vtime, vtime_now - slice_ns))
		vtime = vtime_now - slice_ns;
	scx_bpf_dsq_insert_vtime(p, SHARED_DSQ, slice_ns, vtime, enq_flags);
	kick_idle_cpu_for(p);
}

/* Returns a task's virtual time with what it has used of its present slice. */
static u64 vtime_after_slice(const struct task_struct *p)
{
	return p->scx.dsq_vtime + virtual_time(p, slice_us * 1000 - p->scx.slice);
}

/* Tells whether no waiting task that may run on this CPU has a lower virtual time. */
static bool is_still_first(const struct task_struct *p, s32 cpu)
{
	u64 vtime = vtime_after_slice(p);
	struct task_struct *first;

	bpf_for_each(scx_dsq, first, SHARED_DSQ, 0) {
		if (bpf_cpumask_test_cpu(cpu, first->cpus_ptr))
			return !time_before(first->scx.dsq_vtime, vtime);
	}
	return true;
}

/*
 * A task whose slice is over is not queued yet. Without a look at it, any task in the queue would
 * go first, and two tasks would always take turns, whatever their weights.
 */
void BPF_STRUCT_OPS(vtime_dispatch, s32 cpu, struct task_struct *prev)
{
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED) && is_still_first(prev, cpu)) {
		scx_bpf_task_set_dsq_vtime(prev, vtime_after_slice(prev));
		scx_bpf_task_set_slice(prev, slice_us * 1000);
		return;
	}
	scx_bpf_dsq_move_to_local(SHARED_DSQ, 0);
}

/*
 * While a task runs, its virtual time is that of its slice's beginning. A task that a real-time
 * task has displaced goes on with the rest of its slice: what it had used then is in its virtual
 * time already, and would be charged again after each such visit.
 */
void BPF_STRUCT_OPS(vtime_running, struct task_struct *p)
{
	u64 used_ns = slice_us * 1000 - p->scx.slice;

	if (used_ns)
		scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime - virtual_time(p, used_ns));
	/* Two CPUs may race here; the loser's older value does no harm for longer than a switch. */
	if (time_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(vtime_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_after_slice(p));
}

void BPF_STRUCT_OPS(vtime_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(vtime_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

void BPF_STRUCT_OPS(vtime_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(vtime_ops,
	       .select_cpu	= (void *)vtime_select_cpu,
	       .enqueue		= (void *)vtime_enqueue,
	       .dispatch	= (void *)vtime_dispatch,
	       .running		= (void *)vtime_running,
	       .stopping	= (void *)vtime_stopping,
	       .enable		= (void *)vtime_enable,
	       .init		= (void *)vtime_init,
	       .exit		= (void *)vtime_exit,
	       .name		= "vtime");
