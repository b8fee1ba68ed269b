/* SPDX-License-Identifier: GPL-2.0-only */
/* What follows the header of scx, ours or a scheduler's own, in the simulator. */
#ifndef FAIRGROUND_AFTER_COMMON_H
#define FAIRGROUND_AFTER_COMMON_H

#include "fairground/enums.h"

#include "fairground/loops.h"
#include "fairground/bounds.h"

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

/* As the kernel's functions are called that the model has as macros. */
#undef bpf_ksym_exists
#define bpf_ksym_exists(name) fairground_exists(#name)

#endif /* FAIRGROUND_AFTER_COMMON_H */
