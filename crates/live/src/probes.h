/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the probes and their reader share. The build makes Rust's view of it from the
 * BTF of what `shared_with_reader` in probes.bpf.c names.
 */
#ifndef FAIRGROUND_PROBES_H
#define FAIRGROUND_PROBES_H

/*
 * HdrHistogram's layout with three significant digits: 2048 buckets of width 1, then 1024 for each
 * further power of two, up to 2^40 ns (18 minutes). Longer waits are counted in the last bucket.
 */
#define SUB_BUCKETS 2048
#define HALF_SUB_BUCKETS 1024
#define HIGHEST_BIT 40

enum probe_size {
	/* The most task groups. */
	MAX_GROUPS = 64,
	/* Of one histogram. */
	BUCKETS = (HIGHEST_BIT - 11) * HALF_SUB_BUCKETS + SUB_BUCKETS,
};

/* The two histograms of a group, one after the other. */
enum probe_measure {
	WAKEUPS = 0,
	OTHER_WAITS = 1,
	MEASURES = 2,
};

enum probe_activity {
	/* Nobody uses the slot. */
	FREE = 0,
	RUNNING = 1,
	/* Runnable, but not running. */
	WAITING = 2,
	ASLEEP = 3,
	/* The task has ended; its numbers still count. */
	DEAD = 4,
};

/*
 * A count of samples with their exact extremes. The smallest is stored as its complement, so that
 * it is a maximum, too, and 0 means that there is none.
 */
struct probe_tally {
	u64 count;
	u64 max_ns;
	u64 min_complement;
};

/* What is known of a task. Only the CPU that switches the task writes it, except `woken_ns`. */
struct probe_task {
	u32 pid;
	u32 group;
	u32 activity;
	/* Where it ran last, or -1. */
	s32 cpu;
	/* When its present activity began. */
	u64 since_ns;
	/* When it was woken while asleep and has not run since, or 0. Written by the waker. */
	u64 woken_ns;
	u64 cpu_time_ns;
	u64 voluntary_switches;
	u64 involuntary_switches;
	u64 migrations;
	struct probe_tally wakeups;
	struct probe_tally other_waits;
	/* The group of the child that the task forks next, plus one; 0: the table's. The task's own. */
	u64 next_child;
	u64 padding;
};

/* What tasks had counted whose slots are in use again. */
struct probe_totals {
	u64 tasks;
	u64 cpu_time_ns;
	u64 voluntary_switches;
	u64 involuntary_switches;
	u64 migrations;
	struct probe_tally wakeups;
	struct probe_tally other_waits;
};

/*
 * Time is counted in intervals of 10 ms, which double after 120 of them and then after every 60:
 * the layout of `model::series`.
 */
#define FIRST_INTERVAL_NS 10000000
#define HALF_INTERVALS 60
#define LAST_LEVEL 16
#define INTERVALS (HALF_INTERVALS * (LAST_LEVEL + 2))

/* What tasks spend time with, in an interval. */
enum probe_spent {
	BUSY = 0,
	WAITED = 1,
};

/* What a CPU has counted in one interval. */
struct probe_interval {
	/* Spans of time that begin or end in it. */
	u64 ns[2];
	/* How many more spans fill intervals from here on than fill those before. */
	s64 filled[2];
	u64 switches;
	u64 forks;
	/* Makes it 64 bytes. */
	u64 padding[2];
};

/* What a CPU has counted. Only its own switches write, but for `forks`. */
struct probe_series {
	/* The interval of its latest switch. */
	u64 begin_ns;
	u64 end_ns;
	u64 place;
	u64 padding[5];
	struct probe_interval intervals[INTERVALS];
};

/* Events of a trace. */
enum probe_event_kind {
	SWITCH = 0,
	WAKING = 1,
	FORK = 2,
	EXIT = 3,
	/* A task has put bytes into a stream, or taken them out. */
	SENT = 4,
	TAKEN = 5,
};

struct probe_event {
	u64 time_ns;
	u32 kind;
	u32 cpu;
	/* SWITCH: who stopped; FORK: the parent; WAKING: the task that wakes; SENT, TAKEN: a stream. */
	u32 prev;
	/* SWITCH: who runs; FORK: the child; otherwise the task. */
	u32 next;
	u32 prev_prio;
	u32 next_prio;
	/* SWITCH: the raw state, with PREEMPTED; WAKING: the target CPU; SENT, TAKEN: bytes. */
	u32 detail;
	/* SWITCH: of who stopped; WAKING: enum record_waker. */
	u32 exit_state;
	/* SWITCH, WAKING: as in `record_event.detail`. */
	u32 reason;
	u32 padding;
	/* The name of `next`. */
	char comm[16];
};

/* In `event.detail`. */
enum probe_detail {
	/* It could have run on. */
	PREEMPTED = 1u << 31,
};

#endif /* FAIRGROUND_PROBES_H */
