/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the model maintains of the kernel's structures, under the kernel's names, hot fields first.
 * A field that is missing here is the compiler's error in the scheduler that uses it. BPF programs
 * are relocated to whatever layout their kernel has, so the layout is free; `export.inc.c` tells
 * the simulator.
 */
struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	/* Meant only if `custom_slice` is set: the model's kernel has no slice of its own. */
	u64 slice;
	unsigned char custom_slice;
	struct load_weight load;
	/* Always 0: the fair class does not compute it for the tasks of sched_ext. */
	u64 vruntime;
};

/* Which queue it is, and how many tasks wait in it; its other members are the kernel's own. */
struct scx_dispatch_q {
	u64 id;
	u32 nr;
};

struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 weight;
	u32 flags;
	s32 selected_cpu;
	bool disallow;
	bool lazy_resched;
	struct scx_dispatch_q *dsq;
	u64 ddsp_dsq_id;
	u64 ddsp_enq_flags;
	unsigned long runnable_at;
	u64 tid;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

/* A session of tasks, as `CONFIG_SCHED_AUTOGROUP` keeps it. */
struct autogroup {
	struct task_group *tg;
	unsigned long id;
	int nice;
};

/* A process, as far as its threads are concerned. */
struct signal_struct {
	atomic_t live;
	int nr_threads;
	struct list_head thread_head;
	/* By `enum pid_type`: of the process, its group and its session alike. */
	struct pid *pids[4];
	struct autogroup *autogroup;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

/* Only whether there is one and whether two tasks share it. */
struct mm_struct {
	char fairground_nothing;
};

/* As it is when a scheduler asks for it. */
struct rq {
	int cpu;
	struct task_struct *curr;
	u64 clock;
};

struct task_struct {
	struct sched_ext_entity scx;
	struct sched_entity se;
	struct sched_info sched_info;
	struct thread_info thread_info;
	int prio;
	int static_prio;
	int normal_prio;
	unsigned int rt_priority;
	unsigned int policy;
	unsigned int flags;
	int nr_cpus_allowed;
	int on_cpu;
	const cpumask_t *cpus_ptr;
	pid_t pid;
	pid_t tgid;
	unsigned int __state;
	int wake_cpu;
	int recent_used_cpu;
	/* Always 0: nothing in the model disables migration. */
	short unsigned int migration_disabled;
	/* A bit in the kernel. */
	unsigned int in_iowait;
	/* Always 0: no task is seen while it exits, and memory is always there. */
	int exit_state;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct task_struct *group_leader;
	long unsigned int nvcsw;
	long unsigned int nivcsw;
	u64 utime;
	/* Always 0: no tick of the model interrupts the kernel itself. */
	u64 stime;
	u64 start_time;
	u64 start_boottime;
	const struct sched_class *sched_class;
	struct css_set *cgroups;
	struct task_group *sched_task_group;
	const struct cred *real_cred;
	const struct cred *cred;
	/* Always null, as for tasks that have asked for no memory policy. */
	struct mempolicy *mempolicy;
	struct signal_struct *signal;
	struct list_head thread_node;
	struct pid *thread_pid;
	char comm[16];
	cpumask_t cpus_mask;
	/* What `signal` of the leader, and `thread_pid`, point to. */
	u64 fairground_signal[8];
	u64 fairground_pid[3];
};
