// SPDX-License-Identifier: GPL-2.0-only
/*
 * echo: ECHO: shortest remaining time first by an estimate, in rounds.
 *
 * Idea: Each task has an estimate, an average of its CPU bursts. The smallest estimate runs first,
 *       but only for its part of a quota that all tasks of a CPU share; then it waits for the next
 *       round. A woken task joins the present round and preempts a larger estimate. CPU 0 balances
 *       for all: the task with the smallest estimate moves to a CPU that runs a larger one.
 * Good at: New tasks and short bursts: they run at once. Hogs are last in a round, but have a turn
 *          in each.
 * Bad at: Nice values: the quota is far shorter than a tick, so as shipped hogs share equally
 *         whatever their nice values are. Messages back and forth: each smaller estimate causes a
 *         switch. The quota's timer causes tens of thousands of switches a second.
 * Origin: Hamad Al Marri, patches for Linux 6.7 to 6.12, 2024 and 2025.
 * Family: 2024, Hamad Al Marri; after baby, tt
 * Queue: Two lists for each CPU, this round and the next, by estimate; enqueue O(n), pick O(1).
 * Slice: 35 us / n, at least 4.2 us, virtual; as shipped it ends at a tick, else by a timer.
 * Wake-up: Into this round at its estimate; preempts a larger one, and one that has used its quota.
 * Balancing: CPU 0's ticks, by estimate and by count; a CPU that becomes idle pulls.
 * Differs: Ticks are those of this kernel; the original has 625 a second. A list is a DSQ whose
 *          keys keep its order. A task that has not found its place after 512 others goes to the
 *          end. Another CPU may insert a task while one looks for a place. Each waker and its wakee
 *          count as a close pair. If CPU 0 idles, the ticks of CPUs where tasks wait wake it to
 *          balance. NUMA nodes and load averages are missing; the coldest task is the one that has
 *          not run for longest. A new nice value does not change an estimate. A task that a
 *          real-time task displaces waits for its CPU. Control groups have no effect: the original
 *          has none.
 */
#include <scx/common.bpf.h>
#include "include/slice_timer.h"
#include "include/common.h"

char _license[] SEC("license") = "GPL";

/*
 * The quota that a CPU's tasks share in a round (`bs_shared_quota`), and the least part of it that
 * a task gets. Both are virtual times.
 */
const volatile u64 sched_bs_shared_quota_ns = 35000;
const volatile u64 base_slice_ns = 4200;
/*
 * What ends a quota: a tick (0), as shipped; a timer that takes the quota for real time (1), as the
 * kernel's HRTICK does; or a timer that runs for exactly the virtual time (2), as the README says.
 */
const volatile u32 hrtick = 0;
/* The weight of the last burst in the estimate, in thousandths. The past has the rest. */
const volatile u64 alpha = 500;
/* Tasks are ordered by estimate. Without this there are rounds only. */
const volatile bool estimate = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs, other than at a wake-up. */
const volatile bool balancing = true;

UEI_DEFINE(uei);

/* What is stored of a task (`struct bs_node`). Times but `sum_exec` are virtual, in nanoseconds. */
struct task_ctx {
	u64 vburst;	/* what it has run since it slept */
	u64 est;	/* its estimate */
	u64 ran;	/* what it has run since it was picked */
	u64 used;	/* what it has used of this round's quota */
	u64 sum_exec;	/* the CPU time that these account for */
	u64 place;	/* the estimate with which it joined its list */
	s32 cpu;	/* the CPU where it was queued last */
	u32 queue;	/* which of that CPU's two lists it was in */
	bool is_new, is_put, yielded;
};
DEFINE_TASK_CTX()

struct cpu_ctx {
	s32 curr;		/* the pid of the running task; 0 if none of ours runs */
	u32 round;		/* which of the two lists is this round's */
	u64 est, ran, used;	/* the running task's, when it began to run at `since` */
	u64 since;
	u32 inverse_weight, weight;
	bool has_idle_policy, need_resched, balance_due;
};
DEFINE_CPU_CTX()

#include "include/counts.h"

/* Returns the DSQ of a CPU's list. Lists 0 and 1 take turns as this round's (`q1`, `q2`). */
static u64 queue_of(s32 cpu, u32 queue)
{
	return (u64)cpu * 2 + (queue & 1);
}

