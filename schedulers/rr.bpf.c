// SPDX-License-Identifier: GPL-2.0-only
/*
 * rr: Round robin on every CPU, with idle CPUs stealing.
 *
 * Idea: Every CPU has a queue of its own. Its tasks run in turn, each for one slice, and then go to
 *       the end. A woken task goes to an idle CPU if there is one, else to the queue of the CPU
 *       that it ran on. A CPU whose queue is empty takes the first task of another queue that may
 *       run here.
 * Good at: Warm caches, no shared lock, and turns that are easy to predict: with n tasks each waits
 *          for n - 1 slices. No CPU idles while a task waits.
 * Bad at: Fairness between CPUs: queues are balanced only when one is empty, so if two tasks share
 *         one CPU and three another, their shares differ. Nice values mean nothing.
 * Origin: The time-sharing systems of the 1960s; SCHED_RR of POSIX.
 * Family: 1961, Fernando Corbató and others; after fifo
 * Queue: One for each CPU, in order of arrival; enqueue O(1), pick O(1).
 * Slice: Fixed, 4 ms.
 * Wake-up: Takes an idle CPU; never preempts.
 * Balancing: An idle CPU takes the first task of another's queue.
 * Differs: From SCHED_RR: there are no priorities, and every CPU has its own turn.
 */
#include <scx/common.bpf.h>
#include "include/common.h"

char _license[] SEC("license") = "GPL";

/* How long a task may run before the next one's turn, in microseconds. */
const volatile u64 slice_us = 4000;

UEI_DEFINE(uei);

/* How many CPUs there can be; the queue of CPU n is DSQ n. */
static u32 nr_cpus;

/*
 * One bit per CPU: tasks may wait in its queue. It is set with the queueing and cleared by the CPU
 * itself, both under the lock of that CPU's run queue, so no task is overlooked. A CPU that has
 * nothing to do looks at a few words, not at every other CPU's queue.
 */
#define WORD_BITS 64
#define NR_WORDS 128
static u64 may_have_work[NR_WORDS];

/* Sets or clears a CPU's bit. */
static void note_work(u32 cpu, bool may_have)
{
	u64 *word = &may_have_work[cpu / WORD_BITS % NR_WORDS];
	u64 bit = 1ULL << (cpu % WORD_BITS);

	if (may_have)
		__sync_fetch_and_or(word, bit);
	else
		__sync_fetch_and_and(word, ~bit);
}

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
	s32 cpu = scx_bpf_task_cpu(p);

	scx_bpf_dsq_insert(p, cpu, slice_us * 1000, enq_flags);
	note_work(cpu, true);
	/* An idle CPU finds its own queue empty and steals. */
	kick_idle_cpu_for(p);
}

/* Goes round the CPUs of one word, starting next to `cpu`, so that thieves spread. */
static bool steal_from_word(u32 word, u32 cpu)
{
	u64 bits = may_have_work[word % NR_WORDS];
	u32 step;

	if (!bits)
		return false;
	bpf_for(step, 1, WORD_BITS + 1) {
		u32 bit = (cpu + step) % WORD_BITS;

		if ((bits >> bit & 1) && scx_bpf_dsq_move_to_local(word * WORD_BITS + bit, 0))
			return true;
	}
	return false;
}

void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 nr_words = (nr_cpus + WORD_BITS - 1) / WORD_BITS;
	u32 step;

	if (scx_bpf_dsq_move_to_local(cpu, 0))
		return;
	/* The tasks that are left may not run here. */
	if (!scx_bpf_dsq_nr_queued(cpu))
		note_work(cpu, false);
	/* A task that can go on here is no reason to rob another queue. */
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED))
		return;
	bpf_for(step, 0, nr_words) {
		u32 word = (u32)cpu / WORD_BITS + step;

		if (word >= nr_words)
			word -= nr_words;
		if (steal_from_word(word, cpu))
			return;
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	u32 cpu;
	s32 err;

	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > NR_WORDS * WORD_BITS) {
		scx_bpf_error("rr has bits for %d CPUs only", NR_WORDS * WORD_BITS);
		return -E2BIG;
	}
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

SCX_OPS_DEFINE(rr_ops,
	       .select_cpu	= (void *)rr_select_cpu,
	       .enqueue		= (void *)rr_enqueue,
	       .dispatch	= (void *)rr_dispatch,
	       .init		= (void *)rr_init,
	       .exit		= (void *)rr_exit,
	       .name		= "rr");
