/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs from kernel to kernel: where a task's state is, and which system call it is in.
 */
#ifndef FAIRGROUND_RECORDER_KERNEL_H
#define FAIRGROUND_RECORDER_KERNEL_H

/* The kernel's values since 4.14. */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80
#define TASK_IDLE 0x402
#define PF_KTHREAD 0x00200000

/* As older kernels have it; libbpf ignores the three underscores and what follows them. */
struct task_struct___int {
	int on_rq;
	int on_cpu;
	/* Before 5.16. */
	unsigned int cpu;
} __attribute__((preserve_access_index));

struct sched_entity___delayed {
	unsigned char sched_delayed;
} __attribute__((preserve_access_index));

/* Both have become bytes. The branch that does not fit the kernel is never verified. */
static __always_inline bool is_on_run_queue(const struct task_struct *p)
{
	if (bpf_core_field_size(p->on_rq) == sizeof(u8))
		return p->on_rq;
	return ((const struct task_struct___int *)p)->on_rq;
}

static __always_inline bool is_on_cpu(const struct task_struct *p)
{
	if (bpf_core_field_size(p->on_cpu) == sizeof(u8))
		return p->on_cpu;
	return ((const struct task_struct___int *)p)->on_cpu;
}

static __always_inline u32 cpu_of(const struct task_struct *p)
{
	const struct task_struct___int *older = (const void *)p;

	if (bpf_core_field_exists(older->cpu))
		return older->cpu;
	return p->thread_info.cpu;
}

/* EEVDF leaves sleepers on their run queue for a while, from 6.12 on. */
static __always_inline bool is_asleep(const struct task_struct *p)
{
	const struct sched_entity___delayed *se = (const void *)&p->se;

	if (!is_on_run_queue(p))
		return true;
	return bpf_core_field_exists(se->sched_delayed) && se->sched_delayed;
}

static __always_inline bool is_kernel_thread(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD;
}

static __always_inline u64 group_of(struct task_struct *p)
{
	if (!bpf_core_field_exists(p->sched_task_group))
		return 0;
	return BPF_CORE_READ(p, sched_task_group, css.cgroup, kn, id);
}

#if defined(__TARGET_ARCH_x86)
/* A system call of a 32-bit program, whose numbers are others. */
#define TS_COMPAT 0x2
#define SCHED_YIELD 24

static __always_inline u32 syscall_of(struct task_struct *p, u64 arguments[2])
{
	struct pt_regs *regs;
	s64 number;

	if (is_kernel_thread(p) || p->thread_info.status & TS_COMPAT)
		return NO_SYSCALL;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	/* -1 in an interrupt or a page fault. */
	number = regs->orig_ax;
	arguments[0] = regs->di;
	arguments[1] = regs->si;
	return number < 0 || number >= NO_SYSCALL ? NO_SYSCALL : number;
}
#elif defined(__TARGET_ARCH_arm64)
#define SCHED_YIELD 124

static __always_inline u32 syscall_of(struct task_struct *p, u64 arguments[2])
{
	struct pt_regs *regs;
	s32 number;

	if (is_kernel_thread(p))
		return NO_SYSCALL;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	/* -1 outside of system calls. */
	number = regs->syscallno;
	arguments[0] = regs->orig_x0;
	arguments[1] = regs->regs[1];
	return number < 0 || number >= NO_SYSCALL ? NO_SYSCALL : number;
}
#else
#define SCHED_YIELD NO_SYSCALL

static __always_inline u32 syscall_of(struct task_struct *p, u64 arguments[2])
{
	return NO_SYSCALL;
}
#endif

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define AF_UNIX 1
#define AF_NETLINK 16

static __always_inline u32 socket_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	u16 family = BPF_CORE_READ(socket, sk, __sk_common.skc_family);

	if (family == AF_UNIX)
		return FILE_LOCAL_SOCKET;
	return family == AF_NETLINK ? FILE_OTHER : FILE_NETWORK;
}

/* Files without a place in a tree have a name that says what they are: `[timerfd]`. */
static __always_inline u32 nameless(struct file *file, u32 otherwise)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	char begin[8] = {};

	bpf_probe_read_kernel(begin, sizeof(begin), name);
	if (begin[0] != '[')
		return otherwise;
	if (begin[1] == 't' && begin[2] == 'i')
		return FILE_TIMER;
	if (begin[1] == 'e' && begin[2] == 'v' && begin[6] == 'f')
		return FILE_EVENT;
	return FILE_OTHER;
}

static __always_inline u32 file_of(struct task_struct *p, u64 number)
{
	struct fdtable *table = BPF_CORE_READ(p, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;
	u32 type;

	if (number >= BPF_CORE_READ(table, max_fds))
		return FILE_NONE;
	if (bpf_probe_read_kernel(&file, sizeof(file), files + number) || !file)
		return FILE_NONE;
	type = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
	if (type == S_IFIFO)
		return FILE_PIPE;
	if (type == S_IFSOCK)
		return socket_of(file);
	if (type == S_IFCHR)
		return FILE_OTHER;
	if (type == S_IFBLK || type == S_IFDIR)
		return FILE_DISK;
	return nameless(file, type == S_IFREG ? FILE_DISK : FILE_OTHER);
}

/* System calls whose first argument is a file: 1; whose second one tells the kind of time: 2. */
const volatile u8 takes_file[SYSCALLS] = {};
#define TIMER_ABSTIME 1

/* The system call that the task is in, and what its first argument is. */
static __always_inline u32 reason(struct task_struct *p)
{
	u64 arguments[2] = {};
	u32 call = syscall_of(p, arguments);
	u32 file = FILE_NONE;

	if (call < SYSCALLS && takes_file[call] == 1)
		file = file_of(p, arguments[0]);
	else if (call < SYSCALLS && takes_file[call] && arguments[1] & TIMER_ABSTIME)
		file = FILE_TIMER;
	return file << 8 | call << 16;
}

/* Why a task leaves its CPU. */
static __always_inline u32 leaves(struct task_struct *task, bool preempt, u32 state)
{
	if (preempt || !state)
		return LEAVES_RUNNABLE;
	if (state & TASK_DEAD)
		return LEAVES_ENDED;
	/* A signal made it runnable before it was taken off its run queue. */
	if (!is_asleep(task))
		return LEAVES_RUNNABLE;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return LEAVES_IO;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return LEAVES_IDLING;
	return state & TASK_UNINTERRUPTIBLE ? LEAVES_STUCK : LEAVES_WAITING;
}

/* Whether a task that leaves its CPU and could run on has asked for it. */
static __always_inline bool yields(struct task_struct *p, bool preempt)
{
	u64 arguments[2] = {};
	u32 call;

	if (preempt)
		return false;
	call = syscall_of(p, arguments);
	return call != NO_SYSCALL && call == SCHED_YIELD;
}

/* Why a task leaves its CPU, and what the system call is in which it sleeps. */
static __always_inline u32 leaves_for(struct task_struct *p, bool preempt, u32 state)
{
	u32 how = leaves(p, preempt, state);

	if (how == LEAVES_RUNNABLE)
		return yields(p, preempt) ? LEAVES_YIELDING : LEAVES_RUNNABLE;
	return how == LEAVES_ENDED ? how : how | reason(p);
}

#endif /* FAIRGROUND_RECORDER_KERNEL_H */
