// SPDX-License-Identifier: GPL-2.0-only
/*
 * null_pointer: Follows a pointer that is null.
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

void BPF_STRUCT_OPS(null_pointer_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_struct *nobody = bpf_task_from_pid(-1);

	/* A verifier would want to see whether there is such a task. */
	if (nobody->pid != p->pid)
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(null_pointer_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(null_pointer,
	       .enqueue		= (void *)null_pointer_enqueue,
	       .exit		= (void *)null_pointer_exit,
	       .name		= "null_pointer");
