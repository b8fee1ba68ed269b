// SPDX-License-Identifier: GPL-2.0-only
/* A timer that starts itself again every millisecond. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define PERIOD_NS 1000000

struct beat {
	struct bpf_timer timer;
	u64 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct beat);
} timers SEC(".maps");

static struct beat *beat(void)
{
	u32 key = 1;

	return bpf_map_lookup_elem(&timers, &key);
}

static int fire(void *map, int *key, struct beat *beat)
{
	beat->count += *key;
	bpf_timer_start(&beat->timer, PERIOD_NS, 0);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(timing_init)
{
	struct beat *b = beat();
	long once, twice;

	if (!b)
		return -ENOENT;
	once = bpf_timer_init(&b->timer, &timers, CLOCK_MONOTONIC);
	twice = bpf_timer_init(&b->timer, &timers, CLOCK_MONOTONIC);
	bpf_printk("%ld %ld", once, twice);
	bpf_timer_set_callback(&b->timer, fire);
	return bpf_timer_start(&b->timer, PERIOD_NS, 0);
}

void BPF_STRUCT_OPS(timing_exit, struct scx_exit_info *ei)
{
	struct beat *b = beat();

	if (b)
		bpf_printk("%llu %d %ld", b->count, ei->kind, bpf_timer_cancel(&b->timer));
}

SCX_OPS_DEFINE(timing_ops,
	       .init = (void *)timing_init,
	       .exit = (void *)timing_exit,
	       .name = "timing");
