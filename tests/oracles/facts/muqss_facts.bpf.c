// SPDX-License-Identifier: GPL-2.0-only
/*
 * muqss_facts: Asks the functions of muqss what they make of given numbers, and prints the answers.
 *
 * Idea: The file is included whole, without its ops table; this one's `enable` does the asking.
 * Good at: Numbers that no workload can show one by one.
 * Bad at: Scheduling: it has no queues.
 * Origin: A test.
 * Differs: From muqss: everything.
 */
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

void BPF_STRUCT_OPS(muqss_facts_enable, struct task_struct *p)
{
	static bool has_asked;

	if (has_asked)
		return;
	has_asked = true;
	say("nice -20", deadline_of(-20));
	say("nice 0", deadline_of(0));
	say("nice 10", deadline_of(10));
	say("nice 19", deadline_of(19));
	say("slice", its.turn.time_slice);
}

SCX_OPS_DEFINE(muqss_facts,
	       .enable		= (void *)muqss_facts_enable,
	       .init		= (void *)muqss_init,
	       .exit		= (void *)muqss_exit,
	       .name		= "muqss_facts");
