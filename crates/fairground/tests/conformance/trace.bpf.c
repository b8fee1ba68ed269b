// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace: Prints every callback, and does what its knobs and the names of the tasks say.
 *
 * Idea: Tasks whose names begin with `_` are the scenario's. The letter after it chooses how such a
 *       task is inserted: `h` at the head, `p` with SCX_ENQ_PREEMPT, `m` with
 *       SCX_ENQ_IMMED the first time, `k` with a kick that preempts, `i` with one of an idle CPU,
 *       `x` with the mistake that the knob names. A digit after that is its virtual time.
 *       All other tasks wait in a queue of their own, and run when the scenario's do not want to.
 * Good at: Showing who is called when, with what.
 * Bad at: Everything else.
 * Origin: The order conformance test.
 * Differs: From a scheduler for use: it starves tasks outside the scenario.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

/* Where the scenario's tasks wait: one of `enum place`. */
const volatile u32 queue = 0;

/* Whether select_cpu dispatches: 0 never, 1 to idle CPUs, 2 always. */
const volatile u32 direct = 0;

/* How many tasks a dispatch takes out of the held ones. */
const volatile u32 batch = 1;

/* The slice, in microseconds. */
const volatile u64 slice_us = 20000;

/* What the task `x` makes the scheduler do wrong: one of `enum mistake`. */
const volatile u32 mistake = 0;

/* Whether a released CPU's local queue goes back to the scheduler. */
const volatile bool gives_back = false;

UEI_DEFINE(uei);

enum place { IN_GLOBAL, IN_LOCAL, IN_SHARED, IN_ORDER, HELD, OTHER_CPU };

enum mistake {
	NO_MISTAKE, NO_SUCH_DSQ, TWICE, SOMEBODY_ELSE, ORDERED_LOCAL, ORDERED_MIXED,
	NO_SUCH_CPU, SELECT_NO_SUCH_CPU, SELECT_TWICE, BAD_FLAGS, BAD_KICK, SAYS_ERROR, SAYS_EXIT,
	DISPATCH_NO_SUCH_DSQ, DISPATCH_TOO_MANY, MOVE_NO_SUCH_DSQ, NOT_ALLOWED_CPU,
};

#define SHARED_DSQ 1
#ifdef WITHOUT_dispatch
#define OTHERS_DSQ SCX_DSQ_GLOBAL
#else
#define OTHERS_DSQ 2
#endif
#define NO_DSQ 77

/* The weights of the marking task at the window's begin and elsewhere. */
#define BEGIN_WEIGHT 80

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 64);
	__type(value, s32);
} held SEC(".maps");

/* Inside the window nobody runs but the scenario's tasks and the one that marks. */
static bool in_window;

/* A task of the scenario that is not the one that makes the mistake. */
static s32 bystander;

#define SAY(event, p, a, b)							\
	bpf_printk("trace " event " %d %d %s %llx %lld", bpf_get_smp_processor_id(),	\
		   (p)->pid, (p)->comm, (u64)(a), (s64)(b))

