// SPDX-License-Identifier: GPL-2.0-only
/* bore, which prints the score that each new task begins with. */
#include <scx/common.bpf.h>
#include "children.h"
#include "bore.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

s32 BPF_STRUCT_OPS(bore_children_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	s32 err = task_fork_bore(p, args);
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

CHILDREN_OPS(bore,
	     .exit_task		= (void *)bore_exit_task,
	     .enable		= (void *)bore_enable);
