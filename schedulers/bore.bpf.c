// SPDX-License-Identifier: GPL-2.0-only
/*
 * bore: The Burst-Oriented Response Enhancer on EEVDF, BORE 5 and 6.
 *
 * Idea: The longer a task has run since it last slept, the greedier it is. Its score is the
 *       logarithm of that time. Each point counts as one nice level and lowers the task's weight.
 *       New tasks begin with the average of their siblings.
 * Good at: Interactive tasks among hogs, by fair means: they gain 8 to 16 nice levels.
 * Bad at: Fairness by nice value: a hog that has run for 10 s gets 3 to 6 % next to a fresh task of
 *         the same nice value.
 * Origin: Masahito Suzuki, patches since 2021: 5.9.6 for Linux 6.14, 6.7.3 for Linux 6.19.
 * Family: 2023, Masahito Suzuki; after bore_cfs, eevdf
 * Queue: As eevdf: by deadline; O(log n) to enqueue.
 * Slice: As eevdf, but whole ticks, 2 ms at least.
 * Wake-up: As eevdf; in 6.7 a lower penalty preempts as a shorter slice does.
 * Balancing: As eevdf; a task's score changes its weight.
 * Differs: As eevdf. BORE 6.7 runs on the EEVDF of Linux 7.x; `base_era=61200` is its patch for
 *          6.12. An average counts all tasks, not only 63, with the penalties that they had when
 *          their scores last changed. In 5.9.6, a child that itself has several children counts
 *          once, instead of its children. A task that is woken from a futex has no privilege.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* The BORE version: 50906 and 60703 are 5.9.6 and 6.7.3. BORE 1 is bore_cfs. */
const volatile u32 version = 60703;
/* The `era` of the EEVDF beneath. 0 is that of the version, 61400 or 70000. */
const volatile u32 base_era = 0;
/* Scores count. */
const volatile u32 sched_bore = 1;
/* A burst that is longer than 2^(this - 1) ns is penalised. */
const volatile s64 burst_penalty_offset = 24;
/* 1,024 times the score of each doubling of a burst. -1 is that of the version, 1280 or 1536. */
const volatile s64 burst_penalty_scale = -1;
/* A longer burst raises the stored one by 1 / 2^this of the difference. */
const volatile s64 burst_smoothness = 1;
/* A shorter burst lowers the stored one by 1 / 2^this of the difference. */
const volatile u32 burst_smoothness_short = 0;
/*
 * What a new process begins with: nothing (0, only in BORE 6), the average of its parent's children
 * (1), or that of the next ancestor that has several children (2).
 */
const volatile u32 burst_inherit_type = 2;
/* An average that is older than this is calculated again. */
const volatile u64 burst_cache_lifetime_ns = 75000000;
/* Kernel threads have no score. */
const volatile bool burst_exclude_kthreads = true;
/* BORE 5: With more tasks than this on a CPU, no slice is protected until its end. */
const volatile u32 burst_parity_threshold = 2;
/* BORE 5: A new task (1) and a woken one (2) have half a slice until their deadline. */
const volatile u32 deadline_boost_mask = 3;
/* No slice is shorter than this. */
const volatile u64 min_base_slice_ns = 2000000;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

UEI_DEFINE(uei);

/* EEVDF reads this as its `era`. */
#define era (base_era ?: base_of_version())

#include "include/burst.h"

/* What BORE asks of EEVDF. */
#define OVERLAY
#define OVERLAY_FUNCTIONS
#define base_slice_ns (-1)
#define place_lag true
#define place_deadline_initial true
#define place_rel_deadline true
#define run_to_parity true
#define preempt_short true
#define delay_dequeue true
#define delay_zero true
#define hrtick 0
#define cgroup_mode (-1)
/* Slices do not grow with the number of CPUs. */
#define sched_tunable_scaling 0
/* BORE stores a task's burst, and a task's score changes its row in the tables of weights. */
#define OVERLAY_TASK_FIELDS struct burst burst;
#define OVERLAY_RUNNING_FIELDS u64 penalty;
#define WEIGHT_INDEX(p, task) effective_index(p, task)

