// SPDX-License-Identifier: GPL-2.0-only
/*
 * tasks: Looks at every task that runs.
 *
 * Idea: What a scheduler reads of a task agrees with what kfuncs say.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} seen SEC(".maps");

u64 runs, wrong;

#define CHECK(number, fact)			\
	do {					\
		if (!(fact))			\
			wrong |= 1 << number;	\
	} while (0)

s32 BPF_STRUCT_OPS(tasks_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	/* The workload's first tasks have a parent, too. */
	CHECK(7, !args->fork || bpf_get_current_task_btf()->pid);
	return bpf_task_storage_get(&seen, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(tasks_running, struct task_struct *p)
{
	u64 *count = bpf_task_storage_get(&seen, p, 0, 0);
	struct task_struct *found;

	runs++;
	/* A task that ends leaves its group, and begins to run again without a switch. */
	if (!(p->flags & PF_EXITING))
		CHECK(0, count && !(*count)++ == (p->nvcsw + p->nivcsw == 0));
	CHECK(1, p->static_prio == 120 && p->scx.weight == 100 && p->nr_cpus_allowed == 2);
	CHECK(2, bpf_cpumask_test_cpu(1, p->cpus_ptr) && bpf_cpumask_weight(&p->cpus_mask) == 2);
	CHECK(3, bpf_get_smp_processor_id() == scx_bpf_task_cpu(p));
	CHECK(4, p->thread_info.cpu == scx_bpf_task_cpu(p));
	found = bpf_task_from_pid(p->pid);
	CHECK(5, found == p);
	if (found)
		bpf_task_release(found);
}

/* The kernel makes the next task the current one only after `running`. */
void BPF_STRUCT_OPS(tasks_stopping, struct task_struct *p, bool runnable)
{
	CHECK(6, scx_bpf_task_running(p) && bpf_get_current_task_btf() == p && p->on_cpu);
}

void BPF_STRUCT_OPS(tasks_exit, struct scx_exit_info *ei)
{
	bpf_printk("%d %llx %s", runs > 20, wrong, ei->reason);
}

SCX_OPS_DEFINE(tasks_ops,
	       .init_task = (void *)tasks_init_task,
	       .running = (void *)tasks_running,
	       .stopping = (void *)tasks_stopping,
	       .exit = (void *)tasks_exit,
	       .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
	       .name = "tasks");
