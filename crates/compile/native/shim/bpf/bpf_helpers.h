/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libbpf's header with other beginnings and endings: what it leaves open (`#ifndef`) is defined
 * before it, what belongs to BPF objects alone is undone after it. `libbpf_helpers.h` is its copy,
 * which the build puts here so that its `#include "bpf_helper_defs.h"` finds ours.
 */
#ifndef FAIRGROUND_BPF_HELPERS_H
#define FAIRGROUND_BPF_HELPERS_H

/* As the kernel's iterator counts: nothing when `end` is not above `start` or too far from it. */
#define FAIRGROUND_MAX_LOOPS (8 * 1024 * 1024)
#define ___fairground_rounds(start, end)						\
	((long long)(end) - (long long)(start) > FAIRGROUND_MAX_LOOPS ? 0		\
	 : (long long)(end) - (long long)(start))
#define bpf_for(i, start, end)								\
	for (long long ___first = (int)(start), ___round = 0,				\
	     ___rounds = ___fairground_rounds(___first, (int)(end));			\
	     ___round < ___rounds && ((i) = (int)(___first + ___round), 1); ___round++)
#define bpf_repeat(n)									\
	for (long long ___round = 0, ___rounds = ___fairground_rounds(0, (int)(n));	\
	     ___round < ___rounds; ___round++)

/* Assembler for BPF's registers is left out. */
#undef __bpf__
#include "libbpf_helpers.h"
#define __bpf__ 1

/* Only what has a section is a program, a map or a table; what these do not use is left out. */
#undef SEC
#define SEC(name) __attribute__((section(name), used, retain))

#undef __ksym
#define __ksym
#undef __kconfig
#define __kconfig
#undef bpf_ksym_exists
#define bpf_ksym_exists(name) fairground_exists(#name)

/* One expression instead of variable arguments, which the boundary to the simulator cannot pass. */
#undef bpf_printk
#define bpf_printk(fmt, args...)							\
	({										\
		static const char ___fmt[] = fmt;					\
		unsigned long long ___param[___bpf_narg(args) ?: 1] = {};		\
		___bpf_fill(___param, args);						\
		bpf_trace_vprintk(___fmt, sizeof(___fmt), ___param,			\
				  ___bpf_narg(args) * sizeof(___param[0]));		\
	})
#define bpf_trace_printk(fmt, size, args...)						\
	({										\
		unsigned long long ___param[___bpf_narg(args) ?: 1] = {};		\
		___bpf_fill(___param, args);						\
		bpf_trace_vprintk(fmt, size, ___param,					\
				  ___bpf_narg(args) * sizeof(___param[0]));		\
	})

#include "fairground/bounds.h"

static inline void *___fairground_inside(unsigned long offset, unsigned long max,
					 const volatile void *base)
{
	/*
	 * The compiler must not know what it points to: it would take a constant's first value, which
	 * user space replaces, because the macros give a pointer that is not volatile.
	 */
	asm("" : "+r"(base));
	return offset <= max ? (char *)base + offset : (void *)0;
}

#include "fairground/state.h"

#endif /* FAIRGROUND_BPF_HELPERS_H */
