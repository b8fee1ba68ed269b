// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of eevdf what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "eevdf.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define MS 1000000LL

/* A CPU of our own, which nobody uses, and a task. */
#define CPU (MAX_CPUS - 1)
#define CURR (&currs[CPU])

static struct task_struct asked;
static struct fair_task joining;

static struct task_struct *task(s32 nice)
{
	asked.static_prio = HIGHEST_STATIC_PRIO + 20 + nice;
	return &asked;
}

/* The CPU's tasks have this weight, and this V. */
static void set_average(u64 weight, s64 average)
{
	struct sums old = average_sums(CPU);

	avg_vruntime_add(CPU, -(s64)old.weight, -(s64)old.weighted);
	avg_vruntime_add(CPU, weight, weight * average);
	CURR->vruntime = average;
}

static void ask_average(void)
{
	struct sums sums = { .weight = 3072, .weighted = 1024 * 6 * MS };

	say("average of 0, 1, 5", average_of(sums, 0));
	say("0 is eligible", vruntime_eligible(sums, 0));
	say("1 is eligible", vruntime_eligible(sums, MS));
	say("5 is eligible", vruntime_eligible(sums, 5 * MS));
	sums = (struct sums){ .weight = 2048, .weighted = 1024 * 5 * MS };
	say("average of 0, 5", average_of(sums, MS));
	sums = (struct sums){ .weight = 1359, .weighted = 335 * 10 * MS };
	say("average with weights", average_of(sums, 9 * MS));
	say("0 with weights is eligible", vruntime_eligible(sums, 0));
	say("10 with weights is eligible", vruntime_eligible(sums, 10 * MS));
	sums = (struct sums){ .weight = 3, .weighted = -4 };
	say("average of -4 / 3", average_of(sums, 0));
}

static void ask_placement(const char *at, const char *after, u64 weight, s64 vlag)
{
	set_average(weight, 10 * MS);
	joining = (struct fair_task){};
	join_with_lag(&joining, CPU, live_sums(CPU), 1024, vlag);
	say(at, joining.vruntime);
	say(after, avg_vruntime(CPU));
}

static s64 clamped(s64 lag, s32 nice)
{
	set_average(1024, 10 * MS);
	joining = (struct fair_task){ .load.cpu = CPU, .vruntime = 10 * MS - lag };
	return entity_lag(&joining, live_sums(joining.load.cpu), lag_limit(task(nice), &joining));
}

static void ask_lag(void)
{
	say("lag 9", clamped(9 * MS, 0));
	say("lag -9", clamped(-9 * MS, 0));
	say("lag 4", clamped(4 * MS, 0));
	say("lag 90 of nice 5", clamped(90 * MS, 5));
}

static void ask_slice(void)
{
	say("virtual slice of nice 5", virtual_time(task(5), slice_of(task(5))));
	say("virtual slice of nice -20", virtual_time(task(-20), slice_of(task(-20))));
}

/* A hog of nice 0 that has run for 1 ms of its slice of 2.8 ms. */
static void set_hog(void)
{
	set_average(1024, 10 * MS);
	*CURR = (struct running){
		.is_set = true, .weight = 1024, .vruntime = 10 * MS, .deadline = 11800000,
		.vprot = 11800000, .slice = 2800000, .vslice = 2800000,
	};
}

/* Whether a task that comes with this slice and without lag preempts the hog. */
static bool preempts_with(u64 slice)
{
	struct task_struct *p = task(0);

	set_hog();
	joining = (struct fair_task){};
	p->se.custom_slice = slice > 0;
	p->se.slice = slice;
	place_entity(p, &joining, CPU, live_sums(CPU), true);
	return check_preempt_wakeup(p, &joining, CPU, live_sums(CPU), CURR->vruntime, joining.deadline);
}

static void ask_preemption(void)
{
	say("same slice preempts", preempts_with(0));
	say("short slice preempts", preempts_with(100000));
	asked.se.custom_slice = 0;
}

static void ask_deadline(void)
{
	set_hog();
	CURR->deadline = 3 * MS;
	say("request is new at 2.9", update_deadline(CURR, 2900000));
	say("request is new at 3.1", update_deadline(CURR, 3100000));
	say("deadline after 3.1", CURR->deadline);
	set_average(1024, 10 * MS);
	joining = (struct fair_task){ .is_new = true };
	place_entity(task(0), &joining, CPU, live_sums(CPU), true);
	say("forked deadline", joining.deadline);
	say("forked vruntime", joining.vruntime);
}

