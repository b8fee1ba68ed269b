/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Callbacks take their arguments as they are, not from a context of 64-bit words. Programs that
 * trace the kernel are refused before they are compiled natively, so nothing else of libbpf's
 * header is needed.
 */
#ifndef FAIRGROUND_BPF_TRACING_H
#define FAIRGROUND_BPF_TRACING_H

#define BPF_PROG(name, args...) name(args)
#define BPF_PROG2(name, args...) name(args)

#endif /* FAIRGROUND_BPF_TRACING_H */
