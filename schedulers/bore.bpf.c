// SPDX-License-Identifier: GPL-2.0-only
/*
 * bore: The Burst-Oriented Response Enhancer, on CFS (BORE 1) or EEVDF (5, 6).
 *
 * Idea: The longer a task has run since it last slept, the greedier it is. The logarithm of that
 *       time is its score, each step of which counts as a nice level: in BORE 1 its vruntime grows
 *       faster, later its weight becomes less. Children begin with their siblings' average.
 * Good at: Interactive tasks among hogs, by fair means: they gain 8 to 16 nice levels.
 * Bad at: Fairness by nice value: a hog of 10 s has 3 to 6 % beside a fresh task of its nice value.
 * Origin: Masahito Suzuki, since 2021: 1.7.14 on Linux 6.2, 5.9.6 on 6.14, 6.7.3 on 6.19.
 * Family: 2021, Masahito Suzuki; after cfs
 * Queue: That of CFS, by vruntime, or of EEVDF, by deadline; O(log n) to enqueue.
 * Slice: That of CFS with 12.8 ms of latency, or of EEVDF: whole ticks, 2 ms at least.
 * Wake-up: As CFS and EEVDF; in 6.7 a lower penalty preempts as a shorter slice does.
 * Balancing: As cfs and eevdf: a CPU without work takes a task of the busiest.
 * Differs: As cfs and eevdf do; 6.7 stands on 7.x. Of ancestors only the parent, of threads the
 *          leader averages penalties. Who waits for a futex has no privilege.
 */
#include <scx/common.bpf.h>
#include "include/exit.h"

char _license[] SEC("license") = "GPL";

/* Which BORE: 10714, 50906 and 60703 stand for 1.7.14, 5.9.6 and 6.7.3. */
const volatile u32 version = 60703;
/* Scores count (1); and, with BORE 1, for the granularity of wake-ups, too (2). */
const volatile u32 sched_bore = 1;
/* From 2^(this - 1) ns on a burst is penalised; -1 is the version's, 12 or 24. */
const volatile s64 burst_penalty_offset = -1;
/* 1,024 times the score for each doubling; -1 is the version's, 1280 or 1536. */
const volatile s64 burst_penalty_scale = -1;
/* A burst counts as 1 / 2^this of what is remembered; -1 is the version's, 2 or 1. */
const volatile s64 burst_smoothness = -1;
/* The same when it was a shorter one than those before; from BORE 5 on. */
const volatile u32 burst_smoothness_short = 0;
/* New tasks begin with what their siblings have, no older than this. */
const volatile bool burst_inherits = true;
const volatile u64 burst_cache_lifetime = 75000000;
/* Kernel threads have no score, from BORE 5 on. */
const volatile bool burst_exclude_kthreads = true;
/* BORE 5: With more tasks than this on a CPU, nobody is protected until the end of its slice. */
const volatile u32 burst_parity_threshold = 2;
/* BORE 5: Who is new (1) and who wakes up (2) has half a slice until its deadline. */
const volatile u32 deadline_boost_mask = 3;
/* No slice is shorter, from BORE 5 on; and what BORE 1 changes of CFS. */
const volatile u64 min_base_slice_ns = 2000000;
const volatile s64 sched_latency_ns = 12800000, sched_min_granularity_ns = 1600000;
const volatile s64 sched_wakeup_granularity_ns = 4800000;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

#define on_cfs (version < 40000)
#define constant_of(knob, on_1, on_5, on_6) \
	((u64)((knob) >= 0 ? (knob) : on_cfs ? (on_1) : version < 60000 ? (on_5) : (on_6)))
#define penalty_offset constant_of(burst_penalty_offset, 12, 24, 24)
#define penalty_scale constant_of(burst_penalty_scale, 1280, 1280, 1536)
#define smoothness constant_of(burst_smoothness, 2, 1, 1)

