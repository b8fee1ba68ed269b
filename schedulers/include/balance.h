// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the CPUs of the fair class of Linux take tasks from each other.
 *
 * A CPU that would idle takes a task from the one with most load. A busy CPU looks around after
 * each interval, at its tick, and pulls as much load as brings it, or the busiest CPU, to the
 * average. If no task is light enough, one that is twice as heavy will do the next time, and so on;
 * thus equal tasks whose number is no multiple of the CPUs' take turns to be alone.
 *
 * Linux balances within nested domains: cores, caches, nodes. Here all CPUs are one domain. The
 * scheduler includes this after fair.h, and defines `attach_task()`.
 */
#ifndef FAIRGROUND_BALANCE_H
#define FAIRGROUND_BALANCE_H

#include "placement.h"

/* A busy CPU looks around so many times less often than an idle one (`busy_factor`). */
#define BUSY_FACTOR 16
/* How many tasks are moved at a time (`sysctl_sched_nr_migrate`). */
#define NR_MIGRATE 32
/* After so many vain looks any task is light enough. */
#define MAX_BALANCE_FAILED 31
/* How many CPUs whose tasks may not run here are passed over. */
#define MAX_PINNED_CPUS 8
/* The longest interval where all tasks are pinned (`MAX_PINNED_INTERVAL`). */
#define MAX_PINNED_INTERVAL_MS 512
/* The longest interval of busy CPUs, for each CPU (`max_load_balance_interval`). */
#define MAX_BUSY_INTERVAL_MS 100
/* How often a CPU is asked whether it has switched tasks: longer than that takes. */
#define MAX_SWITCH_POLLS 256
/* How often its queue is looked at: it may begin to switch in between. */
#define MAX_LOOKS 3
#define NS_PER_MS 1000000ULL

/* The queue in which a CPU holds tasks between their old queue and its own (`env->tasks`). */
#define DETACHED(cpu) (MAX_CPUS + (cpu))

/* What a CPU remembers of its balancing (`struct sched_domain`). */
struct domain {
	u64 last_balance_ns;
	u64 interval_ms;
	/* How often in a row it has found load, but no task that it could pull. */
	u32 nr_balance_failed;
	bool is_due;
	/* The load that each CPU should have. */
	volatile u64 avg_load;
};

static struct domain domains[MAX_CPUS];
/* How many CPUs there are that run (`span_weight`). */
static u32 nr_online;

/* One look around (`struct lb_env`). */
struct look_around {
	u32 dst_cpu, src_cpu;
	/* What is to be pulled. */
	s64 imbalance;
	/* CPUs that are as busy as this or more have been tried. */
	u64 tried_load;
	u32 nr_balance_failed;
	bool all_pinned;
	/* Whether a task waited there at all. */
	bool has_seen;
};

/* Counts a task that this CPU has just pulled; returns its place in the queue (`attach_task`). */
static u64 attach_task(struct task_struct *p, struct fair_task *task, s32 cpu);

/*
 * Returns the other CPU with most load among those where a task waits; `cpu` if there is none
 * (`sched_balance_find_src_rq`).
 */
static inline u32 busiest_cpu(u32 cpu)
{
	u64 most = 0;
	u32 step, found = cpu;

	bpf_for(step, 1, nr_cpus) {
		u32 other = next_cpu(cpu, step);

		if (nr_running_on(other) > 1 && load_of(other) > most) {
			most = load_of(other);
			found = other;
		}
	}
	return found;
}

/*
 * Finds work for a CPU that would idle, on the busiest CPU, else on any other
 * (`sched_balance_newidle`).
 */
static inline bool newidle_balance(u32 cpu, u32 busiest)
{
	u32 step;

	if (busiest != cpu && scx_bpf_dsq_move_to_local(busiest, 0))
		return true;
	bpf_for(step, 1, nr_cpus) {
		u32 other = next_cpu(cpu, step);

		if (nr_running_on(other) && scx_bpf_dsq_move_to_local(other, 0))
			return true;
	}
	return false;
}

/*
 * Finds the busiest CPU, and how much load would bring it, or this one, to the average. Returns
 * false if they are balanced. All functions from here on that loop are out of line, and the average
 * is volatile, because the verifier would walk each round of a loop for each state of its caller,
 * and for each sum on which a branch depends (`sched_balance_find_src_group`,
 * `calculate_imbalance`).
 */
