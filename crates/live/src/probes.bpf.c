// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what the scheduler does to the tasks of a workload.
 *
 * One object for Linux 5.10 to 7.x: programs whose names end in `_older` replace their namesakes
 * before 5.18, see probes_older.h. Tracked tasks have a slot in a plain array, found by their
 * number: the array's look-up is a handful of instructions in line, where task storage would be a
 * call, and an untracked task costs one comparison. No atomic operation but the histogram's: a task
 * is switched by one CPU at a time.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "probes.h"
#include "recorder.h"
#include "recorder_kernel.h"

char _license[] SEC("license") = "GPL";

/* Slots minus one; slots are a power of two. */
const volatile u32 slot_mask = 0;

/* Whether anything is counted. */
u32 counting = 0;
/* The common start: earlier beginnings are clipped to it. */
u64 start_ns = 0;
/* The group of the children of a group's tasks. */
u32 fork_group[MAX_GROUPS];
/* What was counted by tasks whose slots are in use again. */
struct probe_totals retired[MAX_GROUPS];
/* New tasks whose slot a living task has. */
u64 untracked = 0;
/* Events for which the ring had no room. */
u64 lost_events = 0;

/* Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct probe_task);
} tasks SEC(".maps");

/* Every group's histograms, one after another. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} histograms SEC(".maps");

/*
 * 1 where the number is not 0. There is no branch, because the verifier follows both ways of each:
 * a binary search of five steps would have 32 ways.
 */
static __always_inline u32 is_any(u64 number)
{
	u64 negative = -number;

	barrier_var(negative);
	return negative >> 63;
}

/* The number of bits without leading zeros, of a number below 2^32: a binary search. */
static __always_inline u32 length(u64 number)
{
	u32 bits = 0, step;

	step = is_any(number >> 16) << 4; bits += step; number >>= step;
	step = is_any(number >> 8) << 3; bits += step; number >>= step;
	step = is_any(number >> 4) << 2; bits += step; number >>= step;
	step = is_any(number >> 2) << 1; bits += step; number >>= step;
	step = is_any(number >> 1); bits += step; number >>= step;
	return bits + number;
}

#include "probes_series.h"

