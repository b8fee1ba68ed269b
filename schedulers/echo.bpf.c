// SPDX-License-Identifier: GPL-2.0-only
/*
 * echo: ECHO: shortest remaining time first by an estimate, in rounds.
 *
 * Idea: Each task has an estimate, an average of its CPU bursts. The smallest estimate runs first,
 *       but only for its part of a quota that all tasks of a CPU share. Then it waits for the next
 *       round. A woken task joins the present round and preempts a larger estimate. CPU 0 balances
 *       for all: the task with the smallest estimate moves to a CPU that runs a larger one.
 * Good at: New tasks and short bursts: they run at once. Hogs are last in a round, but have a turn
 *          in each.
 * Bad at: Nice values: the quota is far shorter than a tick, so as shipped hogs share equally, nice
 *         or not. Ping-pong of messages: every smaller estimate is a switch. With the quota's timer
 *         there are tens of thousands of switches each second.
 * Origin: Hamad Al Marri, patches for Linux 6.7 to 6.12, 2024 and 2025.
 * Family: 2024, Hamad Al Marri; after baby, tt
 * Queue: Two lists for each CPU, this round and the next, by estimate; enqueue O(n), pick O(1).
 * Slice: 35 us / n, at least 4.2 us, virtual; as shipped it ends at a tick, else by a timer.
 * Wake-up: Into this round at its estimate; preempts a larger one, and one that has used its quota.
 * Balancing: CPU 0's ticks, by estimate and by count; a CPU that becomes idle pulls.
 * Differs: Ticks are this kernel's, not 625 each second. A list is a DSQ with keys that keep its
 *          order; a task that has not found its place after 512 others goes to the end. While one
 *          CPU looks for a place, another can put a task there. Every waker and wakee count as a
 *          close pair. If CPU 0 idles, the ticks of CPUs where tasks wait wake it to balance. NUMA
 *          nodes and load averages are missing; the coldest task is the one that has not run for
 *          longest. New nice values do not change estimates. A task that a real-time task displaces
 *          waits for its CPU.
 */
#include <scx/common.bpf.h>
#include "include/slice_timer.h"
#include "include/idle.h"
#include "include/nice.h"

char _license[] SEC("license") = "GPL";

/*
 * What a CPU's tasks share in a round (`bs_shared_quota`), and the least part of a task, virtual.
 */
const volatile u64 sched_bs_shared_quota_ns = 35000;
const volatile u64 base_slice_ns = 4200;
/* How a quota ends: 0 at a tick, as shipped; by a timer that takes it for real time, as the
 * kernel's HRTICK does (1), or that runs for exactly the virtual time, as the README has it (2). */
const volatile u32 hrtick = 0;
/* The weight of the last burst in the estimate, of 1000; the past has the rest. */
const volatile u64 alpha = 500;
/* The order is by estimate; else rounds only. */
const volatile bool estimate = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs, other than at a wake-up. */
const volatile bool balancing = true;

UEI_DEFINE(uei);

struct task_ctx {
	u64 vburst;	/* since it slept, virtual ns, as all of these */
	u64 est;	/* the estimate */
	u64 ran;	/* since it was picked */
	u64 used;	/* of this round's quota */
	u64 sum_exec;	/* the CPU time that these account for */
	u64 place;	/* the estimate with which it has joined a list */
	s32 cpu;	/* where it was queued */
	u32 queue;	/* in which of the two */
	bool is_new, is_put, yielded;
};
DEFINE_TASK_CTX()

struct cpu_ctx {
	s32 curr;		/* pid of the running task; 0: none of ours */
	u32 round;		/* which of the two queues is this round's */
	u64 est, ran, used;	/* of the running task, as of `since` */
	u64 since;
	u32 inverse_weight, weight;
	bool has_idle_policy, need_resched, balance_due;
};
DEFINE_CPU_CTX()

#include "include/counts.h"

/* The DSQ of a CPU's queue: 0 and 1 take turns as this round's (`q1`, `q2` of the run queue). */
static u64 queue_of(s32 cpu, u32 queue)
{
	return (u64)cpu * 2 + (queue & 1);
}

