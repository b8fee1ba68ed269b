/* SPDX-License-Identifier: GPL-2.0-only */
/* What a loaded scheduler and the simulator share, and the few paths that are worth no call. */
#ifndef FAIRGROUND_STATE_H
#define FAIRGROUND_STATE_H

#include "fairground/kfuncs.h"

/* The simulator's `native/maps/mod.rs` has the same. */
#define FAIRGROUND_MAP_ARRAY 0

/*
 * A map as the simulator made it. The first word of the scheduler's own map variable points to it.
 */
struct fairground_map {
	u32 kind;
	u32 max_entries;
	u64 stride;
	/* Between the values of one key for two CPUs; 0 when all CPUs share them. */
	u64 cpu_stride;
	/* ARRAY: the values. */
	u8 *values;
	/*
	 * TASK_STORAGE: pieces of FAIRGROUND_PIECE slots, a slot is a word (0: empty) and the
	 * value.
	 */
	u8 **pieces;
	u64 pieces_count;
};

#define FAIRGROUND_PIECE_BITS 8

/* What a callback has acquired, by which kfunc, called from where. */
struct fairground_reference {
	const void *object;
	const char *kfunc;
	void *caller;
};

#define FAIRGROUND_MOST_REFERENCES 32

struct fairground_state {
	void *simulator;
	u32 cpu;
	u32 nr_cpu_ids;
	s64 loops_left;
	/* What the callback holds: how many references, the first of them below, and spin locks. */
	u32 references;
	u32 locks;
	struct fairground_reference held[FAIRGROUND_MOST_REFERENCES];
	struct fairground_calls calls;
};

/* Filled in when the scheduler is loaded. */
extern struct fairground_state fairground __attribute__((visibility("hidden")));

static __always_inline struct fairground_map *fairground_map(void *map)
{
	return *(struct fairground_map **)map;
}

static __always_inline void *fairground_lookup(void *map, const void *key)
{
	struct fairground_map *m = fairground_map(map);
	u32 index;

	if (m->kind != FAIRGROUND_MAP_ARRAY)
		return fairground_map_lookup(m, key);
	__builtin_memcpy(&index, key, sizeof(index));
	if (index >= m->max_entries)
		return NULL;
	return m->values + m->cpu_stride * fairground.cpu + m->stride * index;
}

static __always_inline void *fairground_storage(void *map, struct task_struct *task, void *value,
						u64 flags)
{
	struct fairground_map *m = fairground_map(map);
	/* The simulator keeps the task's number in front of its memory. */
	u32 index = ((const u32 *)task)[-2];
	u32 piece = index >> FAIRGROUND_PIECE_BITS;
	u8 *slot;

	if (piece < m->pieces_count && m->pieces[piece]) {
		slot = m->pieces[piece] + (index & ((1 << FAIRGROUND_PIECE_BITS) - 1)) * m->stride;
		if (*(u64 *)slot)
			return slot + sizeof(u64);
	}
	return fairground_storage_make(m, task, value, flags);
}

#define bpf_get_smp_processor_id() (fairground.cpu)
#ifdef FAIRGROUND_RACES
#define bpf_map_lookup_elem(map, key) (fairground_pause(), fairground_lookup(map, key))
#define bpf_task_storage_get(map, task, value, flags)					\
	(fairground_pause(), fairground_storage(map, task, value, flags))
#define bpf_spin_lock(lock) ((long)fairground_lock(lock))
#define bpf_spin_unlock(lock) (fairground_unlock(lock), 0L)
#else
#define bpf_map_lookup_elem(map, key) fairground_lookup(map, key)
#define bpf_task_storage_get(map, task, value, flags) fairground_storage(map, task, value, flags)
/*
 * DIVERGES: one thread runs the whole machine, so a scheduler's own locks cost nothing, and
 * callbacks interleave only where `soak --races` asks for it.
 */
#define bpf_spin_lock(lock) ((void)(lock), fairground.locks++, 0L)
#define bpf_spin_unlock(lock) ((void)(lock), fairground.locks--, 0L)
#endif

#endif /* FAIRGROUND_STATE_H */
