// SPDX-License-Identifier: GPL-2.0-only
/*
 * EEVDF's average, its pick, and sleepers that stay in the average.
 *
 * V is the weighted average of the vruntimes of a CPU's runnable tasks, and V - v a task's lag. V
 * is what an ideal CPU would have given to each task by now, and the lag v of a task is what it is
 * owed. Lag is kept while a task is away, and given back when it joins a queue again, on this CPU
 * or another.
 *
 * With W, the sum of the weights w, and S, the sum of all w * v, V is S / W. S is kept modulo 2^64.
 * That is no loss, because only differences from a vruntime near V are ever asked for, and S - W *
 * v, the sum of all w * (v_i - v), is small and so has a definite sign.
 */
#ifndef FAIRGROUND_EEVDF_QUEUE_H
#define FAIRGROUND_EEVDF_QUEUE_H

/* What BORE stores in addition. */
#ifndef OVERLAY_TASK_FIELDS
#define OVERLAY_TASK_FIELDS
#define OVERLAY_RUNNING_FIELDS
#endif

/*
 * A queued task has a vruntime and a deadline. A task that has left has its lag, its deadline
 * relative to its vruntime, its weight then, and its place among the sleepers.
 */
#define FAIR_TASK_FIELDS \
	u64 vruntime, deadline; \
	s64 vlag, rel_deadline; \
	u32 left_weight; \
	u32 place; \
	bool is_delayed; \
	OVERLAY_TASK_FIELDS

/*
 * The running task has a deadline, a slice, the slice in virtual time, and the vruntime until which
 * no task preempts it. `is_over` tells whether its slice was used up when it was last accounted
 * for.
 */
#define RUNNING_FIELDS \
	u64 deadline, slice, vslice, vprot; \
	bool is_over; \
	OVERLAY_RUNNING_FIELDS

#include "fair.h"

/* The sums W and S. */
struct sums {
	u64 weight;
	u64 weighted;
};

/* A CPU that pulls a task changes the sums of another CPU: both change together, or neither. */
struct average {
	struct bpf_spin_lock lock;
	struct sums sums;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct average);
} averages SEC(".maps");

/* The task that runs on each CPU. */
static struct running currs[MAX_CPUS];

/*
 * Adds a weight, and a weight times a vruntime; both may be negative. Returns the new sums
 * (`avg_vruntime_add`, `avg_vruntime_sub`).
 */
static inline struct sums avg_vruntime_add(u32 cpu, s64 weight, s64 weighted)
{
	struct average *average = bpf_map_lookup_elem(&averages, &cpu);
	struct sums sums = {};

	if (!average)
		return sums;
	bpf_spin_lock(&average->lock);
	sums.weight = average->sums.weight += weight;
	sums.weighted = average->sums.weighted += weighted;
	bpf_spin_unlock(&average->lock);
	return sums;
}

static inline struct sums average_sums(u32 cpu)
{
	return avg_vruntime_add(cpu, 0, 0);
}

/* Divides a signed number and rounds down: not every BPF instruction set can do it. */
static inline s64 divide_down(s64 number, u64 by)
{
	return number < 0 ? -(s64)((-number + by - 1) / by) : (s64)(number / by);
}

/* Returns a time in the virtual time of another weight (`rescale_slice`). */
static inline s64 rescale(s64 virtual_ns, u32 from, u32 to)
{
	return divide_down(virtual_ns * from, to);
}

/* Returns V, given a vruntime near it. V is rounded down, so that some task is always eligible. */
static inline u64 average_of(struct sums sums, u64 near)
{
	s64 distance = sums.weighted - sums.weight * near;

	return sums.weight ? near + divide_down(distance, sums.weight) : near;
}

/*
 * Tells whether a task with this vruntime has had no more than its share: v <= V, without a
 * division (`vruntime_eligible`).
 */
static inline bool vruntime_eligible(struct sums sums, u64 vruntime)
{
	return (s64)(sums.weighted - sums.weight * vruntime) >= 0;
}

/*
 * Returns a CPU's sums when its running task has reached this vruntime since it was last accounted
 * for.
 */
static __always_inline struct sums advanced(struct sums sums, u32 cpu, u64 vruntime)
{
	const struct running *curr = of_cpu(currs, cpu);

	if (curr->is_set)
		sums.weighted += curr->weight * (vruntime - curr->vruntime);
	return sums;
}

static inline struct sums sums_at(u32 cpu, u64 vruntime)
{
	return advanced(average_sums(cpu), cpu, vruntime);
}

/* Returns a CPU's sums at this moment. */
static inline struct sums live_sums(u32 cpu)
{
	return sums_at(cpu, live_vruntime(of_cpu(currs, cpu)));
}