static __noinline bool find_imbalance(struct look_around *env)
{
	struct domain *domain = of_cpu(domains, env->dst_cpu);
	u64 mine = load_of(env->dst_cpu), most = 0, average, above, below;
	u64 total = of_cpu(loads, env->dst_cpu)->weight;
	u64 capacity = *of_cpu(capacities, env->dst_cpu);
	u32 step;

	bpf_for(step, 1, nr_cpus) {
		u32 cpu = next_cpu(env->dst_cpu, step);
		bool may_give = nr_running_on(cpu) > 1;
		u64 load = load_of(cpu);

		if (may_give && load >= env->tried_load)
			continue;
		total += of_cpu(loads, cpu)->weight;
		capacity += *of_cpu(capacities, cpu);
		if (may_give && load > most) {
			most = load;
			env->src_cpu = cpu;
		}
	}
	domain->avg_load = total * 1024 / (capacity ?: 1024);
	average = domain->avg_load;
	env->tried_load = most;
	if (mine >= average || most <= average)
		return false;
	/* A CPU with one task has none to lose, and takes what it can get. */
	if (nr_running_on(env->dst_cpu) > 1 && 100 * most <= IMBALANCE_PCT * mine)
		return false;
	above = (most - average) * *of_cpu(capacities, env->src_cpu) / 1024;
	below = (average - mine) * *of_cpu(capacities, env->dst_cpu) / 1024;
	env->imbalance = above < below ? above : below;
	return env->imbalance;
}

/*
 * Waits, as Linux does for the lock of the run queue, until a CPU that is switching tasks has put
 * back the one that it ran: until then that is in no queue. CPUs whose ticks coincide would miss
 * each other's tasks every time. Returns false if it takes too long (`double_lock_balance`).
 */
static __noinline bool wait_for_switch(u32 cpu)
{
	u32 i;

	bpf_for(i, 0, MAX_SWITCH_POLLS) {
		if (scx_bpf_dsq_nr_queued(cpu) + 1 >= (s32)nr_running_on(cpu))
			return true;
	}
	return false;
}

/*
 * Returns the pid of the task that has not run for longest among those that wait on the busiest CPU
 * and are light enough; 0 if there is none (`can_migrate_task`).
 */
static __noinline s32 longest_waiting(struct look_around *env)
{
	struct task_struct *p;
	u64 oldest = 0;
	s32 found = 0;

	bpf_for_each(scx_dsq, p, env->src_cpu, 0) {
		struct fair_task *task = fair_task(p);

		env->has_seen = true;
		if (!task || !bpf_cpumask_test_cpu(env->dst_cpu, p->cpus_ptr))
			continue;
		env->all_pinned = false;
		if (task->load.weight >> (env->nr_balance_failed & MAX_BALANCE_FAILED) > env->imbalance)
			continue;
		if (!found || time_before(p->se.exec_start, oldest)) {
			oldest = p->se.exec_start;
			found = p->pid;
		}
	}
	return found;
}

/*
 * Returns the pid of a task to pull; 0 if there is none. If the other CPU took its only waiting
 * task just before the look, the one that it ran comes into the queue.
 */
static __noinline s32 task_to_detach(struct look_around *env)
{
	u32 i;

	env->has_seen = false;
	bpf_for(i, 0, MAX_LOOKS) {
		s32 found;

		if (!wait_for_switch(env->src_cpu))
			break;
		found = longest_waiting(env);
		if (env->has_seen)
			return found;
	}
	env->all_pinned = false;
	return 0;
}

/*
 * Takes a task out of its queue; no other CPU finds it then. Returns its weight, 0 if its CPU runs
 * it now (`detach_task`).
 */
static __noinline u32 detach_task(struct look_around *env, s32 pid)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, env->src_cpu, 0) {
		struct fair_task *task = fair_task(p);

		if (!task || p->pid != pid)
			continue;
		if (!scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, DETACHED(env->dst_cpu), 0))
			break;
		return task->load.weight;
	}
	return 0;
}

/*
 * Takes tasks out of the busiest CPU's queue. Returns whether there were any: the verifier would
 * walk each round of a number (`detach_tasks`).
 */
