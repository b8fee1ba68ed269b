// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of muqss what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#define OWN_CLOCK
#include "facts.h"
#include "muqss.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

static struct task_struct asked;
static struct task_ctx its;

static u64 deadline_of(s32 nice)
{
	asked.static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	asked_now = 1000000000;
	refill(&asked, &its);
	return its.deadline;
}

static void ask(struct task_struct *p)
{
	say("nice -20", deadline_of(-20));
	say("nice 0", deadline_of(0));
	say("nice 10", deadline_of(10));
	say("nice 19", deadline_of(19));
	say("slice", its.turn.time_slice);
}

FACTS(muqss, .init = (void *)muqss_init);
