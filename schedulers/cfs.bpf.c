// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfs: The Completely Fair Scheduler, Linux 2.6.24 to 6.5.
 *
 * Idea: An ideal CPU would run all tasks at once, each as fast as its weight. A task's vruntime is
 *       the CPU time that it has had, divided by its weight. Each CPU runs the task with the
 *       smallest vruntime, for the task's part of a period in which each task should run once. A
 *       task that wakes up has a bounded credit. It preempts if it is behind by more than a
 *       granularity.
 * Good at: Exact shares by nice value, and low latency for tasks that sleep, without heuristics.
 * Bad at: Promising latency: it grows with the number of tasks and depends on a task's weight.
 * Origin: Ingo Molnar, 2007. It was the fair class of Linux until EEVDF replaced it in 6.6 (2023).
 * Family: 2007, Ingo Molnar; after o1, vtime
 * Queue: One for each CPU, a red-black tree by vruntime; enqueue O(log n), pick O(1).
 * Slice: By weight a part of 6 ms (one CPU), or of 0.75 ms for each task if there are many.
 * Wake-up: Half a latency of credit at most; preempts a task that is 1 ms of vruntime ahead.
 * Balancing: An idle CPU takes from the heaviest. A busy one pulls weight at intervals, until CPUs
 *            are equally heavy.
 * Differs: Wide wake-ups are missing. Groups share one queue: a task's weight
 *          is its part of its groups' weights, and is given anew when the task joins a queue or
 *          begins to run, and at ticks. Linux picks level by level; the shares are the same, but a
 *          sleeper's credit is for itself, not for its group. A CPU's load, and a group's, is the
 *          weight that is runnable now, not its average. All CPUs are one domain, caches are never
 *          too hot, a running task is not moved, and exec places nothing. An idle CPU takes from
 *          the heaviest at once; Linux first weighs the cost. Whatever changed between versions and
 *          is neither a constant nor a feature below is as in 6.5.
 */
#include <scx/common.bpf.h>
#include "include/throttle.h"
#ifndef WITHOUT_GROUPS
#include "include/group_ops.h"
#else
/* Does nothing. No counterpart: without groups, sessions have none either. */
static inline void follow_session(const struct task_struct *p, struct group_member *member)
{
}
#endif
#include "include/scan.h"

/*
 * An overlay, a scheduler that changes parts of CFS, includes this file after it has defined
 * OVERLAY and the knobs below. It calls the functions from its own callbacks. If it defines
 * OVERLAY_FUNCTIONS, it has its own `wakeup_gran()`, and if it defines OVERLAY_TREE, its own
 * `first_vruntime()`, `is_next()` and `attach_task()`.
 */
#ifndef OVERLAY
char _license[] SEC("license") = "GPL";

/* The Linux version: 20624, 20633, 50900 or 60500 are 2.6.24, 2.6.33, 5.9 and 6.5. */
const volatile u32 era = 60500;
/* The period in which each task runs once. Constants are those of one CPU; -1 is the era's. */
const volatile s64 sched_latency_ns = -1;
/* With many tasks the period grows, so that no task's part is less than this. */
const volatile s64 sched_min_granularity_ns = -1;
/* The least part of a SCHED_IDLE task among other tasks. */
const volatile u64 sched_idle_min_granularity_ns = 750000;
/* A woken task preempts the running one if it is further behind than this. */
const volatile s64 sched_wakeup_granularity_ns = -1;
/* A new task runs before its parent. */
const volatile s64 sched_child_runs_first = -1;
/* How constants grow with up to 8 CPUs: not (0), with their logarithm (1), or linearly (2). */
const volatile u32 sched_tunable_scaling = 1;
/*
 * Features. A sleeper's credit is half a latency, not a whole one, from 2.6.32 on. A new task
 * begins a slice behind. No slice is shorter than the minimum granularity, from 5.12 on and in
 * 5.10.y.
 */
