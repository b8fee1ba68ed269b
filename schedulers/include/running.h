// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks whose vruntime grows as they run, and who runs on each CPU, as the others there see it.
 * All is written and read under the lock of the CPU's run queue, which callbacks hold.
 *
 * A task that a task of a higher class interrupts stops without being queued: sched_ext keeps it at
 * the head of what the CPU runs next. Till then it counts as running, with a vruntime that rests.
 */
#ifndef FAIRGROUND_RUNNING_H
#define FAIRGROUND_RUNNING_H

#include "idle.h"
#include "load.h"
#include "nice.h"

/* A scheduler that has more to remember, of a task and of who runs, names the fields before. */
#ifndef FAIR_TASK_MORE
#define FAIR_TASK_MORE
#define RUNNING_MORE
#endif

/* What is known of a task; its vruntime is the scheduler's to keep. */
struct fair_task {
	struct load_member load;
	/* Forked, and not yet queued. */
	bool is_new;
	bool is_interrupted;
	FAIR_TASK_MORE
	OVERLAY_TASK
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fair_task);
} fair_tasks SEC(".maps");

/* Virtual times wrap. */
static inline u64 later_of(u64 a, u64 b)
{
	return time_before(a, b) ? b : a;
}

static inline u64 earlier_of(u64 a, u64 b)
{
	return time_before(a, b) ? a : b;
}

/* Never NULL for a task that `make_fair_task()` has made, but the verifier wants to see a check. */
#define fair_task(p) bpf_task_storage_get(&fair_tasks, p, 0, 0)

static inline s32 make_fair_task(struct task_struct *p, bool is_new)
{
	struct fair_task *task = bpf_task_storage_get(&fair_tasks, p, 0,
						      BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return -ENOMEM;
	task->is_new = is_new;
	return 0;
}

/* The task begins its life as the scheduler's. Returns whether it has just been forked. */
static inline bool begin_on(struct task_struct *p, s32 cpu)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return false;
	task->load.cpu = cpu;
	return task->is_new;
}

/* Its weight, and a time in its virtual time. */
static inline u32 fair_weight(const struct task_struct *p, const struct fair_task *task)
{
	return weight_at(p, WEIGHT_INDEX_WITH(p, task));
}

static inline u64 fair_time(const struct task_struct *p, const struct fair_task *task, u64 real_ns)
{
	return virtual_time_at(inverse_weight_at(p, WEIGHT_INDEX_WITH(p, task)), real_ns);
}

/* Who runs on a CPU. */
struct running {
	/* Its vruntime at the last account, and when that was. */
	u64 vruntime;
	u64 since;
	/* The CPU time that its vruntime accounts for, and what that was when it was picked. */
	u64 sum_exec, prev_sum_exec;
	/* When the CPU last had to choose anew after an interruption. */
	u64 rechecked;
	s32 pid;
	/* 0 while it is interrupted. */
	u32 inverse_weight;
	u32 weight;
	bool has_idle_policy;
	/* It has been preempted, and goes as soon as it can. */
	bool need_resched;
	bool is_set;
	RUNNING_MORE
	OVERLAY_RUNNING
};

/* Its vruntime at this moment. */
static inline u64 live_vruntime(const struct running *running)
{
	s64 since;

	/* Asking for the time is dear. */
	if (!running->inverse_weight)
		return running->vruntime;
	since = scx_bpf_now() - running->since;
	since = virtual_time_at(running->inverse_weight, since > 0 ? since : 0);
	return running->vruntime + PRICE(running, since);
}

/* Accounts for the CPU time that the running task has had, and returns its vruntime. */
static inline u64 account(struct running *running, struct task_struct *p)
{
	u64 ran = p->se.sum_exec_runtime - running->sum_exec;

	/* As when `ops.stopping` follows `ops.dispatch`. */
	if (!ran)
		return running->vruntime;
	COUNT_RUN(running, p, ran);
	running->vruntime += PRICE(running, virtual_time_at(running->inverse_weight, ran));
	running->since = scx_bpf_now();
	running->sum_exec = p->se.sum_exec_runtime;
	return running->vruntime;
}

/* A CPU chooses anew after an interruption at most this often. */
#define RECHECK_NS 500000

/*
 * It begins to run on its CPU. Returns whether the CPU should choose anew, because it goes on after
 * an interruption. Tasks that the kernel queues by itself when they have to go (those that exit, or
 * may not migrate) come back as interrupted: without a limit, two of them would preempt each other
 * for ever.
 */
static inline bool begin_to_run(struct running *running, struct task_struct *p,
				struct fair_task *task, u64 vruntime)
{
	u64 now = scx_bpf_now();
	u32 index;
	bool rechecks = task && task->is_interrupted && now - running->rechecked > RECHECK_NS;

	if (!task)
		return false;
	index = WEIGHT_INDEX_WITH(p, task);
	load_join(&task->load, scx_bpf_task_cpu(p), weight_at(p, index));
	running->sum_exec = running->prev_sum_exec = p->se.sum_exec_runtime;
	task->is_interrupted = false;
	running->vruntime = vruntime;
	running->since = now;
	if (rechecks)
		running->rechecked = now;
	running->pid = p->pid;
	running->inverse_weight = inverse_weight_at(p, index);
	running->weight = task->load.weight;
	running->has_idle_policy = has_idle_policy(p);
	running->need_resched = false;
	running->is_set = true;
	BEGINS(running, task);
	return rechecks;
}

/* It stops. If it can go on, either it is queued next, or it is interrupted. */
static inline void stop_to_run(struct running *running, struct fair_task *task, bool runnable)
{
	if (task)
		running->is_set = task->is_interrupted = runnable;
	running->inverse_weight = 0;
}

/* It is queued, or it sleeps: so it is not interrupted. */
static inline void end_interruption(struct running *running, struct fair_task *task)
{
	if (task->is_interrupted)
		running->is_set = false;
	task->is_interrupted = false;
}

/* It is queued on a CPU. If others are there already, an idle CPU may take one. */
static inline void join_cpu(struct running *running, struct fair_task *task, s32 cpu,
			    const struct task_struct *p)
{
	task->is_new = false;
	/* Interrupted elsewhere, it says nothing of who runs here. */
	if (running->pid == p->pid)
		end_interruption(running, task);
	task->is_interrupted = false;
	load_join(&task->load, cpu, fair_weight(p, task));
	if (of_cpu(loads, cpu)->nr_running > 1)
		kick_idle_cpu_for(p);
}

/* It is not runnable any more. */
static inline void leave_cpu(struct running *running, struct fair_task *task)
{
	end_interruption(running, task);
	load_leave(&task->load);
}

/* The CPU chooses anew, as soon as it can. */
static inline void preempt(struct running *running, s32 cpu)
{
	running->need_resched = true;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

#endif /* FAIRGROUND_RUNNING_H */
