// SPDX-License-Identifier: GPL-2.0-only
/*
 * muqss_children: muqss, which prints for which new tasks their makers stop.
 *
 * Idea: The file is included whole, with another `init_task`.
 * Good at: What a trace shows only by chance.
 * Bad at: Speed: it prints.
 * Origin: A test.
 * Differs: From muqss: it prints.
 */
#include <scx/common.bpf.h>
#include "facts.h"
#include "muqss.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

s32 BPF_STRUCT_OPS_SLEEPABLE(muqss_children_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	struct task_struct *maker = bpf_get_current_task_btf();
	s32 err = sched_fork(p, args->fork);

	if (err || !args->fork)
		return err;
	if (is_thread(p))
		bpf_printk("for a thread: %d", ctx_of(p)->child_first);
	else
		bpf_printk("for a child of %s: %d", maker->comm, ctx_of(p)->child_first);
	return 0;
}

SCX_OPS_DEFINE(muqss_children,
	       .select_cpu	= (void *)muqss_select_cpu,
	       .enqueue		= (void *)muqss_enqueue,
	       .dispatch	= (void *)muqss_dispatch,
	       .running		= (void *)muqss_running,
	       .tick		= (void *)muqss_tick,
	       .stopping	= (void *)muqss_stopping,
	       .quiescent	= (void *)muqss_quiescent,
	       .yield		= (void *)muqss_yield,
	       .init_task	= (void *)muqss_children_init_task,
	       .init		= (void *)muqss_init,
	       .exit		= (void *)muqss_exit,
	       .name		= "muqss_children");
