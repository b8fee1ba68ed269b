// SPDX-License-Identifier: GPL-2.0-only
#if 0
#include "/etc/passwd"
#endif
#include "../../../../../../../../etc/passwd"
