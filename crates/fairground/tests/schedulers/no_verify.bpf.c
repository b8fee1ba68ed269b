// SPDX-License-Identifier: GPL-2.0-only
/*
 * no_verify: Compiles, and the kernel's verifier refuses it.
 *
 * Idea: A pointer that may be NULL is followed unchecked.
 * Good at: Nothing.
 * Bad at: Being allowed to run.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} slices SEC(".maps");

void BPF_STRUCT_OPS(no_verify_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 key = 0;
	u64 *slice = bpf_map_lookup_elem(&slices, &key);

	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, *slice, enq_flags);
}

void BPF_STRUCT_OPS(no_verify_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(no_verify,
	       .enqueue		= (void *)no_verify_enqueue,
	       .exit		= (void *)no_verify_exit,
	       .name		= "no_verify");
