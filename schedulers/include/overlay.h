// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schedulers may be made of CFS and EEVDF: such an overlay defines OVERLAY and what it changes, and
 * then includes `cfs.bpf.c`, `eevdf.bpf.c` or both, EEVDF first. Their callbacks are functions for
 * it to call; their licence, knobs and ops tables are left out.
 */
#ifndef FAIRGROUND_OVERLAY_H
#define FAIRGROUND_OVERLAY_H

#ifndef OVERLAY
#define CALLBACK BPF_STRUCT_OPS
#define CALLBACK_SLEEPABLE BPF_STRUCT_OPS_SLEEPABLE
#else
#define CALLBACK(name, args...) static inline name(args)
#define CALLBACK_SLEEPABLE CALLBACK

/* Knobs that no overlay changes are as in Linux 6.5 for CFS, */
#define sched_idle_min_granularity_ns 750000
#define sched_child_runs_first (-1)
#define start_debit true
#define base_slice true
#define last_buddy true
#define next_buddy false

/* and as in 7.x for EEVDF. */
#define base_slice_ns (-1)
#define place_lag true
#define place_deadline_initial true
#define place_rel_deadline true
#define run_to_parity true
#define preempt_short true
#define delay_dequeue true
#define delay_zero true
#define hrtick false
#endif

/* What it remembers, of a task and of who runs on a CPU. */
#ifndef OVERLAY_TASK
#define OVERLAY_TASK
#define OVERLAY_RUNNING
#endif

/* The row of a task in the tables of weights. */
#ifndef WEIGHT_INDEX
#define WEIGHT_INDEX(p) nice_index(p)
#endif

/* The same where what is remembered of the task is at hand: looking that up is dear. */
#ifndef WEIGHT_INDEX_WITH
#define WEIGHT_INDEX_WITH(p, task) nice_index(p)
#endif

/* A task has run for so long, for which it now pays. */
#ifndef COUNT_RUN
#define COUNT_RUN(running, p, ran_ns) (void)0
#endif

/* The virtual time that who runs on a CPU pays. */
#ifndef PRICE
#define PRICE(running, virtual_ns) (virtual_ns)
#endif

/* CFS: By how much a woken task must be behind to preempt. */
#ifndef GRANULARITY
#define GRANULARITY(p, virtual_ns) (virtual_ns)
#endif

/* A task begins to run, or goes to sleep. */
#ifndef BEGINS
#define BEGINS(running, task) (void)0
#endif
#ifndef SLEEPS
#define SLEEPS(p, task) (void)0
#endif

/* EEVDF: The running task has run for so long, is accounted for, and may get another weight. What
 * is remembered of it is looked up before. */
#ifndef ACCOUNTED
#define ACCOUNTED(p, task, running, cpu, ran_ns) (void)0
#define ACCOUNTED_TASK(p) NULL
#endif

/* EEVDF: How often the limit of lag is halved. */
#ifndef LAG_SHIFT
#define LAG_SHIFT 0
#endif

/* EEVDF: Whether a task that begins has half a slice until its deadline. */
#ifndef HAS_HALF_SLICE
#define HAS_HALF_SLICE(task, is_woken) ((task)->is_new && place_deadline_initial)
#endif

/* EEVDF: Whether who runs on a CPU is protected at all. */
#ifndef IS_PROTECTED
#define IS_PROTECTED(cpu) true
#endif

/* EEVDF: Whether a woken task preempts as one with a shorter slice does. */
#ifndef IS_SHORTER
#define IS_SHORTER(task, running) false
#endif

#endif /* FAIRGROUND_OVERLAY_H */