/* Counts the waiting tasks of both lists (`q1_nr_running`, `q2_nr_running`). */
static u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(queue_of(cpu, 0)) + scx_bpf_dsq_nr_queued(queue_of(cpu, 1));
}

/* Averages a burst into the estimate (`update_est_entity`). */
static void update_est_entity(struct task_ctx *task)
{
	task->est = estimate ? (alpha * task->vburst + (1000 - alpha) * task->est) / 1000 : 0;
}

/*
 * Updates the estimate of a task that falls asleep twice: for its burst, and for an empty one
 * (`dequeue_entity`).
 */
static void end_burst(struct task_ctx *task)
{
	update_est_entity(task);
	task->vburst = 0;
	update_est_entity(task);
}

/* Accounts for the CPU time that a task has had (`update_curr`). */
static void update_curr(struct task_struct *p, struct task_ctx *task)
{
	u64 virtual = virtual_time(p, p->se.sum_exec_runtime - task->sum_exec);

	task->sum_exec = p->se.sum_exec_runtime;
	task->vburst += virtual;
	task->ran += virtual;
	task->used += virtual;
}

/* Returns a task's part of the shared quota (`entity_end_quota`). */
static inline u64 quota(u32 runnable)
{
	u64 part = sched_bs_shared_quota_ns / (runnable ?: 1);

	return part > base_slice_ns ? part : base_slice_ns;
}

/* Returns the virtual time that the running task has run since `since` (`calc_delta_fair`). */
static inline u64 unaccounted(struct cpu_ctx *here)
{
	s64 ns = scx_bpf_now() - here->since;

	return virtual_time_at(here->inverse_weight, ns > 0 ? ns : 0);
}

/* Returns a task's present estimate; it may have joined its list with another one (`bsn->est`). */
static inline u64 est_of(struct task_struct *p)
{
	return ctx_of(p)->est;
}

/*
 * A list's first task has the key FIRST_KEY. A task at an end of the list is KEY_GAP away from its
 * neighbour. A task that is put between two others is KEY_STEP away from the second one.
 */
#define FIRST_KEY (1ULL << 62)
#define KEY_GAP (1ULL << 44)
#define KEY_STEP (1ULL << 28)

/*
 * The search for a place in a list ends after this many tasks. The limit is a variable because the
 * verifier would count to a constant, which takes fifty times as long: half a minute on a slow
 * machine.
 */
volatile u32 search_limit = 512;

/*
 * Returns a key between those of two neighbours. It is near the second one, because most tasks come
 * just behind the first of a list, one after the other. If no key is left between them, it is that
 * of the first neighbour: a DSQ keeps equals in the order of their arrival. No counterpart: the
 * patch has linked lists.
 */
static inline u64 key_between(u64 before, u64 after)
{
	u64 half = (after - before) / 2;

	return half > KEY_STEP ? after - KEY_STEP : before + half;
}

/*
 * Returns the key behind all tasks of a list. All loops of this file are out of line: the verifier
 * would walk an inlined loop again for each state in which its callers can be. No counterpart: the
 * patch has linked lists.
 */
static __noinline u64 last_key(u64 dsq)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq, SCX_DSQ_ITER_REV)
		return p->scx.dsq_vtime + KEY_GAP;
	return FIRST_KEY;
}

/*
 * Returns the key with which a task joins a list: before the first task if its own estimate is
 * smaller, else behind the first task and all that follow with a smaller estimate. The present
 * estimates of the others count, so the list need not be sorted. With `has_first` the first task
 * has left the DSQ already, because it runs next (`__enqueue_entity`).
 */
static __noinline u64 key_in(u64 dsq, u64 est, bool has_first)
{
	struct task_struct *p;
	u32 left = search_limit;
	/* No task has the key 0. */
	u64 before = 0;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		u64 other = est_of(p), key = p->scx.dsq_vtime;

		if (!before && (has_first ? est <= other : est < other))
			return key - KEY_GAP;
		if (before && est <= other)
			return key_between(before, key);
		if (!--left)
			break;
		before = key;
	}
	return last_key(dsq);
}

/*
 * Tells whether the running task must stop: it has used up its quota (`entity_end_quota`), or it
 * has had its least part and a task with a smaller estimate waits (`entity_end_min_slice`).
 */
