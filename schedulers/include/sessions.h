// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions of tasks: autogroup makes a group of each (`kernel/sched/autogroup.c`).
 *
 * Where autogroup is on, a task of the root control group is in the group of its session, which
 * has the weight of the session's nice value. sched_ext is told nothing of that, so a task is
 * looked at whenever it joins a queue or begins to run, and at ticks. The group is found by the
 * session's number, which no later session has. If all groups are in use, that of a session
 * without runnable tasks becomes another one's: its own tasks find a new one when they wake up.
 */
#ifndef FAIRGROUND_SESSIONS_H
#define FAIRGROUND_SESSIONS_H

#include "groups.h"

/* What kernels with CONFIG_SCHED_AUTOGROUP have. The headers may be those of one without. */
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
struct autogroup___own {
	unsigned long id;
	int nice;
} __attribute__((preserve_access_index));

struct task_group___own {
	struct autogroup___own *autogroup;
} __attribute__((preserve_access_index));
#else
#define autogroup___own autogroup
#define task_group___own task_group
#endif

/* The numbers of groups by the numbers of sessions. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} session_numbers SEC(".maps");

/* Returns the session in whose group a task is, or NULL (`autogroup_task_group`). */
static inline struct autogroup___own *session_of(const struct task_struct *p)
{
	struct task_group___own *group;

	if (!bpf_core_field_exists(p->sched_task_group))
		return NULL;
	group = (void *)p->sched_task_group;
	return bpf_core_field_exists(group->autogroup) ? group->autogroup : NULL;
}

/* Returns the number of a group that is not in use, and uses it. 0: there is none. */
__noinline u32 take_group(void)
{
	u32 number;

	bpf_for(number, 1, MAX_GROUPS) {
		struct fair_group *group = group_at(number);

		if (!group->is_used && !__sync_lock_test_and_set(&group->is_used, 1))
			return number;
	}
	bpf_for(number, 1, MAX_GROUPS) {
		struct fair_group *group = group_at(number);
		u64 session = group->session;

		if (!session || group->nr_tasks ||
		    __sync_val_compare_and_swap(&group->session, session, 0) != session)
			continue;
		bpf_map_delete_elem(&session_numbers, &session);
		return number;
	}
	return 0;
}

/* Returns the number of a session's group, which is made if there is none. 0: all are in use. */
__noinline u32 group_of_session(u64 id)
{
	u32 *known = bpf_map_lookup_elem(&session_numbers, &id), number;

	if (known)
		return *known;
	number = take_group();
	if (!number)
		return 0;
	group_at(number)->parent = 0;
	group_at(number)->is_idle = false;
	group_at(number)->session = id;
	if (!bpf_map_update_elem(&session_numbers, &id, &number, BPF_NOEXIST))
		return number;
	/* Another CPU has made it. */
	group_at(number)->session = 0;
	group_at(number)->is_used = 0;
	known = bpf_map_lookup_elem(&session_numbers, &id);
	return known ? *known : 0;
}

/* Puts a task into the group of a session; 0: out of that of any. */
__noinline s32 enter_session(struct group_member *member, u64 id, s32 nice)
{
	u32 index = nice + 20, weight = nice_weights[index < NICE_LEVELS ? index : 0];
	struct fair_group *group;

	if (!member)
		return 0;
	if (member->session != id || (id && group_at(member->group)->session != id)) {
		leave_group(member);
		member->session = id;
		member->group = id ? group_of_session(id) : 0;
	}
	group = group_at(member->group);
	if (id && group->session == id && group->weight != weight)
		weigh_group(member->group, weight);
	has_groups |= id > 0;
	return 0;
}

/* Puts a task into the group of its session, if it has one (`autogroup_move_group`). */
static inline void follow_session(const struct task_struct *p, struct group_member *member)
{
	struct autogroup___own *session = session_of(p);

	if (session)
		enter_session(member, session->id, session->nice);
	else if (member->session)
		enter_session(member, 0, 0);
}

#endif /* FAIRGROUND_SESSIONS_H */
