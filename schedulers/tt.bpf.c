// SPDX-License-Identifier: GPL-2.0-only
/*
 * tt: The Task Type scheduler, Linux 5.14 to 6.3.
 *
 * Idea: The CPU runs the task that has run for the smallest part of its life, or of the last 23 s.
 *       How a task sleeps and runs decides its type, from REALTIME to BATCH. The type decides what
 *       running costs: each account costs or saves a fixed part of a tick for each level of
 *       priority.
 * Good at: Periodic media tasks, which become REALTIME: they sleep and run regularly and briefly.
 * Bad at: Nice values: they change a task's share only by factors of 0.5 to 1.475, and hardly at
 *         all in 6.1. Equal tasks: in 5.15 they take turns at every tick. STARVATION: as with
 *         CacULE, a task that has slept for long and then computes has the CPU alone for seconds.
 *         In 5.15 a task that yields to a hog waits until the hog sleeps: the mark makes it the
 *         last. In 6.1 a hog that is often interrupted pays nothing, and keeps the CPU.
 * Origin: Hamad Al Marri, patches of 2021 to 2023: Linux 5.14 to 5.16 on its own, from 6.x on CFS.
 * Family: 2021, Hamad Al Marri; after cacule
 * Queue: One for each CPU, a list, newest first; pick O(n).
 * Slice: 5.15: none, at every tick the lowest runs. 6.1: as cfs.
 * Wake-up: 5.15: a lower value preempts at once. An idle CPU, else the least crowded. 6.1: as cfs.
 * Balancing: 5.15: CPU 0's tick moves a task from the longest queue to the shortest. 6.1: as cfs.
 * Differs: The candidate, global and power-saving balancers are missing. So are dedicated CPUs, and
 *          idle CPUs that poll. CFS keeps the tasks by vruntime; each task stores its places in the
 *          list and the tree, so in 6.1 a task is queued in O(n). In 5.15 a switch that a tick or a
 *          wake-up has caused does not update the accounts separately. In 6.1 a new nice value, a
 *          move of a task, and a look at a CPU time do not update them. In 6.1 a task that is
 *          pulled keeps its type, and one that a real-time task displaces waits for its CPU.
 *          Control groups have no effect: the original has none.
 */
#include <scx/common.bpf.h>
#include "include/lifetime.h"
#include "include/common.h"

char _license[] SEC("license") = "GPL";

/* The Linux version: 51500 and 60100 are 5.15 and 6.1. */
const volatile u32 era = 51500;
/* Types change what running costs. */
const volatile bool task_types = true;
/* The nice value of REALTIME tasks. */
const volatile s32 tt_rt_prio = -20;
/* The nice values of the other types in 6.1, whatever their tasks' own values are. */
const volatile s32 tt_interactive_prio = -10, tt_cpu_bound_prio = -15, tt_batch_prio = 19;
/* How much of a task's life counts, in nominal milliseconds of 2^20 ns. */
const volatile u64 tt_max_lifetime_ms = 22000;
/* The balancer of busy CPUs: the normal one (0) or CFS's (2); -1 is that of the era, 0 or 2. */
const volatile s32 tt_balancer_opt = -1;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

UEI_DEFINE(uei);

enum task_type { REALTIME, INTERACTIVE, NO_TYPE, CPU_BOUND, BATCH };

#define MS_NS 1000000ULL
/*
 * A REALTIME task is at least so old; its bursts are no longer, and are as regular as its sleeps.
 */
#define RT_AGE (500 * MS_NS)
#define RT_BURST (4 * MS_NS)
#define RT_BURST_DELTA (2 * MS_NS)
#define RT_WAIT_DELTA (8 * MS_NS / 10)
/* How many tests a REALTIME task may fail until it loses that type. */
#define RT_STICKY 4
/* A rank behind all others. */
#define NO_RANK (1LL << 62)

/* What is stored of a task (`struct tt_node`). */
struct tt_node {
	struct lifetime life;	/* its vruntime begins at 1 */
	u64 created;
	u64 exec_start;		/* the time of its last account, or when it fell asleep */
	u64 wait_time, prev_wait_time;		/* how long it has slept in all, and the last time */
	u64 burst, prev_burst, curr_burst;	/* its bursts, in 5.15 in virtual time */
	u32 type, rt_sticky;
	bool is_current;	/* 6.x: it runs, and has not been put back */
};

#include "include/tt_eras.h"

