// SPDX-License-Identifier: GPL-2.0-only
/*
 * bore_cfs: The Burst-Oriented Response Enhancer on CFS, BORE 1.
 *
 * Idea: The longer a task has run since it last slept, the greedier it is. Its score is the
 *       logarithm of that time. Each point makes its vruntime grow faster, by one nice level. New
 *       tasks begin with the average of their siblings.
 * Good at: Interactive tasks among hogs, by fair means: they gain 8 to 16 nice levels.
 * Bad at: Fairness by nice value: a hog that has run for 10 s gets 3 to 6 % next to a fresh task of
 *         the same nice value. Waking up among hogs: with a granularity of 4.8 ms few tasks
 *         preempt.
 * Origin: Masahito Suzuki, 2022 and 2023: BORE 1.7.14, a patch for Linux 6.2.
 * Family: 2021, Masahito Suzuki; after cfs
 * Queue: As cfs: by vruntime; O(log n) to enqueue.
 * Slice: As cfs, with a latency of 12.8 ms.
 * Wake-up: As cfs, with a granularity of 4.8 ms.
 * Balancing: As cfs; a task's score does not change its weight.
 * Differs: As cfs does. Only the parent averages the penalties of processes, and only the leader
 *          those of threads. A task that waits for a futex has no privilege. Control groups are
 *          missing.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* Scores count (1), and they count for the granularity of wake-ups, too (2). */
const volatile u32 sched_bore = 1;
/* A burst that is longer than 2^(this - 1) ns is penalised. */
const volatile s64 burst_penalty_offset = 12;
/* 1,024 times the score of each doubling of a burst. */
const volatile s64 burst_penalty_scale = 1280;
/* A burst moves the stored one by 1 / 2^this of the difference. */
const volatile s64 burst_smoothness = 2;
/* New tasks begin with the average of their siblings. */
const volatile bool burst_inherits = true;
/* What BORE 1 changes of CFS. */
const volatile s64 sched_latency_ns = 12800000, sched_min_granularity_ns = 1600000;
const volatile s64 sched_wakeup_granularity_ns = 4800000;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

UEI_DEFINE(uei);

/* BORE 1.7.14 on the CFS of Linux 6.2, with the knobs that later versions have added. */
#define version 10714
#define era 60200
#define burst_smoothness_short 0
#define burst_inherit_type 1
#define burst_cache_lifetime_ns 0
#define burst_exclude_kthreads false
#define burst_parity_threshold 0
#define deadline_boost_mask 0

#include "include/burst.h"

/* What BORE asks of CFS. */
#define OVERLAY
#define OVERLAY_FUNCTIONS
#define sched_idle_min_granularity_ns 750000
#define sched_child_runs_first (-1)
#define start_debit true
#define base_slice true
#define last_buddy true
#define next_buddy false
/* Sleepers have their whole credit, and no constant grows with the CPUs. */
#define gentle_fair_sleepers false
#define sched_tunable_scaling 0
/* BORE stores a task's burst, and a score changes what time costs the running task. */
#define FAIR_TASK_FIELDS struct burst burst;
#define RUNNING_FIELDS u32 score;
#define RUNNING_PRICE(running, virtual_ns) scale_slice((running)->score, virtual_ns)

static inline u64 scale_slice(u32 score, u64 virtual_ns);

/* A score would change what a task's group gets, not only what the task gets of that. */
#define WITHOUT_GROUPS

#include "cfs.bpf.c"

/* Returns a task's burst; NULL for a task that is not ours (`se->burst_time` and what follows). */
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

/* Returns the virtual time that passes at a score; 20 is neutral (`__scale_slice`). */
static inline u64 scale_slice(u32 score, u64 virtual_ns)
{
	u64 factor = nice_inverse_weights[least_of(score, MAX_SCORE)];

	if (!(sched_bore & 1))
		return virtual_ns;
	return virtual_ns >> 32 ? (virtual_ns >> 22) * factor : virtual_ns * factor >> 22;
}

