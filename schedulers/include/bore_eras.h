// SPDX-License-Identifier: GPL-2.0-only
/*
 * What differs between the versions of BORE, and between the kernels beneath them.
 *
 * The knob `version` is that of BORE: 10714, 50906 and 60703 are 1.7.14, 5.9.6 and 6.7.3. `era` is
 * that of the EEVDF beneath. Nothing else in BORE reads them.
 */
#ifndef FAIRGROUND_BORE_ERAS_H
#define FAIRGROUND_BORE_ERAS_H

#define is_on_cfs (version < 40000)
#define is_bore_6 (version >= 60000)

/* Returns the era of EEVDF that a version was written for: Linux 6.14 or 7.x. */
static inline u32 base_of_version(void)
{
	return is_bore_6 ? 70000 : 61400;
}

/* Returns the penalty of each doubling of a burst (`sched_burst_penalty_scale`). */
static inline u64 penalty_scale(void)
{
	if (burst_penalty_scale >= 0)
		return burst_penalty_scale;
	return is_bore_6 ? 1536 : 1280;
}

/* Returns the part of a penalty that BORE 6 does not count (`scaled_tolerance`). */
static inline u64 scaled_tolerance(void)
{
	return (u64)burst_penalty_offset * 256 * penalty_scale() / 1024;
}

/*
 * Returns the penalty of a burst. In BORE 1 it is the length of the burst, and later its logarithm.
 * BORE 5 subtracts the offset here, but BORE 6 does so when it counts the penalty
 * (`calc_burst_penalty`).
 */
static inline u64 calc_burst_penalty(u64 burst_ns)
{
	u64 greed = log2_plus_1(burst_ns, 8);

	if (is_on_cfs)
		return burst_ns;
	if (is_bore_6)
		return greed * penalty_scale() / 1024;
	return least_of(excess(greed, (u64)burst_penalty_offset * 256) * penalty_scale() >> 16,
			MAX_SCORE * 4);
}

/* Returns what a penalty adds to a score or to an average (`adj_score`). */
static inline u64 counted(u64 penalty)
{
	return is_bore_6 ? excess(penalty, scaled_tolerance()) : penalty;
}

/* Returns the score of a penalty, in nice levels (`scaled_penalty_score`, `update_burst_score`). */
static inline u32 score_of(u64 penalty)
{
	if (is_on_cfs)
		penalty = excess(log2_plus_1(penalty, 10), (u64)burst_penalty_offset * 1024) *
			  (u64)burst_penalty_scale >> 20;
	else
		penalty = is_bore_6 ? counted(penalty) / 256 : penalty / 4;
	return least_of(penalty, MAX_SCORE);
}

/*
 * Smooths the penalty that is stored when a burst ends. In BORE 1 the stored value moves by a
 * quarter of the difference; later it rises slowly and falls at once (`binary_smooth`).
 */
static inline u64 binary_smooth(u64 old, u64 new)
{
	u64 round_up = is_bore_6 ? (1ULL << burst_smoothness) - 1 : 0;

	if (is_on_cfs)
		return (new + old * ((1ULL << burst_smoothness) - 1)) >> burst_smoothness;
	if (new <= old)
		return old - ((old - new) >> burst_smoothness_short);
	return old + ((new - old + round_up) >> burst_smoothness);
}

/*
 * Returns what a new task inherits: the average of the keeper's offspring or, if that is more, the
 * keeper's own penalty. BORE 1 takes the average only (`update_burst_cache`).
 */
static inline u64 inheritance(const struct burst *keeper, u64 average)
{
	u64 most = most_of(average, counted(keeper->penalty));

	if (is_on_cfs)
		return average;
	return is_bore_6 ? least_of(most, 40 * 256 - 1) + scaled_tolerance() : most;
}

/* Tells whether an average must be calculated again. BORE 1 stores none (`burst_cache_expired`). */
static inline bool burst_cache_expired(const struct offspring *offspring, u64 now)
{
	return is_on_cfs || !offspring->timestamp ||
	       now - offspring->timestamp > burst_cache_lifetime_ns;
}

/* Tells whether new processes inherit a penalty (`task_fork_bore`). */
static inline bool processes_inherit(void)
{
	return burst_inherit_type || !is_bore_6;
}

/*
 * Tells whether an only child is passed over, upwards and downwards, for the next relative with
 * several children (`sched_burst_inherit_type`, in BORE 5 `sched_burst_fork_atavistic`).
 */
static inline bool follows_chains(void)
{
	return burst_inherit_type > 1;
}

/*
 * Tells whether a new weight applies to the time that has just run, and not only to later time
 * (`update_curr`).
 */
static inline bool scores_before_accounting(void)
{
	return !is_bore_6;
}

/* Returns with how many tasks at most a CPU protects slices (`pick_eevdf`). */
static inline u64 parity_threshold(void)
{
	return is_bore_6 || !burst_parity_threshold ? ~0ULL : burst_parity_threshold;
}

/*
 * Returns a mask of the tasks that have half a slice until their deadlines: new ones (1) and,
 * before 7.x, woken ones (2).
 */
static inline u32 deadline_boosts(void)
{
	u32 mask = is_bore_6 ? 3 : deadline_boost_mask;

	return era < 70000 ? mask : mask & 1;
}

/*
 * Tells whether BORE halves the limit of lag, as it does before 7.x, to one slice (`entity_lag`).
 */
static inline bool halves_lag_limit(void)
{
	return era < 70000;
}

/*
 * Tells whether a task with a lower penalty preempts as a task with a shorter slice does
 * (`do_preempt_short`).
 */
static inline bool penalty_counts_as_slice(void)
{
	return is_bore_6 && era >= 70000;
}

/*
 * Tells whether a task with a lower penalty only makes the CPU choose again, and ends no protection
 * (`PREEMPT_SHORT_BORE`).
 */
static inline bool penalty_forces_choice(void)
{
	return is_bore_6 && era < 70000;
}

/*
 * Tells whether a sleeper returns with the lag that it had when it left (`requeue_delayed_entity`).
 */
static inline bool sleepers_keep_lag(void)
{
	return is_bore_6 && era < 70000;
}

#endif /* FAIRGROUND_BORE_ERAS_H */
