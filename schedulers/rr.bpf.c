// SPDX-License-Identifier: GPL-2.0-only
/*
 * rr: Round robin on every CPU, with idle CPUs stealing.
 *
 * Idea: Every CPU has a queue of its own. Its tasks run in turn, each for one slice, and go to the
 *       end. A woken task goes to an idle CPU if there is one, else to the queue of the CPU that it
 *       ran on. A CPU whose queue is empty takes the first task of another's that may run here.
 * Good at: Warm caches, no shared lock, turns that are easy to predict: with n tasks one waits for
 *          n - 1 slices. No CPU idles while a task waits.
 * Bad at: Fairness between CPUs: where two tasks share one and three another, shares differ, for
 *         queues are balanced only when one is empty. Nice values mean nothing.
 * Origin: The time-sharing systems of the 1960s; SCHED_RR of POSIX.
 * Differs: From SCHED_RR: no priorities, and every CPU has its own turn.
 */
#include <scx/common.bpf.h>
#include "include/idle.h"

char _license[] SEC("license") = "GPL";

/* How long a task may run before the next one's turn, in microseconds. */
const volatile u64 slice_us = 4000;

UEI_DEFINE(uei);

/* How many CPUs there can be; the queue of CPU n is DSQ n. */
static u32 nr_cpus;

s32 BPF_STRUCT_OPS(rr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_us * 1000, 0);
	return cpu;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, scx_bpf_task_cpu(p), slice_us * 1000, enq_flags);
	/* Whoever idles finds its own queue empty and steals. */
	kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 step;

	if (scx_bpf_dsq_move_to_local(cpu, 0))
		return;
	/* A task that can go on here is no reason to rob another queue. */
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED))
		return;
	bpf_for(step, 1, nr_cpus) {
		u32 victim = cpu + step;

		if (victim >= nr_cpus)
			victim -= nr_cpus;
		if (scx_bpf_dsq_move_to_local(victim, 0))
			return;
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	u32 cpu;
	s32 err;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(cpu, 0, nr_cpus) {
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			return err;
	}
	return 0;
}

void BPF_STRUCT_OPS(rr_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(rr,
	       .select_cpu	= (void *)rr_select_cpu,
	       .enqueue		= (void *)rr_enqueue,
	       .dispatch	= (void *)rr_dispatch,
	       .init		= (void *)rr_init,
	       .exit		= (void *)rr_exit,
	       .name		= "rr");