const volatile bool gentle_fair_sleepers = true, start_debit = true, base_slice = true;
/*
 * Woken tasks may preempt. From 2.6.29 on, a task that has been preempted continues afterwards.
 * With the last feature a woken task that does not preempt runs next, too.
 */
const volatile bool wakeup_preemption = true, last_buddy = true, next_buddy = false;

UEI_DEFINE(uei);
#endif

#include "include/cfs_eras.h"

/*
 * The pids of tasks that are preferred to the first task by vruntime, or skipped, as long as that
 * is unfair by a granularity at most; 0 is none. `next` has woken up, `next` has preempted `last`,
 * and `skip` has yielded.
 */
struct buddies {
	s32 next, last, skip;
};

/* A CPU's queue. Tasks wait in DSQ `cpu` by vruntime, which is `p->scx.dsq_vtime`. */
struct queue {
	/* A lower limit of all vruntimes. It never goes back. */
	u64 min_vruntime;
	struct running curr;
	struct buddies buddies;
};

static struct queue queues[MAX_CPUS];

/* The constants in effect on this machine. */
static u64 latency, min_granularity, wakeup_granularity;
/* With more tasks than this, not all of them run once in a latency. */
static u64 nr_latency;
static bool child_runs_first;

/* Returns by how much a woken task must be behind to preempt, virtual ns (`wakeup_gran`). */
static inline s64 wakeup_gran(struct task_struct *p);

/*
 * Finds the vruntime that counts as the smallest of the waiting tasks. Returns false if none waits.
 */
static inline bool first_vruntime(u32 cpu, u64 *vruntime);

/* Tells whether a woken task that has become the next buddy is picked before all that wait. */
static inline bool is_next(u32 cpu, u64 vruntime);

#ifndef OVERLAY_TREE
/* Returns the vruntime of the first task by vruntime (`rb_first_cached`). */
static inline bool first_vruntime(u32 cpu, u64 *vruntime)
{
	return first_place(cpu, vruntime);
}

/* Tells whether a woken task is the first by vruntime itself (`pick_next_entity`). */
static inline bool is_next(u32 cpu, u64 vruntime)
{
	return is_before_all(cpu, vruntime);
}
#endif

#ifndef OVERLAY_FUNCTIONS
/* Returns the constant in the task's virtual time (`wakeup_gran`). */
static inline s64 wakeup_gran(struct task_struct *p)
{
	return fair_time(p, grouped_task(p), wakeup_granularity);
}
#endif

/* Sets the constants, when the number of CPUs is known (`sched_init_granularity`). */
static inline void sched_init_granularity(void)
{
	latency = scaled(sysctl_sched_latency(), sched_tunable_scaling);
	min_granularity = scaled(sysctl_sched_min_granularity(), sched_tunable_scaling);
	wakeup_granularity = scaled(sysctl_sched_wakeup_granularity(), sched_tunable_scaling);
	nr_latency = (latency + min_granularity - 1) / min_granularity;
	child_runs_first = sysctl_sched_child_runs_first();
}

/* Makes a task that runs or sleeps nobody's buddy (`clear_buddies`). */
static inline void clear_buddies(struct buddies *buddies, s32 pid)
{
	buddies->next = buddies->next == pid ? 0 : buddies->next;
	buddies->last = buddies->last == pid ? 0 : buddies->last;
	buddies->skip = buddies->skip == pid ? 0 : buddies->skip;
}

/*
 * Returns the pid of the task to run: the first by vruntime, which may be `prev`, or a buddy that
 * is hardly further; 0 is the first of the waiting tasks (`pick_next_entity`).
 */
