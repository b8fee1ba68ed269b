// SPDX-License-Identifier: GPL-2.0-only
/* Sets of CPUs on a machine with two. */
#include <scx/common.bpf.h>
#include <scx/percpu.bpf.h>

char _license[] SEC("license") = "GPL";

s32 BPF_STRUCT_OPS_SLEEPABLE(masks_init)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	const struct cpumask *all = scx_bpf_get_possible_cpumask();

	if (!mask)
		return -ENOMEM;
	bpf_cpumask_set_cpu(1, mask);
	bpf_cpumask_set_cpu(7, mask);
	bpf_printk("%u %u %u", bpf_cpumask_first(cast_mask(mask)),
		   bpf_cpumask_weight(cast_mask(mask)), bpf_cpumask_first_zero(cast_mask(mask)));
	bpf_printk("%d %d %d", bpf_cpumask_test_and_set_cpu(0, mask),
		   bpf_cpumask_full(cast_mask(mask)), bpf_cpumask_test_and_clear_cpu(1, mask));
	bpf_printk("%d %u %d", bpf_cpumask_subset(cast_mask(mask), all), scx_bpf_nr_cpu_ids(),
		   bpf_cpumask_equal(cast_mask(mask), all));
	bpf_printk("%u %u", bpf_cpumask_any_distribute(cast_mask(mask)),
		   bpf_cpumask_any_and_distribute(cast_mask(mask), all));
	bpf_printk("%d %d %d", cpu_llc_id(1), cpu_llc_size(1), scx_bpf_cpu_node(1));
	scx_bpf_put_cpumask(all);
	bpf_cpumask_release(mask);
	return 0;
}

SCX_OPS_DEFINE(masks_ops, .init = (void *)masks_init, .name = "masks");
