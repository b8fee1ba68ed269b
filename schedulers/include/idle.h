// SPDX-License-Identifier: GPL-2.0-only
/* Idle CPUs. */
#ifndef FAIRGROUND_IDLE_H
#define FAIRGROUND_IDLE_H

/*
 * Wakes an idle CPU that may run the task, which has just been queued: it will look for work.
 * Needed although a woken task looks for an idle CPU first, because a CPU may become idle just
 * after that, and because a task whose slice is over does not look at all.
 */
static inline void kick_idle_cpu_for(const struct task_struct *p)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

#endif /* FAIRGROUND_IDLE_H */
