/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who makes a task runnable: another task, a timer, or a device. The recorder and the traces of the
 * probes tell it in the same way. Who includes this has a function `recorded`: the number of a
 * task, 0 for one that is nobody's business.
 */
#ifndef FAIRGROUND_WAKERS_H
#define FAIRGROUND_WAKERS_H

/* What each CPU does outside of tasks. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_cpu);
} cpus SEC(".maps");

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

/*
 * What the task that wakes another one is in, as `reason` has it. One that writes into a pipe or a
 * socket tells the scheduler that it may soon sleep (`WF_SYNC`), one that signals an event does
 * not.
 */
static __always_inline u32 means(void)
{
	struct record_cpu *cpu = this_cpu();

	if (cpu && cpu->soft_interrupts)
		return FILE_NETWORK << 8;
	return reason(bpf_get_current_task_btf());
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
int BPF_PROG(trace_hrtimer_begins)
{
	return begins(timers());
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(trace_hrtimer_ends)
{
	return ends(timers());
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(trace_timer_begins)
{
	return begins(timers());
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(trace_timer_ends)
{
	return ends(timers());
}

/* Devices' interrupts do not interrupt each other. */
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(trace_irq_begins)
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
int BPF_PROG(trace_irq_ends)
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
int BPF_PROG(trace_softirq_raised, unsigned int vector)
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
int BPF_PROG(trace_softirq_begins, unsigned int vector)
{
	struct record_cpu *cpu = this_cpu();

	if (cpu && vector == NETWORK)
		cpu->net_active = 1;
	return begins(cpu ? &cpu->soft_interrupts : NULL);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(trace_softirq_ends, unsigned int vector)
{
	struct record_cpu *cpu = this_cpu();

	if (cpu && vector == NETWORK)
		cpu->net_active = 0;
	return ends(cpu ? &cpu->soft_interrupts : NULL);
}

#endif /* FAIRGROUND_WAKERS_H */
