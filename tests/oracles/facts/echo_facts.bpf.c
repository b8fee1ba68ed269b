// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of echo what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "echo.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

/* A CPU of our own, which nobody uses but the task that is asked about. */
#define CPU (MAX_CPUS - 1)

static struct task_struct asked;
static struct task_ctx task;

static void ask_quota(void)
{
	say("quota of 2", quota(2));
	say("quota of 3", quota(3));
	say("quota of 5", quota(5));
	say("quota of 8", quota(8));
	say("quota of 9", quota(9));
	say("quota of 100", quota(100));
}

static u64 preempted_with(u64 vburst)
{
	task.vburst = vburst;
	update_est_entity(&task);
	return task.est;
}

static u64 slept_after(u64 burst)
{
	task.vburst = burst;
	end_burst(&task);
	return task.est;
}

static void ask_estimate(void)
{
	task = (struct task_ctx){};
	say("preempted once", preempted_with(1000));
	say("preempted twice", preempted_with(1000));
	say("preempted 3 times", preempted_with(1000));
	say("preempted 4 times", preempted_with(1000));
	say("preempted 5 times", preempted_with(1000));
	task = (struct task_ctx){};
	say("slept once", slept_after(1200));
	say("slept twice", slept_after(1200));
	say("slept 3 times", slept_after(1200));
	say("slept 4 times", slept_after(1200));
	say("slept 5 times", slept_after(1200));
	say("slept 6 times", slept_after(1200));
	task = (struct task_ctx){ .vburst = 1000 };
	update_est_entity(&task);
	say("moved", preempted_with(1000));
}

/* Whether a task with this estimate preempts one with 100 that has used so much of its quota. */
static bool preempts_with(u64 est, u64 used)
{
	*cpu_ctx(CPU) = (struct cpu_ctx){ .curr = 1, .est = 100, .used = used };
	task = (struct task_ctx){ .est = est };
	return check_preempt_wakeup(&asked, &task, CPU);
}

static void ask_preemption(void)
{
	say("100 preempts", preempts_with(100, 0));
	say("99 preempts", preempts_with(99, 0));
	say("200 preempts", preempts_with(200, 17499));
	say("200 preempts who has used its quota", preempts_with(200, 17500));
	asked.policy = POLICY_IDLE;
	say("idle preempts", preempts_with(99, 0));
	asked.policy = POLICY_NORMAL;
}

static void ask(struct task_struct *p)
{
	ask_quota();
	ask_estimate();
	ask_preemption();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(echo_facts_init)
{
	return scx_bpf_create_dsq(queue_of(CPU, 0), -1) ?: scx_bpf_create_dsq(queue_of(CPU, 1), -1);
}

FACTS(echo, .init = (void *)echo_facts_init);