/* Callbacks that only tell. */
#define TELL(event)								\
	void BPF_STRUCT_OPS(trace_##event, struct task_struct *p)		\
	{ SAY(#event, p, 0, 0); }
#define TELL_FLAGS(event)							\
	void BPF_STRUCT_OPS(trace_##event, struct task_struct *p, u64 flags)	\
	{ SAY(#event, p, flags, 0); }

static bool is_ours(const struct task_struct *p)
{
	return p->comm[0] == '_';
}

static bool is_mark(const struct task_struct *p)
{
	return p->comm[0] == 'm' && p->comm[1] == 'a' && p->comm[2] == 'r' && p->comm[3] == 'k' &&
	       !p->comm[4];
}

static u64 vtime_of(const struct task_struct *p)
{
	return (u64)(p->comm[2] - '0') * 1000;
}

static u64 flags_of(const struct task_struct *p, u64 enq_flags)
{
	if (p->comm[1] == 'h')
		return enq_flags | SCX_ENQ_HEAD;
	if (p->comm[1] == 'p')
		return enq_flags | SCX_ENQ_PREEMPT;
	if (p->comm[1] == 'm' && !(enq_flags & SCX_ENQ_REENQ))
		return enq_flags | SCX_ENQ_IMMED;
	return enq_flags;
}

static u64 dsq_of(const struct task_struct *p)
{
	if (queue == IN_SHARED)
		return SHARED_DSQ;
	if (queue == OTHER_CPU && bpf_cpumask_test_cpu(1, p->cpus_ptr))
		return SCX_DSQ_LOCAL_ON | 1;
	return queue == IN_GLOBAL ? SCX_DSQ_GLOBAL : SCX_DSQ_LOCAL;
}

#include "trace_mistakes.h"

s32 BPF_STRUCT_OPS(trace_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	if (!is_ours(p))
		return prev_cpu;
	SAY("select_cpu", p, wake_flags, prev_cpu);
	if (errs(p) && mistake == SELECT_NO_SUCH_CPU) {
		SAY("mistake", p, 0, mistake);
		return 99;
	}
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (errs(p) && mistake == SELECT_TWICE) {
		SAY("mistake", p, 0, mistake);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_us * 1000, 0);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_us * 1000, 0);
	} else if (direct == 2 || (direct == 1 && is_idle)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_us * 1000, 0);
	}
	SAY("selected", p, is_idle, cpu);
	return cpu;
}

#ifndef WITHOUT_enqueue
void BPF_STRUCT_OPS(trace_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 slice = slice_us * 1000, flags = flags_of(p, enq_flags);
	s32 pid = p->pid;

	SAY("enqueue", p, enq_flags, 0);
	if (!is_ours(p)) {
		if (is_mark(p))
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL,
					   enq_flags | SCX_ENQ_PREEMPT);
		else
			scx_bpf_dsq_insert(p, OTHERS_DSQ, SCX_SLICE_DFL, enq_flags);
		if (enq_flags & SCX_ENQ_LAST)
			scx_bpf_kick_cpu(scx_bpf_task_cpu(p), 0);
		return;
	}
	if (errs(p) && !is_of_dispatch()) {
		SAY("mistake", p, 0, mistake);
		if (err_in_enqueue(p, flags))
			return;
	}
	if (in_window)
		bystander = pid;
	if (queue == HELD)
		bpf_map_push_elem(&held, &pid, 0);
	else if (queue == IN_ORDER)
		scx_bpf_dsq_insert_vtime(p, SHARED_DSQ, slice, vtime_of(p), flags);
	else
		scx_bpf_dsq_insert(p, dsq_of(p), slice, flags);
	if (p->comm[1] == 'k')
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
	if (p->comm[1] == 'i')
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_IDLE);
}
#endif

TELL_FLAGS(dequeue)

/* Dispatches held tasks. Whether there were any. */
static bool release_held(u64 dsq_id)
{
	struct task_struct *p;
	bool found = false;
	s32 pid, i;

	bpf_for(i, 0, batch) {
		if (bpf_map_pop_elem(&held, &pid))
			break;
		p = bpf_task_from_pid(pid);
		if (!p)
			continue;
		scx_bpf_dsq_insert(p, dsq_id, slice_us * 1000, 0);
		bpf_task_release(p);
		found = true;
	}
	return found;
}

/* The mistakes of dispatch, which need a held task. */
static void err_in_dispatch(void)
{
	struct task_struct *p;
	s32 i;

	if (mistake == DISPATCH_NO_SUCH_DSQ)
		release_held(NO_DSQ);
	if (mistake == MOVE_NO_SUCH_DSQ)
		scx_bpf_dsq_move_to_local(NO_DSQ, 0);
	if (mistake != DISPATCH_TOO_MANY)
		return;
	p = bpf_task_from_pid(bystander);
	if (!p)
		return;
	bpf_for(i, 0, 33)
		scx_bpf_dsq_insert(p, SHARED_DSQ, slice_us * 1000, 0);
	bpf_task_release(p);
}

#ifndef WITHOUT_dispatch
void BPF_STRUCT_OPS(trace_dispatch, s32 cpu, struct task_struct *prev)
{
	bool runs_on = false, found = false;

	if (prev) {
		runs_on = prev->scx.flags & SCX_TASK_QUEUED;
		SAY("dispatch", prev, runs_on, cpu);
		runs_on = runs_on && is_ours(prev);
	} else {
		bpf_printk("trace dispatch %d -1 nobody 0 %d", bpf_get_smp_processor_id(), cpu);
	}
	if (is_of_dispatch() && in_window && bystander) {
		bpf_printk("trace mistake %d -1 nobody 0 %d", cpu, mistake);
		err_in_dispatch();
	}
	if (queue == HELD)
		found = release_held(SCX_DSQ_LOCAL);
	else if (queue >= IN_SHARED)
		found = scx_bpf_dsq_move_to_local(SHARED_DSQ, 0);
	if (!found && !runs_on && !in_window)
		found = scx_bpf_dsq_move_to_local(OTHERS_DSQ, 0);
	bpf_printk("trace looked %d -1 nobody %d %d", bpf_get_smp_processor_id(), found, cpu);
}
#endif

TELL(tick)
TELL_FLAGS(runnable)
TELL(running)

void BPF_STRUCT_OPS(trace_stopping, struct task_struct *p, bool runnable)
{
	SAY("stopping", p, runnable, 0);
}

TELL_FLAGS(quiescent)

#ifndef WITHOUT_yield
bool BPF_STRUCT_OPS(trace_yield, struct task_struct *from, struct task_struct *to)
{
	SAY("yield", from, 0, to ? to->pid : 0);
	scx_bpf_task_set_slice(from, 0);
	return false;
}
#endif

void BPF_STRUCT_OPS(trace_set_weight, struct task_struct *p, u32 weight)
{
	SAY("set_weight", p, 0, weight);
	if (is_mark(p))
		in_window = weight == BEGIN_WEIGHT;
}

void BPF_STRUCT_OPS(trace_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	SAY("set_cpumask", p, bpf_cpumask_weight(cpumask), bpf_cpumask_first(cpumask));
}

void BPF_STRUCT_OPS(trace_update_idle, s32 cpu, bool idle)
{
	bpf_printk("trace update_idle %d -1 nobody %d %d", bpf_get_smp_processor_id(), idle, cpu);
}

#ifdef WITH_cpu_acquire
void BPF_STRUCT_OPS(trace_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	bpf_printk("trace cpu_acquire %d -1 nobody 0 %d", bpf_get_smp_processor_id(), cpu);
}
#endif

#ifdef WITH_cpu_release
void BPF_STRUCT_OPS(trace_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	SAY("cpu_release", args->task, args->reason, cpu);
	if (gives_back)
		scx_bpf_reenqueue_local();
}
#endif

s32 BPF_STRUCT_OPS(trace_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	SAY("init_task", p, args->fork, args->fork ? args->cgroup->level : 0);
	return 0;
}

void BPF_STRUCT_OPS(trace_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	SAY("exit_task", p, args->cancelled, 0);
	if (is_mark(p))
		in_window = false;
}

TELL(enable)
TELL(disable)

#include "trace_groups.h"

s32 BPF_STRUCT_OPS_SLEEPABLE(trace_init)
{
	s32 error = scx_bpf_create_dsq(SHARED_DSQ, -1);

	bpf_printk("trace init 0 -1 nobody 0 0");
	return error ?: scx_bpf_create_dsq(2, -1);
}

void BPF_STRUCT_OPS(trace_exit, struct scx_exit_info *ei)
{
	bpf_printk("trace exit 0 -1 nobody %x %lld", (u32)ei->kind, ei->exit_code);
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(trace_ops,
	       .select_cpu	= (void *)trace_select_cpu,
	       .enqueue		= (void *)trace_enqueue,
	       .dequeue		= (void *)trace_dequeue,
	       .dispatch	= (void *)trace_dispatch,
	       .tick		= (void *)trace_tick,
	       .runnable	= (void *)trace_runnable,
	       .running		= (void *)trace_running,
	       .stopping	= (void *)trace_stopping,
	       .quiescent	= (void *)trace_quiescent,
	       .yield		= (void *)trace_yield,
	       .set_weight	= (void *)trace_set_weight,
	       .set_cpumask	= (void *)trace_set_cpumask,
	       .update_idle	= (void *)trace_update_idle,
	       .init_task	= (void *)trace_init_task,
	       .exit_task	= (void *)trace_exit_task,
	       .enable		= (void *)trace_enable,
	       .disable		= (void *)trace_disable,
	       .cgroup_init	= (void *)trace_cgroup_init,
	       .cgroup_exit	= (void *)trace_cgroup_exit,
	       .cgroup_prep_move	= (void *)trace_cgroup_prep_move,
	       .cgroup_move	= (void *)trace_cgroup_move,
	       .cgroup_set_weight	= (void *)trace_cgroup_set_weight,
	       .cgroup_set_bandwidth	= (void *)trace_cgroup_set_bandwidth,
	       .cgroup_set_idle	= (void *)trace_cgroup_set_idle,
	       .init		= (void *)trace_init,
	       .exit		= (void *)trace_exit,
	       .flags		= SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name		= "trace");
