/* SPDX-License-Identifier: GPL-2.0-only */
/* What compilers put in place of a call. */
#pragma once
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);
int memcmp(const void *one, const void *other, size_t length);
