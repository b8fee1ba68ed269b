// SPDX-License-Identifier: GPL-2.0-only
/*
 * hostile: Does what a scheduler must not do; which of it, a knob says.
 *
 * Idea: A stranger's file that is written to do harm.
 * Good at: Nothing.
 * Bad at: Everything.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* What to try. */
const volatile u32 attack = 0;

UEI_DEFINE(uei);

#ifdef __x86_64__
typedef unsigned long word;
static inline long call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;

	asm volatile("syscall" : "=a"(result)
		     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}
#define CALL1(n, a) call(n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

extern char **environ __attribute__((weak, visibility("default")));

static volatile u64 ran_at_loading;
__attribute__((constructor, used)) static void at_loading(void)
{
	ran_at_loading = 1;
	CALL3(2, "constructor", 02101, 0644);
}
__attribute__((destructor, used)) static void at_unloading(void)
{
	CALL3(2, "destructor", 02101, 0644);
}
static char answer[4096];
static volatile u64 room[1 << 20];
__attribute__((noinline)) static u64 deep(u64 depth)
{
	volatile u64 here[512];

	here[depth % 512] = depth;
	return deep(depth + 1) + here[depth % 511];
}
static u64 length_of(const char *text)
{
	u64 length = 0;

	while (text[length])
		length++;
	return length;
}
#endif

static void attack_now(struct task_struct *p)
{
#ifdef __x86_64__
	switch (attack) {
@ATTACKS@
	}
#endif
}

void BPF_STRUCT_OPS(hostile_enqueue, struct task_struct *p, u64 enq_flags)
{
	attack_now(p);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(hostile_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(hostile_ops,
	       .enqueue		= (void *)hostile_enqueue,
	       .exit		= (void *)hostile_exit,
	       .timeout_ms	= 1000,
	       .name		= "hostile");
