// SPDX-License-Identifier: GPL-2.0-only
/*
 * CFS's tunables: each is its knob, which the scheduler has defined before it includes this, or
 * else what it was in the era's Linux; and it grows with the number of CPUs.
 */
#ifndef FAIRGROUND_TUNABLES_H
#define FAIRGROUND_TUNABLES_H

#include "fair.h"

static u64 latency, min_granularity, wakeup_granularity;
/* With more tasks than this, not all of them run once in a latency. */
static u64 nr_latency;
static bool child_runs_first;

#define tunable(knob, oldest, older, newer) \
	scaled((knob) >= 0 ? (knob) : era < 20633 ? (oldest) : era < 20637 ? (older) : (newer), \
	       sched_tunable_scaling)

/* For `ops.init`, when the number of CPUs is known. */
static inline void set_tunables(void)
{
	latency = tunable(sched_latency_ns, 20000000, 6000000, 6000000);
	min_granularity = tunable(sched_min_granularity_ns, 4000000, 2000000, 750000);
	wakeup_granularity = tunable(sched_wakeup_granularity_ns, 10000000, 1000000, 1000000);
	nr_latency = (latency + min_granularity - 1) / min_granularity;
	child_runs_first = sched_child_runs_first < 0 ? era < 20633 : sched_child_runs_first;
}

#endif /* FAIRGROUND_TUNABLES_H */