static __noinline bool detach_tasks(struct look_around *env)
{
	bool has_detached = false;
	u32 i;

	bpf_for(i, 0, NR_MIGRATE) {
		s32 pid = env->imbalance > 0 ? task_to_detach(env) : 0;
		u32 weight;

		if (!pid)
			break;
		weight = detach_task(env, pid);
		env->imbalance -= weight;
		has_detached = has_detached || weight;
	}
	return has_detached;
}

/* Puts tasks that have been taken out of another queue into this CPU's (`attach_tasks`). */
static __noinline void attach_tasks(u32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, DETACHED(cpu), 0) {
		struct fair_task *task = fair_task(p);

		u64 place = task ? attach_task(p, task, cpu) : 0;

#ifdef UNORDERED_QUEUES
		scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, cpu, SCX_ENQ_HEAD);
#else
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, place);
		scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, cpu, 0);
#endif
	}
}

/* Pulls load from the busiest CPU whose tasks may run here (`sched_balance_rq`). */
static __noinline void sched_balance_rq(u32 cpu)
{
	struct domain *domain = of_cpu(domains, cpu);
	struct look_around env = { .dst_cpu = cpu, .tried_load = ~0ULL, .all_pinned = true,
				   .nr_balance_failed = domain->nr_balance_failed };
	bool has_detached = false, has_tried = false;
	u64 longest_ms = 2 * nr_online;
	u32 i;

	bpf_for(i, 0, MAX_PINNED_CPUS) {
		if (!env.all_pinned || !find_imbalance(&env))
			break;
		has_detached = detach_tasks(&env);
		has_tried = true;
	}
	if (has_detached)
		attach_tasks(cpu);
	if (env.all_pinned) {
		if (has_tried && longest_ms < MAX_PINNED_INTERVAL_MS)
			longest_ms = MAX_PINNED_INTERVAL_MS;
		if (domain->interval_ms < longest_ms)
			domain->interval_ms *= 2;
	} else {
		domain->interval_ms = nr_online;
	}
	if (has_detached || env.all_pinned)
		domain->nr_balance_failed = 0;
	else if (domain->nr_balance_failed < MAX_BALANCE_FAILED)
		domain->nr_balance_failed++;
}

/*
 * Handles `ops.tick`: tells whether this busy CPU is to look around, in `ops.dispatch`, where it
 * may move tasks (`sched_balance_trigger`, `get_sd_balance_interval`).
 */
static inline bool is_balance_due(s32 cpu)
{
	struct domain *domain = of_cpu(domains, cpu);
	u64 ms = domain->interval_ms * BUSY_FACTOR, most_ms = nr_online * MAX_BUSY_INTERVAL_MS;

	ms = ms < most_ms ? ms : most_ms;
	if (nr_cpus > 1 && scx_bpf_now() - domain->last_balance_ns >= ms * NS_PER_MS)
		domain->is_due = true;
	return domain->is_due;
}

/* Handles `ops.dispatch`. Returns whether this CPU has looked around (`sched_balance_domains`). */
static inline bool sched_balance_domains(s32 cpu)
{
	struct domain *domain = of_cpu(domains, cpu);

	if (!domain->is_due)
		return false;
	domain->is_due = false;
	sched_balance_rq(cpu);
	domain->last_balance_ns = scx_bpf_now();
	return true;
}

/* Handles `ops.init`, when `nr_cpus` is known (`sd_init`). */
static inline s32 init_domains(void)
{
	const struct cpumask *online;
	s32 err = 0;
	u32 cpu;

	if (nr_cpus == 1)
		return 0;
	online = scx_bpf_get_online_cpumask();
	bpf_for(cpu, 0, nr_cpus) {
		u32 capacity = scx_bpf_cpuperf_cap(cpu) ?: 1024;

		err = err ?: scx_bpf_create_dsq(DETACHED(cpu), -1);
		if (!bpf_cpumask_test_cpu(cpu, online))
			continue;
		*of_cpu(capacities, cpu) = capacity;
		*of_cpu(slownesses, cpu) = 1024 * 1024 / capacity;
		nr_online++;
	}
	scx_bpf_put_cpumask(online);
	bpf_for(cpu, 0, nr_cpus) {
		of_cpu(domains, cpu)->interval_ms = nr_online;
		of_cpu(domains, cpu)->last_balance_ns = scx_bpf_now();
	}
	return err;
}

#endif /* FAIRGROUND_BALANCE_H */