/* Returns the granularity, scaled by the score if that is wanted (`wakeup_gran`). */
static inline s64 wakeup_gran(struct task_struct *p)
{
	u64 virtual_ns = virtual_time(p, wakeup_granularity);
	struct burst *burst = sched_bore & 2 ? burst_of(p) : NULL;

	return burst ? scale_slice(burst->score, virtual_ns) : virtual_ns;
}

/*
 * Scores the running task, before CFS accounts for what it has run (`update_burst_score` in
 * `update_curr`).
 */
static inline void update_curr_bore(struct task_struct *p)
{
	struct running *curr = &of_cpu(queues, scx_bpf_task_cpu(p))->curr;
	u64 ran_ns = p->se.sum_exec_runtime - curr->sum_exec;
	struct burst *burst = ran_ns ? burst_of(p) : NULL;

	if (!burst)
		return;
	burst->time += ran_ns;
	update_penalty(p, burst);
	curr->score = burst->score;
}

s32 BPF_STRUCT_OPS(bore_cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_task_rq_fair(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(bore_cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task_fair(p, enq_flags);
}

void BPF_STRUCT_OPS(bore_cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	if (could_go_on(prev))
		update_curr_bore(prev);
	pick_next_task_fair(cpu, prev);
}

void BPF_STRUCT_OPS(bore_cfs_running, struct task_struct *p)
{
	struct burst *burst = burst_of(p);

	set_next_task_fair(p);
	if (burst)
		of_cpu(queues, scx_bpf_task_cpu(p))->curr.score = burst->score;
}

void BPF_STRUCT_OPS(bore_cfs_tick, struct task_struct *p)
{
	update_curr_bore(p);
	task_tick_fair(p);
}

void BPF_STRUCT_OPS(bore_cfs_stopping, struct task_struct *p, bool runnable)
{
	update_curr_bore(p);
	put_prev_task_fair(p, runnable);
}

void BPF_STRUCT_OPS(bore_cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct burst *burst = deq_flags & SCX_DEQ_SLEEP ? burst_of(p) : NULL;

	dequeue_task_fair(p);
	if (burst)
		restart_burst(p, burst);
}

bool BPF_STRUCT_OPS(bore_cfs_yield, struct task_struct *from, struct task_struct *to)
{
	struct burst *burst = burst_of(from);
	bool yields = yield_task_fair(from);

	if (burst)
		restart_burst(from, burst);
	return yields;
}

s32 BPF_STRUCT_OPS(bore_cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = make_fair_task(p, args->fork);
	struct burst *burst = burst_of(p);

	if (burst)
		begin_burst(p, burst, args->fork, burst_inherits);
	return err;
}

void BPF_STRUCT_OPS(bore_cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct burst *burst = burst_of(p);

	if (burst)
		leave_keeper(p, burst);
}

void BPF_STRUCT_OPS(bore_cfs_enable, struct task_struct *p)
{
	task_fork_fair(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bore_cfs_init)
{
	return init_sched_fair_class();
}

void BPF_STRUCT_OPS(bore_cfs_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(bore_cfs_ops,
	       .select_cpu	= (void *)bore_cfs_select_cpu,
	       .enqueue		= (void *)bore_cfs_enqueue,
	       .dispatch	= (void *)bore_cfs_dispatch,
	       .running		= (void *)bore_cfs_running,
	       .tick		= (void *)bore_cfs_tick,
	       .stopping	= (void *)bore_cfs_stopping,
	       .quiescent	= (void *)bore_cfs_quiescent,
	       .yield		= (void *)bore_cfs_yield,
	       .init_task	= (void *)bore_cfs_init_task,
	       .exit_task	= (void *)bore_cfs_exit_task,
	       .enable		= (void *)bore_cfs_enable,
	       .init		= (void *)bore_cfs_init,
	       .exit		= (void *)bore_cfs_exit,
	       .name		= "bore_cfs");
