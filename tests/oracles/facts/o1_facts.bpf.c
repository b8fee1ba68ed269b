// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of o1 what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>

/* How many wait for each CPU, as the functions shall believe. */
static u32 lengths[2];
#define scx_bpf_dsq_nr_queued(cpu) lengths[(cpu) & 1]

#include "facts.h"
#include "o1.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define MS 1000000LL

static struct task_struct asked;
static struct task_ctx state;

/* A process of this nice value, which has slept so long of late. */
static struct task_struct *task(s32 nice, u64 sleep_avg)
{
	asked.static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	asked.mm = (struct mm_struct *)&asked;
	state = (struct task_ctx){ .sleep_avg = sleep_avg };
	state.prio = effective_prio(&asked, &state);
	return &asked;
}

/* A digit for each bonus from the greatest to the least: whether it makes interactive. */
static s64 interactive_row(s32 nice)
{
	s64 row = 0, bonus;

	for (bonus = MAX_BONUS; bonus >= 0; bonus--)
		row = row * 10 + is_interactive(task(nice, bonus * 100 * MS), &state);
	return row;
}

static void ask_interactivity(void)
{
	say("row of -20", interactive_row(-20));
	say("row of -10", interactive_row(-10));
	say("row of 0", interactive_row(0));
	say("row of 10", interactive_row(10));
	say("row of 19", interactive_row(19));
}

static void ask_sleep(void)
{
	struct task_struct *p = task(0, 0);

	recalc_task_prio(p, &state, 1000 * MS);
	say("sleep of 1 s", state.sleep_avg);
	say("its bonus", current_bonus(&state));
	say("its prio", HIGHEST_STATIC_PRIO + state.prio);
	say("is interactive", is_interactive(p, &state));
}

static s64 forgotten(u64 sleep_avg, u64 ran)
{
	task(0, sleep_avg);
	state.timestamp = scx_bpf_now() - ran;
	count_run(&state, 0);
	return sleep_avg - state.sleep_avg;
}

static void ask_run(void)
{
	say("100 ms cost bonus 10", forgotten(1000 * MS, 100 * MS));
	say("100 ms cost bonus 1", forgotten(150 * MS, 100 * MS));
	say("50 ms cost bonus 0", forgotten(90 * MS, 50 * MS));
}

static void ask_prio(void)
{
	task(19, MAX_SLEEP_AVG);
	say("prio of rested 19", state.prio);
	task(0, 0);
	say("prio of hog 0", state.prio);
}

/* Whether two wait and one runs, and the first expired has waited so long. */
static bool starving(struct task_struct *p, u64 waited, u32 best_expired_prio)
{
	struct cpu_ctx *here = cpu_ctx(0);
	bool result;

	lengths[0] = 2;
	here->prio = 0;
	here->expired_timestamp = scx_bpf_now() - waited;
	here->best_expired_prio = best_expired_prio;
	result = expired_starving(here, p);
	*here = (struct cpu_ctx){ .prio = NO_TASK };
	return result;
}

static void ask_starvation(struct task_struct *p)
{
	say("starving after 3000 ms", starving(p, 3000 * MS, NO_TASK));
	say("starving after 3001 ms", starving(p, 3001 * MS, NO_TASK));
	say("starving beside nice 0", starving(p, MS, 20));
	say("starving beside nice -1", starving(p, MS, 19));
}

/* How many tasks a busy CPU with one takes from one that has so many, and had before. */
static s64 taken_of(u32 others)
{
	struct busiest busiest = {};
	u32 i;

	cpu_ctx(0)->prio = cpu_ctx(1)->prio = 0;
	lengths[0] = 0;
	lengths[1] = others - 1;
	for (i = 0; i < 2; i++)
		busiest = find_busiest_queue(0, false);
	return busiest.cpu < 0 ? 0 : busiest.surplus;
}

static void ask_balance(void)
{
	say("taken of 4", taken_of(4));
	say("taken of 3", taken_of(3));
	say("taken of 2", taken_of(2));
}

static void ask_fork(void)
{
	struct task_ctx parent = { .time_slice = 7 }, child = {};

	sched_fork(&parent, &child);
	say("the child's slice", child.time_slice);
	say("the parent's slice", parent.time_slice);
}

static void ask(struct task_struct *p)
{
	ask_interactivity();
	ask_sleep();
	ask_run();
	ask_prio();
	ask_starvation(p);
	if (nr_cpus > 1)
		ask_balance();
	ask_fork();
}

FACTS(o1, .init = (void *)o1_init);
