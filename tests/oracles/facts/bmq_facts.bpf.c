// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of bmq what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#define OWN_CLOCK
#include "facts.h"
#include "bmq.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define MS 1000000LL

static struct task_struct asked;
static struct task_ctx its;

static struct task_struct *task(s32 nice, u32 policy, s32 boost_prio)
{
	asked.static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	asked.policy = policy;
	its = (struct task_ctx){ .boost_prio = boost_prio };
	return &asked;
}

static u64 level(s32 nice, s32 boost_prio)
{
	return rank_of(task(nice, POLICY_NORMAL, boost_prio), &its);
}

static void ask_levels(void)
{
	say("nice 0 at best", level(0, -max_priority_adj()));
	say("nice 0", level(0, 0));
	say("nice 1", level(1, 0));
	say("nice 2", level(2, 0));
	say("nice 0 at worst", level(0, max_priority_adj()));
	say("nice 19 at best", level(19, -max_priority_adj()));
	say("nice 19 at worst", level(19, max_priority_adj()));
	say("nice -20 at best", level(-20, -max_priority_adj()));
}

/* The boost of a task that has run for so long and then slept for 100 ms. */
static s32 slept(s32 boost_prio, u32 policy, u64 ran_ns)
{
	struct task_struct *p = task(0, policy, boost_prio);

	its.timestamp = asked_now;
	asked_now += ran_ns;
	sched_task_deactivate(p, &its);
	asked_now += 100 * MS;
	sched_task_ttwu(p, &its);
	return its.boost_prio;
}

static s32 used_up(s32 boost_prio, u32 policy)
{
	sched_task_renew(task(0, policy, boost_prio), &its);
	return its.boost_prio;
}

static void ask_boosts(void)
{
	say("after a sleep", slept(0, POLICY_NORMAL, MS));
	say("after short work and a sleep", slept(0, POLICY_NORMAL, 10000));
	say("after long work and a sleep", slept(0, POLICY_NORMAL, 5 * MS));
	say("after a sleep at best", slept(-max_priority_adj(), POLICY_NORMAL, MS));
	say("after a batch task's sleep", slept(0, POLICY_BATCH, MS));
	say("after an idle task's sleep", slept(5, POLICY_IDLE, MS));
	say("after a slice", used_up(0, POLICY_NORMAL));
	say("after a slice at worst", used_up(max_priority_adj(), POLICY_NORMAL));
	say("after an idle task's slice", used_up(0, POLICY_IDLE));
	say("a child of -5", inherited(-5));
	say("a child of 3", inherited(3));
}

static void ask_fork(s64 left_ns)
{
	struct task_ctx parent = { .turn = { .time_slice = left_ns, .charged_ns = asked_now } };

	its = (struct task_ctx){ .turn.time_slice = timeslice() };
	bpf_printk("halves of %lld: %d", left_ns, split_slice(&parent.turn, &its.turn));
	bpf_printk("a child's of %lld: %lld", left_ns, its.turn.time_slice);
}

static void ask(struct task_struct *p)
{
	asked_now = 1000 * MS;
	ask_levels();
	ask_boosts();
	ask_fork(4 * MS);
	ask_fork(150000);
}

FACTS(bmq, .init = (void *)bmq_init);
