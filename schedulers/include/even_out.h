// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evening out by counting, as TT does it: one CPU looks at all queues, and lets the shortest take a
 * task of the longest.
 */
#ifndef FAIRGROUND_EVEN_OUT_H
#define FAIRGROUND_EVEN_OUT_H

/* From which CPU, counted from 1, each shall take a task. */
static u32 donors[MAX_CPUS];

/* The CPU with the fewest tasks, from the waker's on. */
static inline s32 least_crowded_cpu(const struct task_struct *p, s32 prev_cpu)
{
	u32 this_cpu = bpf_get_smp_processor_id(), step;
	u64 least = ~0ULL;
	s32 found = prev_cpu;

	bpf_for(step, 0, nr_cpus) {
		u32 cpu = this_cpu + step < nr_cpus ? this_cpu + step : this_cpu + step - nr_cpus;
		u64 nr = of_cpu(loads, cpu)->nr_running;

		if (nr < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			least = nr;
			found = cpu;
		}
	}
	return found;
}

/* Lets the CPU with the fewest tasks take one of the CPU with most, if they differ by two. */
static inline void even_out(void)
{
	u64 most = 0, least = ~0ULL;
	u32 cpu, longest = 0, shortest = 0;

	bpf_for(cpu, 0, nr_cpus) {
		u64 nr = of_cpu(loads, cpu)->nr_running;

		if (nr > most) {
			most = nr;
			longest = cpu;
		}
		if (nr < least) {
			least = nr;
			shortest = cpu;
		}
	}
	if (most < least + 2)
		return;
	*of_cpu(donors, shortest) = longest + 1;
	wake_or_preempt(shortest);
}

/* Takes a task that may run here, if this CPU shall have one. */
static __noinline void take_given(u32 cpu)
{
	u32 donor = *of_cpu(donors, cpu) - 1;
	struct task_struct *p;

	*of_cpu(donors, cpu) = 0;
	bpf_for_each(scx_dsq, p, donor, 0) {
		struct fair_task *task = fair_task(p);

		if (!task || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER,
					   rebased(p->scx.dsq_vtime, donor, cpu));
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, cpu, 0))
			continue;
		load_join(&task->load, cpu, weight_of(p));
		return;
	}
}

#endif /* FAIRGROUND_EVEN_OUT_H */
