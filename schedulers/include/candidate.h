// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECHO's balancing. The candidate is who waits with the smallest estimate of all: it goes to a CPU
 * that idles, or that runs a larger one. Else CPUs are levelled by count, the coldest task first.
 * The scheduler has included `rounds.h` and `quota.h`, and defined what these need, before.
 */
#ifndef FAIRGROUND_CANDIDATE_H
#define FAIRGROUND_CANDIDATE_H

struct candidate {
	s32 pid;	/* 0: nobody */
	s32 cpu;
	u32 queue;
	u64 est;
};

/* Takes a CPU's first into account, of its next round if that of this one cannot move. */
static __noinline void offer(struct candidate *best, s32 cpu)
{
	struct task_struct *p;
	u32 i;

	bpf_for(i, 0, 2) {
		u32 queue = cpu_ctx(cpu)->round ^ i;

		p = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, queue));
		if (!p || p->nr_cpus_allowed == 1)
			continue;
		if (!best->pid || p->scx.dsq_vtime < best->est)
			*best = (struct candidate){ p->pid, cpu, queue & 1, p->scx.dsq_vtime };
		return;
	}
}

static __noinline void find_candidate(struct candidate *best)
{
	u32 cpu;

	best->pid = 0;
	bpf_for(cpu, 0, nr_cpus)
		offer(best, cpu);
}

/* Moves a waiting task into another CPU's present round. Moving updates its estimate twice. */
static __noinline bool migrate(s32 from, u32 queue, s32 pid, s32 to)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue_of(from, queue), 0) {
		struct task_ctx *task = ctx_of(p);

		if (p->pid != pid)
			continue;
		if (!bpf_cpumask_test_cpu(to, p->cpus_ptr))
			return false;
		average(task);
		average(task);
		join(task, to, cpu_ctx(to)->round);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, task->place);
		return scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, queue_of(to, task->queue), 0);
	}
	return false;
}

/* Moves who has not run for longest of a CPU's present round. */
static __noinline bool migrate_coldest(s32 from, s32 to)
{
	u32 queue = cpu_ctx(from)->round;
	struct task_struct *p;
	u64 since = ~0ULL;
	s32 found = 0;

	bpf_for_each(scx_dsq, p, queue_of(from, queue), 0) {
		if (p->se.exec_start < since && bpf_cpumask_test_cpu(to, p->cpus_ptr)) {
			since = p->se.exec_start;
			found = p->pid;
		}
	}
	return found && migrate(from, queue, found, to);
}

/* For a CPU that has become idle. */
static __noinline bool pull_task(s32 cpu)
{
	struct candidate best = {};
	struct extremes extremes;

	find_candidate(&best);
	if (best.pid && migrate(best.cpu, best.queue, best.pid, cpu))
		return true;
	find_extremes(&extremes);
	return extremes.most >= 2 && migrate_coldest(extremes.busiest, cpu);
}

/* What CPU 0 does at its ticks, for all. */
static __noinline void balance_all(void)
{
	struct candidate best = {};
	u32 cpu;

	find_candidate(&best);
	bpf_for(cpu, 0, nr_cpus) {
		bool idles = !nr_running(cpu), is_larger = cpu_ctx(cpu)->est > best.est;

		if (!best.pid || best.cpu == (s32)cpu || (!idles && !is_larger) ||
		    !migrate(best.cpu, best.queue, best.pid, cpu))
			continue;
		preempt(cpu);
		find_candidate(&best);
	}
	bpf_for(cpu, 0, nr_cpus) {
		struct extremes extremes;

		find_extremes(&extremes);
		if (extremes.most - extremes.least < 2 ||
		    !migrate_coldest(extremes.busiest, extremes.laziest))
			return;
		wake_up_for_work(extremes.laziest);
	}
}

#endif /* FAIRGROUND_CANDIDATE_H */
