// SPDX-License-Identifier: GPL-2.0-only
/*
 * bore_cfs_facts: Asks the functions of bore_cfs what they make of given numbers, and prints the answers.
 *
 * Idea: The file is included whole, without its ops table; this one's `enable` does the asking.
 * Good at: Numbers that no workload can show one by one.
 * Bad at: Scheduling: it has no queues.
 * Origin: A test.
 * Differs: From bore_cfs: everything.
 */
#include <scx/common.bpf.h>

#pragma push_macro("SCX_OPS_DEFINE")
#undef SCX_OPS_DEFINE
#define SCX_OPS_DEFINE(...)
#include "bore_cfs.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define MS 1000000ULL
#define say(what, number) bpf_printk("%s: %lld", what, (long long)(number))

static void ask_score(void)
{
	static const u64 bursts[] = {
		0, 4095, 8192, 100000, MS, 4 * MS, 8388607, 8388608, 10 * MS, 16777216, 20 * MS,
		50 * MS, 100 * MS, 500 * MS, 1000 * MS, 5000 * MS, 10000 * MS, 60000 * MS, 100000 * MS,
	};
	u32 i;

	bpf_for(i, 0, sizeof(bursts) / sizeof(bursts[0]))
		bpf_printk("score of %llu: %u", bursts[i], score_of(calc_burst_penalty(bursts[i])));
}

/* What is remembered of bursts after three more of this penalty. */
static void ask_smoothing(const char *what, u64 old, u64 new)
{
	u32 i;

	bpf_for(i, 1, 4) {
		old = binary_smooth(old, new);
		bpf_printk("%s %u: %llu", what, i, old);
	}
}

static void ask_price(void)
{
	say("price of score 11", scale_slice(11, MS));
	say("price of score 20", scale_slice(20, MS));
	say("price of score 23", scale_slice(23, MS));
}

static void ask_kernel_thread(struct task_struct *p)
{
	struct burst burst = { .time = 10000 * MS };
	u32 flags = p->flags;

	update_penalty(p, &burst);
	say("score of a thread", burst.score);
	p->flags |= 0x200000; /* PF_KTHREAD */
	update_penalty(p, &burst);
	say("score of a kernel thread", burst.score);
	p->flags = flags;
}

void BPF_STRUCT_OPS(bore_cfs_facts_enable, struct task_struct *p)
{
	static bool has_asked;

	if (has_asked)
		return;
	has_asked = true;
	ask_score();
	ask_smoothing("8 ms and bursts of 0", 8 * MS, 0);
	ask_smoothing("0 and bursts of 40", 0, 40);
	ask_smoothing("40 and bursts of 0", 40, 0);
	ask_smoothing("0 and bursts of 5", 0, 5);
	ask_price();
	ask_kernel_thread(p);
}

SCX_OPS_DEFINE(bore_cfs_facts,
	       .enable		= (void *)bore_cfs_facts_enable,
	       .init_task	= (void *)bore_cfs_init_task,
	       .init		= (void *)bore_cfs_init,
	       .exit		= (void *)bore_cfs_exit,
	       .name		= "bore_cfs_facts");