static inline s32 pick_next_entity(const struct buddies *buddies, u64 dsq,
				   const struct task_struct *prev, u64 granularity)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);
	s32 next = buddies->next, last = buddies->last, skip = buddies->skip;
	bool stays = prev && (!p || time_before(prev->scx.dsq_vtime, p->scx.dsq_vtime));
	s32 first, found;
	u64 limit;

	if (!p || (!next && !last && !skip))
		return stays ? prev->pid : 0;
	first = stays ? prev->pid : p->pid;
	limit = stays ? prev->scx.dsq_vtime + fair_time(prev, grouped_task(prev), granularity) :
			p->scx.dsq_vtime + fair_time(p, grouped_task(p), granularity);
	if (!time_after(p->scx.dsq_vtime, limit) &&
	    (p->pid == next || (!next && (p->pid == last || (!last && first == skip && stays)))))
		return 0;
	found = first == skip ? 0 : first;
	if (!next && !last && found)
		return stays ? first : 0;
	/* A buddy may wait behind the first task. */
	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (time_after(p->scx.dsq_vtime, limit))
			break;
		if (p->pid == next)
			return next;
		if (p->pid == last || (!found && p->pid != skip))
			found = p->pid;
		if (found && !next && (found == last || !last))
			break;
	}
	return found ? found : first;
}

/*
 * Returns a task's part of the period, on a CPU where it is counted or, with `joins`, not yet
 * (`sched_slice`).
 */
static inline u64 sched_slice(const struct task_struct *p, const struct load *load, u32 joins)
{
	u64 mine = has_groups ? fair_weight(p, grouped_task(p)) : weight_of(p);
	u64 nr = load->nr_running + joins, weight = load->weight + joins * mine;
	u64 period = nr > nr_latency ? nr * min_granularity : latency, least = min_granularity;
	u64 slice = weight ? period * mine / weight : period;

	if (!has_base_slice())
		return slice;
	if (has_idle_policy(p) && weight > nr * IDLE_WEIGHT)
		least = sched_idle_min_granularity_ns;
	return slice < least ? least : slice;
}

/*
 * Tells whether the slice is over, or another task is a whole slice behind. `ran` is since the task
 * was picked (`check_preempt_tick`).
 */
static inline bool is_slice_over(u64 slice, u64 ran, s64 ahead)
{
	if (has_longest_slice() && slice > latency)
		slice = latency;
	return ran > slice || (ran >= min_granularity && ahead > (s64)slice);
}

/*
 * Returns the lower limit at this moment, by the first of the waiting tasks and the running one
 * (`update_min_vruntime`).
 */
static inline u64 live_min_vruntime(const struct queue *rq, u32 cpu)
{
	u64 vruntime = rq->curr.is_set ? live_vruntime(&rq->curr) : rq->min_vruntime, left;

	if (first_vruntime(cpu, &left) && (!rq->curr.is_set || time_before(left, vruntime)))
		vruntime = left;
	return later_of(rq->min_vruntime, vruntime);
}

/* Stores what live_min_vruntime finds (`update_min_vruntime`). */
static inline void update_min_vruntime(struct queue *rq, u32 cpu)
{
	rq->min_vruntime = live_min_vruntime(rq, cpu);
}

/*
 * Returns the vruntime of a sleeper that wakes up: its own, but not further behind than its credit
 * (`place_entity`).
 */
static inline u64 place_woken(const struct task_struct *p, const struct queue *rq, u64 vruntime)
{
	u64 credit = has_idle_policy(p) && has_small_idle_credit() ? min_granularity : latency;

	if (has_gentle_fair_sleepers())
		credit /= 2;
	return later_of(vruntime, rq->min_vruntime - credit);
}

/*
 * Returns the vruntime of a new task: its parent's, but not before all others have had a turn
 * (`place_entity`, `task_fork_fair`).
 */
static inline u64 place_new(const struct task_struct *p, struct queue *rq, const struct load *load)
{
	u64 parent = live_vruntime(&rq->curr), least = rq->min_vruntime;

	if (start_debit)
		least += fair_time(p, grouped_task(p), sched_slice(p, load, 1));
	if (!child_runs_first || !time_before(parent, least))
		return later_of(least, parent);
	/* Parent and child swap vruntimes. */
	rq->curr.vruntime += least - parent;
	return parent;
}

