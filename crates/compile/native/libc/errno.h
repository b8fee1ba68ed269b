/* SPDX-License-Identifier: GPL-2.0-only */
#include <asm-generic/errno.h>
/* As the C library has it. */
#ifndef ENOTSUP
#define ENOTSUP EOPNOTSUPP
#endif