/* (`q1_nr_running` and `q2`'s; the running task is counted apart.) */
static u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(queue_of(cpu, 0)) + scx_bpf_dsq_nr_queued(queue_of(cpu, 1));
}

/* The estimate after a burst (`update_est_entity`). */
static void update_est_entity(struct task_ctx *task)
{
	task->est = estimate ? (alpha * task->vburst + (1000 - alpha) * task->est) / 1000 : 0;
}

/* A task that falls asleep updates it twice: for its burst, and for an empty one
 * (`dequeue_entity`). */
static void end_burst(struct task_ctx *task)
{
	update_est_entity(task);
	task->vburst = 0;
	update_est_entity(task);
}

/* Accounts for what a task has run (`update_curr`). */
static void update_curr(struct task_struct *p, struct task_ctx *task)
{
	u64 virtual = virtual_time(p, p->se.sum_exec_runtime - task->sum_exec);

	task->sum_exec = p->se.sum_exec_runtime;
	task->vburst += virtual;
	task->ran += virtual;
	task->used += virtual;
}

/* A task's part of the shared quota (`entity_end_quota`). */
static inline u64 quota(u32 runnable)
{
	u64 part = sched_bs_shared_quota_ns / (runnable ?: 1);

	return part > base_slice_ns ? part : base_slice_ns;
}

/* What the running task has run since it was last accounted for, virtual ns (`calc_delta_fair`). */
static inline u64 unaccounted(struct cpu_ctx *here)
{
	s64 ns = scx_bpf_now() - here->since;

	return virtual_time_at(here->inverse_weight, ns > 0 ? ns : 0);
}

/* The estimate that a task has by now (`bsn->est`); it may have joined its list with another. */
static inline u64 est_of(struct task_struct *p)
{
	return ctx_of(p)->est;
}

/* The keys of a list: the first one, and how far the ends of the list, and the tasks that are put
 * between two others, are from their neighbours. */
#define FIRST_KEY (1ULL << 62)
#define KEY_GAP (1ULL << 44)
#define KEY_STEP (1ULL << 28)

/* No place in a list is looked for behind more tasks. A variable, because the verifier would count
 * to a number that it knows: it needs fifty times as long then, half a minute on a slow machine. */
volatile u32 search_limit = 512;

/*
 * The key between two neighbours. It is near the second one, because the most come just behind the
 * first of a list, one after the other. Where there is none left, it is the key of the one before:
 * a DSQ keeps equals in the order of their arrival. No counterpart: the patch has linked lists.
 */
static inline u64 key_between(u64 before, u64 after)
{
	u64 half = (after - before) / 2;

	return half > KEY_STEP ? after - KEY_STEP : before + half;
}

/*
 * The key behind all tasks of a list. Out of line, as all loops here: the verifier would go through
 * them again for each state in which their callers can be. No counterpart: as above.
 */
static __noinline u64 last_key(u64 dsq)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq, SCX_DSQ_ITER_REV)
		return p->scx.dsq_vtime + KEY_GAP;
	return FIRST_KEY;
}

/*
 * The key with which a task joins a list: before the first one, if its estimate is smaller, else
 * behind the first one and all that follow with a smaller one. What counts are the estimates that
 * the others have by now, so the list need not be sorted (`__enqueue_entity`). `has_first`: the
 * first one is not in the DSQ any more, because it runs next.
 */
static __noinline u64 key_in(u64 dsq, u64 est, bool has_first)
{
	struct task_struct *p;
	u32 left = search_limit;
	u64 before = 0;	/* no key is 0 */

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
 * Whether the running task must stop: its quota is used up (`entity_end_quota`), or a smaller
 * estimate waits and it has had its least part (`entity_end_min_slice`).
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

/* The quota's timer (`hrtick`). Linux 6.12 takes it for a part of `init`, which may sleep, so it
 * wants to see the lock that lets it look into a queue. */
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

/* A task begins to run (`set_next_entity`). */
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

/* A task is to join one of the two lists, by the estimate that it has now (`__enqueue_entity`). */
static inline void enqueue_entity(struct task_ctx *task, s32 cpu, u32 queue)
{
	task->cpu = cpu;
	task->queue = queue;
	task->place = task->est;
}

/* The task that has run until now goes back into a list, by the estimate that it has had
 * (`put_prev_entity`, `__enqueue_prev_entity`). */
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

/* Whether a task that has just been put back is the first of this round (`pick_next_entity`). */
static inline bool stays(struct task_ctx *task, s32 cpu)
{
	u64 dsq = queue_of(cpu, cpu_ctx(cpu)->round);
	struct task_struct *first = __COMPAT_scx_bpf_dsq_peek(dsq);

	return (dsq & 1) == task->queue && (!first || task->place < est_of(first));
}

/*
 * Runs the first of this round next, else the first of the next one, which begins with that
 * (`pick_next_entity`). Returns false if `prev` continues, or no task waits.
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
	s32 pid;	/* 0: none */
	s32 cpu;
	u32 queue;
	u64 est;
};

