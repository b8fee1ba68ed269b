/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the recorder's programs and their reader share. The build makes Rust's view of it from the
 * BTF of what `shared_with_reader` in recorder.bpf.c names.
 */
#ifndef FAIRGROUND_RECORDER_H
#define FAIRGROUND_RECORDER_H

enum record_kind {
	RECORD_SWITCH = 0,
	RECORD_WAKE = 1,
	RECORD_FORK = 2,
	RECORD_EXIT = 3,
	/* A `struct record_task`: the task is new here, or something of it has changed. */
	RECORD_TASK = 4,
	/* The task runs on this CPU, as the recording begins. */
	RECORD_RUNNING = 5,
	/* A task has put bytes into a stream, or taken them out. */
	RECORD_SENT = 6,
	RECORD_TAKEN = 7,
};

/* Why a task leaves its CPU. */
enum record_leaves {
	LEAVES_RUNNABLE = 0,
	LEAVES_ENDED = 1,
	/* Interruptible sleep. */
	LEAVES_WAITING = 2,
	/* Uninterruptible sleep. */
	LEAVES_STUCK = 3,
	/* Uninterruptible sleep for a disk. */
	LEAVES_IO = 4,
	/* Sleep of a thread of the kernel that has nothing to do. */
	LEAVES_IDLING = 5,
	/* Runnable, but it lets others run. */
	LEAVES_YIELDING = 6,
};

/* What makes a task runnable. */
enum record_waker {
	WAKER_TASK = 0,
	WAKER_TIMER = 1,
	WAKER_INTERRUPT = 2,
	/* Of a trace on an older kernel. */
	WAKER_UNKNOWN = 3,
};

/* What the first argument of the system call is, in which a task sleeps or wakes another one. */
enum record_file {
	FILE_NONE = 0,
	FILE_PIPE = 1,
	FILE_LOCAL_SOCKET = 2,
	FILE_NETWORK = 3,
	FILE_DISK = 4,
	FILE_TIMER = 5,
	FILE_EVENT = 6,
	FILE_OTHER = 7,
};

enum record_limit {
	/* Of 64 CPUs each. */
	CPU_WORDS = 16,
	/* How many have a place in the table `takes_file`. */
	SYSCALLS = 1024,
	/* In `detail`: the task sleeps outside of a system call, or of one that is not known. */
	NO_SYSCALL = 0xffff,
};

struct record_event {
	u64 time_ns;
	/* SWITCH: who leaves; FORK: the parent; otherwise the task. 0: nobody that is recorded. */
	u32 task;
	/*
	 * SWITCH: the task that runs from now on; WAKE: the waker; FORK: the child; SENT, TAKEN: the
	 * stream.
	 */
	u32 other;
	/*
	 * SWITCH: leaves | file << 8 | system call << 16; WAKE: the same with enum record_waker, of
	 * the task that wakes; SENT, TAKEN: bytes.
	 */
	u32 detail;
	u16 cpu;
	/* SENT into a pipe: above 8 bits the binary digits of its slots; a slot has a page. */
	u16 kind;
};

struct record_task {
	struct record_event event;
	/* Whether it is a thread of the kernel. */
	u32 kernel;
	/* The kernel's: 120 is nice 0. */
	s32 static_prio;
	u32 policy;
	u32 rt_priority;
	u64 dl_runtime_ns;
	u64 dl_deadline_ns;
	u64 dl_period_ns;
	char comm[16];
	/* The folder's number of its group of the controller `cpu`; 0: nobody knows. */
	u64 group;
	/* The CPUs that it may use. */
	u64 cpus[CPU_WORDS];
};

/* What a CPU does outside of tasks: how many of each are going on, one within another. */
struct record_cpu {
	u32 timers;
	u32 soft_interrupts;
	/* A device's interrupt, and the timers that it interrupted. */
	u32 interrupts;
	u32 interrupted_timers;
	/* Whose work made the network's software interrupt necessary; 0: a device's. */
	u32 net_cause;
	/* Whether that one is going on. */
	u32 net_active;
	u64 padding[5];
};

/* Which tasks are recorded. */
enum record_only {
	ONLY_ALL = 0,
	/* Those that are in the map `marked`, and those that they fork. */
	ONLY_MARKED = 1,
	/* Those of a name, or of a process of that name, and those that they fork. */
	ONLY_COMM = 2,
	/* Those of the control groups in the map `cgroups`. */
	ONLY_CGROUP = 3,
	/* What this process starts: it is marked when it is forked. */
	ONLY_COMMAND = 4,
};

#endif /* FAIRGROUND_RECORDER_H */
