// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of pds what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#define OWN_CLOCK
#include "facts.h"
#include "pds.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

static struct task_struct asked;
static struct task_ctx its;

static void set_edge(u64 slot)
{
	asked_now = slot << (era < 60600 ? 22 : 23);
}

static struct task_struct *task(s32 nice)
{
	asked.static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	return &asked;
}

/* How far behind the edge a task of this nice value is when it has a new slice. */
static u64 position(s32 nice)
{
	sched_task_renew(task(nice), &its);
	return rank_of(&asked, &its) - time_edge();
}

static void ask_positions(void)
{
	set_edge(1000);
	say("position of nice -20", position(-20));
	say("position of nice -10", position(-10));
	say("position of nice 0", position(0));
	say("position of nice 10", position(10));
	say("position of nice 19", position(19));
	sched_task_renew(task(0), &its);
	say("slot of nice 0", its.deadline);
	set_edge(1022);
	say("position at 1022", rank_of(&asked, &its) - time_edge());
	set_edge(1040);
	say("position at 1040", rank_of(&asked, &its) - time_edge());
	set_edge(1000);
	say("slot 1100 at 1000", slot_of(1100));
}

/* A and B come before 1003, C at 1010. */
static void ask_order(void)
{
	u64 a, b, c;

	set_edge(1002);
	a = tail_of(0, slot_of(1005));
	b = tail_of(0, slot_of(1003));
	set_edge(1010);
	c = tail_of(0, slot_of(990));
	say("B is before A", time_before(b, a));
	say("A is before C", time_before(a, c));
}

static void ask(struct task_struct *p)
{
	ask_positions();
	ask_order();
}

FACTS(pds, .init = (void *)pds_init);
