// SPDX-License-Identifier: GPL-2.0-only
/* muqss, which prints for which new tasks their makers stop. */
#include <scx/common.bpf.h>
#include "children.h"
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

CHILDREN_OPS(muqss);
