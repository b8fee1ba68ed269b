// SPDX-License-Identifier: GPL-2.0-only
/*
 * eevdf: Earliest Eligible Virtual Deadline First, Linux 6.6 to 7.x.
 *
 * Idea: Every task asks for a slice. It is eligible while it has had no more than its share, and it
 *       shall have its slice by its virtual deadline. Among the eligible the earliest deadline
 *       runs. Whoever sleeps is owed later what it was owed before, and owes what it owed.
 * Good at: Exact shares, bounded lag, and latency that a task can ask for: a shorter slice is an
 *          earlier deadline, but no more CPU time.
 * Bad at: Waking up: a sleeper has no bonus, so it waits for the slices of those before it.
 * Origin: Ion Stoica and Hussein Abdel-Wahab, 1995; Peter Zijlstra, Linux 6.6 (2023).
 * Family: 2023, Peter Zijlstra; after cfs
 * Queue: One for each CPU, by virtual deadline; enqueue O(log n), pick O(n) among the eligible.
 * Slice: What the task asks for, 0.7 ms (one CPU) without its asking.
 * Wake-up: Keeps its lag, preempts a later deadline where the running one's slice is over.
 * Balancing: An idle CPU takes from the busiest.
 * Differs: No groups, no load averages, no balancing of busy CPUs: an idle one takes from the
 *          busiest. The earliest eligible is found by going through the queue. A sleeper that is
 *          not eligible keeps its vruntime, but does not hold back the average meanwhile.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* Which Linux: 60600, 61200 or 70000 stand for 6.6, 6.12 and 7.x. */
const volatile u32 era = 70000;
/* The slice that a task asks for, on one CPU; -1 is the era's, 0.75 or 0.7 ms. */
const volatile s64 base_slice_ns = -1;
/* How it grows with the CPUs, 8 at most: 0 not, 1 by the logarithm, 2 linearly. */
const volatile u32 sched_tunable_scaling = 1;
/* Features. Lag is kept over sleep; a new task's first slice is half as long; who moves to another
 * CPU keeps its deadline (from 6.12 on). */
const volatile bool place_lag = true, place_deadline_initial = true, place_rel_deadline = true;
/* Who runs goes on until its slice is over or it is not eligible any more; woken tasks may preempt;
 * those with a shorter slice even before that (from 6.12 on). */
const volatile bool run_to_parity = true, wakeup_preemption = true, preempt_short = true;
/* Who sleeps while it is not eligible loses its debt as time passes, but gains nothing. */
const volatile bool delay_dequeue = true, delay_zero = true;
/* A timer ends slices, not the tick: 7.x does so where setting timers is cheap. */
const volatile bool hrtick = false;

UEI_DEFINE(uei);

#include "include/eevdf.h"

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_init)
{
	return eevdf_create();
}

void BPF_STRUCT_OPS(eevdf_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(eevdf,
	       .select_cpu	= (void *)eevdf_select_cpu,
	       .enqueue		= (void *)eevdf_enqueue,
	       .dispatch	= (void *)eevdf_dispatch,
	       .running		= (void *)eevdf_running,
	       .tick		= (void *)eevdf_tick,
	       .stopping	= (void *)eevdf_stopping,
	       .quiescent	= (void *)eevdf_quiescent,
	       .yield		= (void *)eevdf_yield,
	       .init_task	= (void *)eevdf_init_task,
	       .init		= (void *)eevdf_init,
	       .exit		= (void *)eevdf_exit,
	       .name		= "eevdf");
