/* SPDX-License-Identifier: GPL-2.0-only */
/* vmlinux.h has these types. */
#include <vmlinux.h>
