// SPDX-License-Identifier: GPL-2.0-only
#include "./includes_itself.bpf.c"
#include "x/../includes_itself.bpf.c"
