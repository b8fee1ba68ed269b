// SPDX-License-Identifier: GPL-2.0-only
/*
 * lacking: Compiles, and calls a function of the kernel that no kernel has.
 *
 * Idea: A file that was written for another kernel.
 * Good at: Nothing.
 * Bad at: Running at all.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

s32 scx_bpf_moonlight(s32 cpu) __ksym;

void BPF_STRUCT_OPS(lacking_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (scx_bpf_moonlight(0))
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(lacking_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(lacking,
	       .enqueue		= (void *)lacking_enqueue,
	       .exit		= (void *)lacking_exit,
	       .name		= "lacking");
