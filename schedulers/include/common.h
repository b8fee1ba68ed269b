// SPDX-License-Identifier: GPL-2.0-only
/*
 * What most of these schedulers need: CPUs, tasks and their weights, and idle CPUs.
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

static inline u64 least_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 most_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

/*
 * Returns the CPU that is `step` CPUs after `cpu`, 0 <= step < nr_cpus, when one goes round all of
 * them.
 */
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
 * Handles `ops.stopping`. A task that a higher class displaces is queued again, as a kernel's
 * `put_prev_task` does. If it had a slice left, sched_ext would run it next, without a choice.
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

/*
 * Nice values and weights: how much CPU time a nice value is worth.
 *
 * One step is a factor of about 1.25, so that one nice level is 10 % of the CPU when two tasks
 * compete.
 *
 * `p->scx.weight` is not used because it is this table divided by 10.24 and rounded: nice 19
 * becomes 1 where it should be 1.46, and loses a third of its share.
 */

/* The weight of nice 0. */
#define NICE_0_WEIGHT 1024ULL

/* `static_prio` of nice -20; of nice 0 it is 120, of nice 19 it is 139. */
#define HIGHEST_STATIC_PRIO 100
#define NICE_LEVELS 40

/* By `static_prio - HIGHEST_STATIC_PRIO`; the numbers are `sched_prio_to_weight[]` of Linux. */
static const u32 nice_weights[NICE_LEVELS] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
	1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,
	110,   87,    70,    56,    45,    36,    29,    23,    18,    15,
};

/* 2^32 / weight, so that a division by a weight is a multiplication: `sched_prio_to_wmult[]`. */
static const u32 nice_inverse_weights[NICE_LEVELS] = {
	48388,    59856,    76040,    92818,    118348,    147320,    184698,    229616,
	287308,   360437,   449829,   563644,   704093,    875809,    1099582,   1376151,
	1717300,  2157191,  2708050,  3363326,  4194304,   5237765,   6557202,   8165337,
	10153587, 12820798, 15790321, 19976592, 24970740,  31350126,  39045157,  49367440,
	61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
};

/* Returns the row of a task's nice value. A real-time task counts as -20. */
static inline u32 nice_index(const struct task_struct *p)
{
	u32 index = p->static_prio - HIGHEST_STATIC_PRIO;

	return index < NICE_LEVELS ? index : 0;
}

/* Returns a task's nice value, -20 to 19. */
static inline s32 nice_of(const struct task_struct *p)
{
	return (s32)nice_index(p) - 20;
}

/* `p->policy`: SCHED_OTHER, SCHED_BATCH; and SCHED_IDLE, of equal weight at every nice value. */
#define POLICY_NORMAL 0
#define POLICY_BATCH 3
#define POLICY_IDLE 5
#define IDLE_WEIGHT 3
#define IDLE_INVERSE_WEIGHT 1431655765U

static inline bool has_idle_policy(const struct task_struct *p)
{
	return p->policy == POLICY_IDLE;
}

/* Tells whether a task is a thread, and not the first of its process. */
static inline bool is_thread(const struct task_struct *p)
{
	return p->pid != p->tgid;
}

/* Returns the weight in a row of the tables. SCHED_IDLE has the same in each. */
static inline u32 weight_at(const struct task_struct *p, u32 index)
{
	return has_idle_policy(p) ? IDLE_WEIGHT : nice_weights[index];
}

static inline u32 inverse_weight_at(const struct task_struct *p, u32 index)
{
	return has_idle_policy(p) ? IDLE_INVERSE_WEIGHT : nice_inverse_weights[index];
}

static inline u32 weight_of(const struct task_struct *p)
{
	return weight_at(p, nice_index(p));
}

static inline u32 inverse_weight_of(const struct task_struct *p)
{
	return inverse_weight_at(p, nice_index(p));
}

/*
 * Returns the virtual time of a real time at an inverse weight, which is 2^32 / weight. At nice 0
 * they are equal.
 */
static inline u64 virtual_time_at(u64 inverse_weight, u64 real_ns)
{
	return (real_ns * inverse_weight) >> 22;
}

/*
 * Returns the virtual time of a real time for a task. The smaller its weight, the faster virtual
 * time passes.
 */
static inline u64 virtual_time(const struct task_struct *p, u64 real_ns)
{
	return virtual_time_at(inverse_weight_of(p), real_ns);
}

/* Idle and busy CPUs: finding, waking and interrupting them. */

/*
 * Wakes an idle CPU that may run the task, which has just been queued: it will look for work. A
 * woken task has looked for an idle CPU before, but a CPU may have become idle just after that, and
 * a task whose slice is over does not look at all. Returns false if no CPU is idle.
 */
static inline bool kick_idle_cpu_for(const struct task_struct *p)
{
	s32 cpu;

	/* The task's only CPU looks for itself. */
	if (p->nr_cpus_allowed == 1)
		return false;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu < 0)
		return false;
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return true;
}

/*
 * Claims an idle CPU for a woken task: its last one, or the best other one. Returns -1 if none is
 * idle. For `ops.select_cpu`.
 */
static inline s32 claim_idle_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool found = scx_bpf_test_and_clear_cpu_idle(prev_cpu);
	s32 cpu = prev_cpu;

	if (!found)
		cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags & ~SCX_WAKE_SYNC, &found);
	return found ? cpu : -1;
}

static inline bool is_idle(s32 cpu)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	bool result = bpf_cpumask_test_cpu(cpu, idle);

	scx_bpf_put_idle_cpumask(idle);
	return result;
}

/* Makes a CPU choose again, whatever it does. */
static inline void wake_or_preempt(s32 cpu)
{
	scx_bpf_kick_cpu(cpu, is_idle(cpu) ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

/*
 * Tells whether the task that `ops.dispatch` gets could continue, because it does not go to sleep.
 */
static inline bool could_go_on(const struct task_struct *prev)
{
	return prev && (prev->scx.flags & SCX_TASK_QUEUED);
}

/*
 * Preemption without an interrupt.
 *
 * A woken task that its CPU would choose is put into the CPU's local DSQ, and sched_ext makes the
 * running task stop (`SCX_ENQ_PREEMPT`). The CPU switches without `ops.dispatch`, and the running
 * task is put back by `ops.stopping` and `ops.enqueue`. A kick does the same by an interrupt, which
 * costs more than the switch.
 *
 * A task in a local DSQ has left the scheduler's order, so there is never more than one. If others
 * come before it runs, as after one that is even better or a real-time task, the CPU chooses again
 * when it begins to run.
 */
/* Tasks have come to a CPU while one was in its local DSQ. */
static bool others_came[MAX_CPUS];

/* Returns how many tasks are in a CPU's local DSQ: they run next. */
static inline u32 nr_next_on(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu);
}

/*
 * Makes a task run next that preempts the running one and would be chosen before all that wait.
 * Returns false if there is another such task already, and the CPU has to choose. For
 * `ops.enqueue`.
 */
static inline bool run_at_once(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	if (nr_next_on(cpu))
		return false;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_INF, enq_flags | SCX_ENQ_PREEMPT);
	return true;
}

/* Notes that a task that was not on this CPU joins those that wait. For `ops.enqueue`. */
static inline void note_other(s32 cpu)
{
	if (nr_next_on(cpu))
		*of_cpu(others_came, cpu) = true;
}

/* Tells whether the CPU has to choose again. For `ops.running`. */
static inline bool must_choose_again(s32 cpu)
{
	bool *came = of_cpu(others_came, cpu), result = *came;

	*came = false;
	return result;
}

#endif /* FAIRGROUND_COMMON_H */
