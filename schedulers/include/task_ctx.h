// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a scheduler remembers of each task: `struct task_ctx`, which it has defined before it
 * includes this.
 */
#ifndef FAIRGROUND_TASK_CTX_H
#define FAIRGROUND_TASK_CTX_H

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

/* Who was not made by `make_ctx()`; there is none, but the verifier cannot know it. */
static struct task_ctx nobody_ctx;

static inline struct task_ctx *ctx_of(struct task_struct *p)
{
	struct task_ctx *task = bpf_task_storage_get(&task_ctxs, p, 0, 0);

	return task ?: &nobody_ctx;
}

/* For `ops.init_task`; NULL if there is no memory. */
static inline struct task_ctx *make_ctx(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

#endif /* FAIRGROUND_TASK_CTX_H */
