// SPDX-License-Identifier: GPL-2.0-only
/* Maps: values with and without keys, shared and per CPU. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct value {
	u64 n;
	u32 m;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, struct value);
} array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, u64);
} own SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 3);
	__type(key, u64);
	__type(value, u64);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 2);
	__type(value, u32);
} queue SEC(".maps");

static long add(void *map, u64 *key, u64 *value, u64 *sum)
{
	*sum += *key * *value;
	return 0;
}

static void with_keys(void)
{
	u32 inside = 2, outside = 3;
	struct value *v = bpf_map_lookup_elem(&array, &inside);
	u64 *mine = bpf_map_lookup_elem(&own, &inside);
	u64 *other = bpf_map_lookup_percpu_elem(&own, &inside, 1);

	if (!v || !mine)
		return;
	v->n = 7;
	v->m = 8;
	v = bpf_map_lookup_elem(&array, &inside);
	bpf_printk("%llu %u %d", v ? v->n : 0, v ? v->m : 0,
		   bpf_map_lookup_elem(&array, &outside) == NULL);
	*mine = 5;
	bpf_printk("%llu %d %d", *mine, mine != other,
		   bpf_map_lookup_percpu_elem(&own, &inside, 2) == NULL);
}

static void hashed(void)
{
	u64 key = 10, value = 20, sum = 0;

	bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	key = 11;
	bpf_map_update_elem(&hash, &key, &value, BPF_NOEXIST);
	bpf_for_each_map_elem(&hash, add, &sum, 0);
	bpf_printk("%llu %ld", sum, bpf_map_update_elem(&hash, &key, &value, BPF_NOEXIST));
	bpf_map_delete_elem(&hash, &key);
	bpf_printk("%d", bpf_map_lookup_elem(&hash, &key) == NULL);
}

static void queued(void)
{
	u32 first = 2, second = 3, got = 0;

	bpf_map_push_elem(&queue, &first, 0);
	bpf_map_push_elem(&queue, &second, 0);
	bpf_map_pop_elem(&queue, &got);
	bpf_printk("%u %ld", got, bpf_map_push_elem(&queue, &first, 0));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(mapping_init)
{
	with_keys();
	hashed();
	queued();
	return 0;
}

SCX_OPS_DEFINE(mapping_ops, .init = (void *)mapping_init, .name = "mapping");
