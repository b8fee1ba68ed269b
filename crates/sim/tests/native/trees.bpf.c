// SPDX-License-Identifier: GPL-2.0-only
/* A thousand objects through a tree, four through a list. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct item {
	struct bpf_rb_node node;
	struct bpf_list_node link;
	u64 key;
};

private(TREE) struct bpf_spin_lock tree_lock;
private(TREE) struct bpf_rb_root root __contains(item, node);
private(LIST) struct bpf_spin_lock list_lock;
private(LIST) struct bpf_list_head list __contains(item, link);

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct item, node)->key < container_of(b, struct item, node)->key;
}

static bool grow(u64 key)
{
	struct item *item = bpf_obj_new(struct item);

	if (!item)
		return false;
	item->key = key;
	bpf_spin_lock(&tree_lock);
	bpf_rbtree_add(&root, &item->node, less);
	bpf_spin_unlock(&tree_lock);
	return true;
}

/* The smallest item, which the caller owns then. */
static struct item *pick(void)
{
	struct bpf_rb_node *node;

	bpf_spin_lock(&tree_lock);
	node = bpf_rbtree_first(&root);
	if (node)
		node = bpf_rbtree_remove(&root, node);
	bpf_spin_unlock(&tree_lock);
	return node ? container_of(node, struct item, node) : NULL;
}

static void listed(void)
{
	int i;

	bpf_for(i, 0, 4) {
		struct item *item = bpf_obj_new(struct item);

		if (!item)
			return;
		item->key = i;
		bpf_spin_lock(&list_lock);
		if (i % 2)
			bpf_list_push_front(&list, &item->link);
		else
			bpf_list_push_back(&list, &item->link);
		bpf_spin_unlock(&list_lock);
	}
	bpf_repeat(4) {
		struct bpf_list_node *node;
		struct item *item;

		bpf_spin_lock(&list_lock);
		node = bpf_list_pop_front(&list);
		bpf_spin_unlock(&list_lock);
		if (!node)
			return;
		item = container_of(node, struct item, link);
		bpf_printk("%llu", item->key);
		bpf_obj_drop(item);
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(trees_init)
{
	u64 random = 12345, last = 0, wrong = 0, seen = 0;
	struct item *item;
	int i;

	bpf_for(i, 0, 1000) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if (!grow(random >> 40))
			return -ENOMEM;
	}
	bpf_repeat(1001) {
		item = pick();
		if (!item)
			break;
		wrong += item->key < last;
		last = item->key;
		seen++;
		bpf_obj_drop(item);
	}
	bpf_printk("%llu %llu", seen, wrong);
	listed();
	return 0;
}

SCX_OPS_DEFINE(trees_ops, .init = (void *)trees_init, .name = "trees");
