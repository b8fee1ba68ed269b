/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ecosystem's header, with the constants of vmlinux.h in the place of variables that a loader
 * would set.
 */
#ifndef FAIRGROUND_SCX_COMMON_BPF_H
#define FAIRGROUND_SCX_COMMON_BPF_H

/* `enums.bpf.h` declares the variables; its guard keeps it out. */
#define __SCX_ENUMS_BPF_H

#include_next <scx/common.bpf.h>
#include "fairground/enums.h"

/* The kernel's limit of a loop with `may_goto`, counted over a whole callback. */
/* DIVERGES: a kernel limits each loop on its own, and from 6.17 on by time. */
#undef can_loop
#define can_loop (fairground.loops_left > 0 && fairground.loops_left--)
#undef __cond_break
#define __cond_break(expr) ({ if (!can_loop) expr; })

/*
 * User space resizes these arrays to the number of CPUs before it loads a scheduler. Here they have
 * room for as many as a cpumask from the start.
 */
#undef RESIZABLE_ARRAY
#define RESIZABLE_ARRAY(elfsec, arr) arr[8192] SEC("." #elfsec "." #arr)

#undef bpf_obj_new
#define bpf_obj_new(type) ((type *)fairground_object_new(sizeof(type)))

#endif /* FAIRGROUND_SCX_COMMON_BPF_H */