/* What BORE changes of CFS and EEVDF. */
struct running;
struct fair_task;
struct burst;
static inline u32 scored_index(const struct task_struct *p);
static inline u32 index_with(const struct task_struct *p, const struct burst *burst);
static inline void count_run(struct running *curr, struct task_struct *p, u64 ran_ns);
static inline void reweight_curr(struct task_struct *p, struct fair_task *task,
				 struct running *curr, u32 cpu, u64 ran_ns);
static inline u64 price(u32 score, u64 virtual_ns);
static inline u64 granularity(struct task_struct *p, u64 virtual_ns);
static inline void end_burst(struct task_struct *p, struct burst *burst);

#define OVERLAY
#define era (on_cfs ? 60200 : version < 60000 ? 61400 : 70000)
#define gentle_fair_sleepers false
#define sched_tunable_scaling 0
#define OVERLAY_TASK struct burst burst;
#define OVERLAY_RUNNING u64 penalty; u32 score;
#define WEIGHT_INDEX(p) scored_index(p)
#define WEIGHT_INDEX_WITH(p, task) index_with(p, &(task)->burst)
#define COUNT_RUN count_run
#define PRICE(running, virtual_ns) price((running)->score, virtual_ns)
#define GRANULARITY granularity
#define BEGINS(running, task) \
	((running)->score = (task)->burst.score, (running)->penalty = (task)->burst.penalty)
#define SLEEPS(p, task) end_burst(p, &(task)->burst)
#define ACCOUNTED reweight_curr
#define ACCOUNTED_TASK(p) fair_task(p)
#define LAG_SHIFT (version < 60000)
#define HAS_HALF_SLICE(task, is_woken) \
	((task)->is_new ? version >= 60000 || deadline_boost_mask & 1 : \
			  (is_woken) && version < 60000 && deadline_boost_mask & 2)
#define IS_PROTECTED(cpu) \
	(version >= 60000 || of_cpu(loads, cpu)->nr_running <= burst_parity_threshold)
#define IS_SHORTER(task, running) \
	(version >= 60000 && sched_bore && (task)->burst.penalty < (running)->penalty)

#include "include/burst.h"
#include "eevdf.bpf.c"
#include "cfs.bpf.c"

/* BORE 5 and 6: The row of the table of weights, as many nice levels further as the score. */
static inline u32 index_with(const struct task_struct *p, const struct burst *burst)
{
	u32 score = !on_cfs && sched_bore ? burst->score : 0;

	return least_of(nice_index(p) + score, NICE_LEVELS - 1);
}

static inline u32 scored_index(const struct task_struct *p)
{
	struct fair_task *task = on_cfs ? NULL : fair_task((struct task_struct *)p);

	return task ? index_with(p, &task->burst) : nice_index(p);
}

/* BORE 1: The time that passes for a score; 20 is neutral. */
static inline u64 price(u32 score, u64 virtual_ns)
{
	u64 factor = nice_inverse_weights[least_of(score, MAX_SCORE)];

	if (!on_cfs || !(sched_bore & 1))
		return virtual_ns;
	return virtual_ns >> 32 ? (virtual_ns >> 22) * factor : virtual_ns * factor >> 22;
}

static inline u64 granularity(struct task_struct *p, u64 virtual_ns)
{
	struct fair_task *task = sched_bore & 2 ? fair_task(p) : NULL;

	return task ? price(task->burst.score, virtual_ns) : virtual_ns;
}

#include "include/siblings.h"

/* BORE 1: The running task is scored. */
static inline void count_run(struct running *curr, struct task_struct *p, u64 ran_ns)
{
	struct fair_task *task = on_cfs ? fair_task(p) : NULL;

	if (!task)
		return;
	task->burst.time += ran_ns;
	rescore(p, &task->burst);
	curr->score = task->burst.score;
}

/* A time in another weight's virtual time. */
static inline s64 reweighted(s64 virtual_ns, u32 from, u32 to)
{
	return divide_down(virtual_ns * from, to);
}