struct fair_task;
static inline u32 effective_index(const struct task_struct *p, const struct fair_task *task);

#include "eevdf.bpf.c"

/* Returns a task's burst; NULL for a task that is not ours (`p->bore`). */
static inline struct burst *burst_of(struct task_struct *p)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return NULL;
	/*
	 * Without this the compiler adds the offset before the check, which the verifier refuses.
	 */
	barrier_var(task);
	return &task->burst;
}

/* Returns the sum of nice level and score, 0 to 39 (`effective_prio_bore`). */
static inline u32 effective_index(const struct task_struct *p, const struct fair_task *task)
{
	u32 score = task && sched_bore ? task->burst.score : 0;

	return least_of(nice_index(p) + score, NICE_LEVELS - 1);
}

/* Returns how often the limit of lag is halved (`entity_lag`). */
static inline u32 lag_shift(void)
{
	return sched_bore && halves_lag_limit();
}

/*
 * Tells whether a task has half a slice: a new one has, and a woken one may have (`place_entity`).
 */
static inline bool has_half_slice(const struct fair_task *task, enum join join)
{
	if (task->is_new)
		return !sched_bore || deadline_boosts() & 1;
	return join == JOIN_WOKEN && sched_bore && deadline_boosts() & 2;
}

/*
 * Tells whether a CPU protects slices; a crowded one may not (`sched_burst_parity_threshold` in
 * `pick_eevdf`).
 */
static inline bool may_protect(u32 cpu)
{
	return !sched_bore || nr_queued_on(cpu) <= parity_threshold();
}

/* Tells whether a woken task has been less greedy than the running one (`do_preempt_short`). */
static inline bool has_lower_penalty(const struct fair_task *task, const struct running *curr)
{
	return sched_bore && task->burst.penalty < curr->penalty;
}

/*
 * Tells whether a task with a lower penalty preempts as one with a shorter slice does
 * (`do_preempt_short`).
 */
static inline bool counts_as_short(const struct fair_task *task, const struct running *curr)
{
	return penalty_counts_as_slice() && has_lower_penalty(task, curr);
}

/*
 * Tells whether a task with a lower penalty only makes the CPU choose again (`PREEMPT_SHORT_BORE`).
 */
static inline bool forces_choice(const struct fair_task *task, const struct running *curr)
{
	return penalty_forces_choice() && has_lower_penalty(task, curr);
}

/* Tells whether a sleeper keeps the lag with which it left (`requeue_delayed_entity`). */
static inline bool keeps_credit(void)
{
	return sched_bore && sleepers_keep_lag();
}

/* Gives the running task the weight of its score (`reweight_entity`). */
static inline void reweight_curr(struct task_struct *p, struct fair_task *task,
				 struct running *curr)
{
	curr->penalty = task->burst.penalty;
	reweight_running(p, task, curr);
}

/* Lengthens the burst of the running task (`update_curr_bore`). */
static inline void lengthen_burst(struct task_struct *p, struct fair_task *task,
				  struct running *curr, u64 ran_ns)
{
	task = task ?: fair_task(p);
	if (!task)
		return;
	task->burst.time += ran_ns;
	update_penalty(p, &task->burst);
	reweight_curr(p, task, curr);
}

/* Applies the new weight to what has just run, as BORE 5 does (`update_curr`). */
static inline void update_curr_first(struct task_struct *p, struct fair_task *task,
				     struct running *curr, u64 ran_ns)
{
	if (scores_before_accounting())
		lengthen_burst(p, task, curr, ran_ns);
}

/* Applies the new weight only to what runs from now on, as BORE 6 does (`update_curr`). */
static inline void update_curr_more(struct task_struct *p, struct fair_task *task,
				    struct running *curr, u64 ran_ns)
{
	if (!scores_before_accounting())
		lengthen_burst(p, task, curr, ran_ns);
}

