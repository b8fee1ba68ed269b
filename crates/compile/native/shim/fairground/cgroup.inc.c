/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all tasks of the model share: the tree of the cgroups, the sessions, the superuser's
 * credentials, the first namespace, and the scheduling classes, whose addresses alone are of use.
 *
 * The cgroups are those of the workload below the root, on which only the controllers `cpu` and
 * `cpuset` act. Their numbers are in the order of a walk that visits parents before their children;
 * some of them are made while the workload runs, and are removed.
 */

#define FAIRGROUND_GROUPS 64
#define FAIRGROUND_LEVELS 9
#define FAIRGROUND_NAME 65

struct fairground_group {
	struct cgroup cgroup;
	/* The rest of `cgroup.ancestors`. */
	struct cgroup *ancestors[FAIRGROUND_LEVELS];
	struct fairground_group *parent;
	struct kernfs_node node;
	struct css_set css_set;
	struct task_group task_group;
	char name[FAIRGROUND_NAME];
	bool is_there;
};
_Static_assert(__builtin_offsetof(struct cgroup, ancestors) + 8 <= sizeof(struct cgroup),
	       "the root's own ancestor lies inside");

static struct fairground_group fairground_groups[FAIRGROUND_GROUPS];
/* One more than the highest number so far. */
static u32 fairground_nr_groups;
/* How often a group was made. Each time it has another identity. */
static u64 fairground_groups_made;

#define fairground_root fairground_groups[0].cgroup

static struct fairground_group *fairground_group_of(struct cgroup *cgrp)
{
	return (struct fairground_group *)cgrp;
}

/* What the simulator writes into tasks, and passes to callbacks. */
struct fairground_group_places {
	struct cgroup *cgroup;
	struct css_set *css_set;
	struct task_group *task_group;
};

static struct fairground_group_places fairground_make_group(u32 number, u32 parent,
							    const char *name)
{
	struct fairground_group *group = &fairground_groups[number];
	struct cgroup *cgrp = &group->cgroup;
	int level;

	*group = (struct fairground_group){ .is_there = true };
	if (fairground_nr_groups <= number)
		fairground_nr_groups = number + 1;
	fairground_groups_made++;
	group->parent = number ? &fairground_groups[parent] : NULL;
	for (int i = 0; i + 1 < FAIRGROUND_NAME && name[i]; i++)
		group->name[i] = name[i];
	group->node.name = group->name;
	group->node.id = fairground_groups_made;
	group->node.__parent = number ? &group->parent->node : NULL;
	cgrp->kn = &group->node;
	cgrp->level = level = number ? group->parent->cgroup.level + 1 : 0;
	for (int i = 0; i < level; i++)
		cgrp->ancestors[i] = group->parent->cgroup.ancestors[i];
	cgrp->ancestors[level] = cgrp;
	cgrp->dom_cgrp = cgrp;
	cgrp->self.cgroup = cgrp;
	cgrp->self.id = fairground_groups_made;
	cgrp->self.parent = number ? &group->parent->cgroup.self : NULL;
	cgrp->subsys[cpu_cgrp_id] = &group->task_group.css;
	group->css_set.subsys[cpu_cgrp_id] = &group->task_group.css;
	group->css_set.dom_cset = &group->css_set;
	group->css_set.dfl_cgrp = cgrp;
	group->task_group.css.cgroup = cgrp;
	group->task_group.css.id = fairground_groups_made;
	group->task_group.css.parent = number ? &group->parent->task_group.css : NULL;
	group->task_group.parent = number ? &group->parent->task_group : NULL;
	return (struct fairground_group_places){ cgrp, &group->css_set, &group->task_group };
}

static void fairground_remove_group(u32 number)
{
	fairground_groups[number].is_there = false;
}

#define FAIRGROUND_SESSIONS 64

/* A session, and the group that its tasks are in where autogroup is on. */
struct fairground_session {
	struct autogroup autogroup;
	struct task_group task_group;
};

static struct fairground_session fairground_sessions[FAIRGROUND_SESSIONS];

struct fairground_session_places {
	struct autogroup *autogroup;
	struct task_group *task_group;
};

/* Number 0 is `autogroup_default`, whose group is the root. No other group has a cgroup. */
static struct fairground_session_places fairground_make_session(u32 number, s32 nice, u64 shares)
{
	struct fairground_session *session = &fairground_sessions[number];
	struct task_group *root = &fairground_groups[0].task_group, *own = root;

	if (number) {
		own = &session->task_group;
		*own = (struct task_group){
			.shares = shares, .parent = root, .autogroup = &session->autogroup,
		};
	}
	session->autogroup = (struct autogroup){ .tg = own, .id = number, .nice = nice };
	return (struct fairground_session_places){ &session->autogroup, own };
}

const struct cred fairground_cred;
/* The number of the first namespace, `PROC_PID_INIT_INO`. */
struct pid_namespace init_pid_ns = { .ns = { .inum = 0xeffffffcU } };

const struct sched_class dl_sched_class;
const struct sched_class rt_sched_class;
const struct sched_class ext_sched_class;
const struct sched_class idle_sched_class;

struct cgroup *scx_bpf_task_cgroup___new(struct task_struct *p)
{
	struct cgroup *cgrp = p->sched_task_group->css.cgroup;