/* Returns a vruntime at the same distance from another CPU's minimum (`migrate_task_rq_fair`). */
static inline u64 migrate_vruntime(u64 vruntime, s32 from, s32 to)
{
	if (from == to)
		return vruntime;
	return vruntime - live_min_vruntime(of_cpu(queues, from), from) +
	       live_min_vruntime(of_cpu(queues, to), to);
}

/* Tells whether a woken or new task preempts, and sets buddies (`check_preempt_wakeup`). */
static inline bool check_preempt_wakeup(struct task_struct *p, struct queue *rq, s32 cpu,
					u64 vruntime, bool is_new)
{
	bool is_crowded = of_cpu(loads, cpu)->nr_running >= nr_latency;
	s64 behind = live_vruntime(&rq->curr) - vruntime;

	if (!rq->curr.is_set || rq->curr.need_resched)
		return false;
	if (rq->curr.has_idle_policy && !gives_way_to_all(p, grouped_task(p)))
		return true;
	if (p->policy != POLICY_NORMAL || !wakeup_preemption)
		return false;
	if (next_buddy && is_crowded && !is_new)
		rq->buddies.next = p->pid;
	if (is_new && child_runs_first && behind > 0)
		return true;
	if (behind <= wakeup_gran(p))
		return false;
	rq->buddies.next = p->pid;
	if (is_crowded && has_last_buddy())
		rq->buddies.last = rq->curr.pid;
	return true;
}

/* Handles `ops.enqueue` (`enqueue_task_fair`). */
static inline void enqueue_task_fair(struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = fair_task(p);
	bool is_woken = enq_flags & SCX_ENQ_WAKEUP, is_new, preempts;
	u64 vruntime;

	if (!task)
		return;
	if (may_not_run(task)) {
		update_min_vruntime(rq, cpu);
		park(p, task, enq_flags);
		return;
	}
	count_in_group(p, task);
	is_new = task->is_new;
	if (is_woken || is_new)
		update_min_vruntime(rq, cpu);
	vruntime = migrate_vruntime(p->scx.dsq_vtime, task->load.cpu, cpu);
	if (is_woken)
		vruntime = place_woken(p, rq, vruntime);
	if (is_woken || is_new)
		note_other(cpu);
	join_cpu(task, cpu, p);
	preempts = (is_woken || is_new) && check_preempt_wakeup(p, rq, cpu, vruntime, is_new);
	if (preempts && rq->buddies.next == p->pid && is_next(cpu, vruntime) &&
	    run_at_once(p, cpu, enq_flags)) {
		scx_bpf_task_set_dsq_vtime(p, vruntime);
		rq->curr.need_resched = true;
		return;
	}
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, vruntime, enq_flags);
	if (preempts)
		resched_curr(&rq->curr, cpu);
}

/* Runs the waiting task with this pid next, or else the first one (`set_next_entity`). */
static inline bool run_next(u32 cpu, s32 pid)
{
	struct task_struct *p;

	if (!pid)
		return scx_bpf_dsq_move_to_local(cpu, 0);
	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (p->pid == pid && scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0))
			return true;
	}
	return scx_bpf_dsq_move_to_local(cpu, 0);
}

#ifndef OVERLAY_TREE
/*
 * Gives a task that this CPU has pulled its place here (`attach_task`). One that was parked, and is
 * not counted, gets the place that it had: in Linux its group stands still (`unthrottle_cfs_rq`).
 */
