// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of bore what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "bore.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#include "bursts.h"

static void ask_weight(struct task_struct *p, const char *what, s32 nice, u32 score)
{
	s32 prio = p->static_prio;
	struct fair_task *task = fair_task(p);

	p->static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	if (task)
		task->burst.score = score;
	say(what, task_weight(p));
	p->static_prio = prio;
	if (task)
		task->burst.score = 0;
}

/* How far the vruntime of a task of nice 0 goes in 12 ms in which its score becomes 1. */
static void ask_charge(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	begin_to_run(curr, p, task, 0);
	avg_vruntime_add(cpu, curr->weight, 0);
	curr->deadline = curr->slice = curr->vslice = 100 * MS;
	task->burst.time = 8 * MS;
	curr->sum_exec = p->se.sum_exec_runtime - 12 * MS;
	update_curr(p, task, cpu);
	say("microseconds for 12 ms", curr->vruntime / 1000);
	say("score then", task->burst.score);
	say("used up", curr->is_over);
	avg_vruntime_add(cpu, -(s64)curr->weight, -(s64)(curr->weight * curr->vruntime));
	curr->is_set = false;
	load_leave(&task->load);
	task->burst = (struct burst){};
}

static void ask(struct task_struct *p)
{
	ask_bursts(p);
	ask_weight(p, "weight of nice 0, score 8", 0, 8);
	ask_weight(p, "weight of nice 0, score 12", 0, 12);
	ask_weight(p, "weight of nice 0, score 15", 0, 15);
	ask_weight(p, "weight of nice 15, score 12", 15, 12);
	ask_weight(p, "weight of nice -20, score 12", -20, 12);
	ask_charge(p);
	say("slice", default_slice);
}

FACTS(bore, .init_task = (void *)bore_init_task, .init = (void *)bore_init);
