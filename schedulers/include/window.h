// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of a task's life that CacULE and TT remember: its beginning, and the weighted CPU time
 * since. When it becomes too long, it is cut to the newer half, with half of the CPU time.
 */
#ifndef FAIRGROUND_WINDOW_H
#define FAIRGROUND_WINDOW_H

/* In a vruntime: the task has yielded, and goes after all others until it runs or is cut. */
#define YIELD_MARK (1ULL << 63)

struct window {
	u64 start;
	u64 vruntime;
};

/* Cuts a window of more than `lifetime` nominal ms, of 2^20 ns each. Returns whether it has. */
static inline bool cut_window(struct window *window, u64 lifetime, u64 now)
{
	u64 most = lifetime << 20, life = now - window->start, vruntime;

	if ((s64)life <= (s64)most)
		return false;
	vruntime = window->vruntime & ~YIELD_MARK;
	window->start = now - most / 2;
	window->vruntime = (most << 9) / ((life << 7) / (vruntime >> 3 | 1) ?: 1);
	return true;
}

#endif /* FAIRGROUND_WINDOW_H */
