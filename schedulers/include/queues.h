// SPDX-License-Identifier: GPL-2.0-only
/* One queue for each CPU: that of CPU n is DSQ n. */
#ifndef FAIRGROUND_QUEUES_H
#define FAIRGROUND_QUEUES_H

/* More than any machine that these schedulers are compared on; a power of two. */
#define MAX_CPUS 1024

/* How many CPUs there can be. */
static u32 nr_cpus;

/* For `ops.init`. */
static inline s32 create_queues(void)
{
	u32 cpu;
	s32 err;

	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > MAX_CPUS)
		return -E2BIG;
	bpf_for(cpu, 0, nr_cpus) {
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			return err;
	}
	return 0;
}

#endif /* FAIRGROUND_QUEUES_H */