/*
 * Returns V of a CPU when its running task was last accounted for. The vruntime of that task, or of
 * the one that ran last, is near it (`avg_vruntime`).
 */
static inline u64 avg_vruntime(u32 cpu)
{
	return average_of(average_sums(cpu), of_cpu(currs, cpu)->vruntime);
}

/* Returns a task's lag, bounded in both directions (`entity_lag`). */
static inline s64 entity_lag(const struct fair_task *task, struct sums sums, s64 limit)
{
	u64 near = of_cpu(currs, task->load.cpu)->vruntime;
	s64 lag = average_of(sums, near) - task->vruntime;

	return lag > limit ? limit : lag < -limit ? -limit : lag;
}

/*
 * Takes a queued task out of its CPU's average, and stores its lag and deadline
 * (`update_entity_lag`).
 */
static inline void leave_average(struct fair_task *task, struct sums sums, s64 limit)
{
	s64 weight = task->load.weight;

	task->vlag = entity_lag(task, sums, limit);
	task->rel_deadline = task->deadline - task->vruntime;
	task->left_weight = weight;
	avg_vruntime_add(task->load.cpu, -weight, -weight * (s64)task->vruntime);
	load_leave(&task->load);
}

/* Adds a task to a CPU's average at its vruntime. Returns the sums without what has run since. */
static __always_inline struct sums join_average(struct fair_task *task, u32 cpu, s64 weight)
{
	load_join(&task->load, cpu, weight);
	return avg_vruntime_add(cpu, weight, weight * (s64)task->vruntime);
}

/*
 * Rescales what is stored of a task whose weight has changed since it left: its lag in real time
 * stays (`reweight_entity`).
 */
static inline void reweight_entity(struct fair_task *task, s64 weight)
{
	if (!task->left_weight || task->left_weight == weight)
		return;
	task->vlag = divide_down(task->vlag * task->left_weight, weight);
	task->rel_deadline = divide_down(task->rel_deadline * task->left_weight, weight);
	task->left_weight = weight;
}

/*
 * Adds a task so that its lag is as before. Since the task moves V towards itself, it begins
 * further from V: at (W + w) / W times its lag. An empty queue owes nothing. Returns the sums
 * without what has run since (`place_entity`).
 */
static __always_inline struct sums join_with_lag(struct fair_task *task, u32 cpu, struct sums sums,
						 s64 weight, s64 vlag)
{
	if (sums.weight)
		vlag += divide_down(vlag * weight, sums.weight);
	else
		vlag = 0;
	task->vruntime = average_of(sums, of_cpu(currs, cpu)->vruntime) - vlag;
	return join_average(task, cpu, weight);
}

/* Begins the next slice if this one is used up. Returns whether it was (`update_deadline`). */
static inline bool update_deadline(struct running *curr, u64 vruntime)
{
	if (time_before(vruntime, curr->deadline))
		return false;
	curr->deadline = vruntime + curr->vslice;
	return true;
}

/*
 * Sleepers that stay in a CPU's average (delayed dequeue).
 *
 * A task that goes to sleep while it is not eligible stays in its CPU's average until it would be
 * picked. By then its debt is gone, so that no task gains by a short sleep. Meanwhile it affects
 * the average as if it waited.
 *
 * A CPU's sleepers are added under the lock of its run queue, but a wake-up on another CPU may take
 * one out: the CPU that takes the weight takes the sleeper.
 */
/* A CPU keeps no more sleepers than this; others leave at once. */
#define MAX_SLEEPERS 64

/* A sleeper in a CPU's average; `vlag` is its lag when it was taken out of there. */
struct sleeper {
	u64 vruntime, deadline;
	s64 vlag;
	u32 weight;
	s32 pid;
};

struct sleepers {
	struct sleeper places[MAX_SLEEPERS];
	/* How many tasks sleep, and how many places have been used since none slept. */
	u64 count, used;
};

static struct sleepers sleepers[MAX_CPUS];

static inline struct sleeper *sleeper_at(s32 cpu, u32 place)
{
	return &of_cpu(sleepers, cpu)->places[place & (MAX_SLEEPERS - 1)];
}

/* Returns how many tasks are in a CPU's average, runnable or asleep (`cfs_rq->nr_queued`). */
static inline u64 nr_queued_on(s32 cpu)
{
	return nr_running_on(cpu) + of_cpu(sleepers, cpu)->count;
}

/* Tells whether a task has stayed in its CPU's average since it went to sleep. */
static inline bool is_asleep_on(s32 cpu, const struct task_struct *p, const struct fair_task *task)
{
	const struct sleeper *sleeper = sleeper_at(cpu, task->place);

	return sleeper->pid == p->pid && sleeper->weight;
}