static inline bool is_turn_over(s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u64 virtual = unaccounted(here);
	struct task_struct *first;
	u32 runnable = nr_running(cpu);

	if (runnable < 2)
		return false;
	if (here->used + virtual >= quota(runnable))
		return true;
	first = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, here->round));
	return first && est_of(first) < here->est && here->ran + virtual >= base_slice_ns;
}

/* Starts the timer that looks at the running task's quota next (`hrtick_start_fair`). */
static inline void hrtick_start(s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u64 ns, used;
	u32 runnable;

	if (!hrtick)
		return;
	runnable = nr_running(cpu);
	if (runnable < 2)
		return;
	ns = quota(runnable);
	used = here->used + unaccounted(here);
	if (hrtick == 2)
		ns = ns > used ? (ns - used) * here->weight / NICE_0_WEIGHT + 1 : 1;
	start_slice_timer(cpu, ns, 0);
}

/*
 * Handles the quota's timer (`hrtick`). The verifier of Linux 6.12 takes this function for a part
 * of `init`, which may sleep, so it demands the RCU lock under which a queue may be read.
 */
static int slice_timer_fires(void *map, int *key, struct slice_timer *timer)
{
	s32 cpu = *key;

	bpf_rcu_read_lock();
	if (cpu_ctx(cpu)->curr && is_turn_over(cpu))
		resched_cpu(cpu);
	else if (cpu_ctx(cpu)->curr)
		hrtick_start(cpu);
	bpf_rcu_read_unlock();
	return 0;
}

/* Notes that a task begins to run (`set_next_entity`). */
static void set_next_entity(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	task->is_put = false;
	task->ran = 0;
	task->sum_exec = p->se.sum_exec_runtime;
	here->curr = p->pid;
	here->est = task->est;
	here->ran = 0;
	here->used = task->used;
	here->since = scx_bpf_now();
	here->weight = weight_of(p);
	here->inverse_weight = inverse_weight_of(p);
	here->has_idle_policy = has_idle_policy(p);
	hrtick_start(cpu);
}

/* Assigns a task to a list, where its present estimate decides its place (`__enqueue_entity`). */
static inline void enqueue_entity(struct task_ctx *task, s32 cpu, u32 queue)
{
	task->cpu = cpu;
	task->queue = queue;
	task->place = task->est;
}

/*
 * Puts the task that has run back into a list. The estimate that it had before this burst decides
 * its place (`put_prev_entity`, `__enqueue_prev_entity`).
 */
static inline void put_prev_entity(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u32 runnable = waiting(cpu) + 1;
	bool is_used;

	update_curr(p, task);
	is_used = task->yielded || (runnable > 1 && task->used >= quota(runnable));
	enqueue_entity(task, cpu, here->round ^ is_used);
	task->used = is_used ? 0 : task->used;
	task->yielded = false;
	task->is_put = true;
	update_est_entity(task);
}

/* Tells whether a task that was just put back is the first of this round (`pick_next_entity`). */
static inline bool stays(struct task_ctx *task, s32 cpu)
{
	u64 dsq = queue_of(cpu, cpu_ctx(cpu)->round);
	struct task_struct *first = __COMPAT_scx_bpf_dsq_peek(dsq);

	return (dsq & 1) == task->queue && (!first || task->place < est_of(first));
}

/*
 * Runs the first task of this round next. If this round is over, the next one begins with its first
 * task. Returns false if `prev` continues, or no task waits (`pick_next_entity`).
 */
static inline bool pick_next_entity(struct task_ctx *prev, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u32 round = here->round & 1;

	if (!scx_bpf_dsq_nr_queued(queue_of(cpu, round)) && !(prev && prev->queue == round))
		round = here->round = round ^ 1;
	if (prev && stays(prev, cpu))
		return false;
	return scx_bpf_dsq_move_to_local(queue_of(cpu, round), 0);
}

/* The waiting task with the smallest estimate of all (`struct global_candidate`). */
struct candidate {
	s32 pid;	/* 0 if there is none */
	s32 cpu;
	u32 queue;
	u64 est;
};

/*
 * Considers the first task of a CPU's round, or of its next round if that one may not move
 * (`update_candidate`, `can_be_candidate`).
 */
static __noinline void update_candidate(struct candidate *best, s32 cpu)
{
	struct task_struct *p;
	u32 i;

	bpf_for(i, 0, 2) {
		u32 queue = cpu_ctx(cpu)->round ^ i;

		p = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, queue));
		if (!p || p->nr_cpus_allowed == 1)
			continue;
		if (!best->pid || est_of(p) < best->est)
			*best = (struct candidate){ p->pid, cpu, queue & 1, est_of(p) };
		return;
	}
}

