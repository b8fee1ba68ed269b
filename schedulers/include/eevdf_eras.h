// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between the versions of EEVDF.
 *
 * The knob `era` is the Linux version: 60600 is 6.6, 61800 is 6.18, and 70300 is 7.3. Nothing else
 * reads it, but for what BORE changes of EEVDF, see burst.h. The rules have changed in 6.12, 6.17,
 * 6.19, 7.0 and 7.3.
 */
#ifndef FAIRGROUND_EEVDF_ERAS_H
#define FAIRGROUND_EEVDF_ERAS_H

/* Returns the slice of a task that asks for none, on one CPU, ns (`sysctl_sched_base_slice`). */
static inline u64 sysctl_sched_base_slice(void)
{
	if (base_slice_ns >= 0)
		return base_slice_ns;
	return era >= 61200 ? 700000 : 750000;
}

/* Tells whether a task may ask for a slice (`se->custom_slice`). */
static inline bool has_custom_slices(void)
{
	return era >= 61200;
}

/* Tells whether a timer ends slices (`HRTICK`). */
static inline bool has_hrtick(void)
{
	return hrtick < 0 ? era >= 70000 : hrtick > 0;
}

/* Returns how much lag a task with this slice keeps, ns (`entity_lag`). */
static inline u64 most_lag(u64 slice)
{
	return era >= 70000 ? slice + TICK_NS : 2 * slice;
}

/* Tells whether a task that migrates keeps its relative deadline (`PLACE_REL_DEADLINE`). */
static inline bool has_place_rel_deadline(void)
{
	return place_rel_deadline && era >= 61200;
}

/* Tells whether a sleeper stays in the average until it is eligible (`DELAY_DEQUEUE`). */
static inline bool has_delay_dequeue(void)
{
	return delay_dequeue && era >= 61200;
}

/*
 * Tells whether a task with a shorter slice ends the protection of the running one
 * (`PREEMPT_SHORT`).
 */
static inline bool has_preempt_short(void)
{
	return preempt_short && era >= 61200;
}

/*
 * Tells whether a new task may preempt even if its slice is not shorter, until 6.18
 * (`check_preempt_wakeup_fair`).
 */
static inline bool new_task_preempts(void)
{
	return era < 61900;
}

/*
 * Tells whether the CPU chooses again as soon as the running task's protection ends, from 6.17 on
 * (`update_curr`).
 */
static inline bool protection_ends_turn(void)
{
	return era >= 61700;
}

/*
 * Tells whether a woken task that does not preempt shortens the protection
 * (`update_protect_slice`). From 6.17 to 6.19 only one with a shorter slice does; that is not here.
 */
static inline bool has_update_protect_slice(void)
{
	return era >= 70000;
}

/*
 * Returns how long each task is protected without `run_to_parity`, ns, from 6.17 on
 * (`set_protect_slice`).
 */
static inline u64 least_protection(void)
{
	return era >= 61700 ? least_slice : 0;
}

/*
 * Tells whether an eligible task that yields forfeits the rest of its slice, as from late 6.12.y
 * on. In earlier kernels a task that yields only gets a later deadline (`yield_task_fair`).
 */
static inline bool yield_forfeits(void)
{
	return era >= 61200;
}

/*
 * Tells whether a task that gets a new weight keeps its protection and all of its lag. Before 7.x
 * it loses its protection, and the lag beyond the limit (`reweight_entity`).
 */
static inline bool reweight_keeps_all(void)
{
	return era >= 70000;
}

/* Returns how a group's weight is spread over the CPUs (`calc_group_shares`). */
static inline enum spread default_spread(void)
{
	return era >= 70300 ? SPREAD_CONCUR : SPREAD_SMP;
}

#endif /* FAIRGROUND_EEVDF_ERAS_H */
