// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buddies: tasks that are preferred to, or not taken as, the first of a queue that is ordered by
 * vruntime, as long as that is unfair by a granularity at most.
 */
#ifndef FAIRGROUND_BUDDIES_H
#define FAIRGROUND_BUDDIES_H

#include "nice.h"

/* Their pids, 0 for none: who has woken up, whom that has preempted, and who has yielded. */
struct buddies {
	s32 next, last, skip;
};

/* Who runs or sleeps is nobody's buddy any more. */
static inline void clear_buddies(struct buddies *buddies, s32 pid)
{
	buddies->next = buddies->next == pid ? 0 : buddies->next;
	buddies->last = buddies->last == pid ? 0 : buddies->last;
	buddies->skip = buddies->skip == pid ? 0 : buddies->skip;
}

/*
 * Who shall run: the first by vruntime, which may be `prev`, or a buddy that is hardly further. The
 * pid; 0 is the first of those that wait.
 */
static inline s32 favourite(const struct buddies *buddies, u64 dsq, const struct task_struct *prev,
			    u64 granularity)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);
	s32 next = buddies->next, last = buddies->last, skip = buddies->skip;
	bool stays = prev && (!p || time_before(prev->scx.dsq_vtime, p->scx.dsq_vtime));
	s32 first, found;
	u64 limit;

	if (!p || (!next && !last && !skip))
		return stays ? prev->pid : 0;
	first = stays ? prev->pid : p->pid;
	limit = stays ? prev->scx.dsq_vtime + virtual_time(prev, granularity) :
			p->scx.dsq_vtime + virtual_time(p, granularity);
	if (!time_after(p->scx.dsq_vtime, limit) &&
	    (p->pid == next || (!next && (p->pid == last || (!last && first == skip && stays)))))
		return 0;
	found = first == skip ? 0 : first;
	if (!next && !last && found)
		return stays ? first : 0;
	/* Somebody further on. */
	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (time_after(p->scx.dsq_vtime, limit))
			break;
		if (p->pid == next)
			return next;
		if (p->pid == last || (!found && p->pid != skip))
			found = p->pid;
		if (found && !next && (found == last || !last))
			break;
	}
	return found ? found : first;
}

#endif /* FAIRGROUND_BUDDIES_H */
