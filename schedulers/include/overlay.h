// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a scheduler may change of CFS and EEVDF when it is made of their headers: it defines
 * OVERLAY, and what it changes, before it includes them. EEVDF's comes first if it needs both.
 */
#ifndef FAIRGROUND_OVERLAY_H
#define FAIRGROUND_OVERLAY_H

/* CFS and EEVDF themselves have their callbacks from their headers; an overlay calls them. */
#ifdef OVERLAY
#define CALLBACK(type, name, args...) static inline type name(args)
#else
#define CALLBACK(type, name, args...) type BPF_STRUCT_OPS(name, args)
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

/* A task has run for so long, for which it now pays. */
#ifndef COUNT_RUN
#define COUNT_RUN(running, task, p, ran_ns) (void)0
#endif

/* The virtual time that who runs on a CPU pays. */
#ifndef PRICE
#define PRICE(running, virtual_ns) (virtual_ns)
#endif

/* CFS: By how much a woken task must be behind to preempt. */
#ifndef GRANULARITY
#define GRANULARITY(p, virtual_ns) (virtual_ns)
#endif

/* EEVDF: The running task is accounted for, and may get another weight. */
#ifndef ACCOUNTED
#define ACCOUNTED(p, running, cpu) (void)0
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
