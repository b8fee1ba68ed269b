// SPDX-License-Identifier: GPL-2.0-only
/* What all versions of BORE are asked about bursts. */
#define MS 1000000ULL

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

static void ask_kernel_thread(struct task_struct *p)
{
	struct burst burst = { .time = 10000 * MS };
	u32 flags = p->flags;

	update_penalty(p, &burst);
	say("score of a thread", burst.score);
	p->flags |= KERNEL_THREAD;
	update_penalty(p, &burst);
	say("score of a kernel thread", burst.score);
	p->flags = flags;
}

static void ask_bursts(struct task_struct *p)
{
	ask_score();
	ask_smoothing("8 ms and bursts of 0", 8 * MS, 0);
	ask_smoothing("0 and bursts of 40", 0, 40);
	ask_smoothing("40 and bursts of 0", 40, 0);
	ask_smoothing("0 and bursts of 5", 0, 5);
	ask_kernel_thread(p);
}
