/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects of the scheduler's own, and the lists and trees that hold them. */

/* Before every object: its size with this header, and who holds it. */
struct object {
	u64 size;
	u64 holders;
};

static void *object_new(u64 size)
{
	struct object *object = fairground_allocate(sizeof(*object) + size);

	if (!object)
		return NULL;
	object->size = sizeof(*object) + size;
	object->holders = 1;
	return object + 1;
}

static void object_drop(void *pointer)
{
	struct object *object = (struct object *)pointer - 1;

	if (--object->holders == 0)
		fairground_free(object, object->size);
}

static void *object_share(void *pointer)
{
	struct object *object = (struct object *)pointer - 1;

	if (pointer)
		object->holders++;
	return pointer;
}

void *fairground_object_new(u64 size)
{
	return hold(object_new(size), "bpf_obj_new", __builtin_return_address(0));
}

void bpf_obj_drop_impl(void *pointer, void *meta)
{
	if (GIVE_UP(pointer))
		object_drop(pointer);
}

void *bpf_refcount_acquire_impl(void *pointer, void *meta)
{
	return HOLD(object_share(pointer));
}

struct bpf_cpumask *bpf_cpumask_create(void)
{
	return HOLD(object_new(sizeof(struct bpf_cpumask)));
}

struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *cpumask)
{
	return HOLD(object_share(cpumask));
}

void bpf_cpumask_release(struct bpf_cpumask *cpumask)
{
	if (GIVE_UP(cpumask))
		object_drop(cpumask);
}

/* A ring of nodes; a head of zeros is an empty one, a node of zeros is in no list. */
struct ring {
	struct ring *next;
	struct ring *prev;
};

static int push(struct ring *head, struct ring *node, bool front)
{
	struct ring *before;

	if (node->next)
		return -EINVAL;
	if (!head->next)
		head->next = head->prev = head;
	before = front ? head : head->prev;
	node->prev = before;
	node->next = before->next;
	before->next->prev = node;
	before->next = node;
	return 0;
}

static void *pop(struct ring *head, bool front)
{
	struct ring *node = front ? head->next : head->prev;

	if (!node || node == head)
		return NULL;
	node->next->prev = node->prev;
	node->prev->next = node->next;
	node->next = node->prev = NULL;
	return node;
}

int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
			     u64 offset)
{
	return GIVE_UP(node) ? push((struct ring *)head, (struct ring *)node, true) : -EINVAL;
}

int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
			    u64 offset)
{
	return GIVE_UP(node) ? push((struct ring *)head, (struct ring *)node, false) : -EINVAL;
}

struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head)
{
	return HOLD(pop((struct ring *)head, true));
}

struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head)
{
	return HOLD(pop((struct ring *)head, false));
}

/*
 * A treap: a search tree that a hash of the node's number keeps balanced. The kernel has a
 * red-black tree; what a scheduler sees, the order, is the same. `rank` is 0 for a node in no tree.
 */
struct branch {
	struct branch *parent;
	struct branch *left;
	struct branch *right;
	u64 rank;
};

struct tree {
	struct branch *root;
	u64 added;
};

static u64 rank_of(u64 number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ULL;
	number = (number ^ number >> 27) * 0x94d049bb133111ebULL;
	return (number ^ number >> 31) | 1;
}

/* Where a node hangs: the pointer to it. */
static struct branch **place_of(struct tree *tree, struct branch *node)
{
	if (!node->parent)
		return &tree->root;
	return node->parent->left == node ? &node->parent->left : &node->parent->right;
}

/* Lifts a node over its parent; the order stays. */
static void lift(struct tree *tree, struct branch *node)
{
	struct branch *parent = node->parent;
	struct branch **place = place_of(tree, parent);
	bool is_left = parent->left == node;
	struct branch *child = is_left ? node->right : node->left;

	if (is_left) {
		parent->left = child;
		node->right = parent;
	} else {
		parent->right = child;
		node->left = parent;
	}
	if (child)
		child->parent = parent;
	node->parent = parent->parent;
	parent->parent = node;
	*place = node;
}

int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *added,
			bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta,
			u64 offset)
{
	struct tree *tree = (struct tree *)root;
	struct branch *node = (struct branch *)added, *parent = NULL;
	struct branch **place = &tree->root;

	if (!GIVE_UP(added) || node->rank)
		return -EINVAL;
	while (*place) {
		parent = *place;
		place = less(added, (struct bpf_rb_node *)parent) ? &parent->left : &parent->right;
	}
	node->parent = parent;
	node->left = node->right = NULL;
	node->rank = rank_of(++tree->added);
	*place = node;
	while (node->parent && node->parent->rank < node->rank)
		lift(tree, node);
	return 0;
}

struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root)
{
	struct branch *node = ((struct tree *)root)->root;

	while (node && node->left)
		node = node->left;
	return (struct bpf_rb_node *)node;
}

struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *removed)
{
	struct tree *tree = (struct tree *)root;
	struct branch *node = (struct branch *)removed;

	if (!node->rank)
		return NULL;
	while (node->left || node->right) {
		bool is_left = !node->right || (node->left && node->left->rank > node->right->rank);

		lift(tree, is_left ? node->left : node->right);
	}
	*place_of(tree, node) = NULL;
	node->parent = NULL;
	node->rank = 0;
	return HOLD(removed);
}
