/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of a trace. Programs whose names begin with `trace_` are loaded for one only.
 */
#ifndef FAIRGROUND_PROBES_TRACE_H
#define FAIRGROUND_PROBES_TRACE_H

static __always_inline struct probe_event *reserve(u32 kind)
{
	struct probe_event *e;

	if (!counting)
		return NULL;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&lost_events, 1);
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time_ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->cpu = bpf_get_smp_processor_id();
	return e;
}

static __always_inline void submit(struct probe_event *e, struct task_struct *next)
{
	e->next = next->pid;
	e->next_prio = next->prio;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), next->comm);
	/* Nobody waits for events: they are read when all is over. */
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

static __always_inline int trace_a_switch(bool preempt, struct task_struct *prev,
					  struct task_struct *next, u32 prev_state)
{
	struct probe_event *e = reserve(SWITCH);

	if (!e)
		return 0;
	e->prev = prev->pid;
	e->prev_prio = prev->prio;
	e->detail = prev_state | (preempt ? PREEMPTED : 0);
	e->exit_state = prev->exit_state;
	if (knows_reasons())
		e->reason = leaves_for(prev, preempt, prev_state);
	else
		e->reason = leaves(prev, preempt, prev_state);
	submit(e, next);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(trace_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return trace_a_switch(preempt, prev, next, prev_state);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(trace_waking, struct task_struct *p)
{
	struct probe_event *e;

	/* A task that has not left its run queue yet just stays there. */
	if (!is_asleep(p))
		return 0;
	e = reserve(WAKING);
	if (!e)
		return 0;
	e->detail = p->thread_info.cpu;
	e->exit_state = knows_reasons() ? cause(&e->prev) : WAKER_UNKNOWN;
	if (e->exit_state == WAKER_TASK)
		e->reason = means();
	submit(e, p);
	return 0;
}

#define MESSAGE_SENT SENT
#define MESSAGE_TAKEN TAKEN

static __always_inline void message(u32 kind, u32 stream, u32 bytes, u32 slots)
{
	struct probe_event *e = reserve(kind);

	if (!e)
		return;
	e->prev = stream;
	e->detail = bytes;
	e->prev_prio = slots;
	submit(e, bpf_get_current_task_btf());
}

#include "messages.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(trace_fork, struct task_struct *parent, struct task_struct *child)
{
	struct probe_event *e = reserve(FORK);

	if (!e)
		return 0;
	e->prev = parent->pid;
	submit(e, child);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(trace_exit, struct task_struct *p)
{
	struct probe_event *e = reserve(EXIT);

	if (!e)
		return 0;
	submit(e, p);
	return 0;
}

#endif /* FAIRGROUND_PROBES_TRACE_H */
