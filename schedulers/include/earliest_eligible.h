// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom EEVDF chooses: of those that are eligible the one with the earliest deadline. Tasks wait in
 * DSQ `cpu` by deadline; sleepers may stand among them, see delayed.h.
 */
#ifndef FAIRGROUND_EARLIEST_ELIGIBLE_H
#define FAIRGROUND_EARLIEST_ELIGIBLE_H

#include "delayed.h"

/*
 * The eligible task with the earliest deadline, but none later than `limit`: its pid, 0 if there is
 * none. If wanted it is moved to run here next; 0 if another CPU was faster.
 */
static __always_inline s32 pick_eevdf(u32 cpu, struct sums sums, const u64 *limit, bool move)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(cpu);
	struct fair_task *task = p ? fair_task(p) : NULL;

	if (!task || (limit && time_before(*limit, p->scx.dsq_vtime)))
		return 0;
	if (is_eligible(sums, task->vruntime))
		return !move || scx_bpf_dsq_move_to_local(cpu, 0) ? p->pid : 0;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (limit && time_before(*limit, p->scx.dsq_vtime))
			break;
		task = fair_task(p);
		if (task && is_eligible(sums, task->vruntime))
			return !move || scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0) ?
			       p->pid : 0;
	}
	return 0;
}

/* Sleepers that would be chosen before anybody else leave the average. Returns what is left. */
static __always_inline struct sums dismiss_sleepers(u32 cpu, struct sums sums,
						    const struct running *curr)
{
	struct sleeper *sleeper;
	u64 deadline;
	u32 step;

	bpf_for(step, 0, MAX_SLEEPERS) {
		bool may_stay = curr && is_eligible(sums, curr->vruntime);

		sleeper = next_sleeper(cpu, sums, may_stay ? &curr->deadline : NULL);
		if (!sleeper)
			break;
		deadline = sleeper->deadline;
		if (pick_eevdf(cpu, sums, &deadline, false))
			break;
		dismiss(sleeper, cpu, sums);
		sums = average_sums(cpu);
	}
	return sums;
}

#endif /* FAIRGROUND_EARLIEST_ELIGIBLE_H */
