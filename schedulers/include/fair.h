// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fair class of Linux: vruntime accounting, placement and pulling.
 *
 * What is stored of a task, and of the task that runs on each CPU, is written and read under the
 * lock of the CPU's run queue, which callbacks hold. A scheduler that needs more defines, before it
 * includes this, FAIR_TASK_FIELDS and RUNNING_FIELDS (additional fields of the two structures),
 * WEIGHT_INDEX and RUNNING_PRICE.
 *
 * Linux places and pulls tasks by load averages and scheduling domains. Here the weights that are
 * runnable now replace the averages, and sched_ext's search for idle CPUs, which knows caches and
 * cores, replaces the domains.
 */
#ifndef FAIRGROUND_FAIR_H
#define FAIRGROUND_FAIR_H

#include "groups.h"

#ifndef FAIR_TASK_FIELDS
#define FAIR_TASK_FIELDS
#endif
#ifndef RUNNING_FIELDS
#define RUNNING_FIELDS
#endif

/* A task's row in the tables of weights. `task`, its `struct fair_task`, may be NULL. */
#ifndef WEIGHT_INDEX
#define WEIGHT_INDEX(p, task) nice_index(p)
#endif

/* Scales the virtual time that the running task is charged. */
#ifndef RUNNING_PRICE
#define RUNNING_PRICE(running, virtual_ns) (virtual_ns)
#endif

/* What is stored of a task. The scheduler itself keeps its vruntime. */
struct fair_task {
	struct load_member load;
	struct group_member member;
	/* The task is forked and not yet queued. */
	bool is_new;
	FAIR_TASK_FIELDS
};

TASK_STORAGE(fair_tasks, struct fair_task);

/* Not NULL for a task that `make_fair_task()` has made, but the verifier wants to see a check. */
#define fair_task(p) bpf_task_storage_get(&fair_tasks, p, 0, 0)

/* Returns the later of two virtual times, which may wrap. */
static inline u64 later_of(u64 a, u64 b)
{
	return time_before(a, b) ? b : a;
}

static inline u64 earlier_of(u64 a, u64 b)
{
	return time_before(a, b) ? a : b;
}

/* Handles `ops.init_task`: stores what `fair_task()` returns. */
static inline s32 make_fair_task(struct task_struct *p, bool is_new)
{
	struct fair_task *task = bpf_task_storage_get(&fair_tasks, p, 0,
						      BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return -ENOMEM;
	task->is_new = is_new;
	return 0;
}

/* Handles `ops.enable`: the task belongs to this CPU. Returns whether it has just been forked. */
static inline bool begin_on(struct task_struct *p, s32 cpu)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return false;
	task->load.cpu = cpu;
	return task->is_new;
}

/* Returns what is stored of a task if its weight depends on groups, else NULL. */
static inline struct fair_task *grouped_task(const struct task_struct *p)
{
	return has_groups ? fair_task((struct task_struct *)p) : NULL;
}

/* Returns a task's weight, among those of all groups if there are groups. */
static inline u32 fair_weight(const struct task_struct *p, const struct fair_task *task)
{
	u32 weight = weight_at(p, WEIGHT_INDEX(p, task));

	if (!has_groups)
		return weight;
	return part_of(task ? task->member.group : 0, scx_bpf_task_cpu(p), weight,
		       task && !task->member.weight);
}

static inline u64 fair_inverse_weight(const struct task_struct *p, const struct fair_task *task)
{
	if (has_groups)
		return inverse_part(fair_weight(p, task));
	return inverse_weight_at(p, WEIGHT_INDEX(p, task));
}

/* Returns real time in a task's virtual time. */
static inline u64 fair_time(const struct task_struct *p, const struct fair_task *task, u64 real_ns)
{
	return virtual_time_at(fair_inverse_weight(p, task), real_ns);
}

/* Puts a task into the group of its session. `sessions.h` has it. */
static inline void follow_session(const struct task_struct *p, struct group_member *member);

/* Counts a runnable task in its group. */
static inline void count_in_group(const struct task_struct *p, struct fair_task *task)
{
	follow_session(p, &task->member);
	if (has_groups)
		join_group(&task->member, scx_bpf_task_cpu(p), weight_at(p, WEIGHT_INDEX(p, task)));
}

/* Tells whether a task gives way to all others: it or its group is idle (`se_is_idle`). */
static inline bool gives_way_to_all(const struct task_struct *p, const struct fair_task *task)
{
	return has_idle_policy(p) || (has_groups && task && is_in_idle_group(task->member.group));
}

