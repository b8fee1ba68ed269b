// SPDX-License-Identifier: GPL-2.0-only
/*
 * TT's types of tasks: how a task has slept and run says what it is, and that, what running costs
 * it. The scheduler has defined its knobs before it includes this.
 */
#ifndef FAIRGROUND_TASK_TYPE_H
#define FAIRGROUND_TASK_TYPE_H

#include "nice.h"
#include "window.h"

enum task_type { REALTIME, INTERACTIVE, NO_TYPE, CPU_BOUND, BATCH };

#define MS_NS 1000000ULL
/* Who is REALTIME is so old at least, runs for no longer, and runs and sleeps so regularly. */
#define RT_AGE (500 * MS_NS)
#define RT_BURST (4 * MS_NS)
#define RT_BURST_DELTA (2 * MS_NS)
#define RT_WAIT_DELTA (8 * MS_NS / 10)
/* How often it may fail to be until it is not any more. */
#define RT_STICKY 4

struct typed {
	struct window window;	/* in which it has had that vruntime, from 1 */
	u64 created;
	u64 exec_start;		/* until when it is accounted for; of a sleeper, when it fell asleep */
	u64 wait_time, prev_wait_time;			/* it has slept, in sum and the last time */
	u64 burst, prev_burst, curr_burst;		/* it has run, in virtual time */
	u32 type, rt_sticky;
};

static inline u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* `wait`: how long it has just slept; 0 while it runs. */
static inline bool is_realtime(const struct typed *it, u64 wait, bool has_migrated, u64 now)
{
	if (!it->wait_time || now - it->created < RT_AGE)
		return false;
	if (!has_migrated && wait && distance(wait, it->prev_wait_time) > RT_WAIT_DELTA)
		return false;
	return distance(it->burst, it->prev_burst) <= RT_BURST_DELTA && it->burst <= RT_BURST &&
	       it->curr_burst <= RT_BURST;
}

static inline u32 type_of(const struct typed *it, u64 wait, bool has_migrated, u64 now)
{
	u64 ran = it->window.vruntime & ~YIELD_MARK, life = it->wait_time + ran;
	u64 bound = is_5_15 ? 80 : 90;

	if (ran <= 1)
		return NO_TYPE;
	if (is_realtime(it, wait, has_migrated, now))
		return REALTIME;
	if (life / ran >= 2 && !(wait && distance(wait, it->prev_wait_time) <= RT_WAIT_DELTA))
		return INTERACTIVE;
	if (ran * 100 / life >= bound)
		return CPU_BOUND;
	return life / ran < 2 ? BATCH : NO_TYPE;
}

/* What it is now. It stays REALTIME for a while when it seems not to be any more. */
static inline void detect(struct typed *it, u64 wait, bool has_migrated, u64 now)
{
	u32 type = type_of(it, wait, has_migrated, now);

	if (type == REALTIME) {
		it->rt_sticky = RT_STICKY;
	} else if (it->type == REALTIME && it->rt_sticky) {
		it->rt_sticky--;
		return;
	}
	it->type = type;
}

/* The nice value that counts: in 5.15 only REALTIME is worth more than its own. */
static inline s64 prio_of(const struct task_struct *p, const struct typed *it)
{
	if (!task_types || it->type == NO_TYPE || (is_5_15 && it->type != REALTIME))
		return nice_of(p);
	return it->type == REALTIME ? tt_rt_prio : it->type == INTERACTIVE ? tt_interactive_prio :
	       it->type == CPU_BOUND ? tt_cpu_bound_prio : tt_batch_prio;
}

/* What running for so long costs: a nice level costs or saves 1 / 40 of a tick at every account. */
static inline u64 charge(s64 ran_ns, s64 prio, u64 hz)
{
	u64 ticks = 40 * hz / 1000 ?: 1, levels = prio < 0 ? -prio : prio;
	s64 extra = levels * MS_NS / ticks, cost = prio < 0 ? ran_ns - extra : ran_ns + extra;

	return cost > 1 ? cost : 1;
}

/* It falls asleep. */
static inline void end_burst(struct typed *it)
{
	it->prev_burst = it->burst;
	it->burst = it->curr_burst;
	it->curr_burst = 0;
	if (it->type == CPU_BOUND)
		it->type = BATCH;
}

/* It wakes up. */
static inline void end_sleep(struct typed *it, bool has_migrated, u64 now)
{
	u64 wait = now - it->exec_start;

	it->wait_time += wait;
	detect(it, wait, has_migrated, now);
	it->prev_wait_time = wait;
}

/* It has run until now; whether that is an event at which its nice level counts. */
static inline void account_run(const struct task_struct *p, struct typed *it, bool counts, u64 hz)
{
	u64 now = scx_bpf_now(), cost;
	s64 ran = now - it->exec_start;

	if (ran <= 0)
		return;
	cost = charge(ran, counts ? prio_of(p, it) : 0, hz);
	it->window.vruntime += cost;
	it->curr_burst += cost;
	it->exec_start = now;
	if (cut_window(&it->window, tt_max_lifetime, now))
		it->window.vruntime |= 1;
	if (counts)
		detect(it, 0, false, now);
}

/* Thousandths of its life that it has run: the lower, the sooner it runs. */
static inline s64 hrrn(const struct window *window, u64 now)
{
	if (window->vruntime & YIELD_MARK)
		return 1LL << 62;
	return window->vruntime * 1000 / ((now - window->start) | 1);
}

#endif /* FAIRGROUND_TASK_TYPE_H */