/* What TT asks of CFS, which is that of Linux 6.5. */
#define OVERLAY
#define OVERLAY_FUNCTIONS
#define OVERLAY_TREE
#define gentle_fair_sleepers true
#define sched_tunable_scaling 1
#define sched_latency_ns (-1)
#define sched_min_granularity_ns (-1)
#define sched_wakeup_granularity_ns (-1)
#define sched_idle_min_granularity_ns 750000
#define sched_child_runs_first (-1)
#define start_debit true
#define base_slice true
#define last_buddy true
#define next_buddy false
/* The original is built without groups. */
#define WITHOUT_GROUPS
/* A task stores its place in the list and its rank in the tree. A list stores its newest place. */
#define FAIR_TASK_FIELDS struct tt_node tt; s64 place, rank;
#define RUNNING_FIELDS s64 newest;

#include "cfs.bpf.c"
#include "include/lowest.h"

/* The donor CPU, counted from 1, from which each CPU should take a task; 0: none. */
static u32 donors[MAX_CPUS];

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

/* Returns how far behind a task must be to preempt; in 5.15 none is ever (`wakeup_gran`). */
static inline s64 wakeup_gran(struct task_struct *p)
{
	return is_on_cfs() ? virtual_time(p, wakeup_granularity) : 1LL << 62;
}

/* Returns how far apart two times are (`EQ_D`). */
static inline u64 difference(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* Tells whether a task is REALTIME. `wait` is its last sleep, 0 while it runs (`is_realtime`). */
static inline bool is_realtime(const struct tt_node *tt, u64 wait, bool has_migrated, u64 now)
{
	if (!tt->wait_time || now - tt->created < RT_AGE)
		return false;
	if (!has_migrated && wait && difference(wait, tt->prev_wait_time) > RT_WAIT_DELTA)
		return false;
	return difference(tt->burst, tt->prev_burst) <= RT_BURST_DELTA && tt->burst <= RT_BURST &&
	       tt->curr_burst <= RT_BURST;
}

/* Returns the type of a task at this moment (`is_interactive`, `is_cpu_bound`, `is_batch`). */
static inline u32 type_of(const struct tt_node *tt, u64 wait, bool has_migrated, u64 now)
{
	u64 ran = typed_vruntime(tt->life.vruntime), life = tt->wait_time + ran;

	if (ran <= 1)
		return NO_TYPE;
	if (is_realtime(tt, wait, has_migrated, now))
		return REALTIME;
	if (life / ran >= 2 && !(wait && difference(wait, tt->prev_wait_time) <= RT_WAIT_DELTA))
		return INTERACTIVE;
	if (ran * 100 / life >= cpu_bound_percent())
		return CPU_BOUND;
	return life / ran < 2 ? BATCH : NO_TYPE;
}

/* Sets the type. A REALTIME task keeps its type for a few failed tests (`detect_type`). */
static inline void detect_type(struct tt_node *tt, u64 wait, bool has_migrated, u64 now)
{
	u32 type = type_of(tt, wait, has_migrated, now);

	if (type == REALTIME) {
		tt->rt_sticky = RT_STICKY;
	} else if (tt->type == REALTIME && tt->rt_sticky) {
		tt->rt_sticky--;
		return;
	}
	tt->type = type;
}

/* Returns the nice value by which running is charged (`convert_to_vruntime`). */
static inline s64 prio_of(const struct task_struct *p, const struct tt_node *tt)
{
	if (!task_types || !has_own_prio(tt->type))
		return nice_of(p);
	return tt->type == REALTIME ? tt_rt_prio : tt->type == INTERACTIVE ? tt_interactive_prio :
	       tt->type == CPU_BOUND ? tt_cpu_bound_prio : tt_batch_prio;
}

/* Returns what running costs: a nice level 1 / 40 of a tick an account (`convert_to_vruntime`). */
static inline u64 convert_to_vruntime(s64 ran_ns, s64 prio, u64 hz)
{
	u64 ticks = 40 * hz / 1000 ?: 1, levels = prio < 0 ? -prio : prio;
	s64 extra = levels * MS_NS / ticks, cost = prio < 0 ? ran_ns - extra : ran_ns + extra;

	return cost > 1 ? cost : 1;
}

/* Notes that a task falls asleep (`dequeue_entity`). */
static inline void end_burst(struct tt_node *tt)
{
	tt->prev_burst = tt->burst;
	tt->burst = tt->curr_burst;
	tt->curr_burst = 0;
	if (tt->type == CPU_BOUND)
		tt->type = BATCH;
}

/* Notes that a task wakes up (`enqueue_entity`). */
static inline void end_sleep(struct tt_node *tt, bool has_migrated, u64 now)
{
	u64 wait = now - slept_from(tt->exec_start, has_migrated);

	tt->wait_time += wait;
	detect_type(tt, wait, has_migrated, now);
	tt->prev_wait_time = wait;
}

/* Accounts for what a task has run. With `counts` its nice value costs (`update_curr`). */
static inline void update_curr_tt(const struct task_struct *p, struct tt_node *tt, bool counts)
{
	u64 now = scx_bpf_now(), cost;
	s64 ran = now - tt->exec_start;

	if (!is_account(ran))
		return;
	cost = convert_to_vruntime(ran, counts ? prio_of(p, tt) : 0, CONFIG_HZ);
	tt->life.vruntime += cost;
	tt->curr_burst += burst_of_account(cost, ran);
	tt->exec_start = now;
	if (counts)
		detect_type(tt, 0, false, now);
	if (normalize_lifetime(&tt->life, tt_max_lifetime_ms, now))
		tt->life.vruntime |= 1;
}

/* 6.x: Makes the last account of a task that goes back to the list (`put_prev_entity`). */
static inline void put_back(const struct task_struct *p, struct tt_node *tt)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (tt->is_current) {
		update_min_vruntime(of_cpu(queues, cpu), cpu);
		update_curr_tt(p, tt, true);
	}
	tt->is_current = false;
	tt->life.vruntime &= ~YIELD_MARK;
}

