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

#include "fairground/loops.h"

/* The run queue's clocks. The model has no `struct rq`. */
#define scx_clock_task(cpu) fairground_clock_task(cpu)
#define scx_clock_pelt(cpu) fairground_clock_pelt(cpu)
/* Nothing is stolen from the model's CPUs, and interrupts are the time of whom they interrupt. */
#define scx_clock_virt(cpu) ((void)(cpu), 0ULL)
#define scx_clock_irq(cpu) ((void)(cpu), 0ULL)

/*
 * User space resizes these arrays to the number of CPUs before it loads a scheduler. Here they have
 * room for as many as a cpumask from the start.
 */
#undef RESIZABLE_ARRAY
#define RESIZABLE_ARRAY(elfsec, arr) arr[8192] SEC("." #elfsec "." #arr)

#undef bpf_obj_new
#define bpf_obj_new(type) ((type *)fairground_object_new(sizeof(type)))

#endif /* FAIRGROUND_SCX_COMMON_BPF_H */
