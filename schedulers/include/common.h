// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs and tasks: how many there are, and what a scheduler stores for each.
 *
 * `nr_cpus` is set by `create_queues()` or by the scheduler's own `ops.init`.
 */
#ifndef FAIRGROUND_COMMON_H
#define FAIRGROUND_COMMON_H

/* More than any machine that these schedulers are compared on; a power of two. */
#define MAX_CPUS 1024

/* The number of possible CPUs. */
static u32 nr_cpus;

/* A CPU's element of an array of MAX_CPUS. The mask is all that the verifier needs. */
#define of_cpu(array, cpu) (&(array)[(u32)(cpu) & (MAX_CPUS - 1)])

/* The CPU that is `step` CPUs after `cpu`, 0 <= step < nr_cpus, when one goes round all of them. */
static inline u32 next_cpu(u32 cpu, u32 step)
{
	return cpu + step < nr_cpus ? cpu + step : cpu + step - nr_cpus;
}

/* Creates one queue for each CPU, DSQ n for CPU n. For `ops.init`. */
static inline s32 create_queues(void)
{
	u32 cpu;
	s32 err;

	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > MAX_CPUS)
		return -E2BIG;
	bpf_for(cpu, 0, nr_cpus) {
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			return err;
	}
	return 0;
}

/* Stores a `struct cpu_ctx` for each CPU; `cpu_ctx(cpu)` returns it. */
#define DEFINE_CPU_CTX()								\
	static struct cpu_ctx cpu_ctxs[MAX_CPUS];					\
	static inline struct cpu_ctx *cpu_ctx(s32 cpu)					\
	{										\
		return of_cpu(cpu_ctxs, cpu);						\
	}

/* Declares `name`, a map with a value of this type for each task. */
#define TASK_STORAGE(name, value_type)							\
	struct {									\
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);				\
		__uint(map_flags, BPF_F_NO_PREALLOC);					\
		__type(key, int);							\
		__type(value, value_type);						\
	} name SEC(".maps")

/*
 * Stores a `struct task_ctx` for each task. `make_ctx(p)` is for `ops.init_task`, and returns NULL
 * if there is no memory. `ctx_of(p)` is for all other callbacks; it never returns NULL. The
 * verifier cannot know that each task has been initialised, so it is shown `no_ctx`, which is never
 * used.
 */
#define DEFINE_TASK_CTX()								\
	TASK_STORAGE(task_ctxs, struct task_ctx);					\
	static struct task_ctx no_ctx;							\
	static inline struct task_ctx *ctx_of(struct task_struct *p)			\
	{										\
		struct task_ctx *task = bpf_task_storage_get(&task_ctxs, p, 0, 0);	\
											\
		return task ?: &no_ctx;							\
	}										\
	static inline struct task_ctx *make_ctx(struct task_struct *p)			\
	{										\
		return bpf_task_storage_get(&task_ctxs, p, 0,				\
					    BPF_LOCAL_STORAGE_GET_F_CREATE);		\
	}

/*
 * For `ops.stopping`: a task that a task of a higher class displaces is queued again, as a kernel's
 * `put_prev_task` does it. With a slice left, sched_ext would run it next, without a choice.
 */
static inline void queue_again(struct task_struct *p, bool runnable)
{
	if (runnable)
		scx_bpf_task_set_slice(p, 0);
}

/*
 * The load of each CPU: number and weight of its runnable tasks, the running one included.
 *
 * The kernel may move a task by itself, so each task stores where it is counted. A CPU that pulls a
 * task subtracts it from another CPU's numbers, hence the atomic additions.
 */
struct load {
	u64 weight;
	u64 nr_running;
};

/* Where a task is counted; `weight` is 0 if it is counted nowhere. */
struct load_member {
	s32 cpu;
	u32 weight;
};

static struct load loads[MAX_CPUS];

static inline u64 nr_running_on(s32 cpu)
{
	return of_cpu(loads, cpu)->nr_running;
}

static inline void load_leave(struct load_member *member)
{
	struct load *load = of_cpu(loads, member->cpu);

	if (!member->weight)
		return;
	__sync_fetch_and_add(&load->weight, -(u64)member->weight);
	__sync_fetch_and_add(&load->nr_running, -1ULL);
	member->weight = 0;
}

/* Counts a task on a CPU, and not on any other. */
static inline void load_join(struct load_member *member, s32 cpu, u32 weight)
{
	struct load *load = of_cpu(loads, cpu);

	if (member->weight == weight && member->cpu == cpu)
		return;
	load_leave(member);
	__sync_fetch_and_add(&load->weight, weight);
	__sync_fetch_and_add(&load->nr_running, 1ULL);
	member->cpu = cpu;
	member->weight = weight;
}

#endif /* FAIRGROUND_COMMON_H */
