/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts over time: each CPU's switches add to counters of that CPU, most of them to the
 * interval of its latest switch.
 */
#ifndef FAIRGROUND_PROBES_SERIES_H
#define FAIRGROUND_PROBES_SERIES_H

/* Counts over time, for each CPU. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct probe_series);
} series SEC(".maps");

static __always_inline struct probe_series *series_of(u32 cpu)
{
	return bpf_map_lookup_elem(&series, &cpu);
}

/* How often the width of intervals has doubled: the logarithm of `since_ns` in units of 600 ms. */
static __always_inline u32 level(u64 since_ns)
{
	u64 nth = since_ns / FIRST_INTERVAL_NS / HALF_INTERVALS;

	return nth >> LAST_LEVEL ? LAST_LEVEL : length(nth >> 1);
}

/* The interval's number among those of its width, from the common start. */
static __always_inline u64 number(u64 since_ns, u32 doubled)
{
	u64 nth = since_ns / FIRST_INTERVAL_NS >> doubled;

	return nth < 2 * HALF_INTERVALS ? nth : 2 * HALF_INTERVALS - 1;
}

/*
 * A span of time that does not lie in the interval of the CPU's latest switch: its ends are counted
 * where they are, and what is between them is marked as filled. The present interval moves on.
 *
 * Not `static`: the verifier looks at such a function once, instead of once in each state of each
 * caller, which made loading the probes seven times as long.
 */
__noinline int spread(u32 cpu, u32 what, u64 from_ns, u64 now_ns)
{
	struct probe_series *s = series_of(cpu);
	u64 from = from_ns - start_ns, now = now_ns - start_ns;
	u32 from_level = level(from), now_level = level(now);
	u64 from_number = number(from, from_level), now_number = number(now, now_level);
	u64 first = from_level * HALF_INTERVALS + from_number;
	u64 last = now_level * HALF_INTERVALS + now_number;
	u64 width = (u64)FIRST_INTERVAL_NS << now_level, begin = now_number * width;

	if (!s)
		return 0;
	s->begin_ns = start_ns + begin;
	s->end_ns = s->begin_ns + width;
	s->place = last;
	what &= 1;
	if (first >= INTERVALS - 1 || last >= INTERVALS)
		return 0;
	if (first == last) {
		s->intervals[last].ns[what] += now - from;
		return 0;
	}
	width = (u64)FIRST_INTERVAL_NS << from_level;
	s->intervals[first].ns[what] += (from_number + 1) * width - from;
	s->intervals[first + 1].filled[what]++;
	s->intervals[last].filled[what]--;
	s->intervals[last].ns[what] += now - begin;
	return 0;
}

/* A tracked task has run or waited until now. */
static __always_inline u64 spent(struct probe_series *s, u32 cpu, u32 what, u64 from_ns, u64 now_ns)
{
	u64 place;

	if (from_ns < start_ns)
		from_ns = start_ns;
	if (!s)
		return now_ns - from_ns;
	place = s->place;
	if (from_ns >= s->begin_ns && now_ns < s->end_ns && place < INTERVALS)
		s->intervals[place].ns[what] += now_ns - from_ns;
	else
		spread(cpu, what, from_ns, now_ns);
	return now_ns - from_ns;
}

static __always_inline void switched(struct probe_series *s)
{
	u64 place = s ? s->place : INTERVALS;

	if (place < INTERVALS)
		s->intervals[place].switches++;
}

/* A fork may be interrupted by a switch, so it leaves the present interval alone. */
static __always_inline void forked(u64 now_ns)
{
	struct probe_series *s = series_of(bpf_get_smp_processor_id());
	u64 since = now_ns - start_ns;
	u32 doubled = level(since);
	u64 place = doubled * HALF_INTERVALS + number(since, doubled);

	if (counting && s && place < INTERVALS)
		__sync_fetch_and_add(&s->intervals[place].forks, 1);
}

#endif /* FAIRGROUND_PROBES_SERIES_H */
