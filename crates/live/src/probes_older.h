/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs for kernels before 5.18, whose `sched_switch` has no `prev_state`. 5.10 also lacks
 * BPF's atomic operations that return a value. The definitions of all figures are the same.
 *
 * They are programs of their own, so that newer kernels do not pay for them.
 */
#ifndef FAIRGROUND_PROBES_OLDER_H
#define FAIRGROUND_PROBES_OLDER_H

/* What tasks had counted whose slots are in use again, by CPU and group. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct probe_totals);
} retired_older SEC(".maps");

/* Before 5.14. */
struct task_struct___state {
	volatile long state;
} __attribute__((preserve_access_index));

/*
 * What `prev_state` would say: the state is still the one that the task stopped with, because its
 * waker waits for the end of the switch, or changes it to another one that is not 0.
 */
static __always_inline u32 state_of(const struct task_struct *prev)
{
	const struct task_struct___state *p = (const void *)prev;

	if (bpf_core_field_exists(p->state))
		return p->state;
	return prev->__state;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_switch_older, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return count_a_switch(preempt, prev, next, state_of(prev));
}

/* Only this CPU's forks write here, and no fork preempts another one in a probe. */
static __always_inline void add_plainly(struct probe_tally *sum, const struct probe_tally *more)
{
	sum->count += more->count;
	if (more->max_ns > sum->max_ns)
		sum->max_ns = more->max_ns;
	if (more->min_complement > sum->min_complement)
		sum->min_complement = more->min_complement;
}

static __always_inline void retire_plainly(struct probe_task *t)
{
	u32 group = t->group & (MAX_GROUPS - 1);
	u32 key = bpf_get_smp_processor_id() * MAX_GROUPS + group;
	struct probe_totals *sum = bpf_map_lookup_elem(&retired_older, &key);

	if (!sum || !has_counted(t))
		return;
	sum->tasks++;
	sum->cpu_time_ns += t->cpu_time_ns;
	sum->voluntary_switches += t->voluntary_switches;
	sum->involuntary_switches += t->involuntary_switches;
	sum->migrations += t->migrations;
	add_plainly(&sum->wakeups, &t->wakeups);
	add_plainly(&sum->other_waits, &t->other_waits);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(count_fork_older, struct task_struct *parent, struct task_struct *child)
{
	return count_a_fork(parent, child, retire_plainly);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(trace_switch_older, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return trace_a_switch(preempt, prev, next, state_of(prev));
}

#endif /* FAIRGROUND_PROBES_OLDER_H */
