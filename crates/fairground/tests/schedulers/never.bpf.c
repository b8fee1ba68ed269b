// SPDX-License-Identifier: GPL-2.0-only
/*
 * never: Takes every task and gives none back.
 *
 * Idea: A mistake that sched_ext's watchdog must find.
 * Good at: Nothing.
 * Bad at: Everything: no task ever runs.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

void BPF_STRUCT_OPS(never_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* The task is ours now, and we forget it. */
}

void BPF_STRUCT_OPS(never_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(never,
	       .enqueue		= (void *)never_enqueue,
	       .exit		= (void *)never_exit,
	       .timeout_ms	= 1000,
	       .name		= "never");
