/* SPDX-License-Identifier: GPL-2.0-only */
/* Who errs, and the mistakes of enqueue. */

/* The mistakes of enqueue. Whether there was one. */
static bool err_in_enqueue(struct task_struct *p, u64 flags)
{
	struct task_struct *other;
	u64 slice = slice_us * 1000;

	switch (mistake) {
	case NO_SUCH_DSQ:
		scx_bpf_dsq_insert(p, NO_DSQ, slice, flags);
		return true;
	case TWICE:
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice, flags);
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice, flags);
		return true;
	case SOMEBODY_ELSE:
		other = bpf_task_from_pid(bystander);
		if (other) {
			scx_bpf_dsq_insert(other, SHARED_DSQ, slice, flags);
			bpf_task_release(other);
		}
		return true;
	case ORDERED_LOCAL:
		scx_bpf_dsq_insert_vtime(p, SCX_DSQ_LOCAL, slice, 1, flags);
		return true;
	case ORDERED_MIXED:
		scx_bpf_dsq_insert_vtime(p, SHARED_DSQ, slice, 1, flags);
		return true;
	case NO_SUCH_CPU:
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 99, slice, flags);
		return true;
	case NOT_ALLOWED_CPU:
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 1, slice, flags);
		return true;
	case BAD_FLAGS:
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice, flags | 1LLU << 57);
		return true;
	case BAD_KICK:
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice, flags);
		scx_bpf_kick_cpu(0, SCX_KICK_IDLE | SCX_KICK_PREEMPT);
		return true;
	case SAYS_ERROR:
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice, flags);
		scx_bpf_error("the scenario asks for %d", 7);
		return true;
	case SAYS_EXIT:
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice, flags);
		scx_bpf_exit(9, "the scenario asks for %d", 7);
		return true;
	}
	return false;
}

static bool errs(const struct task_struct *p)
{
	return mistake && in_window && is_ours(p) && p->comm[1] == 'x';
}

static bool is_of_dispatch(void)
{
	return mistake >= DISPATCH_NO_SUCH_DSQ && mistake <= MOVE_NO_SUCH_DSQ;
}
