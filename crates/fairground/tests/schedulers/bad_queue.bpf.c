// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad_queue: Puts tasks into a queue that it has never made.
 *
 * Idea: A mistake that a scheduler's author makes sooner or later.
 * Good at: Nothing.
 * Bad at: Everything: it is thrown out at once.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

void BPF_STRUCT_OPS(bad_queue_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, 0xbad, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(bad_queue_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(bad_queue,
	       .enqueue		= (void *)bad_queue_enqueue,
	       .exit		= (void *)bad_queue_exit,
	       .name		= "bad_queue");
