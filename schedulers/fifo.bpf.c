// SPDX-License-Identifier: GPL-2.0-only
/*
 * fifo: One queue for all CPUs, first come, first served.
 *
 * Idea: Every runnable task waits at the end of one shared queue. Every CPU takes the first task
 *       that may run there. A woken task goes straight to an idle CPU, if there is one.
 * Good at: Throughput: it is the least that a scheduler can do. No CPU idles while a task waits.
 * Bad at: Latency under load: a woken task waits for all before it. Nice values mean nothing.
 * Origin: The first schedulers of all; scx_simple of the kernel's examples can do it, too.
 * Family: 1956, Robert Patrick and Owen Mock
 * Queue: One for all CPUs, in order of arrival; enqueue O(1), pick O(1).
 * Slice: Fixed, 20 ms.
 * Wake-up: Takes an idle CPU; never preempts.
 * Balancing: Not needed: all CPUs take from one queue.
 * Differs: From SCHED_FIFO: tasks have a slice, so a task that never sleeps cannot hold a CPU for
 *          ever.
 */
#include <scx/common.bpf.h>
#include "include/common.h"

char _license[] SEC("license") = "GPL";

/* How long a task may run before the next one's turn, in microseconds. */
const volatile u64 slice_us = 20000;

UEI_DEFINE(uei);

/* The queue. */
#define SHARED_DSQ 0

s32 BPF_STRUCT_OPS(fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_us * 1000, 0);
	return cpu;
}

void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED_DSQ, slice_us * 1000, enq_flags);
	kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

void BPF_STRUCT_OPS(fifo_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(fifo_ops,
	       .select_cpu	= (void *)fifo_select_cpu,
	       .enqueue		= (void *)fifo_enqueue,
	       .dispatch	= (void *)fifo_dispatch,
	       .init		= (void *)fifo_init,
	       .exit		= (void *)fifo_exit,
	       .name		= "fifo");
