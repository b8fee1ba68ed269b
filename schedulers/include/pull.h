// SPDX-License-Identifier: GPL-2.0-only
/*
 * Balancing by counting, as the first O(1) scheduler did: a CPU takes tasks from the one with most.
 * A busy CPU believes the smaller of a queue's present and former length, and the larger of its
 * own, so that short bursts move nobody. Queue n is CPU n's. The scheduler has defined, before it
 * includes this, `struct cpu_ctx` with the arrays, the running task's `prio` and `next_balance`.
 */
#ifndef FAIRGROUND_PULL_H
#define FAIRGROUND_PULL_H

#define LENGTHS 1024

/* The lengths that each CPU saw last time, at most 255. */
static u8 seen_lengths[LENGTHS][LENGTHS];

#define BALANCE_NS (NS_PER_SECOND / 4)
#define NOBODY NICE_LEVELS	/* the priority of who does not run: worse than any */

/* Who runs is counted, too. */
static inline u32 nr_running(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(cpu) + (cpu_ctx(cpu)->prio != NOBODY);
}

/* Whether a task is woken on its waker's CPU because that has less to do than its own (2.6). */
static inline bool is_woken_here(s32 this_cpu, s32 prev_cpu, bool sync)
{
	u32 load = nr_running(prev_cpu), this_load = nr_running(this_cpu);

	this_load -= sync && this_load;
	return (this_load <= load && this_load + load <= 1) || 100 * (this_load + 1) <= 112 * load;
}

struct busiest {
	s32 cpu;	/* -1: nobody has too much */
	u32 surplus;	/* how many tasks to take */
};

static __always_inline struct busiest find_busiest(s32 cpu, bool idle)
{
	struct busiest found = { .cpu = -1 };
	u32 i, own = 0, most = 1;

	bpf_for(i, 0, nr_cpus) {
		u8 *seen = &seen_lengths[cpu & (LENGTHS - 1)][i & (LENGTHS - 1)];
		u32 now = nr_running(i), then = *seen;

		*seen = now < 255 ? now : 255;
		if (i == cpu) {
			own = idle || now > then ? now : then;
			continue;
		}
		now = idle || now < then ? now : then;
		if (now > most) {
			most = now;
			found.cpu = i;
		}
	}
	found.surplus = most > own ? (most - own) / 2 : 0;
	if (!found.surplus || (!idle && found.surplus < (most + 3) / 4))
		found.cpu = -1;
	if (idle)
		found.surplus = 1;
	return found;
}

/* Takes the best that may run here, only of the expired array or of both. Returns how many. */
static __noinline u32 pull(s32 from, s32 to, u32 wanted, bool only_expired)
{
	struct task_struct *p;
	u32 pulled = 0;

	bpf_for_each(scx_dsq, p, from, 0) {
		u64 place = p->scx.dsq_vtime;
		bool expired = is_expired(&cpu_ctx(from)->arrays, place);

		if (pulled >= wanted)
			break;
		if ((only_expired && !expired) || !bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		/* The early one makes everybody active. */
		place = tail_of(&cpu_ctx(to)->arrays, expired && !early, prio_of(place));
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, place);
		pulled += scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, to, 0);
	}
	return pulled;
}

/* The expired are moved first: they have waited for longest, and their caches are cold. */
static inline void load_balance(s32 cpu, bool idle)
{
	struct busiest busiest = find_busiest(cpu, idle);
	u32 pulled;

	cpu_ctx(cpu)->next_balance = scx_bpf_now() + BALANCE_NS;
	if (busiest.cpu < 0)
		return;
	pulled = pull(busiest.cpu, cpu, busiest.surplus, true);
	pull(busiest.cpu, cpu, busiest.surplus - pulled, false);
}

#endif /* FAIRGROUND_PULL_H */
