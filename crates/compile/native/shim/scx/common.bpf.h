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
#include "fairground/after_common.h"

#endif /* FAIRGROUND_SCX_COMMON_BPF_H */
