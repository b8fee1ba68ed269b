/* SPDX-License-Identifier: GPL-2.0-only */
/* The callbacks for control groups. */

/* A group's level and the first letter of its name. */
static u64 group_of(struct cgroup *cgrp)
{
	char letter = 0;

	bpf_probe_read_kernel(&letter, sizeof(letter), cgrp->kn->name);
	return (u64)cgrp->level << 8 | (u8)letter;
}

#define SAY_GROUP(event, cgrp, a)						\
	bpf_printk("trace " event " %d -1 nobody %llx %lld", bpf_get_smp_processor_id(), \
		   group_of(cgrp), (s64)(a))

s32 BPF_STRUCT_OPS_SLEEPABLE(trace_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	SAY_GROUP("cgroup_init", cgrp, args->weight);
	return 0;
}

void BPF_STRUCT_OPS(trace_cgroup_exit, struct cgroup *cgrp)
{
	SAY_GROUP("cgroup_exit", cgrp, 0);
}

s32 BPF_STRUCT_OPS(trace_cgroup_prep_move, struct task_struct *p, struct cgroup *from,
		   struct cgroup *to)
{
	SAY("cgroup_prep_move", p, group_of(from), group_of(to));
	return 0;
}

void BPF_STRUCT_OPS(trace_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	SAY("cgroup_move", p, group_of(from), group_of(to));
}

void BPF_STRUCT_OPS(trace_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	SAY_GROUP("cgroup_set_weight", cgrp, weight);
}

void BPF_STRUCT_OPS(trace_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	SAY_GROUP("cgroup_set_bandwidth", cgrp, quota_us * 1000000 / period_us + burst_us);
}

void BPF_STRUCT_OPS(trace_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	SAY_GROUP("cgroup_set_idle", cgrp, idle);
}