/*
 * Finds the candidate of all CPUs. No counterpart: the patch updates its candidate with each change
 * of a queue.
 */
static __noinline void find_candidate(struct candidate *best)
{
	u32 cpu;

	best->pid = 0;
	bpf_for(cpu, 0, nr_cpus)
		update_candidate(best, cpu);
}

/*
 * Moves a waiting task into another CPU's present round. This updates its estimate twice
 * (`pull_from`, `move_task`).
 */
static __noinline bool move_task(s32 from, u32 queue, s32 pid, s32 to)
{
	struct task_struct *p;
	u64 dsq, key;

	bpf_for_each(scx_dsq, p, queue_of(from, queue), 0) {
		struct task_ctx *task = ctx_of(p);

		if (p->pid != pid)
			continue;
		if (!bpf_cpumask_test_cpu(to, p->cpus_ptr))
			return false;
		update_est_entity(task);
		update_est_entity(task);
		enqueue_entity(task, to, cpu_ctx(to)->round);
		dsq = queue_of(to, task->queue);
		key = key_in(dsq, task->place, false);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, key);
		return scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, dsq, 0);
	}
	return false;
}

/* Moves the task of a CPU's round that has not run for longest (`hotness_of`, `rebalance`). */
static __noinline bool move_coldest(s32 from, s32 to)
{
	u32 queue = cpu_ctx(from)->round;
	struct task_struct *p;
	u64 since = ~0ULL;
	s32 found = 0;

	bpf_for_each(scx_dsq, p, queue_of(from, queue), 0) {
		if (p->se.exec_start < since && bpf_cpumask_test_cpu(to, p->cpus_ptr)) {
			since = p->se.exec_start;
			found = p->pid;
		}
	}
	return found && move_task(from, queue, found, to);
}

/* Finds work for a CPU that has become idle (`newidle_balance`, `idle_pull_global_candidate`). */
static __noinline bool newidle_balance(s32 cpu)
{
	struct candidate best = {};
	struct extremes extremes;

	find_candidate(&best);
	if (best.pid && move_task(best.cpu, best.queue, best.pid, cpu))
		return true;
	find_extremes(&extremes);
	return extremes.most >= 2 && move_coldest(extremes.busiest, cpu);
}

/*
 * Balances all CPUs at a tick of CPU 0. The candidate moves to a CPU that idles or runs a larger
 * estimate (`active_pull_global_candidate`). Then the numbers of tasks are levelled (`rebalance`).
 */
static __noinline void balance_all(void)
{
	struct candidate best = {};
	u32 cpu;

	find_candidate(&best);
	bpf_for(cpu, 0, nr_cpus) {
		bool idles = !nr_running(cpu), is_larger = cpu_ctx(cpu)->est > best.est;

		if (!best.pid || best.cpu == (s32)cpu || (!idles && !is_larger) ||
		    !move_task(best.cpu, best.queue, best.pid, cpu))
			continue;
		resched_cpu(cpu);
		find_candidate(&best);
	}
	bpf_for(cpu, 0, nr_cpus) {
		struct extremes extremes;

		find_extremes(&extremes);
		if (extremes.most - extremes.least < 2 ||
		    !move_coldest(extremes.busiest, extremes.laziest))
			return;
		wake_up_for_work(extremes.laziest);
	}
}

/* Tells whether a woken task preempts the running one (`check_preempt_wakeup_fair`). */
static bool check_preempt_wakeup(const struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	if (!here->curr || !wakeup_preemption)
		return false;
	if (here->has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL)
		return false;
	/* The woken task is not in its queue yet, so it is added to the number of tasks. */
	return here->used + unaccounted(here) >= quota(nr_running(cpu) + 1) || task->est < here->est;
}

