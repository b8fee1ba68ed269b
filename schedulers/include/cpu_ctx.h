// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a scheduler remembers of each CPU: `struct cpu_ctx`, which it has defined before it includes
 * this.
 */
#ifndef FAIRGROUND_CPU_CTX_H
#define FAIRGROUND_CPU_CTX_H

#include "queues.h"

static struct cpu_ctx cpu_ctxs[MAX_CPUS];

static inline struct cpu_ctx *cpu_ctx(s32 cpu)
{
	return &cpu_ctxs[(u32)cpu & (MAX_CPUS - 1)];
}

#endif /* FAIRGROUND_CPU_CTX_H */
