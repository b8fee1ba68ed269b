// SPDX-License-Identifier: GPL-2.0-only
/*
 * bore_cfs_facts: Asks the functions of bore_cfs, and prints the answers.
 *
 * Idea: The file is included whole, without its ops table; this one's `enable` does the asking.
 * Good at: Numbers that no workload can show one by one.
 * Bad at: Scheduling: it has no queues.
 * Origin: A test.
 * Differs: From bore_cfs: everything.
 */
#include <scx/common.bpf.h>
#include "facts.h"
#include "bore_cfs.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#include "bursts.h"

static void ask_price(void)
{
	say("price of score 11", scale_slice(11, MS));
	say("price of score 20", scale_slice(20, MS));
	say("price of score 23", scale_slice(23, MS));
}

void BPF_STRUCT_OPS(bore_cfs_facts_enable, struct task_struct *p)
{
	static bool has_asked;

	if (has_asked)
		return;
	has_asked = true;
	ask_bursts(p);
	ask_price();
}

SCX_OPS_DEFINE(bore_cfs_facts,
	       .enable		= (void *)bore_cfs_facts_enable,
	       .init_task	= (void *)bore_cfs_init_task,
	       .init		= (void *)bore_cfs_init,
	       .exit		= (void *)bore_cfs_exit,
	       .name		= "bore_cfs_facts");
