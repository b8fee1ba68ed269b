/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Variables of the kernel that have an address of their own, and what a machine without performance
 * counters answers.
 */

unsigned long CONFIG_NR_CPUS = 8192;
bool CONFIG_X86_64 = true;
bool CONFIG_PREEMPT_RT = false;
/* An idle CPU has no ticks, and `clock_pelt` runs on meanwhile. */
bool CONFIG_NO_HZ_IDLE = true;

/* What stands for a weak option that is not among these: as long as the longest text of one. */
__attribute__((retain, used)) const char fairground_absent_option[64];

/* As where no driver controls the frequency: no CPU has a policy. */
static struct cpufreq_policy *fairground_cpufreq[8192] __attribute__((used));
extern struct cpufreq_policy *cpufreq_cpu_data __attribute__((visibility("hidden")));
__asm__(".globl cpufreq_cpu_data\n.hidden cpufreq_cpu_data\n"
	".set cpufreq_cpu_data, fairground_cpufreq");

/* Per CPU. Nothing of the model runs in an interrupt but the tick, and no scheduler sees that. */
const int __preempt_count;

/* Per-CPU variables of the kernel: their addresses only name them. */
int sd_llc_id;
int sd_llc_size;

void *bpf_per_cpu_ptr(const void *variable, u32 cpu)
{
	static int ids[8192], sizes[8192];

	if (cpu >= fairground.nr_cpu_ids)
		return NULL;
	if (variable == &sd_llc_id) {
		ids[cpu] = fairground_llc_id(cpu);
		return &ids[cpu];
	}
	if (variable == &sd_llc_size) {
		sizes[cpu] = fairground_llc_size(cpu);
		return &sizes[cpu];
	}
	if (variable == &cpufreq_cpu_data)
		return &fairground_cpufreq[cpu];
	if (variable == &__preempt_count)
		return (void *)&__preempt_count;
	return NULL;
}

void *bpf_this_cpu_ptr(const void *variable)
{
	return bpf_per_cpu_ptr(variable, fairground.cpu);
}

long bpf_perf_event_read_value(void *map, u64 flags, struct bpf_perf_event_value *value, u32 size)
{
	__builtin_memset(value, 0, size);
	return -ENOENT;
}

/* Nobody has opened an event to write to. */
long bpf_perf_event_output(void *ctx, void *map, u64 flags, void *data, u64 size)
{
	return -ENOENT;
}

long bpf_probe_read_str(void *to, u32 size, const void *from)
{
	return bpf_probe_read_kernel_str(to, size, from);
}
