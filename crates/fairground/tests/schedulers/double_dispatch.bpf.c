// SPDX-License-Identifier: GPL-2.0-only
/*
 * double_dispatch: Dispatches a task twice.
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

void BPF_STRUCT_OPS(double_dispatch_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(double_dispatch_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(double_dispatch,
	       .enqueue		= (void *)double_dispatch_enqueue,
	       .exit		= (void *)double_dispatch_exit,
	       .name		= "double_dispatch");
