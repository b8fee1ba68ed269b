// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of baby what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "baby.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

static struct task_struct asked;
static struct task_ctx task;
static struct cpu_ctx here;

static struct task_struct *with_nice(s32 nice)
{
	asked.static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	return &asked;
}

static void ask_costs(void)
{
	say("cost of nice -20", cost_of(-20, 4 * MS));
	say("cost of nice 0", cost_of(0, 4 * MS));
	say("cost of nice 19", cost_of(19, 4 * MS));
}

static void ask_ratios(void)
{
	say("ratio of 4 s", response_ratio(4 * SECOND, SECOND));
	say("ratio of 4 s, odd", response_ratio(4 * SECOND, SECOND - 1));
	say("ratio of what has not run", response_ratio(4 * SECOND, 0));
	task = (struct task_ctx){ .vruntime = 5 * SECOND / 2 };
	shorten_life(&task, 5 * SECOND + 1);
	say("shortened life", 5 * SECOND + 1 - task.start);
	say("shortened runtime, ms", task.vruntime / MS);
}

static void ask_deadlines(void)
{
	task = (struct task_ctx){};
	say("deadline of nice -20", next_deadline(with_nice(-20), &task, 0));
	say("deadline of nice -11", next_deadline(with_nice(-11), &task, 0));
	say("deadline of nice -10", next_deadline(with_nice(-10), &task, 0));
	say("deadline of nice 0", next_deadline(with_nice(0), &task, 0));
	say("deadline of nice 1", next_deadline(with_nice(1), &task, 0));
	say("deadline of nice 19", next_deadline(with_nice(19), &task, 0));
}

static void ask_guard(void)
{
	say("0, 7 is unguarded", is_unguarded(0, 7 * MS));
	say("180, 0 is unguarded", is_unguarded(180 * MS, 0));
	say("50, 10 is unguarded", is_unguarded(50 * MS, 10 * MS));
	say("50, 46 is unguarded", is_unguarded(50 * MS, 46 * MS));
	say("50, 45 is unguarded", is_unguarded(50 * MS, 45 * MS));
	say("50, 44.9 is unguarded", is_unguarded(50 * MS, 44900000));
	say("50, 50 is unguarded", is_unguarded(50 * MS, 50 * MS));
}

static s64 nice_after(u32 sleeps)
{
	u32 i;

	task = (struct task_ctx){ .is_early = true };
	for (i = 0; i < sleeps; i++)
		raise(with_nice(0), &task);
	return own_nice(with_nice(0), &task);
}

static void ask_bids(void)
{
	struct task_ctx loser = { .credit = 100, .bid = 10 };

	task = (struct task_ctx){ .credit = 100, .bid = 20 };
	say("offer of 10", offer_of(&loser));
	say("offer of 20", offer_of(&task));
	raise_bid(&loser);
	charge_offer(&here, &task);
	say("winner's credit", task.credit);
	say("winner's bid", task.bid);
	say("loser's bid", loser.bid);
	here = (struct cpu_ctx){ .cash = cr_cash };
	pay(&here, &task, 1);
	say("credit of one", task.credit);
	pay(&here, &task, 20);
	say("credit of one of 20", task.credit);
	say("cash", here.cash);
}

static u32 level_with(u64 bursts)
{
	task = (struct task_ctx){ .bursts = bursts };
	return level_of(&task);
}

static void ask_levels(void)
{
	say("level of 208.9", level_with(208900000));
	say("level of 209", level_with(209 * MS));
	say("level of 523", level_with(523 * MS));
	say("level of 1140", level_with(1140 * MS));
	say("level of 2400", level_with(2400 * MS));
	task = (struct task_ctx){ .prev_bursts = 523 * MS, .bursts = 2400 * MS };
	say("level of the last window", level_of(&task));
	say("slice of level 16", deadline_ns * 16);
}

static void ask(struct task_struct *p)
{
	ask_costs();
	ask_ratios();
	ask_deadlines();
	ask_guard();
	say("nice after 3", nice_after(3));
	say("nice after 25", nice_after(25));
	ask_bids();
	ask_levels();
}

FACTS(baby);
