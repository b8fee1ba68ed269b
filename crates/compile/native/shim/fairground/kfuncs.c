/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linked into every scheduler's native object: the way to the simulator, and what needs no
 * simulator.
 */
#include <scx/common.bpf.h>

struct fairground_state fairground;

/*
 * One function for each call. The types of the call through the pointer come from the function that
 * is being defined, whose declaration the ecosystem's headers check.
 */
#undef bpf_get_smp_processor_id
#include "interleaved.inc.c"
#define LIST(args...) args
#define TRAMPOLINE(result, function, parameters, arguments)				\
	result(function) parameters							\
	{										\
		FORWARD(result, function, LIST arguments);				\
	}
#define FORWARD(result, function, arguments...) FORWARD_(result, function, arguments)
/* The simulator comes last, so that the arguments stay in their registers. */
#define FORWARD_(result, function, ...)							\
	POINT(function);								\
	return ((result(*)())fairground.calls.function)(__VA_ARGS__ __VA_OPT__(, )	\
							fairground.simulator)

FAIRGROUND_CALLS(TRAMPOLINE)

#include "references.inc.c"

/* Older forms of kfuncs, by what the newest ones do. */
void scx_bpf_dsq_insert_vtime___compat(struct task_struct *p, u64 dsq, u64 slice, u64 vtime,
				       u64 flags)
{
	struct scx_bpf_dsq_insert_vtime_args args = {
		.dsq_id = dsq, .slice = slice, .vtime = vtime, .enq_flags = flags,
	};

	__scx_bpf_dsq_insert_vtime(p, &args);
}

bool scx_bpf_dsq_move_to_local___v1(u64 dsq)
{
	return scx_bpf_dsq_move_to_local___v2___compat(dsq, 0);
}

s32 scx_bpf_select_cpu_and___compat(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
				    const struct cpumask *cpus, u64 flags)
{
	struct scx_bpf_select_cpu_and_args args = {
		.prev_cpu = prev_cpu, .wake_flags = wake_flags, .flags = flags,
	};

	return __scx_bpf_select_cpu_and(p, cpus, &args);
}

/* By assembler, because the ecosystem's headers give the plain names to functions of their own. */
#define PLAIN(name, same)								\
	__asm__(".globl " #name "\n.hidden " #name "\n.set " #name ", " #same);
FAIRGROUND_PLAIN(PLAIN)

/* The kernel that is modelled. */
int LINUX_KERNEL_VERSION = KERNEL_VERSION(7, 3, 0);
const char CONFIG_CC_VERSION_TEXT[64] = "clang";
const char CONFIG_LOCALVERSION[64] = "-fairground";
bool CONFIG_PREEMPT_RCU = false;
/* Set from the machine when the scheduler is loaded. */
u64 CONFIG_HZ = 1000;

u32(scx_bpf_nr_cpu_ids)(void)
{
	return fairground.nr_cpu_ids;
}

/* Compilers call this instead of memcmp() where only equality matters. */
int bcmp(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size);
}

int bpf_res_spin_lock(struct bpf_res_spin_lock *lock)
{
	return LOCK(lock);
}

void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock)
{
	UNLOCK(lock);
}

u64 bpf_get_current_task(void)
{
	return (u64)bpf_get_current_task_btf();
}

u64 bpf_get_current_pid_tgid(void)
{
	struct task_struct *p = bpf_get_current_task_btf();

	return p ? (u64)p->tgid << 32 | (u32)p->pid : 0;
}

long bpf_get_current_comm(void *to, u32 size)
{
	struct task_struct *p = bpf_get_current_task_btf();

	__builtin_memset(to, 0, size);
	if (!p || !size)
		return -EINVAL;
	return bpf_probe_read_kernel_str(to, size, p->comm) < 0 ? -EINVAL : 0;
}

u64 bpf_ktime_get_boot_ns(void)
{
	return bpf_ktime_get_ns();
}

u64 bpf_ktime_get_coarse_ns(void)
{
	return bpf_ktime_get_ns();
}

u64 bpf_ktime_get_tai_ns(void)
{
	return bpf_ktime_get_ns();
}

long bpf_get_numa_node_id(void)
{
	return scx_bpf_cpu_node(fairground.cpu);
}

