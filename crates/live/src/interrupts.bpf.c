// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work of a workload's interrupts.
 *
 * The program is attached to `cpu-clock` events. Their timer calls it in hard-interrupt context.
 * It keeps the CPU for as many nanoseconds as its event's cookie says.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* The longest interrupt has 10 ms, and a look at the clock takes more than 2 ns. */
#define LOOKS_MAX (4 << 20)

/* How many interrupts there were. */
u64 came = 0;

static long is_over(u32 look, void *until_ns)
{
	return bpf_ktime_get_ns() >= *(u64 *)until_ns;
}

SEC("perf_event")
int interrupt(void *ctx)
{
	u64 until_ns = bpf_ktime_get_ns() + bpf_get_attach_cookie(ctx);

	bpf_loop(LOOKS_MAX, is_over, &until_ns, 0);
	__sync_fetch_and_add(&came, 1);
	return 0;
}