/* Chooses a CPU for a new or woken task (`select_task_rq_fair`, `wake_affine_idle`). */
s32 BPF_STRUCT_OPS(echo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id();

	if ((wake_flags & SCX_WAKE_FORK) || !bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return fewest_cpu(p, prev_cpu, this_cpu);
	if (is_idle(this_cpu))
		return is_idle(prev_cpu) ? prev_cpu : this_cpu;
	return (wake_flags & SCX_WAKE_SYNC) && nr_running(this_cpu) == 1 ? this_cpu : prev_cpu;
}

/*
 * Inserts a task into its list. If it was put back because the first task of this round runs next,
 * that task is in the local DSQ already (`__enqueue_entity`).
 */
static inline void insert(struct task_struct *p, struct task_ctx *task, s32 cpu, u64 enq_flags)
{
	u64 dsq = queue_of(cpu, task->queue);
	bool has_first = task->is_put && task->queue == (cpu_ctx(cpu)->round & 1) &&
			 scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) > 0;

	scx_bpf_dsq_insert_vtime(p, dsq, SCX_SLICE_INF, key_in(dsq, task->place, has_first),
				 enq_flags);
}

/* Queues a task, which may preempt the running one (`enqueue_task_fair`). */
void BPF_STRUCT_OPS(echo_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);

	if (is_woken)
		task->used = 0;
	/* A task that was put back or moved has its list already. */
	if (is_woken || (task->cpu != cpu && !task->is_put))
		enqueue_entity(task, cpu, cpu_ctx(cpu)->round);
	insert(p, task, cpu, enq_flags);
	task->is_new = task->is_put = false;
	wake_up_if_free(cpu);
	if (is_woken && check_preempt_wakeup(p, task, cpu))
		resched_cpu(cpu);
	else if (cpu_ctx(cpu)->curr)
		hrtick_start(cpu);
}

/* Picks the next task, here or from another CPU (`pick_next_task_fair`). */
void BPF_STRUCT_OPS(echo_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	bool goes_on = task && here->balance_due && !here->need_resched;

	if (here->balance_due)
		balance_all();
	goes_on &= !here->need_resched;
	here->balance_due = here->need_resched = false;
	if (task && !goes_on)
		put_prev_entity(prev, task, cpu);
	if (!task && !pick_next_entity(NULL, cpu) && balancing && newidle_balance(cpu))
		pick_next_entity(NULL, cpu);
	if (!task || (!goes_on && pick_next_entity(task, cpu)))
		return;
	if (!goes_on)
		set_next_entity(prev, task, cpu);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

/* Notes the task that begins to run (`set_next_task_fair`). */
void BPF_STRUCT_OPS(echo_running, struct task_struct *p)
{
	set_next_entity(p, ctx_of(p), scx_bpf_task_cpu(p));
}

/* Ends a turn that is over, and balances (`task_tick_fair`, `entity_tick`). */
void BPF_STRUCT_OPS(echo_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->need_resched |= is_turn_over(cpu);
	if ((balancing && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

/* Accounts for a task that stops, and chooses its list (`put_prev_task_fair`). */
void BPF_STRUCT_OPS(echo_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	if (runnable && !task->is_put)
		put_prev_entity(p, task, cpu);
	update_curr(p, task);
	cpu_ctx(cpu)->curr = 0;
	queue_again(p, runnable);
}

/* Ends the burst of a task that goes to sleep (`dequeue_task_fair`). */
void BPF_STRUCT_OPS(echo_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		end_burst(ctx_of(p));
}

/* Makes the CPU choose again (`yield_task_fair`). */
bool BPF_STRUCT_OPS(echo_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->yielded = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Makes the state of a new task (`task_fork_fair`). */
s32 BPF_STRUCT_OPS(echo_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	return 0;
}

/* Creates the two lists of each CPU (`init_cfs_rq`). */
s32 BPF_STRUCT_OPS_SLEEPABLE(echo_init)
{
	u32 i;
	s32 err = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(i, 0, nr_cpus) {
		err = err ?: scx_bpf_create_dsq(queue_of(i, 0), -1);
		err = err ?: scx_bpf_create_dsq(queue_of(i, 1), -1);
	}
	return err ?: init_slice_timers();
}

void BPF_STRUCT_OPS(echo_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(echo_ops,
	       .select_cpu	= (void *)echo_select_cpu,
	       .enqueue		= (void *)echo_enqueue,
	       .dispatch	= (void *)echo_dispatch,
	       .running		= (void *)echo_running,
	       .tick		= (void *)echo_tick,
	       .stopping	= (void *)echo_stopping,
	       .quiescent	= (void *)echo_quiescent,
	       .yield		= (void *)echo_yield,
	       .init_task	= (void *)echo_init_task,
	       .init		= (void *)echo_init,
	       .exit		= (void *)echo_exit,
	       .name		= "echo");
