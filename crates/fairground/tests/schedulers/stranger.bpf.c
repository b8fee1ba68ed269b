// SPDX-License-Identifier: GPL-2.0-only
/*
 * stranger: One global queue, as somebody outside the project might write it.
 *
 * Idea: Every task goes to sched_ext's own global queue.
 * Good at: Being short.
 * Bad at: Latency under load.
 * Origin: A test.
 * Differs: From fifo: no queue of its own, and no fast path to idle CPUs.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* How long a task may run, in microseconds. */
const volatile u64 slice_us = 5000;

UEI_DEFINE(uei);

void BPF_STRUCT_OPS(stranger_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice_us * 1000, enq_flags);
}

void BPF_STRUCT_OPS(stranger_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(stranger,
	       .enqueue		= (void *)stranger_enqueue,
	       .exit		= (void *)stranger_exit,
	       .name		= "stranger");
