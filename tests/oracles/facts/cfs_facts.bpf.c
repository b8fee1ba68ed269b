// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of cfs what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
/* There are no waiting tasks: the first one's vruntime is what is asked about. */
#define OVERLAY_TREE
#include "cfs.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define MS 1000000ULL
#define NICE(nice) (HIGHEST_STATIC_PRIO + 20 + (nice))

/* A task of our own making, on a CPU that nobody else uses. */
static struct task_struct asked;
static struct load load;
static struct queue *rq = &queues[MAX_CPUS - 1];
static u64 first;

static inline bool first_vruntime(u32 cpu, u64 *vruntime)
{
	*vruntime = first;
	return true;
}

static inline bool is_next(u32 cpu, u64 vruntime)
{
	return false;
}

static u64 attach_task(struct task_struct *p, struct fair_task *task, s32 cpu)
{
	return 0;
}

static struct task_struct *task(s32 nice, u32 policy)
{
	asked.static_prio = NICE(nice);
	asked.policy = policy;
	return &asked;
}

static void set_load(u64 nr_running, u64 weight)
{
	load.nr_running = nr_running;
	load.weight = weight;
}

static void ask_virtual_time(void)
{
	say("virtual 5", virtual_time(task(5, 0), MS));
	say("virtual -20", virtual_time(task(-20, 0), MS));
	say("virtual 19", virtual_time(task(19, 0), MS));
	say("virtual idle", virtual_time(task(0, POLICY_IDLE), MS));
}

static void ask_slice(void)
{
	u64 nr;

	bpf_for(nr, 1, 11) {
		set_load(nr, nr * 1024);
		bpf_printk("slice of %llu: %llu", nr, sched_slice(task(0, 0), &load, 0));
	}
	set_load(2, 1024 + 335);
	say("slice of nice 0 beside nice 5", sched_slice(task(0, 0), &load, 0));
	say("slice of nice 5 beside nice 0", sched_slice(task(5, 0), &load, 0));
	set_load(2, 1024 + 15);
	say("slice of nice 19 beside nice 0", sched_slice(task(19, 0), &load, 0));
}

static void ask_placement(void)
{
	rq->min_vruntime = 100 * MS;
	rq->curr.is_set = true;
	rq->curr.inverse_weight = 0;
	rq->curr.vruntime = 100 * MS;
	say("woken at 50", place_woken(task(0, 0), rq, 50 * MS));
	say("woken at 95", place_woken(task(0, 0), rq, 95 * MS));
	say("idle woken at 50", place_woken(task(0, POLICY_IDLE), rq, 50 * MS));
	set_load(1, 1024);
	say("forked", place_new(task(0, 0), rq, &load));
}

/* Whether a task with this vruntime preempts one of nice 0 that has 100 ms. */
static bool preempts_at(s32 nice, u32 policy, u64 vruntime, bool has_idle_policy)
{
	rq->curr.has_idle_policy = has_idle_policy;
	rq->curr.need_resched = false;
	return check_preempt_wakeup(task(nice, policy), rq, MAX_CPUS - 1, vruntime, false);
}

static void ask_preemption(void)
{
	say("nice 0 at 96", preempts_at(0, 0, 96 * MS, false));
	say("nice 0 at 95.999", preempts_at(0, 0, 95999000, false));
	say("nice 5 at 88", preempts_at(5, 0, 88 * MS, false));
	say("nice 4 at 88", preempts_at(4, 0, 88 * MS, false));
	say("nice -5 at 98.6", preempts_at(-5, 0, 98600000, false));
	say("batch at 0", preempts_at(-20, 3, 0, false));
	say("normal at 1000 against idle", preempts_at(0, 0, 1000 * MS, true));
}

static void ask_tick(void)
{
	say("ran 12", is_slice_over(12 * MS, 12 * MS, 0));
	say("ran 12.000001", is_slice_over(12 * MS, 12 * MS + 1, 0));
	say("ran 2.9, 20 ahead", is_slice_over(12 * MS, 2900000, 20 * MS));
	say("ran 3.1, 12.1 ahead", is_slice_over(12 * MS, 3100000, 12100000));
	say("ran 24.1 of 30", is_slice_over(30 * MS, 24100000, 0));
}

static void ask_floor(const char *what, u64 left)
{
	first = left;
	rq->min_vruntime = 9;
	rq->curr.vruntime = 10;
	update_min_vruntime(rq, MAX_CPUS - 1);
	say(what, rq->min_vruntime);
}

static void ask(struct task_struct *p)
{
	ask_virtual_time();
	ask_slice();
	ask_placement();
	ask_preemption();
	ask_tick();
	ask_floor("floor of 9, 10, 8", 8);
	ask_floor("floor of 9, 10, 12", 12);
}

FACTS(cfs, .init = (void *)cfs_init);