/*
 * Notes that a task leaves its CPU. From 6.x on, what it has run last belongs to its next burst,
 * and costs what a BATCH task pays (`dequeue_entity`).
 */
static inline void leave(const struct task_struct *p, struct tt_node *tt, bool sleeps)
{
	if (sleeps)
		end_burst(tt);
	if (is_on_cfs())
		put_back(p, tt);
}

/* Returns the thousandths of its life that a task has run: the lowest runs (`HRRN_PERCENT`). */
static s64 value_of(const struct fair_task *task, u64 now)
{
	const struct lifetime *life = &task->tt.life;

	if (is_marked_last(life->vruntime))
		return 1LL << 62;
	return life->vruntime * 1000 / ((now - life->start) | 1);
}

/*
 * Ranks a task that comes to a CPU among the waiting ones, behind those whose value is not higher
 * at this moment. It keeps its rank while values change. The function is out of line for the reason
 * of `find_lowest()` (`__enqueue_entity`, `__entity_less`).
 */
static __noinline void join_tree(s32 cpu, struct fair_task *new, u64 now)
{
	s64 last = 0, rank = NO_RANK, value = value_of(new, now);
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *task = fair_task(p);

		if (task && task->rank > last)
			last = task->rank;
		if (task && task->rank < rank && value < value_of(task, now))
			rank = task->rank;
	}
	new->rank = rank <= last ? rank : last + 1;
	if (rank > last)
		return;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *task = fair_task(p);

		if (task && task->rank >= rank)
			task->rank++;
	}
}

/* Returns the vruntime of the first task by rank; false if no task waits (`rb_first_cached`). */
static __noinline bool first_by_rank(u32 cpu, u64 *vruntime)
{
	s64 least = NO_RANK;
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct fair_task *task = fair_task(p);

		if (task && task->rank < least) {
			least = task->rank;
			*vruntime = p->scx.dsq_vtime;
		}
	}
	return least < NO_RANK;
}

/*
 * Returns the vruntime that counts as the smallest. 6.x takes the first task by value for the one
 * with the smallest vruntime; 5.15 has no tree (`rb_first_cached` in `update_min_vruntime`).
 */
static inline bool first_vruntime(u32 cpu, u64 *vruntime)
{
	return is_on_cfs() ? first_by_rank(cpu, vruntime) : first_place(cpu, vruntime);
}

/* Tells whether a woken task is picked next: in 6.x, if no other waits (`pick_next_entity`). */
static inline bool is_next(u32 cpu, u64 vruntime)
{
	return is_on_cfs() && !scx_bpf_dsq_nr_queued(cpu);
}

