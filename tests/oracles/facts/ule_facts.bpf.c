// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of ule what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "ule.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define say_of(what, of, number) bpf_printk("%s %d: %lld", what, of, (long long)(number))

#define CPU (MAX_CPUS - 1)

static struct task_ctx task;

/* Who runs for so many percent of its time. */
static u64 score_at(u64 percent)
{
	return sched_interact_score(percent * 100 << TICK_SHIFT, (100 - percent) * 100 << TICK_SHIFT);
}

static void ask_scores(void)
{
	static const u8 percents[] = { 1, 10, 25, 30, 37, 38, 40, 50, 60, 75, 90, 99 };
	u32 i;

	for (i = 0; i < sizeof(percents); i++)
		say_of("score of", percents[i], score_at(percents[i]));
	say("score of nothing", sched_interact_score(0, 0));
	say("score of 5 and 5", sched_interact_score(5 << TICK_SHIFT, 5 << TICK_SHIFT));
}

static void ask_classes(void)
{
	say("37 is interactive", is_interactive(score_at(37), 0));
	say("38 is interactive", is_interactive(score_at(38), 0));
	say("33 of nice 5 is interactive", is_interactive(score_at(33), 5));
	say("34 of nice 5 is interactive", is_interactive(score_at(34), 5));
	say("28 of nice 10 is interactive", is_interactive(score_at(28), 10));
	say("29 of nice 10 is interactive", is_interactive(score_at(29), 10));
}

static void remember(u64 run_tenths, u64 sleep_tenths)
{
	task = (struct task_ctx){
		.runtime = HISTORY_CAP / 10 * run_tenths,
		.slptime = HISTORY_CAP / 10 * sleep_tenths,
	};
	sched_interact_update(&task);
}

static void ask_history(void)
{
	struct task_ctx parent = { .runtime = SECONDS(3), .slptime = SECONDS(1) };

	remember(9, 2);
	say("runtime of 1.1", task.runtime * 100 / HISTORY_CAP);
	say("sleep of 1.1", task.slptime * 100 / HISTORY_CAP);
	remember(7, 6);
	say("runtime of 1.3", task.runtime * 100 / HISTORY_CAP);
	say("sleep of 1.3", task.slptime * 100 / HISTORY_CAP);
	remember(22, 1);
	say("runtime of 2.3", task.runtime * 100 / HISTORY_CAP);
	say("sleep of 2.3", task.slptime);
	sched_interact_fork(&parent, &task);
	say("child's runtime", task.runtime);
	say("child's sleep", task.slptime);
}

static void ask_slices(void)
{
	u32 others;

	for (others = 0; others < 8; others++)
		say_of("slice beside", others, tdq_slice(others));
}

/* A priority of the calendar that is so many buckets from the best one. */
static u64 place_at(u32 bucket)
{
	task = (struct task_ctx){
		.prio = INTERACTIVE_RANGE + (bucket * BATCH_RANGE + BUCKETS - 1) / BUCKETS,
	};
	tdq_runq_add(&task, CPU, false);
	return task.place / 2;
}

static void ask_calendar(void)
{
	struct calendar *calendar = &cpu_ctx(CPU)->calendar;
	u64 ten;

	*calendar = (struct calendar){ .insert = 100, .remove = 100 };
	ten = place_at(10);
	say("0 before 5", place_at(0) < place_at(5));
	say("5 before 10", place_at(5) < ten);
	say("last", place_at(63));
	*calendar = (struct calendar){ .insert = 109, .remove = 109 };
	say("0 before an older 10", place_at(0) < ten);
	*calendar = (struct calendar){ .insert = 111, .remove = 111 };
	say("0 before a much older 10", place_at(0) < ten);
}

static void ask(struct task_struct *p)
{
	ask_scores();
	ask_classes();
	ask_history();
	ask_slices();
	ask_calendar();
}

FACTS(ule);