/*
 * Considers a CPU's first task, of its next round if that of this one cannot move
 * (`update_candidate`, `can_be_candidate`). Out of line: the verifier would go through it for each
 * CPU again.
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

/* Finds the candidate of all CPUs. Out of line, as above. No counterpart: the patch updates it with
 * each change of a queue. */
static __noinline void find_candidate(struct candidate *best)
{
	u32 cpu;

	best->pid = 0;
	bpf_for(cpu, 0, nr_cpus)
		update_candidate(best, cpu);
}

/*
 * Moves a waiting task into another CPU's present round, which updates its estimate twice
 * (`pull_from`, `move_task`). Out of line, because it has a loop and many callers.
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

/* Moves the task of a CPU's present round that has not run for longest (`hotness_of`, `rebalance`).
 * Out of line, as above. */
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

/* Work for a CPU that has become idle (`newidle_balance`, `idle_pull_global_candidate`). Out of
 * line, as above. */
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
 * What CPU 0 does at its ticks, for all: the candidate moves to CPUs that idle or run a larger
 * estimate (`active_pull_global_candidate`), then counts are levelled (`rebalance`). Out of line,
 * as above.
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

/* Whether a woken task preempts the running one (`check_preempt_wakeup_fair`). */
static bool check_preempt_wakeup(const struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	if (!here->curr || !wakeup_preemption)
		return false;
	if (here->has_idle_policy && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL)
		return false;
	/* It is not in its queue yet. */
	return here->used + unaccounted(here) >= quota(nr_running(cpu) + 1) || task->est < here->est;
}

/* (`select_task_rq_fair`, `wake_affine_idle`) */
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
 * A task joins its list. If it was put back because the first of this round runs next, that one is
 * in the local DSQ already (`__enqueue_entity`).
 */
static inline void insert(struct task_struct *p, struct task_ctx *task, s32 cpu, u64 enq_flags)
{
	u64 dsq = queue_of(cpu, task->queue);
	bool has_first = task->is_put && task->queue == (cpu_ctx(cpu)->round & 1) &&
			 scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) > 0;

	scx_bpf_dsq_insert_vtime(p, dsq, SCX_SLICE_INF, key_in(dsq, task->place, has_first),
				 enq_flags);
}

/* (`enqueue_task_fair`) */
void BPF_STRUCT_OPS(echo_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);

	if (is_woken)
		task->used = 0;
	/* A task that was put back or moved has its list. */
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

/* (`pick_next_task_fair`) */
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

/* (`set_next_task_fair`) */
void BPF_STRUCT_OPS(echo_running, struct task_struct *p)
{
	set_next_entity(p, ctx_of(p), scx_bpf_task_cpu(p));
}

/* (`task_tick_fair`, `entity_tick`) */
void BPF_STRUCT_OPS(echo_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->need_resched |= is_turn_over(cpu);
	if ((balancing && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

/* (`put_prev_task_fair`) */
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

/* (`dequeue_task_fair`) */
void BPF_STRUCT_OPS(echo_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		end_burst(ctx_of(p));
}

/* (`yield_task_fair`) */
bool BPF_STRUCT_OPS(echo_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->yielded = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* (`task_fork_fair`) */
s32 BPF_STRUCT_OPS(echo_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	return 0;
}

/* (`init_cfs_rq`) */
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