/* Returns the CPU with the fewest tasks, counted from the waker's on (`select_task_rq_fair`). */
static inline s32 least_crowded_cpu(const struct task_struct *p, s32 prev_cpu)
{
	u32 this_cpu = bpf_get_smp_processor_id(), step;
	u64 least = ~0ULL;
	s32 found = prev_cpu;

	bpf_for(step, 0, nr_cpus) {
		u32 cpu = next_cpu(this_cpu, step);
		u64 nr = of_cpu(loads, cpu)->nr_running;

		if (nr < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			least = nr;
			found = cpu;
		}
	}
	return found;
}

/* Returns the CPU with the most tasks. No counterpart: inline in 5.15's normal balancer. */
static inline u32 longest_queue(void)
{
	u64 most = 0;
	u32 cpu, longest = 0;

	bpf_for(cpu, 0, nr_cpus) {
		if (nr_running_on(cpu) > most) {
			most = nr_running_on(cpu);
			longest = cpu;
		}
	}
	return longest;
}

/*
 * Makes the CPU with the fewest tasks take one from the CPU with most, if they differ by two. No
 * counterpart: this is 5.15's normal balancer in other words.
 */
static inline void balance(void)
{
	u32 cpu, longest = longest_queue(), shortest = 0;
	u64 least = ~0ULL;

	bpf_for(cpu, 0, nr_cpus) {
		if (nr_running_on(cpu) < least) {
			least = nr_running_on(cpu);
			shortest = cpu;
		}
	}
	if (nr_running_on(longest) < least + 2)
		return;
	*of_cpu(donors, shortest) = longest + 1;
	wake_or_preempt(shortest);
}

/* Gives a task that this CPU has pulled its place here (`attach_task`). */
static __noinline u64 attach_task(struct task_struct *p, struct fair_task *task, s32 cpu)
{
	u64 vruntime = migrate_vruntime(p->scx.dsq_vtime, task->load.cpu, cpu);

	load_join(&task->load, cpu, weight_of(p));
	if (is_on_cfs())
		join_tree(cpu, task, scx_bpf_now());
	return vruntime;
}

/*
 * Takes a task from this CPU's donor. The function is out of line because the verifier would walk
 * its loop again for each state in which `ops.dispatch` can reach it (`move_task`).
 */
static __noinline void move_task(u32 cpu)
{
	u32 donor = *of_cpu(donors, cpu) - 1;
	struct task_struct *p;

	*of_cpu(donors, cpu) = 0;
	bpf_for_each(scx_dsq, p, donor, 0) {
		struct fair_task *task = fair_task(p);

		if (!task || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER,
					   migrate_vruntime(p->scx.dsq_vtime, donor, cpu));
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, cpu, 0))
			continue;
		load_join(&task->load, cpu, weight_of(p));
		if (is_on_cfs())
			join_tree(cpu, task, scx_bpf_now());
		return;
	}
}

/*
 * Accounts for the running task when another one comes to its CPU. Returns its value, 0 if no task
 * runs (`update_curr` in `enqueue_entity`).
 */
static s64 account_curr(const struct running *curr)
{
	struct task_struct *p = curr->is_set ? bpf_task_from_pid(curr->pid) : NULL;
	struct fair_task *task;
	s64 value = 0;

	if (!p)
		return 0;
	task = fair_task(p);
	if (task) {
		/* While it is interrupted it is not charged. */
		if (curr->inverse_weight)
			update_curr_tt(p, &task->tt, true);
		value = value_of(task, scx_bpf_now());
	}
	bpf_task_release(p);
	return value;
}

/* Tells whether a woken or new task is compared with the running one (`check_preempt_wakeup`). */
static inline bool is_compared(const struct task_struct *p, const struct running *curr)
{
	return curr->is_set && !curr->need_resched && p->policy == POLICY_NORMAL &&
	       wakeup_preemption;
}

/*
 * 6.x: Applies CFS's rule to the task with the lowest value. The comparison is unsigned, so a
 * running task that is behind loses, too (`check_preempt_tick`).
 */
static bool is_turn_over(const struct task_struct *p, s32 cpu, s64 value)
{
	struct running *curr = &of_cpu(queues, cpu)->curr;
	u64 slice = sched_slice(p, of_cpu(loads, cpu), 0);
	u64 ran = p->se.sum_exec_runtime - curr->prev_sum_exec;
	struct task_struct *first;
	struct best best = {};
	u64 ahead = 0;

	find_lowest(cpu, scx_bpf_now(), 0, &best);
	if (!best.pid || ran < min_granularity)
		return false;
	if (is_slice_over(slice, ran, 0))
		return true;
	first = gives_way(&best, value, false) ? bpf_task_from_pid(best.pid) : NULL;
	if (!first)
		return false;
	ahead = p->scx.dsq_vtime - first->scx.dsq_vtime;
	bpf_task_release(first);
	return ahead > slice;
}

