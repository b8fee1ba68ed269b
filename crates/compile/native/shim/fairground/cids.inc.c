/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Topological numbers of CPUs. The machine's CPUs are numbered by node, last-level cache and core,
 * so a CPU's cid, by the kernel's rule, is its number.
 */

s32 scx_bpf_cid_to_cpu(s32 cid)
{
	return fairground_cid(cid);
}

s32 scx_bpf_cpu_to_cid(s32 cpu)
{
	return fairground_cid(cpu);
}

s32 scx_bpf_cid_node(s32 cid)
{
	return scx_bpf_cpu_node(cid);
}

s32 scx_bpf_task_cid(const struct task_struct *p)
{
	return scx_bpf_task_cpu(p);
}

s32 scx_bpf_this_cid(void)
{
	return fairground.cpu;
}

struct task_struct *scx_bpf_cid_curr(s32 cid)
{
	return scx_bpf_cpu_curr(cid);
}

u32 scx_bpf_nr_cids(void)
{
	return fairground.nr_cpu_ids;
}

u32 scx_bpf_nr_online_cids(void)
{
	return fairground.nr_cpu_ids;
}

u32 scx_bpf_cidperf_cap(s32 cid)
{
	return scx_bpf_cpuperf_cap(cid);
}

u32 scx_bpf_cidperf_cur(s32 cid)
{
	return scx_bpf_cpuperf_cur(cid);
}

s32 scx_bpf_cidperf_set___v2(s32 cid, u32 perf)
{
	scx_bpf_cpuperf_set(cid, perf);
	return 0;
}

void scx_bpf_kick_cid___v2(s32 cid, u64 flags)
{
	scx_bpf_kick_cpu(cid, flags);
}
