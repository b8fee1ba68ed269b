/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The `bpf_cpumask` kfuncs. As in the kernel, bits from `nr_cpu_ids` on are neither read nor set.
 */

static u32 words(void)
{
	return (fairground.nr_cpu_ids + 63) / 64;
}

/* The bits of a word that are CPUs. */
static u64 cpus_of(u32 word)
{
	u32 left = fairground.nr_cpu_ids - word * 64;

	return left >= 64 ? ~0ULL : (1ULL << left) - 1;
}

u32 bpf_cpumask_first(const struct cpumask *cpumask)
{
	for (u32 word = 0; word < words(); word++)
		if (cpumask->bits[word] & cpus_of(word))
			return word * 64 + __builtin_ctzll(cpumask->bits[word] & cpus_of(word));
	return fairground.nr_cpu_ids;
}

u32 bpf_cpumask_first_zero(const struct cpumask *cpumask)
{
	for (u32 word = 0; word < words(); word++)
		if (~cpumask->bits[word] & cpus_of(word))
			return word * 64 + __builtin_ctzll(~cpumask->bits[word] & cpus_of(word));
	return fairground.nr_cpu_ids;
}

u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b)
{
	for (u32 word = 0; word < words(); word++) {
		u64 both = a->bits[word] & b->bits[word] & cpus_of(word);

		if (both)
			return word * 64 + __builtin_ctzll(both);
	}
	return fairground.nr_cpu_ids;
}

static bool is_cpu(u32 cpu)
{
	return cpu < fairground.nr_cpu_ids;
}

void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask)
{
	if (is_cpu(cpu))
		cpumask->cpumask.bits[cpu / 64] |= 1ULL << cpu % 64;
}

void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask)
{
	if (is_cpu(cpu))
		cpumask->cpumask.bits[cpu / 64] &= ~(1ULL << cpu % 64);
}

bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask)
{
	return is_cpu(cpu) && cpumask->bits[cpu / 64] >> cpu % 64 & 1;
}

bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *cpumask)
{
	bool before = bpf_cpumask_test_cpu(cpu, &cpumask->cpumask);

	bpf_cpumask_set_cpu(cpu, cpumask);
	return before;
}

bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask)
{
	bool before = bpf_cpumask_test_cpu(cpu, &cpumask->cpumask);

	bpf_cpumask_clear_cpu(cpu, cpumask);
	return before;
}

void bpf_cpumask_setall(struct bpf_cpumask *cpumask)
{
	for (u32 word = 0; word < words(); word++)
		cpumask->cpumask.bits[word] = cpus_of(word);
}

void bpf_cpumask_clear(struct bpf_cpumask *cpumask)
{
	for (u32 word = 0; word < words(); word++)
		cpumask->cpumask.bits[word] = 0;
}

bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	u64 any = 0;

	for (u32 word = 0; word < words(); word++)
		any |= to->cpumask.bits[word] = a->bits[word] & b->bits[word] & cpus_of(word);
	return any;
}

void bpf_cpumask_or(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	for (u32 word = 0; word < words(); word++)
		to->cpumask.bits[word] = a->bits[word] | b->bits[word];
}

void bpf_cpumask_xor(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	for (u32 word = 0; word < words(); word++)
		to->cpumask.bits[word] = a->bits[word] ^ b->bits[word];
}

bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
	for (u32 word = 0; word < words(); word++)
		if ((a->bits[word] ^ b->bits[word]) & cpus_of(word))
			return false;
	return true;
}

bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	return bpf_cpumask_first_and(a, b) < fairground.nr_cpu_ids;
}

bool bpf_cpumask_subset(const struct cpumask *part, const struct cpumask *whole)
{
	for (u32 word = 0; word < words(); word++)
		if (part->bits[word] & ~whole->bits[word] & cpus_of(word))
			return false;
	return true;
}

bool bpf_cpumask_empty(const struct cpumask *cpumask)
{
	return bpf_cpumask_first(cpumask) >= fairground.nr_cpu_ids;
}

bool bpf_cpumask_full(const struct cpumask *cpumask)
{
	return bpf_cpumask_first_zero(cpumask) >= fairground.nr_cpu_ids;
}

void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from)
{
	for (u32 word = 0; word < words(); word++)
		to->cpumask.bits[word] = from->bits[word];
}

u32 bpf_cpumask_weight(const struct cpumask *cpumask)
{
	u32 weight = 0;

	for (u32 word = 0; word < words(); word++)
		weight += __builtin_popcountll(cpumask->bits[word] & cpus_of(word));
	return weight;
}

int bpf_cpumask_populate(struct bpf_cpumask *to, void *from, size_t size)
{
	if (size < words() * sizeof(u64))
		return -EACCES;
	if ((unsigned long)from % sizeof(u64))
		return -EINVAL;
	bpf_cpumask_clear(to);
	bpf_cpumask_copy(to, from);
	return 0;
}