/*
 * Returns the lowest of the waiting tasks and `prev`, which is the newest now, but not `skip`
 * (`__pick_first_entity`, `__pick_next_entity`).
 */
static inline s32 lowest_but(s32 cpu, struct task_struct *prev, s32 skip)
{
	struct fair_task *task = prev && prev->pid != skip ? fair_task(prev) : NULL;
	u64 now = scx_bpf_now();
	struct best best = {};

	find_lowest(cpu, now, skip, &best);
	if (task)
		consider_at(&best, prev->pid, -value_of(task, now),
			    of_cpu(queues, cpu)->curr.newest - 1);
	return best.pid;
}

/* Tells whether a task is on a CPU and not beyond a vruntime (`wakeup_preempt_entity`). */
static inline bool is_near(s32 pid, s32 cpu, u64 limit)
{
	struct task_struct *p = pid ? bpf_task_from_pid(pid) : NULL;
	bool found;

	if (!p)
		return false;
	found = scx_bpf_task_cpu(p) == cpu && !time_after(p->scx.dsq_vtime, limit);
	bpf_task_release(p);
	return found;
}

/*
 * 6.x: Returns the lowest of the waiting tasks and `prev`. A buddy of CFS goes before it, and so
 * does any other task if the lowest has yielded, unless that is a granularity of vruntime ahead
 * (`pick_next_entity`).
 */
static s32 lowest_or_buddy(s32 cpu, struct task_struct *prev)
{
	struct buddies *buddies = &of_cpu(queues, cpu)->buddies;
	s32 left = lowest_but(cpu, prev, 0), second;
	struct task_struct *p = left ? bpf_task_from_pid(left) : NULL;
	u64 limit;

	if (!p)
		return left;
	limit = p->scx.dsq_vtime + wakeup_gran(p);
	bpf_task_release(p);
	if (is_near(buddies->next, cpu, limit))
		return buddies->next;
	if (is_near(buddies->last, cpu, limit))
		return buddies->last;
	second = left == buddies->skip ? lowest_but(cpu, prev, left) : 0;
	return is_near(second, cpu, limit) ? second : left;
}

/*
 * 6.x: Runs it next. Returns false if `prev` continues, or no task waits (`pick_next_task_fair`).
 */
static bool run_lowest_or_buddy(s32 cpu, struct task_struct *prev)
{
	s32 pid = lowest_or_buddy(cpu, prev);

	return pid && (!prev || pid != prev->pid) && run_next(cpu, pid);
}

s32 BPF_STRUCT_OPS(tt_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id(), cpu;
	bool is_idle = false;

	if (has_cfs_balancer())
		return select_task_rq_fair(p, prev_cpu, wake_flags);
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle)
		return cpu;
	if (wake_flags & SCX_WAKE_SYNC && of_cpu(loads, this_cpu)->nr_running == 1 &&
	    bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return this_cpu;
	return least_crowded_cpu(p, prev_cpu);
}

void BPF_STRUCT_OPS(tt_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = &of_cpu(queues, cpu)->curr;
	struct fair_task *task = fair_task(p);
	bool compares;
	s64 value;

	if (!task)
		return;
	compares = (task->is_new || enq_flags & SCX_ENQ_WAKEUP) && is_compared(p, curr);
	if (enq_flags & SCX_ENQ_WAKEUP)
		end_sleep(&task->tt, task->load.cpu != cpu, scx_bpf_now());
	task->place = --curr->newest;
	value = account_curr(curr);
	if (is_on_cfs()) {
		if (compares && !curr->has_idle_policy)
			account_curr(curr);
		join_tree(cpu, task, scx_bpf_now());
	}
	enqueue_task_fair(p, enq_flags);
	if (!is_on_cfs() && compares && value_of(task, scx_bpf_now()) < value)
		resched_curr(curr, cpu);
}

