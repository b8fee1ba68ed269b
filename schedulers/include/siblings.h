// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a new task knows of its siblings, in BORE: their average penalty, which the parent keeps for
 * its children, and the leader for its threads; and who tells it of a new penalty.
 */
#ifndef FAIRGROUND_SIBLINGS_H
#define FAIRGROUND_SIBLINGS_H

/* The average penalty of somebody's children, or, in BORE 5 and 6, what it was of late. */
static inline u64 average_penalty(struct offspring *offspring)
{
	u64 now = scx_bpf_now(), number = offspring->number;

	if (on_cfs || now - offspring->averaged_at > burst_cache_lifetime) {
		offspring->average = number ? offspring->sum / number : 0;
		offspring->averaged_at = now;
	}
	return offspring->average;
}

/* Who keeps a task's penalty for those who come after it; NULL if that has died. */
static inline struct fair_task *keeper_of(struct task_struct *p, const struct burst *burst)
{
	struct task_struct *keeper = p->pid == p->tgid ? p->real_parent : p->group_leader;

	return keeper && keeper->pid == burst->keeper ? fair_task(keeper) : NULL;
}

/* Its keeper learns of its penalty. */
static inline void tell(struct task_struct *p, struct burst *burst)
{
	struct fair_task *keeper = keeper_of(p, burst);

	if (!keeper || burst->told == burst->penalty)
		return;
	__sync_fetch_and_add(&keeper->burst.offspring.sum, burst->penalty - burst->told);
	burst->told = burst->penalty;
}

/* A new task begins with what its forker has, or its siblings have if that is more. */
static inline void inherit(struct task_struct *p, struct burst *burst)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	bool is_thread = p->pid != p->tgid;
	struct fair_task *parent = fair_task(forker);
	struct fair_task *keeper = is_thread ? fair_task(forker->group_leader) : parent;

	if (!parent || !keeper)
		return;
	burst->prev = most_of(parent->burst.prev, average_penalty(&keeper->burst.offspring));
	burst->keeper = is_thread ? forker->tgid : forker->pid;
	__sync_fetch_and_add(&keeper->burst.offspring.number, 1);
}

/* It is not there any more. */
static inline void disinherit(struct task_struct *p, const struct burst *burst)
{
	struct fair_task *keeper = keeper_of(p, burst);

	if (!keeper)
		return;
	__sync_fetch_and_add(&keeper->burst.offspring.sum, -burst->told);
	__sync_fetch_and_add(&keeper->burst.offspring.number, -1ULL);
}

/* `PF_KTHREAD` of `p->flags`. */
#define KERNEL_THREAD 0x200000

/* After its burst has changed. */
static inline void rescore(struct task_struct *p, struct burst *burst)
{
	bool is_excluded = burst_exclude_kthreads && !on_cfs && p->flags & KERNEL_THREAD;
	u32 score = burst->score;

	burst->current = penalty_of(burst->time);
	burst->penalty = is_excluded ? 0 : most_of(burst->prev, burst->current);
	burst->score = score_of(burst->penalty);
	if (burst->score != score)
		tell(p, burst);
}

/* It sleeps or yields. */
static inline void end_burst(struct task_struct *p, struct burst *burst)
{
	burst->prev = smoothed(burst->prev, burst->current);
	burst->time = 0;
	rescore(p, burst);
}

#endif /* FAIRGROUND_SIBLINGS_H */
