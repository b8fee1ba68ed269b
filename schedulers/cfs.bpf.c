// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfs: The Completely Fair Scheduler, Linux 2.6.24 to 6.5.
 *
 * Idea: An ideal CPU would run all tasks at once, each as fast as its weight. Each CPU's tasks wait
 *       by vruntime, the CPU time that they have had divided by their weight, and the smallest
 *       runs, for its part of a period in which everybody shall run once. Whoever slept comes back
 *       with a bounded credit, and preempts if it is behind by more than a granularity.
 * Good at: Exact shares by nice value, soon a CPU for those who sleep, without heuristics.
 * Bad at: Promises of latency: it grows with the number of tasks, and hangs on a task's weight.
 * Origin: Ingo Molnar, 2007; the fair class of Linux until EEVDF took its place in 6.6 (2023).
 * Family: 2007, Ingo Molnar; after o1, vtime
 * Queue: One for each CPU, a red-black tree by vruntime; enqueue O(log n), pick O(1).
 * Slice: By weight a part of 6 ms (one CPU), or of 0.75 ms for each task if they are many.
 * Wake-up: Has half a latency of credit at most, preempts who is 1 ms of vruntime ahead.
 * Balancing: An idle CPU takes from the busiest.
 * Differs: No groups, no load averages, no wide wake-ups, no balancing of busy CPUs: an idle one
 *          takes from the busiest at once, where Linux weighs the cost. What has changed between
 *          eras and is no constant or feature below is as in 6.5.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* Which Linux: 20624, 20633, 50900 or 60500 stand for 2.6.24, 2.6.33, 5.9 and 6.5. */
const volatile u32 era = 60500;
/* Constants for one CPU; -1 is the era's. Everybody runs once in this time, */
const volatile s64 sched_latency_ns = -1;
/* unless that would be less for each than this; for SCHED_IDLE among others it is the other. */
const volatile s64 sched_min_granularity_ns = -1;
const volatile u64 sched_idle_min_granularity_ns = 750000;
/* Whoever wakes up preempts if it is further behind than this. */
const volatile s64 sched_wakeup_granularity_ns = -1;
/* Whether a new task goes before its parent. */
const volatile s64 sched_child_runs_first = -1;
/* How constants grow with the CPUs, 8 at most: 0 not, 1 by the logarithm, 2 linearly. */
const volatile u32 sched_tunable_scaling = 1;
/* Features. A sleeper's credit is half a latency, not a whole one (from 2.6.32 on); a new task
 * begins a slice behind; no slice is shorter than the minimum granularity (from 5.12 on). */
const volatile bool gentle_fair_sleepers = true, start_debit = true, base_slice = true;
/* Woken tasks may preempt; whom they preempt shall go on after them (from 2.6.29 on); even those
 * that do not preempt shall run next. */
const volatile bool wakeup_preemption = true, last_buddy = true, next_buddy = false;

UEI_DEFINE(uei);

#include "include/cfs.h"

s32 BPF_STRUCT_OPS_SLEEPABLE(cfs_init)
{
	return cfs_create();
}

void BPF_STRUCT_OPS(cfs_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(cfs,
	       .select_cpu	= (void *)cfs_select_cpu,
	       .enqueue		= (void *)cfs_enqueue,
	       .dispatch	= (void *)cfs_dispatch,
	       .running		= (void *)cfs_running,
	       .tick		= (void *)cfs_tick,
	       .stopping	= (void *)cfs_stopping,
	       .quiescent	= (void *)cfs_quiescent,
	       .yield		= (void *)cfs_yield,
	       .init_task	= (void *)cfs_init_task,
	       .enable		= (void *)cfs_enable,
	       .init		= (void *)cfs_init,
	       .exit		= (void *)cfs_exit,
	       .name		= "cfs");