void BPF_STRUCT_OPS(tt_dispatch, s32 cpu, struct task_struct *prev)
{
	struct running *curr = &of_cpu(queues, cpu)->curr;
	struct fair_task *task = could_go_on(prev) ? fair_task(prev) : NULL;
	s64 value = 0;

	curr->need_resched = false;
	if (*of_cpu(donors, cpu))
		move_task(cpu);
	sched_balance_domains(cpu);
	if (task) {
		scx_bpf_task_set_dsq_vtime(prev, account(curr, prev));
		if (is_on_cfs())
			put_back(prev, &task->tt);
		value = value_of(task, scx_bpf_now());
	}
	if (is_on_cfs() ? run_lowest_or_buddy(cpu, task ? prev : NULL) :
			  run_lowest(cpu, task ? &value : NULL, false))
		return;
	if (!task) {
		newidle_balance(cpu, has_normal_balancer() ? longest_queue() : busiest_cpu(cpu));
		return;
	}
	clear_buddies(&of_cpu(queues, cpu)->buddies, prev->pid);
	task->tt.life.vruntime &= ~YIELD_MARK;
	task->tt.is_current = true;
	curr->prev_sum_exec = prev->se.sum_exec_runtime;
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(tt_running, struct task_struct *p)
{
	struct fair_task *task = fair_task(p);

	set_next_task_fair(p);
	if (!task)
		return;
	task->tt.exec_start = scx_bpf_now();
	task->tt.is_current = true;
	task->tt.life.vruntime &= ~YIELD_MARK;
}

void BPF_STRUCT_OPS(tt_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct fair_task *task = fair_task(p);
	s64 value;

	if (!task)
		return;
	update_curr_tt(p, &task->tt, true);
	value = value_of(task, scx_bpf_now());
	scx_bpf_task_set_dsq_vtime(p, account(&of_cpu(queues, cpu)->curr, p));
	if (is_on_cfs())
		update_min_vruntime(of_cpu(queues, cpu), cpu);
	if (has_cfs_balancer() && is_balance_due(cpu))
		scx_bpf_task_set_slice(p, 0);
	else if (is_on_cfs() ? is_turn_over(p, cpu, value) : should_give_way(cpu, value, false))
		scx_bpf_task_set_slice(p, 0);
	if (cpu == 0 && has_normal_balancer())
		balance();
}

void BPF_STRUCT_OPS(tt_stopping, struct task_struct *p, bool runnable)
{
	struct fair_task *task = fair_task(p);

	if (task && !is_on_cfs())
		update_curr_tt(p, &task->tt, !runnable);
	else if (task && runnable)
		put_back(p, &task->tt);
	put_prev_task_fair(p, runnable);
}

void BPF_STRUCT_OPS(tt_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);

	dequeue_task_fair(p);
	if (task)
		leave(p, &task->tt, deq_flags & SCX_DEQ_SLEEP);
}

bool BPF_STRUCT_OPS(tt_yield, struct task_struct *from, struct task_struct *to)
{
	struct fair_task *task = fair_task(from);

	if (task && !is_on_cfs()) {
		update_curr_tt(from, &task->tt, true);
		task->tt.life.vruntime |= YIELD_MARK;
	} else if (task && of_cpu(loads, scx_bpf_task_cpu(from))->nr_running > 1) {
		task->tt.life.vruntime |= YIELD_MARK;
		update_curr_tt(from, &task->tt, true);
		yield_task_fair(from);
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(tt_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = make_fair_task(p, args->fork);
	struct fair_task *task = fair_task(p);
	u64 now = scx_bpf_now();

	if (task)
		task->tt = (struct tt_node){ .life = { now, 1 }, .created = now,
					     .exec_start = now, .type = NO_TYPE };
	return err;
}

void BPF_STRUCT_OPS(tt_enable, struct task_struct *p)
{
	struct fair_task *task = fair_task(p);

	/* A fork is an account of the parent. */
	if (is_on_cfs() && task && task->is_new)
		account_curr(&of_cpu(queues, bpf_get_smp_processor_id())->curr);
	task_fork_fair(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tt_init)
{
	return init_sched_fair_class();
}

void BPF_STRUCT_OPS(tt_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(tt_ops,
	       .select_cpu	= (void *)tt_select_cpu,
	       .enqueue		= (void *)tt_enqueue,
	       .dispatch	= (void *)tt_dispatch,
	       .running		= (void *)tt_running,
	       .tick		= (void *)tt_tick,
	       .stopping	= (void *)tt_stopping,
	       .quiescent	= (void *)tt_quiescent,
	       .yield		= (void *)tt_yield,
	       .init_task	= (void *)tt_init_task,
	       .enable		= (void *)tt_enable,
	       .init		= (void *)tt_init,
	       .exit		= (void *)tt_exit,
	       .name		= "tt");