static __noinline u64 attach_task(struct task_struct *p, struct fair_task *task, s32 cpu)
{
	u64 vruntime = migrate_vruntime(p->scx.dsq_vtime, task->load.cpu, cpu);

	if (!task->load.weight) {
		update_min_vruntime(of_cpu(queues, cpu), cpu);
		vruntime += of_cpu(queues, cpu)->min_vruntime - task->member.parked_at;
		vruntime = place_woken(p, of_cpu(queues, cpu), vruntime);
	}
	load_join(&task->load, cpu, fair_weight(p, task));
	return vruntime;
}
#endif

/* Tells whether the slice of the running task, which is at `vruntime`, is over (`entity_tick`). */
static inline bool is_turn_over_at(const struct task_struct *p, const struct queue *rq, s32 cpu,
				   u64 vruntime)
{
	struct task_struct *left = __COMPAT_scx_bpf_dsq_peek(cpu);

	return left && is_slice_over(sched_slice(p, of_cpu(loads, cpu), 0),
				     p->se.sum_exec_runtime - rq->curr.prev_sum_exec,
				     vruntime - left->scx.dsq_vtime);
}

/* Stops counting a waiting task whose group is throttled (`throttle_cfs_rq`). */
static void detach_throttled(struct task_struct *p, struct fair_task *task)
{
	task->member.parked_at = of_cpu(queues, scx_bpf_task_cpu(p))->min_vruntime;
	leave_cpu(task);
}

/* Handles `ops.dispatch` (`pick_next_task_fair`). */
static inline void pick_next_task_fair(s32 cpu, struct task_struct *prev)
{
	struct queue *rq = of_cpu(queues, cpu);
	bool goes_on = could_go_on(prev);
	s32 pid;

	if (goes_on)
		scx_bpf_task_set_dsq_vtime(prev, account(&rq->curr, prev));
	/* A CPU that has only looked around does not choose again. */
	if (sched_balance_domains(cpu) && goes_on && !has_quotas && !rq->curr.need_resched &&
	    !is_turn_over_at(prev, rq, cpu, prev->scx.dsq_vtime)) {
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
		return;
	}
	rq->curr.need_resched = false;
	if (has_quotas) {
		goes_on = goes_on && !is_throttled(rq->curr.group);
		update_min_vruntime(rq, cpu);
		sort_throttled(cpu);
	}
	pid = pick_next_entity(&rq->buddies, cpu, goes_on ? prev : NULL, wakeup_granularity);
	if (goes_on && pid == prev->pid) {
		clear_buddies(&rq->buddies, pid);
		rq->curr.prev_sum_exec = prev->se.sum_exec_runtime;
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	} else if (!run_next(cpu, pid)) {
		/* A task that goes on without a slice would be queued, and nobody would look there. */
		if (goes_on)
			scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
		else
			newidle_balance(cpu, busiest_cpu(cpu));
	}
}

/* Gives a task its present weight; its vruntime stays (`reweight_entity`). */
static inline void reweight_entity(const struct task_struct *p, struct fair_task *task, s32 cpu)
{
	count_in_group(p, task);
	load_join(&task->load, cpu, fair_weight(p, task));
}

/* Handles `ops.running` (`set_next_task_fair`). */
static inline void set_next_task_fair(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = fair_task(p);

	/* The task may have been pulled here. */
	if (task && task->load.cpu != cpu)
		scx_bpf_task_set_dsq_vtime(p, migrate_vruntime(p->scx.dsq_vtime, task->load.cpu, cpu));
	if (task && has_groups)
		reweight_entity(p, task, cpu);
	clear_buddies(&rq->buddies, p->pid);
	begin_to_run(&rq->curr, p, task, p->scx.dsq_vtime);
	if (must_choose_again(cpu))
		resched_curr(&rq->curr, cpu);
}

