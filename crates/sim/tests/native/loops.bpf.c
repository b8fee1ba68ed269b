// SPDX-License-Identifier: GPL-2.0-only
/* Every way to go round. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

static long add(u64 round, u64 *sum)
{
	*sum += round;
	return round == 5;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(loops_init)
{
	int i, n = 0, sum = 0, *number, *cpu;
	u64 rounds = 0;

	bpf_for(i, 2, 6) {
		if (i == 4)
			continue;
		n += i;
	}
	bpf_repeat(3)
		n += 100;
	bpf_for(i, 5, 5)
		n += 1000;
	bpf_for_each(num, number, 0, 10) {
		if (*number == 7)
			break;
		sum += *number;
	}
	bpf_printk("%d %d %d", n, i, sum);

	sum = 0;
	while (can_loop)
		sum++;
	bpf_printk("%d", sum);

	bpf_printk("%ld", bpf_loop(100, add, &rounds, 0));
	bpf_printk("%llu", rounds);
	for_each_possible_cpu(cpu)
		bpf_printk("cpu %d", *cpu);
	return 0;
}

SCX_OPS_DEFINE(loops_ops, .init = (void *)loops_init, .name = "loops");
