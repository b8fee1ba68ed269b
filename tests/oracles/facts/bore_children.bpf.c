// SPDX-License-Identifier: GPL-2.0-only
/*
 * bore_children: bore, which prints the score that each new task begins with.
 *
 * Idea: The file is included whole, with another `init_task`.
 * Good at: What no share of the CPU shows exactly.
 * Bad at: Speed: it prints.
 * Origin: A test.
 * Differs: From bore: it prints.
 */
#include <scx/common.bpf.h>
#include "facts.h"
#include "bore.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

s32 BPF_STRUCT_OPS(bore_children_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	s32 err = task_fork_bore(p, args->fork);
	struct burst *burst = burst_of(p), *above = burst_of(forker);

	if (!burst || !above || !args->fork)
		return err;
	if (is_thread(p))
		bpf_printk("thread of %s: %u", forker->comm, burst->score);
	else
		bpf_printk("child %llu of %s: %u", above->children.number, forker->comm,
			   burst->score);
	return err;
}

SCX_OPS_DEFINE(bore_children,
	       .select_cpu	= (void *)bore_select_cpu,
	       .enqueue		= (void *)bore_enqueue,
	       .dispatch	= (void *)bore_dispatch,
	       .running		= (void *)bore_running,
	       .tick		= (void *)bore_tick,
	       .stopping	= (void *)bore_stopping,
	       .quiescent	= (void *)bore_quiescent,
	       .yield		= (void *)bore_yield,
	       .init_task	= (void *)bore_children_init_task,
	       .exit_task	= (void *)bore_exit_task,
	       .enable		= (void *)bore_enable,
	       .init		= (void *)bore_init,
	       .exit		= (void *)bore_exit,
	       .name		= "bore_children");