static void ask_yield(void)
{
	set_hog();
	CURR->deadline = 12800000;
	forfeit(CURR, CPU, live_sums(CPU));
	say("yielded vruntime", CURR->vruntime);
	say("yielded deadline", CURR->deadline);
}

static void ask_reweight(void)
{
	joining = (struct fair_task){ .left_weight = 1024, .vlag = MS, .rel_deadline = 2800000 };
	reweight_entity(&joining, 335);
	say("reweighted lag", joining.vlag);
	say("reweighted deadline", joining.rel_deadline);
}

/* Whether, of sets of tasks that chance has made, one has nobody who is eligible. */
static u32 sets_without_eligible(void)
{
	u32 set, i, found = 0;

	for (set = 0; set < 1000; set++) {
		u64 vruntimes[8], weights[8], near = (u64)bpf_get_prandom_u32() << 32;
		u32 count = 1 + bpf_get_prandom_u32() % 8;
		struct sums sums = {};
		bool is_any = false;

		for (i = 0; i < count; i++) {
			weights[i] = nice_weights[bpf_get_prandom_u32() % NICE_LEVELS];
			vruntimes[i] = near + bpf_get_prandom_u32() % 100000000;
			sums.weight += weights[i];
			sums.weighted += weights[i] * vruntimes[i];
		}
		for (i = 0; i < count; i++)
			is_any |= vruntime_eligible(sums, vruntimes[i]) &&
				  !time_after(vruntimes[i], average_of(sums, vruntimes[0]));
		found += !is_any;
	}
	return found;
}

void BPF_STRUCT_OPS(eevdf_facts_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct fair_task *task = fair_task(p);
	u64 deadline = (p->comm[3] - '0') * MS + (p->comm[4] - '0') * 100000;

	if (!task || p->comm[0] != 'v' || p->comm[2] != 'd') {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	task->vruntime = (p->comm[1] - '0') * MS;
	avg_vruntime_add(0, 1024, 1024 * task->vruntime);
	scx_bpf_dsq_insert_vtime(p, 0, SCX_SLICE_INF, deadline, enq_flags);
}

/* Says whom a choice takes, and lets it run. */
static void choose(const char *what)
{
	s32 pid = pick_eevdf(0, average_sums(0), NULL, false);
	struct task_struct *p = bpf_task_from_pid(pid);
	struct fair_task *task = p ? fair_task(p) : NULL;

	if (task) {
		bpf_printk("%s: %llu", what, task->vruntime);
		avg_vruntime_add(0, -1024, -1024 * (s64)task->vruntime);
	}
	if (p)
		bpf_task_release(p);
	bpf_for_each(scx_dsq, p, 0, 0) {
		if (p->pid == pid && scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0))
			break;
	}
}

void BPF_STRUCT_OPS(eevdf_facts_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 deadline = 1900000;

	if (scx_bpf_dsq_nr_queued(0) < 3)
		return;
	say("picked till 1.9", pick_eevdf(0, average_sums(0), &deadline, false));
	choose("picked of 0, 1, 5");
	choose("picked of 0, 5");
	choose("picked of 5");
}

void BPF_STRUCT_OPS(eevdf_facts_enable, struct task_struct *p)
{
	static bool has_asked;

	if (has_asked)
		return;
	has_asked = true;
	ask_average();
	ask_placement("placed 2048", "average after 2048", 2048, MS);
	ask_placement("placed 1024", "average after 1024", 1024, -2 * MS);
	ask_lag();
	ask_slice();
	ask_preemption();
	ask_deadline();
	ask_yield();
	ask_reweight();
	say("sets without an eligible task", sets_without_eligible());
}

/* The policy has changed, and with it perhaps the slice that is asked for. */
void BPF_STRUCT_OPS(eevdf_facts_set_weight, struct task_struct *p, u32 weight)
{
	bpf_printk("slice of %s: %llu", p->comm, slice_of(p));
}

SCX_OPS_DEFINE(eevdf_facts,
	       .enqueue		= (void *)eevdf_facts_enqueue,
	       .dispatch	= (void *)eevdf_facts_dispatch,
	       .init_task	= (void *)eevdf_init_task,
	       .enable		= (void *)eevdf_facts_enable,
	       .set_weight	= (void *)eevdf_facts_set_weight,
	       .init		= (void *)eevdf_init,
	       .exit		= (void *)eevdf_exit,
	       .name		= "eevdf_facts");