/* Left out unless a trace is asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} events SEC(".maps");

/* Before 5.15 a trace does not tell who wakes tasks, and what they sleep for. */
static __always_inline bool knows_reasons(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

/* A trace is of everybody. */
#define recorded(p) ((p)->pid)
#include "wakers.h"

/* The object's BTF describes only the types of variables. */
struct {
	enum probe_size size;
	enum probe_measure measure;
	enum probe_activity activity;
	enum probe_spent spent;
	enum probe_event_kind event_kind;
	enum probe_detail detail;
	struct probe_task task;
	struct probe_event event;
} *shared_with_reader __attribute__((unused));

static __always_inline struct probe_task *slot(u32 pid)
{
	u32 key = pid & slot_mask;

	return bpf_map_lookup_elem(&tasks, &key);
}

/* The task's slot; NULL when it is not tracked. */
static __always_inline struct probe_task *tracked(const struct task_struct *p)
{
	u32 pid = p->pid;
	struct probe_task *t = slot(pid);

	return t && t->pid == pid ? t : NULL;
}

static __always_inline u32 bucket(u64 value_ns)
{
	u32 high = value_ns >> 11;
	u32 shift;

	if (value_ns >> HIGHEST_BIT)
		return BUCKETS - 1;
	/* How many bits are above the eleven that are kept. */
	shift = length(high);
	return shift * HALF_SUB_BUCKETS + (u32)(value_ns >> shift);
}

static __always_inline void sample(struct probe_tally *s, u32 key, u64 value_ns)
{
	u64 *count = bpf_map_lookup_elem(&histograms, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	s->count++;
	if (value_ns > s->max_ns)
		s->max_ns = value_ns;
	if (~value_ns > s->min_complement)
		s->min_complement = ~value_ns;
}

static __always_inline void stops(struct probe_task *t, struct probe_series *s, u32 cpu,
				  bool preempt, u32 state, u64 now_ns)
{
	bool voluntary = !preempt && state;

	if (counting) {
		t->cpu_time_ns += spent(s, cpu, BUSY, t->since_ns, now_ns);
		switched(s);
		if (voluntary)
			t->voluntary_switches++;
		else
			t->involuntary_switches++;
	}
	t->since_ns = now_ns;
	t->activity = !voluntary ? WAITING : state & TASK_DEAD ? DEAD : ASLEEP;
}

/* A wait counts once: after a wake-up, or for another reason. The reader adds the two up. */
static __always_inline void runs(struct probe_task *t, struct probe_series *s, s32 cpu,
				 u64 now_ns)
{
	u64 woken_ns = t->woken_ns;

	if (counting) {
		u64 wait_ns = spent(s, cpu, WAITED, woken_ns ? woken_ns : t->since_ns, now_ns);
		u32 key = t->group * (MEASURES * BUCKETS) + bucket(wait_ns);

		if (woken_ns)
			sample(&t->wakeups, key + WAKEUPS * BUCKETS, wait_ns);
		else
			sample(&t->other_waits, key + OTHER_WAITS * BUCKETS, wait_ns);
		if (t->cpu != cpu && t->cpu >= 0)
			t->migrations++;
	}
	t->cpu = cpu;
	t->woken_ns = 0;
	t->since_ns = now_ns;
	t->activity = RUNNING;
}

static __always_inline int count_a_switch(bool preempt, struct task_struct *prev,
					  struct task_struct *next, u32 prev_state)
{
	struct probe_task *from = tracked(prev), *to = tracked(next);
	struct probe_series *s;
	u64 now_ns;
	u32 cpu;

	if (!from && !to)
		return 0;
	cpu = bpf_get_smp_processor_id();
	s = series_of(cpu);
	now_ns = bpf_ktime_get_ns();
	if (from)
		stops(from, s, cpu, preempt, prev_state, now_ns);
	if (to)
		runs(to, s, cpu, now_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return count_a_switch(preempt, prev, next, prev_state);
}

/*
 * A waking counts when the task sleeps: its switch said so, or, if the waker is faster than that
 * switch, it has left its run queue. `on_rq` alone does not tell, because EEVDF leaves sleepers
 * there for a while.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(count_waking, struct task_struct *p)
{
	struct probe_task *t = tracked(p);

	if (t && (t->activity == ASLEEP || !is_on_run_queue(p)))
		t->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/* How often a maximum is tried again when another CPU was faster. */
#define MAX_TRIES 16

static __always_inline void at_least(u64 *highest, u64 value)
{
	u64 seen = *highest;

	for (int i = 0; i < MAX_TRIES && value > seen; i++) {
		u64 found = __sync_val_compare_and_swap(highest, seen, value);

		if (found == seen)
			return;
		seen = found;
	}
}

static __always_inline void add(struct probe_tally *sum, const struct probe_tally *more)
{
	__sync_fetch_and_add(&sum->count, more->count);
	at_least(&sum->max_ns, more->max_ns);
	at_least(&sum->min_complement, more->min_complement);
}

static __always_inline bool has_counted(const struct probe_task *t)
{
	return t->wakeups.count || t->other_waits.count || t->cpu_time_ns;
}

/* The slot is about to be used again: its numbers move to the group's. */
static __always_inline void retire(struct probe_task *t)
{
	u32 group = t->group & (MAX_GROUPS - 1);
	struct probe_totals *sum = &retired[group];

	if (!has_counted(t))
		return;
	__sync_fetch_and_add(&sum->tasks, 1);
	__sync_fetch_and_add(&sum->cpu_time_ns, t->cpu_time_ns);
	__sync_fetch_and_add(&sum->voluntary_switches, t->voluntary_switches);
	__sync_fetch_and_add(&sum->involuntary_switches, t->involuntary_switches);
	__sync_fetch_and_add(&sum->migrations, t->migrations);
	add(&sum->wakeups, &t->wakeups);
	add(&sum->other_waits, &t->other_waits);
}

static __always_inline int count_a_fork(struct task_struct *parent, struct task_struct *child,
					void (*retire)(struct probe_task *))
{
	struct probe_task *from = tracked(parent), *t = slot(child->pid);
	u64 now_ns;
	u32 group;

	if (!from || !t)
		return 0;
	now_ns = bpf_ktime_get_ns();
	forked(now_ns);
	if (t->activity != FREE && t->activity != DEAD && t->pid != child->pid) {
		__sync_fetch_and_add(&untracked, 1);
		return 0;
	}
	retire(t);
	group = fork_group[from->group & (MAX_GROUPS - 1)];
	if (from->next_child)
		group = (from->next_child - 1) & (MAX_GROUPS - 1);
	__builtin_memset(t, 0, sizeof(*t));
	t->group = group;
	t->cpu = -1;
	t->since_ns = now_ns;
	t->activity = WAITING;
	t->pid = child->pid;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(count_fork, struct task_struct *parent, struct task_struct *child)
{
	return count_a_fork(parent, child, retire);
}

#include "probes_trace.h"
#include "probes_older.h"
