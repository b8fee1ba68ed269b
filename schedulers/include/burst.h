// SPDX-License-Identifier: GPL-2.0-only
/*
 * BORE's bursts: the CPU time that a task has had since it last slept or yielded, and what that
 * costs it. What is remembered of a burst, its penalty, is its length in ns in BORE 1; its binary
 * logarithm from an offset on in BORE 5; and the whole logarithm in BORE 6. The scheduler has
 * defined its knobs before it includes this.
 */
#ifndef FAIRGROUND_BURST_H
#define FAIRGROUND_BURST_H

#include "nice.h"

/* The worst score: as many nice levels as there are. */
#define MAX_SCORE (NICE_LEVELS - 1)

/* The penalties that somebody's children or threads have now, in sum, and those that were. */
struct offspring {
	u64 sum, number;
	u64 average, averaged_at;
};

struct burst {
	u64 time;	/* of the current burst, ns */
	u64 current;	/* its penalty */
	u64 prev;	/* the penalty of those before, smoothed */
	u64 penalty;	/* in effect: that, or that of the current burst if it is higher */
	u64 told;	/* as its keeper knows it */
	s32 keeper;	/* whose pid this is; 0: nobody */
	u32 score;	/* in nice levels */
	struct offspring offspring;
};

static inline u64 least_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 most_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* 1 + log2, with so many bits of a fraction, piecewise linear; 0 of 0. */
static inline u64 log2_plus_1(u64 number, u32 bits)
{
	u32 width = number ? 64 - __builtin_clzll(number) : 0;

	return number ? (u64)width << bits | number << (64 - width) << 1 >> (64 - bits) : 0;
}

/* What a number is more than a threshold. */
static inline u64 excess(u64 number, u64 threshold)
{
	return number > threshold ? number - threshold : 0;
}

static inline u64 penalty_of(u64 burst_ns)
{
	u64 greed = log2_plus_1(burst_ns, 8);

	if (on_cfs)
		return burst_ns;
	if (version >= 60000)
		return greed * penalty_scale / 1024;
	return least_of(excess(greed, penalty_offset * 256) * penalty_scale >> 16, MAX_SCORE * 4);
}

static inline u32 score_of(u64 penalty)
{
	if (on_cfs)
		return least_of(excess(log2_plus_1(penalty, 10), penalty_offset * 1024) *
				penalty_scale >> 20, MAX_SCORE);
	if (version >= 60000)
		return least_of(excess(penalty, penalty_offset * 256 * penalty_scale / 1024) / 256,
				MAX_SCORE);
	return least_of(penalty / 4, MAX_SCORE);
}

/* What is remembered when a burst ends. In BORE 1 it rises and falls by a quarter. */
static inline u64 smoothed(u64 old, u64 new)
{
	if (on_cfs)
		return (new + old * ((1ULL << smoothness) - 1)) >> smoothness;
	if (new <= old)
		return old - ((old - new) >> burst_smoothness_short);
	if (version >= 60000)
		return old + ((new - old + (1ULL << smoothness) - 1) >> smoothness);
	return old + ((new - old) >> smoothness);
}

#endif /* FAIRGROUND_BURST_H */
