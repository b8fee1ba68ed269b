// SPDX-License-Identifier: GPL-2.0-only
/*
 * cacule: The CacULE scheduler: CFS with ULE's interactivity scores, Linux 5.3 to 5.14.
 *
 * Idea: A task's score compares how much of the last 23 s it has run, in time that nice values
 *       stretch, with how much it has not. The lowest score runs, and preempts as soon as it is
 *       lower. Waiting lowers a score; nothing else keeps tasks from starving.
 * Good at: Interactive tasks among hogs: a task that sleeps for two thirds of its time precedes any
 *          hog.
 * Bad at: Equals: tasks that have run for a third to two thirds of their time tie, and switch at
 *         every tick. STARVATION: a task that has slept for 10 s and then computes has the CPU
 *         alone for 5 s. Of three hogs, two may take turns while the third waits for seconds. A
 *         task that yields to a hog waits for 23 s, the length of the stored life: the yield marks
 *         it as the last; waiting longer does not help (`sched_cacule_yield`). In the full patch,
 *         idle-policy tasks starve beside a hog.
 * Origin: Hamad Al Marri, patches for Linux, 2020 to 2021; the score is that of FreeBSD's ULE. This
 *         is the plain patch for Linux 5.14. The patch for 5.10, and the full one for 5.14, are
 *         `full=true cache_factor=13107 starve_factor=19660`.
 * Family: 2020, Hamad Al Marri; after cfs, ule
 * Queue: One for each CPU, a list, newest first; enqueue O(1), pick O(n).
 * Slice: None: at every tick the running task continues only if its score is the lowest.
 * Wake-up: A lower score preempts at once. An idle CPU, else the previous one.
 * Balancing: As cfs: an idle CPU takes from the heaviest, a busy one pulls weight at intervals.
 * Differs: The Response Driven Balancer (RDB), by which CPUs exchange their lowest scores every 19
 *          ms, is missing. So are groups. CPUs are balanced with the simplifications of cfs.
 */
#include <scx/common.bpf.h>
#include "include/lifetime.h"

/* A task stores its life, when it stopped last, its place in the list, and its policy. */
#define FAIR_TASK_FIELDS \
	struct lifetime life; \
	u64 last_run; \
	s64 place; \
	bool has_idle_policy;
/* A CPU stores when the running task's life began, and the place of the newest task in the list. */
#define RUNNING_FIELDS \
	u64 start; \
	s64 newest;

/* A list has no order that counts. */
#define UNORDERED_QUEUES

#include "include/fair.h"
#include "include/balance.h"
#include "include/lowest.h"

char _license[] SEC("license") = "GPL";

/* The score of a task that has run half of its life; the worst is twice that. */
const volatile u64 interactivity_factor = 32768;
/*
 * The patch for 5.10, or the full one for 5.14: no idle-policy task runs while a normal one waits,
 * and a task that has yielded is the last for one choice only. It has the factors below, too.
 */
const volatile bool full = false;
/* How much of a task's life counts, in nominal milliseconds of 2^20 ns. */
const volatile u64 cacule_max_lifetime_ms = 22000;
/* A task that yields goes after all others until it has run; in full only at the next choice. */
const volatile bool sched_cacule_yield = true;
/* A task that ran less than a divisor ago has a warm cache, and is preferred; 13107 in full. */
const volatile u64 cache_factor = 0, cache_divisor_ns = 1000000;
/* A task that has waited for longer than a divisor is preferred; 19660 in full. */
const volatile u64 starve_factor = 0, starve_divisor_ns = 3000000;
/* The running task loses ties, as in a kernel with groups of tasks; else it wins them. */
const volatile bool fair_group_sched = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

UEI_DEFINE(uei);

static struct running currs[MAX_CPUS];

/* Returns the score of a life with this CPU time: the lowest runs (`calc_interactivity`). */
static s64 calc_interactivity(u64 life, u64 vruntime)
{
	u64 ran = vruntime | 1, slept = life > ran ? (life - ran) | 1 : 1;

	if (slept >= ran)
		return interactivity_factor / (slept / ran);
	return 2 * interactivity_factor - interactivity_factor / (ran / slept);
}

/* Returns what a score grows by while a cache becomes cold (`calc_cache_score`). */
static s64 calc_cache_score(u64 since)
{
	u64 divisor = cache_divisor_ns ?: 1, past = since | 1;

	if (past <= divisor)
		return cache_factor / (divisor / past);
	return 2 * cache_factor - cache_factor / (past / divisor);
}

/* Returns what a score grows by while a task has not waited for long (`calc_starve_score`). */
static s64 calc_starve_score(u64 since)
{
	u64 divisor = starve_divisor_ns ?: 1, past = since | 1;

	if (past <= divisor)
		return 2 * starve_factor - starve_factor / (divisor / past);
	return starve_factor / (past / divisor);
}

/* Makes the score of an idle-policy task worse than any normal one's in full (`entity_before`). */
static s64 calc_policy_score(bool has_idle_policy)
{
	return full && has_idle_policy ? 1LL << 32 : 0;
}

/* Returns the score of a waiting task (`entity_before`). */
static s64 value_of(const struct fair_task *task, u64 now)
{
	u64 since = now - task->last_run;

	return calc_interactivity(now - task->life.start, task->life.vruntime) +
	       calc_cache_score(since) + calc_starve_score(since) +
	       calc_policy_score(task->has_idle_policy);
}

