/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks are recorded.
 */
#ifndef FAIRGROUND_RECORDER_ONLY_H
#define FAIRGROUND_RECORDER_ONLY_H

static __always_inline void mark(const struct task_struct *p)
{
	u32 pid = p->pid;
	u8 yes = 1;

	if (only == ONLY_ALL || only == ONLY_CGROUP)
		return;
	/* Without room for it, all of its events are lost. */
	if (bpf_map_update_elem(&marked, &pid, &yes, BPF_ANY))
		__sync_fetch_and_add(&lost_events, 1);
}

static __always_inline void unmark(const struct task_struct *p)
{
	u32 pid = p->pid;

	if (only != ONLY_ALL && only != ONLY_CGROUP)
		bpf_map_delete_elem(&marked, &pid);
}

static __always_inline bool has_name(const struct task_struct *p)
{
	const volatile u64 *name = (const volatile u64 *)only_comm;

	return *(const u64 *)&p->comm[0] == name[0] && *(const u64 *)&p->comm[8] == name[1];
}

/* Whether a task is one of those that are asked for. */
static __always_inline bool is_asked_for(const struct task_struct *p)
{
	u32 pid = p->pid;
	u64 group;

	if (only == ONLY_CGROUP) {
		group = p->cgroups->dfl_cgrp->kn->id;
		return bpf_map_lookup_elem(&cgroups, &group);
	}
	if (bpf_map_lookup_elem(&marked, &pid))
		return true;
	if (only != ONLY_COMM || !(has_name(p) || has_name(p->group_leader)))
		return false;
	mark(p);
	return true;
}

/* The task's number; 0 for tasks that are not recorded, and for the idle task. */
static __always_inline u32 recorded(const struct task_struct *p)
{
	if (p->tgid == own_process)
		return 0;
	return only == ONLY_ALL || is_asked_for(p) ? p->pid : 0;
}

#endif /* FAIRGROUND_RECORDER_ONLY_H */
