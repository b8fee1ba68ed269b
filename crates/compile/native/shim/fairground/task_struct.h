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
};

struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 weight;
	u32 flags;
	s32 selected_cpu;
};

struct task_struct {
	struct sched_ext_entity scx;
	struct sched_entity se;
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
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct task_struct *group_leader;
	long unsigned int nvcsw;
	long unsigned int nivcsw;
	u64 start_time;
	char comm[16];
	cpumask_t cpus_mask;
};