/* The task that runs on a CPU. */
struct running {
	/* The task's vruntime when it was last accounted for, and when that was. */
	u64 vruntime;
	u64 since;
	/* The CPU time that its vruntime accounts for, and its CPU time when it was picked. */
	u64 sum_exec, prev_sum_exec;
	s32 pid;
	/* Its group, and its weight among the tasks of all groups. */
	u32 group, weight;
	u64 inverse_weight;
	bool has_idle_policy;
	/* The task has been preempted, and stops as soon as it can. */
	bool need_resched;
	bool is_set;
	RUNNING_FIELDS
};

/* Returns a virtual time of the running task in real time. */
static inline u64 real_time_of(const struct running *running, u64 virtual_ns)
{
	u64 real_ns = virtual_ns * running->weight / NICE_0_WEIGHT;

	return has_groups ? real_ns >> PART_SHIFT : real_ns;
}

/* Returns the running task's vruntime at this moment. */
static inline u64 live_vruntime(const struct running *running)
{
	s64 since;

	/* scx_bpf_now() is expensive here. */
	if (!running->is_set)
		return running->vruntime;
	since = scx_bpf_now() - running->since;
	since = virtual_time_at(running->inverse_weight, since > 0 ? since : 0);
	return running->vruntime + RUNNING_PRICE(running, since);
}

/* Accounts for the CPU time that the running task has had, and returns its vruntime. */
static inline u64 account(struct running *running, struct task_struct *p)
{
	u64 ran = p->se.sum_exec_runtime - running->sum_exec;

	/* This is so when `ops.stopping` follows `ops.dispatch`. */
	if (!ran)
		return running->vruntime;
	if (has_quotas)
		charge_groups(running->group, ran);
	running->vruntime += RUNNING_PRICE(running, virtual_time_at(running->inverse_weight, ran));
	running->since = scx_bpf_now();
	running->sum_exec = p->se.sum_exec_runtime;
	return running->vruntime;
}

/* Notes that a task begins to run on its CPU. With groups it has its present weight already. */
static inline void begin_to_run(struct running *running, struct task_struct *p,
				struct fair_task *task, u64 vruntime)
{
	u32 index, weight;

	if (!task)
		return;
	index = WEIGHT_INDEX(p, task);
	weight = has_groups ? task->load.weight : weight_at(p, index);
	load_join(&task->load, scx_bpf_task_cpu(p), weight);
	running->sum_exec = running->prev_sum_exec = p->se.sum_exec_runtime;
	running->vruntime = vruntime;
	running->since = scx_bpf_now();
	running->pid = p->pid;
	running->group = task->member.group;
	running->inverse_weight = has_groups ? inverse_part(weight) : inverse_weight_at(p, index);
	running->weight = task->load.weight;
	running->has_idle_policy = gives_way_to_all(p, task);
	running->need_resched = false;
	running->is_set = true;
}

/* Notes that the running task stops. If it is runnable, it is queued next. */
static inline void stop_running(struct running *running, struct task_struct *p, bool runnable)
{
	running->is_set = false;
	queue_again(p, runnable);
}

/*
 * Counts a task that is queued on a CPU. If that has other tasks already, an idle CPU may take one.
 */
static inline void join_cpu(struct fair_task *task, s32 cpu, const struct task_struct *p)
{
	task->is_new = false;
	if (!has_groups || !task->load.weight || task->load.cpu != cpu)
		load_join(&task->load, cpu, fair_weight(p, task));
	if (of_cpu(loads, cpu)->nr_running > 1)
		kick_idle_cpu_for(p);
}

/* Stops counting a task that is not runnable any more. */
static inline void leave_cpu(struct fair_task *task)
{
	if (has_groups)
		leave_group(&task->member);
	load_leave(&task->load);
}

/* Makes the CPU choose again, as soon as it can (`resched_curr`). */
static inline void resched_curr(struct running *running, s32 cpu)
{
	running->need_resched = true;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Returns a time scaled by the number of CPUs: not (0), by their logarithm (1), or linearly (2). */
static inline u64 scaled(u64 ns, u32 mode)
{
	u32 cpus = nr_cpus < 8 ? nr_cpus : 8;

	if (mode == 0)
		return ns;
	if (mode == 2)
		return ns * cpus;
	return ns * (1 + (cpus >= 2) + (cpus >= 4) + (cpus >= 8));
}

#endif /* FAIRGROUND_FAIR_H */
