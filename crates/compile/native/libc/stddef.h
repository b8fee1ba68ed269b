/* SPDX-License-Identifier: GPL-2.0-only */
/* vmlinux.h has the types. */
#pragma once
#include <vmlinux.h>

#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
