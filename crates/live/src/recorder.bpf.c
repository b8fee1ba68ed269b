// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records what the tasks of a machine do: switches, wake-ups with their waker, forks, exits, and
 * what changes of a task.
 *
 * One object for Linux 5.15 to 7.x. Nothing is hooked on system calls, which would slow each of
 * them down: why a task sleeps is read from its saved registers when it leaves its CPU.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "recorder.h"

char _license[] SEC("license") = "GPL";

/* Slots minus one; slots are a power of two. */
const volatile u32 slot_mask = 0;
/* The recorder's own process, which is not recorded. */
const volatile u32 own_process = 0;
/* How many words of CPUs the machine may have. */
const volatile u32 cpu_words = 1;
/* enum record_only, and the name. */
const volatile u32 only = 0;
const volatile char only_comm[16] = {};

/* Whether anything is recorded. */
u32 recording = 0;
/* Events for which the ring had no room. */
u64 lost_events = 0;

/* Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

/* What was told of a task: its number above a digest. Two tasks may share a slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} told SEC(".maps");

/* Tasks that are recorded, where not all are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, u32);
	__type(value, u8);
} marked SEC(".maps");

/* The numbers of the control groups that are recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, u64);
	__type(value, u8);
} cgroups SEC(".maps");

/* The object's BTF describes only the types of variables. */
struct {
	enum record_kind kind;
	enum record_leaves leaves;
	enum record_waker waker;
	enum record_file file;
	enum record_limit limit;
	enum record_only only;
	struct record_task task;
	struct record_cpu cpu;
} *shared_with_reader __attribute__((unused));

#include "recorder_kernel.h"

static __always_inline void mark(const struct task_struct *p)
{
	u32 pid = p->pid;
	u8 yes = 1;

	if (only == ONLY_ALL || only == ONLY_CGROUP)
		return;
	/* Without room for it, all of its events are lost. */
	if (bpf_map_update_elem(&marked, &pid, &yes, BPF_ANY))
		__sync_fetch_and_add(&lost_events, 1);
}

