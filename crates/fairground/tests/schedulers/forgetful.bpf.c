// SPDX-License-Identifier: GPL-2.0-only
/*
 * forgetful: Puts woken tasks into one queue for all and wakes no idle CPU for them.
 *
 * Idea: A CPU that has gone to sleep is told of nothing, so work waits beside it.
 * Good at: Nothing; it exists to be found out.
 * Bad at: Using CPUs.
 * Origin: Fairground's tests.
 * Differs: –
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define SHARED 0

UEI_DEFINE(uei);

s32 BPF_STRUCT_OPS(forgetful_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	/* All go where the first one was. */
	return bpf_cpumask_test_cpu(0, p->cpus_ptr) ? 0 : prev_cpu;
}

void BPF_STRUCT_OPS(forgetful_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(forgetful_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(forgetful_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

void BPF_STRUCT_OPS(forgetful_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(forgetful_ops,
	       .select_cpu	= (void *)forgetful_select_cpu,
	       .enqueue		= (void *)forgetful_enqueue,
	       .dispatch	= (void *)forgetful_dispatch,
	       .init		= (void *)forgetful_init,
	       .exit		= (void *)forgetful_exit,
	       .name		= "forgetful");
