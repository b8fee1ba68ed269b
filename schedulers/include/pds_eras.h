// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between the versions of PDS.
 *
 * The knob `era` is the Linux version of the patch. Nothing else reads it. A deadline is a time in
 * nanoseconds in a skip list, and else the number of a slot.
 */
#ifndef FAIRGROUND_PDS_ERAS_H
#define FAIRGROUND_PDS_ERAS_H

/* How far away the nearest deadline is from 6.6 on, in slots (`SCHED_EDGE_DELTA`). */
#define SCHED_EDGE_DELTA 12

/* Tells whether deadlines are sorted exactly (`CONFIG_SCHED_PDS` with skip_list.h). */
static inline bool has_skip_list(void)
{
	return era < 51500;
}

/* Returns a whole slice, ns (`sched_timeslice_ns`). */
static inline s64 timeslice(void)
{
	return era == 50900 ? 4 * NS_PER_MS : 4 * NS_PER_SHORT_MS;
}

/* Returns how far away the deadline of nice -20 is in a skip list, ns. */
static inline u64 nearest_deadline(void)
{
	return era == 50400 ? 6 * NS_PER_SHORT_MS : 4 * NS_PER_SHORT_MS;
}

/* Returns the present slot (`rq->time_edge`). */
static inline u64 time_edge(void)
{
	return scx_bpf_now() >> (era < 60600 ? 22 : 23);
}

/* Returns how far away a new deadline is, in slots. From 6.6 on two nice values share a slot. */
static inline u64 slots_ahead(u32 nice_index)
{
	return era < 60600 ? nice_index : SCHED_EDGE_DELTA + nice_index / 2;
}

/* Returns the oldest slot that is told apart from those before it (`task_sched_prio`). */
static inline u64 first_slot(u64 edge)
{
	return era < 60600 ? edge - 24 : edge;
}

/* Returns the last slot (`task_sched_prio`). */
static inline u64 last_slot(u64 edge)
{
	return edge + (era < 60600 ? 39 : SCHED_EDGE_DELTA + 19);
}

/* Tells whether sched_yield() has no effect where no other task waits (`do_sched_yield`). */
static inline bool yields_only_to_others(void)
{
	return era >= 70100;
}

/*
 * Tells whether sched_yield() ends the slice. In PDS-mq it only makes the CPU choose again
 * (`do_sched_yield`).
 */
static inline bool yield_ends_slice(void)
{
	return era != 50400;
}

#endif /* FAIRGROUND_PDS_ERAS_H */