static __always_inline void unmark(const struct task_struct *p)
{
	u32 pid = p->pid;

	if (only != ONLY_ALL && only != ONLY_CGROUP)
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

#include "wakers.h"

/* Nobody waits for events: the reader looks from time to time. */
static __always_inline void send(void *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void *reserved(void *event, u32 kind, u64 now_ns)
{
	struct record_event *e = event;

	if (!e) {
		__sync_fetch_and_add(&lost_events, 1);
		return NULL;
	}
	e->time_ns = now_ns;
	e->cpu = bpf_get_smp_processor_id();
	e->kind = kind;
	return e;
}

static __always_inline struct record_event *event(u32 kind, u64 now_ns)
{
	return reserved(bpf_ringbuf_reserve(&events, sizeof(struct record_event), 0), kind, now_ns);
}

static __always_inline int tell_event(u32 kind, u64 now_ns, u32 task, u32 other, u32 detail)
{
	struct record_event *e = event(kind, now_ns);

	if (!e)
		return 0;
	e->task = task;
	e->other = other;
	e->detail = detail;
	send(e);
	return 0;
}

static __always_inline u32 mixed(u64 digest, u64 more)
{
	digest = (digest ^ more) * 0x9e3779b97f4a7c15;
	return digest >> 32;
}

/* All of a task that the reader is told. */
static __always_inline u32 digest(const struct task_struct *p)
{
	u32 sum = mixed(p->static_prio, *(const u64 *)&p->comm[0]);

	sum = mixed(sum, *(const u64 *)&p->comm[8]);
	sum = mixed(sum, (u64)p->policy << 32 | p->rt_priority);
	for (u32 i = 0; i < CPU_WORDS && i < cpu_words; i++)
		sum = mixed(sum, p->cpus_mask.bits[i]);
	return sum;
}

static __always_inline void tell(struct task_struct *p, u64 *slot, u64 value, u64 now_ns)
{
	struct record_task *t;

	t = reserved(bpf_ringbuf_reserve(&events, sizeof(*t), 0), RECORD_TASK, now_ns);
	if (!t)
		return;
	t->event.task = p->pid;
	t->event.other = 0;
	t->event.detail = 0;
	t->kernel = is_kernel_thread(p);
	t->static_prio = p->static_prio;
	t->policy = p->policy;
	t->rt_priority = p->rt_priority;
	t->dl_runtime_ns = p->dl.dl_runtime;
	t->dl_deadline_ns = p->dl.dl_deadline;
	t->dl_period_ns = p->dl.dl_period;
	t->group = group_of(p);
	__builtin_memcpy(t->comm, p->comm, sizeof(t->comm));
	for (u32 i = 0; i < CPU_WORDS; i++)
		t->cpus[i] = i < cpu_words ? p->cpus_mask.bits[i] : 0;
	*slot = value;
	send(t);
}

/* The reader knows the task's present attributes from here on. */
static __always_inline void know(struct task_struct *p, u64 now_ns)
{
	u32 key = p->pid & slot_mask;
	u64 *slot = bpf_map_lookup_elem(&told, &key);
	u64 value = (u64)p->pid << 32 | digest(p);

	if (slot && *slot != value)
		tell(p, slot, value, now_ns);
}

/* The same for a task that has not run since, so that its number is enough. */
static __always_inline void know_of(struct task_struct *p, u64 now_ns)
{
	u32 key = p->pid & slot_mask;
	u64 *slot = bpf_map_lookup_elem(&told, &key);

	if (slot && *slot >> 32 != p->pid)
		tell(p, slot, (u64)p->pid << 32 | digest(p), now_ns);
}

static __always_inline int record_a_switch(bool preempt, struct task_struct *prev,
					   struct task_struct *next, u32 state)
{
	u32 from = recorded(prev), to = recorded(next), how = LEAVES_RUNNABLE;
	u64 now_ns;

	if (!recording || !(from | to))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (from) {
		know(prev, now_ns);
		how = leaves_for(prev, preempt, state);
		if (how == LEAVES_ENDED)
			unmark(prev);
	}
	if (to)
		know_of(next, now_ns);
	return tell_event(RECORD_SWITCH, now_ns, from, to, how);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(record_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return record_a_switch(preempt, prev, next, prev_state);
}

/* Before 5.18. */
SEC("tp_btf/sched_switch")
int BPF_PROG(record_switch_older, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return record_a_switch(preempt, prev, next, prev->__state);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(record_waking, struct task_struct *p)
{
	u32 task = recorded(p), waker = 0, how;
	u64 now_ns;

	/* A task that has not left its run queue yet just stays there. */
	if (!recording || !task || !is_asleep(p))
		return 0;
	now_ns = bpf_ktime_get_ns();
	know_of(p, now_ns);
	how = cause(&waker);
	if (how == WAKER_TASK)
		how |= means();
	return tell_event(RECORD_WAKE, now_ns, task, waker, how);
}

#define MESSAGE_SENT RECORD_SENT
#define MESSAGE_TAKEN RECORD_TAKEN

/* In `kind`: 0 for what is not known. Pipes have powers of two. */
static __always_inline u32 slots_in_kind(u32 slots)
{
	u32 digits = 0;

	for (u32 i = 0; i < 32; i++)
		digits += slots >> i > 0;
	return digits << 8;
}

static __always_inline void message(u32 kind, u32 stream, u32 bytes, u32 slots)
{
	u32 task = recorded(bpf_get_current_task_btf());
	u64 now_ns;

	if (!recording || !task)
		return;
	now_ns = bpf_ktime_get_ns();
	tell_event(kind | slots_in_kind(slots), now_ns, task, stream, bytes);
}

#include "messages.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(record_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = recorded(parent), key = child->pid & slot_mask, to;
	u64 *slot = bpf_map_lookup_elem(&told, &key);
	struct record_event *e;
	u64 now_ns;

	if (from || (only == ONLY_COMMAND && parent->tgid == own_process))
		mark(child);
	to = recorded(child);
	if (!recording || !to)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (from)
		know_of(parent, now_ns);
	e = event(RECORD_FORK, now_ns);
	if (!e)
		return 0;
	e->task = from;
	e->other = to;
	e->detail = 0;
	send(e);
	if (slot)
		tell(child, slot, (u64)child->pid << 32 | digest(child), now_ns);
	return 0;
}

/* A task that gets the name that is asked for begins there, most often in execve(). */
SEC("tp_btf/task_rename")
int BPF_PROG(record_rename, struct task_struct *p, const char *comm)
{
	const volatile u64 *name = (const volatile u64 *)only_comm;
	u64 now_ns, new_name[2] = {};

	if (!recording || only != ONLY_COMM || recorded(p) || p != bpf_get_current_task_btf())
		return 0;
	bpf_probe_read_kernel_str(new_name, sizeof(new_name), comm);
	if (new_name[0] != name[0] || new_name[1] != name[1])
		return 0;
	mark(p);
	now_ns = bpf_ktime_get_ns();
	return tell_event(RECORD_RUNNING, now_ns, p->pid, 0, 1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(record_exit, struct task_struct *p)
{
	u32 task = recorded(p);
	u64 now_ns;

	if (!recording || !task)
		return 0;
	now_ns = bpf_ktime_get_ns();
	know_of(p, now_ns);
	return tell_event(RECORD_EXIT, now_ns, task, 0, 0);
}

/* Read once when the recording begins: a task that never leaves its CPU has no other event. */
SEC("iter/task")
int record_running(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct record_event *e;
	u64 now_ns;
	u32 task;

	if (!p || !is_on_cpu(p))
		return 0;
	task = recorded(p);
	if (!task)
		return 0;
	now_ns = bpf_ktime_get_ns();
	know_of(p, now_ns);
	e = event(RECORD_RUNNING, now_ns);
	if (!e)
		return 0;
	e->cpu = cpu_of(p);
	e->task = task;
	e->other = 0;
	e->detail = 0;
	send(e);
	return 0;
}
