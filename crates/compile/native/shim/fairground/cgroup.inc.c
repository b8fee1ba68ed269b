/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all tasks of the model share: the root of the cgroups, the superuser's credentials, the
 * first namespace, and the scheduling classes, whose addresses alone are of use.
 *
 * DIVERGES: there is no cgroup but the root.
 */

static struct kernfs_node fairground_root_node = { .name = "", .id = 1 };

struct cgroup fairground_root = {
	.self = { .cgroup = &fairground_root, .id = 1 },
	.kn = &fairground_root_node,
	.dom_cgrp = &fairground_root,
	.subsys = { [cpu_cgrp_id] = &fairground_root.self },
	._root_ancestor = &fairground_root,
};

struct css_set fairground_css_set = {
	.subsys = { [cpu_cgrp_id] = &fairground_root.self },
	.dom_cset = &fairground_css_set,
	.dfl_cgrp = &fairground_root,
};

struct task_group fairground_task_group = { .css = { .cgroup = &fairground_root, .id = 1 } };

const struct cred fairground_cred;
/* The number of the first namespace, `PROC_PID_INIT_INO`. */
struct pid_namespace init_pid_ns = { .ns = { .inum = 0xeffffffcU } };

const struct sched_class dl_sched_class;
const struct sched_class rt_sched_class;
const struct sched_class ext_sched_class;
const struct sched_class idle_sched_class;

struct cgroup *scx_bpf_task_cgroup___new(struct task_struct *p)
{
	return &fairground_root;
}

u32 scx_bpf_cgroup_nr_cpus(struct cgroup *cgrp)
{
	return fairground.nr_cpu_ids;
}

struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp)
{
	return cgrp;
}

void bpf_cgroup_release(struct cgroup *cgrp)
{
}

struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level)
{
	return level == 0 ? cgrp : NULL;
}

struct cgroup *bpf_cgroup_from_id(u64 id)
{
	return id == fairground_root_node.id ? &fairground_root : NULL;
}

long bpf_task_under_cgroup(struct task_struct *p, struct cgroup *ancestor)
{
	return ancestor == &fairground_root;
}

u64 bpf_get_current_cgroup_id(void)
{
	return fairground_root_node.id;
}

u64 bpf_get_current_ancestor_cgroup_id(int level)
{
	return level == 0 ? fairground_root_node.id : 0;
}

/* The root alone, in any order. */
int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, unsigned int flags)
{
	it->__opaque[0] = (u64)start;
	return 0;
}

struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it)
{
	struct cgroup_subsys_state *css = (void *)it->__opaque[0];

	it->__opaque[0] = 0;
	return css;
}

void bpf_iter_css_destroy(struct bpf_iter_css *it)
{
}
