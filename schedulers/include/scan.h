// SPDX-License-Identifier: GPL-2.0-only
/* Going through the tasks of a queue, and taking the best one out. */
#ifndef FAIRGROUND_SCAN_H
#define FAIRGROUND_SCAN_H

/* How often a CPU looks again when another one was faster. */
#define ATTEMPTS 8

/* The best task so far; among equals the first in the queue. */
struct best {
	s64 score;
	s64 place;
	s32 pid;	/* 0 if there is none yet */
};

static inline void consider_at(struct best *best, s32 pid, s64 score, s64 place)
{
	if (!best->pid || score > best->score || (score == best->score && place < best->place)) {
		best->score = score;
		best->place = place;
		best->pid = pid;
	}
}

/* Considers a task whose place is its `dsq_vtime`. */
static inline void consider(struct best *best, const struct task_struct *p, s64 score)
{
	consider_at(best, p->pid, score, p->scx.dsq_vtime);
}

/*
 * Takes a task out of the queue to run here; false if another CPU was faster. The function is out
 * of line because callers try it in a loop, and the verifier would walk its own loop in each of
 * their rounds.
 */
static __noinline __attribute__((unused)) bool take(u64 dsq, s32 pid)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (p->pid == pid)
			return scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
	}
	return false;
}

/* Finds the place of a queue's first task. Returns false if the queue is empty. */
static inline bool first_place(u64 dsq, u64 *place)
{
	const struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);

	*place = p ? p->scx.dsq_vtime : 0;
	return p;
}

/* Tells whether a task with this place comes before all of a queue. */
static inline bool is_before_all(u64 dsq, u64 place)
{
	u64 first;

	return !first_place(dsq, &first) || time_before(place, first);
}

#endif /* FAIRGROUND_SCAN_H */
