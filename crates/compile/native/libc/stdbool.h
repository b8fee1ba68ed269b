/* SPDX-License-Identifier: GPL-2.0-only */
/* vmlinux.h has these types and constants. */
#include <vmlinux.h>