/* Handles `ops.tick` (`task_tick_fair`). */
static inline void task_tick_fair(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);
	struct fair_task *task = grouped_task(p);
	u64 vruntime = account(&rq->curr, p);

	if (task) {
		reweight_entity(p, task, cpu);
		rq->curr.weight = task->load.weight;
		rq->curr.inverse_weight = inverse_part(rq->curr.weight);
	}
	scx_bpf_task_set_dsq_vtime(p, vruntime);
	if (is_balance_due(cpu) || is_turn_over_at(p, rq, cpu, vruntime) ||
	    (has_quotas && is_throttled(rq->curr.group)))
		scx_bpf_task_set_slice(p, 0);
}

/* Handles `ops.stopping` (`put_prev_task_fair`). */
static inline void put_prev_task_fair(struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct queue *rq = of_cpu(queues, cpu);

	scx_bpf_task_set_dsq_vtime(p, account(&rq->curr, p));
	if (!runnable)
		update_min_vruntime(rq, cpu);
	stop_running(&rq->curr, p, runnable);
}

/* Handles `ops.quiescent` (`dequeue_task_fair`). */
static inline void dequeue_task_fair(struct task_struct *p)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	clear_buddies(&of_cpu(queues, task->load.cpu)->buddies, p->pid);
	leave_cpu(task);
}

/* Handles `ops.yield` (`yield_task_fair`). */
static inline bool yield_task_fair(struct task_struct *from)
{
	of_cpu(queues, scx_bpf_task_cpu(from))->buddies.skip = from->pid;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Handles `ops.enable` (`task_fork_fair`). */
static inline void task_fork_fair(struct task_struct *p)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct queue *rq = of_cpu(queues, cpu);
	bool is_new = begin_on(p, cpu);

	/* At a fork the parent runs here; otherwise the task's past is not known. */
	update_min_vruntime(rq, cpu);
	scx_bpf_task_set_dsq_vtime(p, is_new ? place_new(p, rq, of_cpu(loads, cpu)) :
					       rq->min_vruntime);
}

/* Handles `ops.init` (`init_sched_fair_class`). */
static inline s32 init_sched_fair_class(void)
{
	s32 err = create_queues();

	sched_init_granularity();
	return err ?: init_domains();
}

#ifndef OVERLAY
s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_task_rq_fair(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task_fair(p, enq_flags);
}

void BPF_STRUCT_OPS(cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	pick_next_task_fair(cpu, prev);
}

void BPF_STRUCT_OPS(cfs_running, struct task_struct *p)
{
	set_next_task_fair(p);
}

void BPF_STRUCT_OPS(cfs_tick, struct task_struct *p)
{
	task_tick_fair(p);
}

void BPF_STRUCT_OPS(cfs_stopping, struct task_struct *p, bool runnable)
{
	put_prev_task_fair(p, runnable);
}

void BPF_STRUCT_OPS(cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	dequeue_task_fair(p);
}

bool BPF_STRUCT_OPS(cfs_yield, struct task_struct *from, struct task_struct *to)
{
	return yield_task_fair(from);
}

s32 BPF_STRUCT_OPS(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_grouped_task(p, args);
}

void BPF_STRUCT_OPS(cfs_enable, struct task_struct *p)
{
	task_fork_fair(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(cfs_init)
{
	return init_sched_fair_class();
}

void BPF_STRUCT_OPS(cfs_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(cfs_ops,
	       .select_cpu	= (void *)cfs_select_cpu,
	       .enqueue		= (void *)cfs_enqueue,
	       .dispatch	= (void *)cfs_dispatch,
	       .running		= (void *)cfs_running,
	       .tick		= (void *)cfs_tick,
	       .stopping	= (void *)cfs_stopping,
	       .quiescent	= (void *)cfs_quiescent,
	       .yield		= (void *)cfs_yield,
	       .init_task	= (void *)cfs_init_task,
	       GROUP_CALLBACKS,
	       .flags		= SCX_OPS_ENQ_LAST,
	       .enable		= (void *)cfs_enable,
	       .init		= (void *)cfs_init,
	       .exit		= (void *)cfs_exit,
	       .name		= "cfs");
#endif
