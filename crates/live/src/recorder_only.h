/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks are recorded, and who makes them runnable.
 */
#ifndef FAIRGROUND_RECORDER_ONLY_H
#define FAIRGROUND_RECORDER_ONLY_H

static __always_inline void mark(const struct task_struct *p)
{
	u32 pid = p->pid;
	u8 yes = 1;

	if (only != ONLY_MARKED && only != ONLY_COMM)
		return;
	/* Without room for it, all of its events are lost. */
	if (bpf_map_update_elem(&marked, &pid, &yes, BPF_ANY))
		__sync_fetch_and_add(&lost_events, 1);
}

static __always_inline void unmark(const struct task_struct *p)
{
	u32 pid = p->pid;

	if (only == ONLY_MARKED || only == ONLY_COMM)
		bpf_map_delete_elem(&marked, &pid);
}

static __always_inline bool has_name(const struct task_struct *p)
{
	const volatile u64 *name = (const volatile u64 *)only_comm;

	return *(const u64 *)&p->comm[0] == name[0] && *(const u64 *)&p->comm[8] == name[1];
}

/* Whether a task is one of those that are asked for. */
static __always_inline bool is_asked_for(const struct task_struct *p)
{
	u32 pid = p->pid;
	u64 group;

	if (only == ONLY_CGROUP) {
		group = p->cgroups->dfl_cgrp->kn->id;
		return bpf_map_lookup_elem(&cgroups, &group);
	}
	if (bpf_map_lookup_elem(&marked, &pid))
		return true;
	if (only != ONLY_COMM || !(has_name(p) || has_name(p->group_leader)))
		return false;
	mark(p);
	return true;
}

/* The task's number; 0 for tasks that are not recorded, and for the idle task. */
static __always_inline u32 recorded(const struct task_struct *p)
{
	if (p->tgid == own_process)
		return 0;
	return only == ONLY_ALL || is_asked_for(p) ? p->pid : 0;
}

static __always_inline struct record_cpu *this_cpu(void)
{
	u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

/* Who makes a task runnable, just now on this CPU. */
static __always_inline u32 cause(u32 *waker)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct record_cpu *cpu = this_cpu();

	if (!cpu)
		return WAKER_INTERRUPT;
	if (cpu->timers)
		return WAKER_TIMER;
	if (cpu->interrupts)
		return WAKER_INTERRUPT;
	if (cpu->soft_interrupts) {
		*waker = cpu->net_active ? cpu->net_cause : 0;
		return *waker ? WAKER_TASK : WAKER_INTERRUPT;
	}
	*waker = recorded(current);
	/* The idle task does nothing by itself: another CPU interrupts it. */
	return current->pid ? WAKER_TASK : WAKER_INTERRUPT;
}

static __always_inline int begins(u32 *count)
{
	if (count)
		(*count)++;
	return 0;
}

/* One that had begun before the programs were attached ends, too. */
static __always_inline int ends(u32 *count)
{
	if (count && *count)
		(*count)--;
	return 0;
}

static __always_inline u32 *timers(void)
{
	struct record_cpu *cpu = this_cpu();

	return cpu ? &cpu->timers : NULL;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(precise_timer_begins)
{
	return begins(timers());
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(precise_timer_ends)
{
	return ends(timers());
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_begins)
{
	return begins(timers());
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(timer_ends)
{
	return ends(timers());
}

/* Devices' interrupts do not interrupt each other. */
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(interrupt_begins)
{
	struct record_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->interrupted_timers = cpu->timers;
	cpu->timers = 0;
	cpu->interrupts = 1;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(interrupt_ends)
{
	struct record_cpu *cpu = this_cpu();

	if (!cpu || !cpu->interrupts)
		return 0;
	cpu->timers = cpu->interrupted_timers;
	cpu->interrupts = 0;
	return 0;
}

/* NET_RX_SOFTIRQ */
#define NETWORK 3

/*
 * A packet to this machine itself is delivered by a software interrupt, too, but the sender's work
 * makes it necessary, and not a device's.
 */
SEC("tp_btf/softirq_raise")
int BPF_PROG(soft_interrupt_raised, unsigned int vector)
{
	struct record_cpu *cpu = this_cpu();

	if (!cpu || vector != NETWORK)
		return 0;
	if (cpu->interrupts || cpu->timers)
		cpu->net_cause = 0;
	else if (!cpu->soft_interrupts)
		cpu->net_cause = recorded(bpf_get_current_task_btf());
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(soft_interrupt_begins, unsigned int vector)
{
	struct record_cpu *cpu = this_cpu();

	if (cpu && vector == NETWORK)
		cpu->net_active = 1;
	return begins(cpu ? &cpu->soft_interrupts : NULL);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(soft_interrupt_ends, unsigned int vector)
{
	struct record_cpu *cpu = this_cpu();

	if (cpu && vector == NETWORK)
		cpu->net_active = 0;
	return ends(cpu ? &cpu->soft_interrupts : NULL);
}

#endif /* FAIRGROUND_RECORDER_ONLY_H */