	/* The group of a session has none (`tg_cgrp`). */
	return HOLD(cgrp ?: &fairground_root);
}

u32 scx_bpf_cgroup_nr_cpus(struct cgroup *cgrp)
{
	return fairground.nr_cpu_ids;
}

struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp)
{
	return HOLD(cgrp);
}

void bpf_cgroup_release(struct cgroup *cgrp)
{
	GIVE_UP(cgrp);
}

static struct cgroup *fairground_ancestor(struct cgroup *cgrp, int level)
{
	return level < 0 || level > cgrp->level ? NULL : cgrp->ancestors[level];
}

struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level)
{
	return HOLD(fairground_ancestor(cgrp, level));
}

struct cgroup *bpf_cgroup_from_id(u64 id)
{
	for (u32 number = 0; number < fairground_nr_groups; number++) {
		struct fairground_group *group = &fairground_groups[number];

		if (group->is_there && group->node.id == id)
			return HOLD(&group->cgroup);
	}
	return NULL;
}

/* `cgroup_is_descendant()`, which is true of the group itself. */
static bool fairground_is_below(struct cgroup *cgrp, struct cgroup *ancestor)
{
	return fairground_ancestor(cgrp, ancestor->level) == ancestor;
}

long bpf_task_under_cgroup(struct task_struct *p, struct cgroup *ancestor)
{
	return fairground_is_below(p->cgroups->dfl_cgrp, ancestor);
}

u64 bpf_get_current_cgroup_id(void)
{
	return bpf_get_current_task_btf()->cgroups->dfl_cgrp->kn->id;
}

u64 bpf_get_current_ancestor_cgroup_id(int level)
{
	struct cgroup *cgrp =
		fairground_ancestor(bpf_get_current_task_btf()->cgroups->dfl_cgrp, level);

	return cgrp ? cgrp->kn->id : 0;
}

/* The kernel's order of a group among the others: 0 … `fairground_nr_groups`. */
static u32 fairground_number(struct cgroup *cgrp)
{
	return fairground_group_of(cgrp) - fairground_groups;
}

static struct cgroup *fairground_parent(struct cgroup *cgrp)
{
	return cgrp->level ? cgrp->ancestors[cgrp->level - 1] : NULL;
}

/* The next group of a walk that visits parents before their children. */
static struct cgroup *fairground_following(struct cgroup *cgrp)
{
	for (u32 next = fairground_number(cgrp) + 1; next < fairground_nr_groups; next++) {
		if (fairground_groups[next].is_there)
			return &fairground_groups[next].cgroup;
	}
	return NULL;
}

static struct cgroup *fairground_first_child(struct cgroup *cgrp)
{
	struct cgroup *next = fairground_following(cgrp);

	return next && fairground_is_below(next, cgrp) ? next : NULL;
}

/* The first group of a walk that visits children before their parents. */
static struct cgroup *fairground_deepest(struct cgroup *cgrp)
{
	struct cgroup *below;

	while ((below = fairground_first_child(cgrp)))
		cgrp = below;
	return cgrp;
}

/* The next group with the same parent. */
static struct cgroup *fairground_sibling(struct cgroup *cgrp)
{
	struct cgroup *next = fairground_following(cgrp);

	while (next && next->level > cgrp->level)
		next = fairground_following(next);
	return next && next->level == cgrp->level ? next : NULL;
}

static struct cgroup *fairground_next_group(struct cgroup *at, struct cgroup *start, u32 order)
{
	struct cgroup *sibling;

	switch (order) {
	case BPF_CGROUP_ITER_DESCENDANTS_PRE:
		at = fairground_following(at);
		return at && fairground_is_below(at, start) ? at : NULL;
	case BPF_CGROUP_ITER_DESCENDANTS_POST:
		if (at == start)
			return NULL;
		sibling = fairground_sibling(at);
		return sibling ? fairground_deepest(sibling) : fairground_parent(at);
	case BPF_CGROUP_ITER_ANCESTORS_UP:
		return fairground_parent(at);
	case BPF_CGROUP_ITER_CHILDREN:
		return at == start ? NULL : fairground_sibling(at);
	default:
		return NULL;
	}
}

/* A `struct cgroup_subsys_state` of a group is the group's own, or that of the controller `cpu`. */
int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, unsigned int flags)
{
	struct cgroup *cgrp = start->cgroup;

	it->__opaque[0] = (u64)start;
	it->__opaque[1] = flags;
	if (flags == BPF_CGROUP_ITER_DESCENDANTS_POST)
		cgrp = fairground_deepest(cgrp);
	if (flags == BPF_CGROUP_ITER_CHILDREN)
		cgrp = fairground_first_child(cgrp);
	it->__opaque[2] = (u64)cgrp;
	return 0;
}

struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it)
{
	struct cgroup_subsys_state *start = (void *)it->__opaque[0];
	struct cgroup *at = (void *)it->__opaque[2];

	if (!at)
		return NULL;
	it->__opaque[2] = (u64)fairground_next_group(at, start->cgroup, it->__opaque[1]);
	return start == &start->cgroup->self ? &at->self : at->subsys[cpu_cgrp_id];
}

void bpf_iter_css_destroy(struct bpf_iter_css *it)
{
}
