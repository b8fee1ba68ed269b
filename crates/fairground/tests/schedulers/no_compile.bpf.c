// SPDX-License-Identifier: GPL-2.0-only
/*
 * no_compile: Does not compile.
 *
 * Idea: A mistake that clang must find.
 * Good at: Nothing.
 * Bad at: Being C.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

void BPF_STRUCT_OPS(no_compile_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, NO_SUCH_QUEUE, 0, enq_flags);
}

SCX_OPS_DEFINE(no_compile,
	       .enqueue		= (void *)no_compile_enqueue,
	       .name		= "no_compile");