/* Returns the score of the running task (`entity_before`). */
static s64 value_of_curr(const struct running *curr)
{
	return calc_interactivity(scx_bpf_now() - curr->start, live_vruntime(curr)) +
	       2 * starve_factor + calc_policy_score(curr->has_idle_policy);
}

/* Accounts for what the running task has run (`update_curr`). */
static void update_curr(struct running *curr, struct task_struct *p)
{
	struct lifetime life = { curr->start, account(curr, p) };

	normalize_lifetime(&life, cacule_max_lifetime_ms, scx_bpf_now());
	curr->start = life.start;
	curr->vruntime = life.vruntime;
}

/* Tells whether a woken or new task preempts the running one (`check_preempt_wakeup`). */
static bool check_preempt_wakeup(const struct task_struct *p, const struct fair_task *task,
				 const struct running *curr)
{
	if (!curr->is_set || curr->need_resched)
		return false;
	if (curr->has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL || !wakeup_preemption)
		return false;
	return value_of(task, scx_bpf_now()) < value_of_curr(curr);
}

/* Gives a task that this CPU has pulled its place here (`attach_task`). */
static u64 attach_task(struct task_struct *p, struct fair_task *task, s32 cpu)
{
	task->place = --of_cpu(currs, cpu)->newest;
	load_join(&task->load, cpu, fair_weight(p, task));
	return 0;
}

s32 BPF_STRUCT_OPS(cacule_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		return cpu;
	return wake_flags & SCX_WAKE_FORK ? find_idlest_cpu(p, prev_cpu) : prev_cpu;
}

void BPF_STRUCT_OPS(cacule_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);
	bool is_woken, preempts;

	if (!task)
		return;
	is_woken = task->is_new || enq_flags & SCX_ENQ_WAKEUP;
	if (!task->life.start)
		task->life.start = scx_bpf_now();
	task->place = --curr->newest;
	task->has_idle_policy = has_idle_policy(p);
	if (is_woken)
		note_other(cpu);
	join_cpu(task, cpu, p);
	preempts = is_woken && check_preempt_wakeup(p, task, curr);
	/* Others that wait could have a lower score. */
	if (preempts && !scx_bpf_dsq_nr_queued(cpu) && run_at_once(p, cpu, enq_flags)) {
		curr->need_resched = true;
		return;
	}
	scx_bpf_dsq_insert(p, cpu, SCX_SLICE_INF, enq_flags | SCX_ENQ_HEAD);
	if (preempts)
		resched_curr(curr, cpu);
}

void BPF_STRUCT_OPS(cacule_dispatch, s32 cpu, struct task_struct *prev)
{
	struct running *curr = of_cpu(currs, cpu);
	bool goes_on = could_go_on(prev);
	s64 value = 0;

	if (goes_on) {
		update_curr(curr, prev);
		value = value_of_curr(curr);
	}
	sched_balance_domains(cpu);
	curr->need_resched = false;
	if (run_lowest(cpu, goes_on ? &value : NULL, !fair_group_sched))
		return;
	if (!goes_on) {
		newidle_balance(cpu, busiest_cpu(cpu));
		return;
	}
	curr->vruntime &= ~YIELD_MARK;
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(cacule_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	curr->start = task->life.start;
	begin_to_run(curr, p, task, task->life.vruntime & ~YIELD_MARK);
	if (must_choose_again(cpu))
		resched_curr(curr, cpu);
}

void BPF_STRUCT_OPS(cacule_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);

	update_curr(curr, p);
	if (is_balance_due(cpu) || should_give_way(cpu, value_of_curr(curr), false))
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(cacule_stopping, struct task_struct *p, bool runnable)
{
	struct running *curr = of_cpu(currs, scx_bpf_task_cpu(p));
	struct fair_task *task = fair_task(p);

	update_curr(curr, p);
	if (task) {
		task->life.start = curr->start;
		/*
		 * In full the mark has counted for the choice that was just made
		 * (`pick_next_task_fair`).
		 */
		task->life.vruntime = full ? curr->vruntime & ~YIELD_MARK : curr->vruntime;
		task->last_run = scx_bpf_now();
	}
	stop_running(curr, p, runnable);
}

void BPF_STRUCT_OPS(cacule_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);

	if (task)
		leave_cpu(task);
}

bool BPF_STRUCT_OPS(cacule_yield, struct task_struct *from, struct task_struct *to)
{
	if (sched_cacule_yield)
		of_cpu(currs, scx_bpf_task_cpu(from))->vruntime |= YIELD_MARK;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(cacule_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_fair_task(p, args->fork);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(cacule_init)
{
	return create_queues() ?: init_domains();
}

void BPF_STRUCT_OPS(cacule_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(cacule_ops,
	       .select_cpu	= (void *)cacule_select_cpu,
	       .enqueue		= (void *)cacule_enqueue,
	       .dispatch	= (void *)cacule_dispatch,
	       .running		= (void *)cacule_running,
	       .tick		= (void *)cacule_tick,
	       .stopping	= (void *)cacule_stopping,
	       .quiescent	= (void *)cacule_quiescent,
	       .yield		= (void *)cacule_yield,
	       .init_task	= (void *)cacule_init_task,
	       .init		= (void *)cacule_init,
	       .exit		= (void *)cacule_exit,
	       .name		= "cacule");