s32 BPF_STRUCT_OPS(bore_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_task_rq_fair(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(bore_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task_fair(p, enq_flags);
}

void BPF_STRUCT_OPS(bore_dispatch, s32 cpu, struct task_struct *prev)
{
	pick_next_task_fair(cpu, prev);
}

void BPF_STRUCT_OPS(bore_running, struct task_struct *p)
{
	struct burst *burst = burst_of(p);

	set_next_task_fair(p);
	if (burst)
		of_cpu(currs, scx_bpf_task_cpu(p))->penalty = burst->penalty;
}

void BPF_STRUCT_OPS(bore_tick, struct task_struct *p)
{
	task_tick_fair(p);
}

void BPF_STRUCT_OPS(bore_stopping, struct task_struct *p, bool runnable)
{
	put_prev_task_fair(p, runnable);
}

/* A burst ends before the task leaves the queue (`restart_burst_bore` in `dequeue_task_fair`). */
void BPF_STRUCT_OPS(bore_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = deq_flags & SCX_DEQ_SLEEP ? fair_task(p) : NULL;

	if (task) {
		restart_burst(p, &task->burst);
		reweight_queued(p, task, &task->vruntime, &task->deadline);
	}
	dequeue_task_fair(p, deq_flags);
}

/* Yielding also ends the burst (`restart_burst_rescale_deadline_bore` in `yield_task_fair`). */
bool BPF_STRUCT_OPS(bore_yield, struct task_struct *from, struct task_struct *to)
{
	s32 cpu = scx_bpf_task_cpu(from);
	struct fair_task *task = fair_task(from);
	bool yields = yield_task_fair(from);

	if (task) {
		restart_burst(from, &task->burst);
		reweight_curr(from, task, of_cpu(currs, cpu));
	}
	return yields;
}

/* Makes a new task inherit a penalty (`task_fork_bore`). */
static inline s32 task_fork_bore(struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = make_grouped_task(p, args);
	struct burst *burst = burst_of(p);

	if (burst)
		begin_burst(p, burst, args->fork, processes_inherit() || is_thread(p));
	return err;
}

s32 BPF_STRUCT_OPS(bore_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return task_fork_bore(p, args);
}

void BPF_STRUCT_OPS(bore_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct burst *burst = burst_of(p);

	if (burst)
		leave_keeper(p, burst);
}

/*
 * A task that comes from another class begins anew (`reset_task_bore` in `switched_to_fair`). A
 * forked one gets its vruntime when it is queued first, by `place_entity()`.
 */
void BPF_STRUCT_OPS(bore_enable, struct task_struct *p)
{
	struct fair_task *task = fair_task(p);

	if (!task || task->is_new)
		return;
	task->burst.time = task->burst.prev = 0;
	update_penalty(p, &task->burst);
}

/* Slices are whole ticks, at least as long as the least slice (`sched_update_min_base_slice`). */
s32 BPF_STRUCT_OPS_SLEEPABLE(bore_init)
{
	u64 ticks = (min_base_slice_ns + TICK_NS - 1) / TICK_NS;
	s32 err = init_sched_fair_class();

	if (is_on_cfs) {
		scx_bpf_error("BORE %u is on CFS: load bore_cfs instead of bore", version);
		return -EINVAL;
	}
	default_slice = least_slice = (ticks ?: 1) * TICK_NS;
	return err;
}

void BPF_STRUCT_OPS(bore_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(bore_ops,
	       .select_cpu	= (void *)bore_select_cpu,
	       .enqueue		= (void *)bore_enqueue,
	       .dispatch	= (void *)bore_dispatch,
	       .running		= (void *)bore_running,
	       .tick		= (void *)bore_tick,
	       .stopping	= (void *)bore_stopping,
	       .quiescent	= (void *)bore_quiescent,
	       .yield		= (void *)bore_yield,
	       .init_task	= (void *)bore_init_task,
	       .exit_task	= (void *)bore_exit_task,
	       GROUP_CALLBACKS,
	       .flags		= SCX_OPS_ENQ_LAST,
	       .enable		= (void *)bore_enable,
	       .init		= (void *)bore_init,
	       .exit		= (void *)bore_exit,
	       .name		= "bore");
