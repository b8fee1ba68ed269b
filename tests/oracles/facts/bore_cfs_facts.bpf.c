// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of bore_cfs what they make of given numbers, and prints the answers. */
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

static void ask(struct task_struct *p)
{
	ask_bursts(p);
	ask_price();
}

FACTS(bore_cfs, .init_task = (void *)bore_cfs_init_task, .init = (void *)bore_cfs_init);
