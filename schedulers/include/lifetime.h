// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of a task's life that CacULE and TT store: when it began, and its weighted CPU time.
 *
 * When it becomes too long, it is cut to the newer half, with half of the CPU time.
 */
#ifndef FAIRGROUND_LIFETIME_H
#define FAIRGROUND_LIFETIME_H

/* In a vruntime: the task has yielded, and goes after all others until it runs or is cut. */
#define YIELD_MARK (1ULL << 63)

struct lifetime {
	u64 start;
	u64 vruntime;
};

/*
 * Cuts a life of more than `most_ms` nominal ms, of 2^20 ns each (`normalize_lifetime`). Returns
 * whether it has.
 */
static inline bool normalize_lifetime(struct lifetime *life, u64 most_ms, u64 now)
{
	u64 most = most_ms << 20, age = now - life->start, vruntime;

	if ((s64)age <= (s64)most)
		return false;
	vruntime = life->vruntime & ~YIELD_MARK;
	life->start = now - most / 2;
	life->vruntime = (most << 9) / ((age << 7) / (vruntime >> 3 | 1) ?: 1);
	return true;
}

#endif /* FAIRGROUND_LIFETIME_H */