static struct rq *fairground_rq(s32 cpu)
{
	static struct rq rqs[8192];

	/* An error; the last call, so that the scheduler's line is the caller's. */
	if (cpu < 0 || cpu >= fairground.nr_cpu_ids)
		return (struct rq *)scx_bpf_cpu_curr(cpu);
	rqs[cpu] = (struct rq) { .cpu = cpu, .curr = scx_bpf_cpu_curr(cpu), .clock = bpf_ktime_get_ns() };
	return &rqs[cpu];
}

struct rq *scx_bpf_locked_rq(void)
{
	s32 cpu = fairground_locked_cpu();

	return cpu < 0 ? NULL : fairground_rq(cpu);
}

/* Kernels had it from 6.12 on; the modelled one has not. */
struct rq *scx_bpf_cpu_rq(s32 cpu)
{
	return fairground_rq(cpu);
}

/*
 * A fault is a zero and an error for the kernel; here only what can never be mapped is told apart.
 */
long bpf_probe_read_kernel(void *to, u32 size, const void *from)
{
	if ((unsigned long)from < FAIRGROUND_LOWEST_ADDRESS) {
		__builtin_memset(to, 0, size);
		return -EFAULT;
	}
	__builtin_memcpy(to, from, size);
	return 0;
}

long bpf_probe_read_kernel_str(void *to, u32 size, const void *from)
{
	const char *text = from;
	char *copy = to;
	u32 i;

	if (!size)
		return 0;
	if ((unsigned long)from < FAIRGROUND_LOWEST_ADDRESS) {
		__builtin_memset(to, 0, size);
		return -EFAULT;
	}
	for (i = 0; i + 1 < size && text[i]; i++)
		copy[i] = text[i];
	copy[i] = 0;
	return i + 1;
}

long bpf_strncmp(const char *a, u32 size, const char *b)
{
	for (u32 i = 0; i < size; i++) {
		if (a[i] != b[i])
			return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
		if (!a[i])
			break;
	}
	return 0;
}

long bpf_loop(u32 rounds, void *callback, void *context, u64 flags)
{
	long (*function)(u64, void *) = callback;
	u32 round;

	if (flags)
		return -EINVAL;
	if (rounds > FAIRGROUND_MAX_LOOPS)
		return -E2BIG;
	for (round = 0; round < rounds; round++)
		if (function(round, context))
			return round + 1;
	return round;
}

/* Iterators over numbers and bits. `bpf_for` needs none; `bpf_for_each(num, …)` does. */
int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end)
{
	int *number = (int *)it;

	number[0] = number[1] = 0;
	if (start > end)
		return -EINVAL;
	if ((s64)end - start > FAIRGROUND_MAX_LOOPS)
		return -E2BIG;
	number[0] = start - 1;
	number[1] = end;
	return 0;
}

int *bpf_iter_num_next(struct bpf_iter_num *it)
{
	int *number = (int *)it;

	if ((s64)number[0] + 1 >= number[1]) {
		number[0] = number[1] = 0;
		return NULL;
	}
	number[0]++;
	return number;
}

void bpf_iter_num_destroy(struct bpf_iter_num *it)
{
}

/* Two words: the address of the bits; their number and the present one. */
int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *bits, u32 words)
{
	int *state = (int *)it;

	it->__opaque[0] = (u64)bits;
	state[2] = words * 64;
	state[3] = -1;
	return bits && words ? 0 : -EINVAL;
}

int *bpf_iter_bits_next(struct bpf_iter_bits *it)
{
	const u64 *bits = (const u64 *)it->__opaque[0];
	int *state = (int *)it;

	while (bits && ++state[3] < state[2]) {
		u64 rest = bits[state[3] / 64] >> state[3] % 64;

		if (rest) {
			state[3] += __builtin_ctzll(rest);
			return &state[3];
		}
		state[3] |= 63;
	}
	return NULL;
}

void bpf_iter_bits_destroy(struct bpf_iter_bits *it)
{
}

#include "cgroup.inc.c"
#include "cids.inc.c"
#include "cpumask.inc.c"
#include "dynptr.inc.c"
#include "kernel_variables.inc.c"
#include "objects.inc.c"
#include "export.inc.c"