/* BORE 5 and 6: The running task gets the weight of its score. Its lag in real time stays. */
static inline void apply_score(struct task_struct *p, struct fair_task *task,
			       struct running *curr, u32 cpu)
{
	s64 old = task->load.weight, new = fair_weight(p, task);
	u64 average, old_vruntime = curr->vruntime;

	curr->penalty = task->burst.penalty;
	if (!old || old == new)
		return;
	average = avg_vruntime(cpu);
	curr->vruntime = average - reweighted(average - old_vruntime, old, new);
	curr->deadline = curr->vruntime + reweighted(curr->deadline - old_vruntime, old, new);
	curr->vprot = curr->vruntime + reweighted(curr->vprot - old_vruntime, old, new);
	curr->weight = new;
	curr->inverse_weight = inverse_weight_at(p, index_with(p, &task->burst));
	curr->vslice = virtual_time_at(curr->inverse_weight, curr->slice);
	average_add(cpu, new - old, new * curr->vruntime - old * old_vruntime);
	load_join(&task->load, cpu, new);
}

static inline void reweight_curr(struct task_struct *p, struct fair_task *task,
				 struct running *curr, u32 cpu, u64 ran_ns)
{
	if (!task)
		return;
	task->burst.time += ran_ns;
	rescore(p, &task->burst);
	apply_score(p, task, curr, cpu);
}

s32 BPF_STRUCT_OPS(bore_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_fair_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(bore_enqueue, struct task_struct *p, u64 enq_flags)
{
	on_cfs ? cfs_enqueue(p, enq_flags) : eevdf_enqueue(p, enq_flags);
}

void BPF_STRUCT_OPS(bore_dispatch, s32 cpu, struct task_struct *prev)
{
	on_cfs ? cfs_dispatch(cpu, prev) : eevdf_dispatch(cpu, prev);
}

void BPF_STRUCT_OPS(bore_running, struct task_struct *p)
{
	on_cfs ? cfs_running(p) : eevdf_running(p);
}

void BPF_STRUCT_OPS(bore_tick, struct task_struct *p)
{
	on_cfs ? cfs_tick(p) : eevdf_tick(p);
}

void BPF_STRUCT_OPS(bore_stopping, struct task_struct *p, bool runnable)
{
	on_cfs ? cfs_stopping(p, runnable) : eevdf_stopping(p, runnable);
}

void BPF_STRUCT_OPS(bore_quiescent, struct task_struct *p, u64 deq_flags)
{
	on_cfs ? cfs_quiescent(p, deq_flags) : eevdf_quiescent(p, deq_flags);
}

bool BPF_STRUCT_OPS(bore_yield, struct task_struct *from, struct task_struct *to)
{
	s32 cpu = scx_bpf_task_cpu(from);
	struct fair_task *task = fair_task(from);
	bool yields = on_cfs ? cfs_yield(from, to) : eevdf_yield(from, to);

	if (task)
		end_burst(from, &task->burst);
	if (task && !on_cfs)
		apply_score(from, task, of_cpu(currs, cpu), cpu);
	return yields;
}

s32 BPF_STRUCT_OPS(bore_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = make_fair_task(p, args->fork);
	struct fair_task *task = fair_task(p);

	if (task && args->fork && burst_inherits) {
		inherit(p, &task->burst);
		rescore(p, &task->burst);
	}
	return err;
}

void BPF_STRUCT_OPS(bore_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct fair_task *task = fair_task(p);

	if (task)
		disinherit(p, &task->burst);
}

void BPF_STRUCT_OPS(bore_enable, struct task_struct *p)
{
	if (on_cfs)
		cfs_enable(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bore_init)
{
	u64 ticks = (min_base_slice_ns + TICK_NS - 1) / TICK_NS;
	s32 err = on_cfs ? cfs_init() : eevdf_init();

	default_slice = least_slice = (ticks ?: 1) * TICK_NS;
	return err;
}

SCX_OPS_DEFINE(bore,
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
	       .enable		= (void *)bore_enable,
	       .init		= (void *)bore_init,
	       .exit		= (void *)record_exit,
	       .name		= "bore");