/* Keeps a task that goes to sleep in the average if there is a place (`set_delayed`). */
static inline bool set_delayed(const struct task_struct *p, struct fair_task *task)
{
	struct sleepers *all = of_cpu(sleepers, task->load.cpu);
	struct sleeper *sleeper;
	u32 place;

	if (!all->count)
		all->used = 0;
	bpf_for(place, 0, MAX_SLEEPERS) {
		sleeper = sleeper_at(task->load.cpu, place);
		if (place < all->used && sleeper->weight)
			continue;
		sleeper->vruntime = task->vruntime;
		sleeper->deadline = task->deadline;
		sleeper->pid = p->pid;
		sleeper->weight = task->load.weight;
		__sync_fetch_and_add(&all->count, 1ULL);
		if (place >= all->used)
			all->used = place + 1;
		task->place = place;
		task->rel_deadline = task->deadline - task->vruntime;
		task->left_weight = task->load.weight;
		load_leave(&task->load);
		return true;
	}
	return false;
}

/*
 * Frees a sleeper's place. Returns its weight in the average, 0 if the sleeper is not there
 * (`clear_delayed`).
 */
static inline s64 clear_delayed(struct sleeper *sleeper, s32 cpu)
{
	u32 weight = __sync_lock_test_and_set(&sleeper->weight, 0);

	if (weight)
		__sync_fetch_and_add(&of_cpu(sleepers, cpu)->count, -1ULL);
	return weight;
}

/* Takes a sleeper out of the average (`finish_delayed_dequeue_entity`). */
static inline void dismiss(struct sleeper *sleeper, s32 cpu, struct sums sums)
{
	s64 weight = clear_delayed(sleeper, cpu);

	if (!weight)
		return;
	sleeper->vlag = average_of(sums, sleeper->vruntime) - sleeper->vruntime;
	avg_vruntime_add(cpu, -weight, -weight * (s64)sleeper->vruntime);
}

/*
 * Returns the sleeper that would be picked: eligible, with the earliest deadline, and that before
 * `limit` if there is one.
 */
static __always_inline struct sleeper *next_sleeper(s32 cpu, struct sums sums, const u64 *limit)
{
	struct sleeper *sleeper, *found = NULL;
	struct sleepers *all = of_cpu(sleepers, cpu);
	u32 place;

	if (!all->count)
		return NULL;
	bpf_for(place, 0, all->used) {
		sleeper = sleeper_at(cpu, place);
		if (!sleeper->weight || !vruntime_eligible(sums, sleeper->vruntime) ||
		    (limit && !time_before(sleeper->deadline, *limit)) ||
		    (found && !time_before(sleeper->deadline, found->deadline)))
			continue;
		found = sleeper;
	}
	return found;
}

/*
 * Returns the pid of the eligible task with the earliest deadline, but of none with a later one
 * than `limit`; 0 if there is none. With `move` the task is moved to run here next, and 0 means
 * that another CPU was faster (`pick_eevdf`).
 */
static __always_inline s32 pick_eevdf(u32 cpu, struct sums sums, const u64 *limit, bool move)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(cpu);
	struct fair_task *task = p ? fair_task(p) : NULL;

	if (!task || (limit && time_before(*limit, p->scx.dsq_vtime)))
		return 0;
	if (vruntime_eligible(sums, task->vruntime))
		return !move || scx_bpf_dsq_move_to_local(cpu, 0) ? p->pid : 0;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (limit && time_before(*limit, p->scx.dsq_vtime))
			break;
		task = fair_task(p);
		if (task && vruntime_eligible(sums, task->vruntime))
			return !move || scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0) ?
			       p->pid : 0;
	}
	return 0;
}

/*
 * Takes the sleepers that would be picked before any waiting task out of the average. Returns the
 * sums that remain (`dequeue_entities` in `pick_next_entity`).
 */
static __always_inline struct sums dismiss_sleepers(u32 cpu, struct sums sums,
						    const struct running *curr)
{
	struct sleeper *sleeper;
	u64 deadline;
	u32 step;

	bpf_for(step, 0, MAX_SLEEPERS) {
		bool may_stay = curr && vruntime_eligible(sums, curr->vruntime);

		sleeper = next_sleeper(cpu, sums, may_stay ? &curr->deadline : NULL);
		if (!sleeper)
			break;
		deadline = sleeper->deadline;
		if (pick_eevdf(cpu, sums, &deadline, false))
			break;
		dismiss(sleeper, cpu, sums);
		sums = average_sums(cpu);
	}
	return sums;
}

#endif /* FAIRGROUND_EEVDF_QUEUE_H */
