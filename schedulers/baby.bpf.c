// SPDX-License-Identifier: GPL-2.0-only
/*
 * baby: The Baby scheduler: one list and one comparison, in six variants.
 *
 * Idea: Each CPU has a plain list, newest task first. At a tick or a wake-up, the CPU compares all
 *       tasks in its list and runs the best one. The variant says which is best: the earliest
 *       deadline, which is renewed once it has passed (dl); the next in turn (rr); the smallest
 *       vruntime (vrt); the highest ratio of lifetime to runtime (hrrn); the highest bid from an
 *       account of credit (cr); or the lowest level of CPU use, then the deadline (mlfq).
 * Good at: Teaching: a variant is one key and the rule that updates it.
 * Bad at: Many tasks: all variants but rr look at each task. In vrt a sleeper keeps its old
 *         vruntime, so a task that has slept for long has the CPU alone until it has caught up, and
 *         others starve. In dl a task that often goes to sleep early rises to nice -20 and stays
 *         there. In mlfq tasks on a high level starve as long as tasks on lower levels want the
 *         CPU.
 * Origin: Hamad Al Marri wrote it to teach: patches for Linux 5.14.
 * Family: 2021, Hamad Al Marri; after cfs
 * Queue: One list for each CPU; enqueue O(1), pick O(n), rr O(1).
 * Slice: To the next tick; cr 1 ms, mlfq 1.18 ms times the level, both by ticks.
 * Wake-up: A better task preempts; in rr any task does. The credit of a sleeper is neither given
 *          nor limited.
 * Balancing: CPU 0's ticks move one task from the longest list to the shortest; an idle CPU pulls.
 * Differs: If CPU 0 idles, the ticks of CPUs where tasks wait wake it to balance. In vrt and hrrn a
 *          tick that ends a turn is one account, not two. Waking another task does not update the
 *          accounts. Ticks end times for which the original uses high-resolution ticks, which are
 *          off by default. A task that may not use the CPU with the fewest tasks goes to one that
 *          it may use. A task that a real-time task displaces waits for its CPU.
 */
#include <scx/common.bpf.h>
#include "include/common.h"
#include "include/scan.h"

char _license[] SEC("license") = "GPL";

/* The variant: 0 dl, 1 rr, 2 vrt, 3 hrrn, 4 cr, 5 mlfq. */
const volatile u32 variant = 0;
/* How far away a deadline is at nice 0 (dl), and how long the slice is on level 1 (mlfq). */
const volatile s64 deadline_ns = 1180000;
/*
 * dl: Bursts are summed over a window. A task that has used all but this margin of it is a hog. A
 * task that is within the guard of its use of the last window is expected to end soon, and is not
 * preempted.
 */
const volatile u64 burst_window_ns = 200000000, hog_margin_ns = 25000000, guard_ns = 5000000;
/*
 * cr: How long a turn is; after how many turns a CPU has new cash; how much that is; and the most
 * that one task is paid.
 */
const volatile u64 cr_slice_ns = 1000000, cr_turns = 12;
const volatile u64 cr_cash = 1000000000, cr_payment = 100000000;
/* dl and mlfq: A task that sleeps before its deadline becomes better by a nice level, for good. */
const volatile bool adaptive_priority = true;
/* dl: A task that is expected to end soon is not preempted. */
const volatile bool guard = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs, other than at a wake-up. */
const volatile bool balancing = true;

UEI_DEFINE(uei);

enum { DEADLINE, ROUND_ROBIN, VIRTUAL_TIME, RESPONSE_RATIO, CREDIT, FEEDBACK };

struct task_ctx {
	u64 sum_exec;			/* the CPU time that is accounted for */
	u64 vruntime;			/* vrt, hrrn */
	u64 start;			/* when its life (hrrn) or the window (dl, mlfq) began, ns */
	u64 deadline;			/* dl, mlfq */
	u64 bursts, prev_bursts;	/* the CPU time in this window, and in the last one */
	u64 credit, bid;		/* cr */
	s32 better;			/* how many nice levels it has been raised */
	u32 level;			/* mlfq */
	s32 cpu;			/* the CPU where it was queued last; -1 if it never was */
	bool is_new, yielded, is_early;
};
DEFINE_TASK_CTX()

struct cpu_ctx {
	s32 curr;		/* the pid of the running task; 0 if none of ours runs */
	u64 picked;		/* its CPU time when it was picked */
	u64 since;		/* when it was last accounted for, ns */
	u64 min_vruntime;	/* the vruntime of the task that was accounted for last */
	u64 cash;
	u64 turns;
	bool need_resched, balance_due, is_charged;
};
DEFINE_CPU_CTX()

#include "include/counts.h"

#define MS 1000000LL
#define SECOND 1000000000LL
#define LIFE_WINDOW_NS (5 * SECOND)	/* hrrn */
#define LEVEL_WINDOW_NS (5 * SECOND)	/* mlfq */
/* The key of a task that comes after all others. */
#define LAST (1LL << 62)

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

/* Returns how many tasks wait for a CPU (`nr_running`, without the running one). */
static u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(cpu);
}

/* The least and the highest bid, in percent of a task's credit. */
#define MIN_BID 10
#define MAX_BID 100

/*
 * Returns what a task would pay now (cr). No counterpart by name: the patch is not at hand, as for
 * all below that have none.
 */
static inline u64 offer_of(const struct task_ctx *task)
{
	return task->credit * task->bid / 100;
}

/* Turns cash of a CPU into a task's credit (cr). No counterpart by name. */
static inline void pay(struct cpu_ctx *here, struct task_ctx *task, u32 runnable)
{
	u64 payment = runnable > 1 ? here->cash / runnable : cr_payment;

	payment = payment < cr_payment ? payment : cr_payment;
	payment = payment < here->cash ? payment : here->cash;
	here->cash -= payment;
	task->credit += payment;
}

/* Charges the winner what it has offered (cr). No counterpart by name. */
static inline void charge_offer(struct cpu_ctx *here, struct task_ctx *task)
{
	u64 offer = offer_of(task);

	task->credit -= offer;
	here->cash += offer;
	task->bid = MIN_BID;
}

/* Raises the bid of a task that has lost (cr). No counterpart by name. */
static inline void raise_bid(struct task_ctx *task)
{
	task->bid += task->bid < MAX_BID ? MIN_BID : 0;
}

/*
 * Gives the CPU new cash and pays all of its tasks. The function is out of line because it has a
 * loop. No counterpart by name.
 */
static __noinline void pay_all(struct task_struct *curr, s32 cpu)
{
	u32 runnable = nr_running(cpu);
	struct task_struct *p;

	cpu_ctx(cpu)->cash = cr_cash;
	pay(cpu_ctx(cpu), ctx_of(curr), runnable);
	bpf_for_each(scx_dsq, p, cpu, 0)
		pay(cpu_ctx(cpu), ctx_of(p), runnable);
}

/* Notes that the winner runs (`set_next_entity`). */
static inline void take_turn(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	charge_offer(here, task);
	if (++here->turns < cr_turns)
		return;
	here->turns = 0;
	pay_all(p, cpu);
}

/* Returns a task's nice value with all that it has been raised (`p->prio`). */
static inline s64 own_nice(const struct task_struct *p, const struct task_ctx *task)
{
	return nice_of(p) - task->better;
}

/* Returns how much further away than at nice 0 a deadline is. No counterpart by name. */
static inline s64 deadline_factor(s64 nice)
{
	if (nice < -10)
		return -1080000 + (nice + 20) * 100000;
	if (nice < 0)
		return -80000 + (nice + 10) * 1000;
	return nice ? 1080000 + (nice - 1) * 10000 : 0;
}

/* Returns the deadline of a task that begins now. No counterpart by name. */
static inline u64 next_deadline(const struct task_struct *p, const struct task_ctx *task, u64 now)
{
	return now + deadline_ns + deadline_factor(own_nice(p, task));
}

/* Renews a deadline that has passed (`update_curr`). */
static inline void renew(const struct task_struct *p, struct task_ctx *task)
{
	u64 now = scx_bpf_now();

	if (task->deadline < now)
		task->deadline = next_deadline(p, task, now);
}

/*
 * Returns what running costs. A nice value adds the same to each account, of a tick or more
 * (`convert_to_vruntime` of TT).
 */
static inline u64 cost_of(s64 nice, s64 ran)
{
	s64 factor = 40 * CONFIG_HZ / 1000;
	s64 more = nice * MS, added = 0;

	/* A signed number is divided by hand: not every BPF instruction set can do it. */
	if (factor)
		added = more < 0 ? -(s64)((u64)-more / factor) : (s64)((u64)more / factor);
	return ran + added > 1 ? ran + added : 1;
}

/* Returns the ratio of a life to the part of it that the task has run. No counterpart by name. */
static inline s64 response_ratio(u64 life, u64 vruntime)
{
	return life / (vruntime | 1);
}

/*
 * Shortens a life of more than 5 s to 2.5 s, with about the same ratio (`normalize_lifetime` of
 * TT).
 */
static inline void shorten_life(struct task_ctx *task, u64 now)
{
	u64 life = now - task->start, ratio;

	if (life <= LIFE_WINDOW_NS)
		return;
	ratio = (life << 7) / ((task->vruntime >> 3) | 1);
	task->start = now - LIFE_WINDOW_NS / 2;
	task->vruntime = ((u64)LIFE_WINDOW_NS << 9) / (ratio ?: 1);
}

/*
 * Returns the level, 1 (best) to 16, by a task's use of the last window, or of this one if there
 * was none before. No counterpart by name.
 */
static inline u32 level_of(const struct task_ctx *task)
{
	u64 bursts = task->prev_bursts ?: task->bursts;

	return bursts < 209 * MS ? 1 : bursts < 523 * MS ? 2 : bursts < 1140 * MS ? 4 :
	       bursts < 2400 * MS ? 8 : 16;
}

/* Adds to the use of a window, and begins the next one when this one is over (`update_curr`). */
static inline void count_burst(struct task_ctx *task, u64 ran, u64 window, u64 now)
{
	task->bursts += ran;
	if (now - task->start <= window)
		return;
	task->prev_bursts = task->bursts;
	task->bursts = 0;
	task->start = now;
}

/*
 * Tells whether a task with this use may be preempted, because it is not expected to end soon (dl).
 * No counterpart by name.
 */
static inline bool is_unguarded(u64 prev_bursts, u64 bursts)
{
	return !guard || !prev_bursts || prev_bursts + hog_margin_ns >= burst_window_ns ||
	       bursts >= prev_bursts || prev_bursts > bursts + guard_ns;
}

/*
 * Returns the key of a task: the smallest runs. `unaccounted` is what it has run since its last
 * account (`entity_before`).
 */
static inline s64 key_of(const struct task_struct *p, const struct task_ctx *task, u64 unaccounted)
{
	u64 cost = unaccounted ? cost_of(nice_of(p), unaccounted) : 0;

	if (variant == CREDIT)
		return -(s64)offer_of(task);
	if (task->yielded)
		return LAST;
	if (variant == VIRTUAL_TIME)
		return task->vruntime + cost;
	if (variant == RESPONSE_RATIO)
		return -response_ratio(scx_bpf_now() - task->start, task->vruntime + cost);
	return task->deadline + (variant == FEEDBACK ? (u64)task->level << 56 : 0);
}

/* Accounts for what the running task has run since its last account (`update_curr`). */
static inline void update_curr(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u64 ran = p->se.sum_exec_runtime - task->sum_exec, now = scx_bpf_now();

	task->sum_exec = p->se.sum_exec_runtime;
	if (here->is_charged || !ran)
		return;
	here->since = now;
	if (variant == VIRTUAL_TIME || variant == RESPONSE_RATIO) {
		task->vruntime += cost_of(nice_of(p), ran);
		here->min_vruntime = task->vruntime;
		if (variant == RESPONSE_RATIO)
			shorten_life(task, now);
	} else if (variant == DEADLINE || variant == FEEDBACK) {
		count_burst(task, ran, variant == DEADLINE ? burst_window_ns : LEVEL_WINDOW_NS, now);
		task->level = level_of(task);
		renew(p, task);
	}
}

/*
 * Prepares a task that joins a CPU's tasks other than by waking up where it slept (`place_entity`).
 */
static inline void place_entity(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	if (variant == VIRTUAL_TIME)
		task->vruntime = cpu_ctx(cpu)->min_vruntime;
	else if (variant == RESPONSE_RATIO && task->is_new)
		task->start = scx_bpf_now();
	else if (variant == DEADLINE || variant == FEEDBACK)
		task->deadline = next_deadline(p, task, scx_bpf_now());
	task->cpu = cpu;
}

/* mlfq: Tells whether the running task has had its slice (`check_preempt_tick`). */
static inline bool has_had_slice(struct task_ctx *task, s32 cpu)
{
	return task->sum_exec - cpu_ctx(cpu)->picked >= deadline_ns * task->level;
}

/* Tells whether a woken task preempts the running one (`check_preempt_wakeup`). */
static inline bool check_preempt_wakeup(struct task_struct *p, struct task_ctx *task,
					struct task_struct *curr, s32 cpu)
{
	struct task_ctx *other = ctx_of(curr);
	u64 since = scx_bpf_now() - cpu_ctx(cpu)->since;

	if (variant == DEADLINE && !is_unguarded(other->prev_bursts, other->bursts + since))
		return false;
	if (has_idle_policy(curr) && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL)
		return false;
	if (variant == ROUND_ROBIN)
		return true;
	if (own_nice(p, task) > own_nice(curr, other))
		return false;
	if (variant == FEEDBACK && task->level == other->level && has_had_slice(other, cpu))
		return true;
	return key_of(p, task, 0) < key_of(curr, other, since);
}

/* Raises a task that sleeps early by a level, for good (`dequeue_entity`). */
static inline void raise(const struct task_struct *p, struct task_ctx *task)
{
	bool counts = adaptive_priority && task->is_early && (variant == DEADLINE || variant == FEEDBACK);

	task->better += counts && own_nice(p, task) > -20;
}

/*
 * Looks at all waiting tasks. If there is a `winner`, all others bid more; otherwise the best is
 * found. The function is out of line because its caller tries it in a loop (`pick_next_entity`).
 */
static __noinline void scan(s32 cpu, struct best *best, s32 winner)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct task_ctx *task = ctx_of(p);

		if (!winner)
			consider(best, p, -key_of(p, task, 0));
		else if (p->pid != winner)
			raise_bid(task);
	}
}

/*
 * Runs the best task next, unless that is the one that has run until now. The newest of equals
 * wins, which the running task is (`pick_next_entity`).
 */
static inline bool pick_next_entity(s32 cpu, struct task_struct *prev, struct task_ctx *task)
{
	u32 i;

	if (variant == ROUND_ROBIN)
		return scx_bpf_dsq_move_to_local(cpu, 0);
	bpf_for(i, 0, ATTEMPTS) {
		struct best best = {};

		if (task)
			consider(&best, prev, -key_of(prev, task, 0));
		scan(cpu, &best, 0);
		if (!best.pid)
			return false;
		if (variant == CREDIT) {
			scan(cpu, &best, best.pid);
			if (task && prev->pid != best.pid)
				raise_bid(task);
		}
		if (task && best.pid == prev->pid)
			return false;
		if (take(cpu, best.pid))
			return true;
	}
	return scx_bpf_dsq_move_to_local(cpu, 0);
}

/* Notes that a task begins to run (`set_next_entity`). */
static inline void set_next_entity(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->curr = p->pid;
	here->picked = task->sum_exec = p->se.sum_exec_runtime;
	here->since = scx_bpf_now();
	here->is_charged = false;
	if ((variant == DEADLINE || variant == FEEDBACK) && own_nice(p, task) >= 0)
		renew(p, task);
	if (variant == CREDIT)
		take_turn(p, task, cpu);
}

/*
 * Tells whether some waiting task is not worse than the running one. The function is out of line
 * because it has a loop (`check_preempt_tick`).
 */
static __noinline bool is_challenged(struct task_struct *curr, s32 cpu)
{
	s64 key = key_of(curr, ctx_of(curr), 0);
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (key_of(p, ctx_of(p), 0) <= key)
			return true;
	}
	return false;
}

/* Tells whether a tick ends the turn of the running task (`entity_tick`, `check_preempt_tick`). */
static inline bool is_turn_over(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	u64 ran = task->sum_exec - cpu_ctx(cpu)->picked;

	if (variant == CREDIT && ran >= cr_slice_ns && !waiting(cpu))
		set_next_entity(p, task, cpu);
	if (!waiting(cpu))
		return false;
	if (variant == ROUND_ROBIN)
		return true;
	if (variant == CREDIT)
		return ran >= cr_slice_ns;
	if (variant == DEADLINE && !is_unguarded(task->prev_bursts, task->bursts))
		return false;
	if (variant == FEEDBACK && task->level > 1 && !has_had_slice(task, cpu))
		return false;
	return is_challenged(p, cpu);
}

/* Tells whether a task preempts the one that runs on a CPU now (`check_preempt_wakeup`). */
static bool preempts(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct task_struct *curr = wakeup_preemption ? bpf_task_from_pid(cpu_ctx(cpu)->curr) : NULL;
	bool does = curr && check_preempt_wakeup(p, task, curr, cpu);

	if (curr)
		bpf_task_release(curr);
	return does;
}

s32 BPF_STRUCT_OPS(baby_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return fewest_cpu(p, prev_cpu, 0);
}

void BPF_STRUCT_OPS(baby_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);
	bool moves = task->is_new || task->cpu != cpu;

	if (moves)
		place_entity(p, task, cpu);
	if (variant == CREDIT && (moves || is_woken))
		pay(cpu_ctx(cpu), task, nr_running(cpu) + 1);
	task->is_new = false;
	scx_bpf_dsq_insert(p, cpu, SCX_SLICE_INF, enq_flags | (variant == ROUND_ROBIN ? 0 : SCX_ENQ_HEAD));
	if (is_woken && preempts(p, task, cpu))
		resched_cpu(cpu);
	else
		wake_up_if_free(cpu);
}

/*
 * Moves the first task that may run on another CPU there. The function is out of line because it
 * has a loop and two callers (`detach_task`, `attach_task`).
 */
static __noinline bool migrate_first(s32 from, s32 to)
{
	struct task_struct *p;
	bool has_moved = false;

	bpf_for_each(scx_dsq, p, from, 0) {
		struct task_ctx *task = ctx_of(p);

		if (!bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		place_entity(p, task, to);
		if (variant == CREDIT)
			pay(cpu_ctx(to), task, nr_running(to) + 1);
		has_moved = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, to, variant == ROUND_ROBIN ? 0 : SCX_ENQ_HEAD);
		if (has_moved && preempts(p, task, to))
			resched_cpu(to);
		else if (has_moved)
			wake_up_for_work(to);
		break;
	}
	return has_moved;
}

void BPF_STRUCT_OPS(baby_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	struct extremes extremes = {};
	bool goes_on;

	if (here->balance_due || !task)
		find_extremes(&extremes);
	if (here->balance_due && extremes.most - extremes.least >= 2)
		migrate_first(extremes.busiest, extremes.laziest);
	goes_on = task && here->balance_due && !here->need_resched;
	here->balance_due = here->need_resched = false;
	if (task && !goes_on) {
		update_curr(prev, task, cpu);
		here->is_charged = true;
	}
	if (!goes_on && pick_next_entity(cpu, prev, task))
		return;
	if (!task) {
		if (balancing && extremes.most >= 2 && migrate_first(extremes.busiest, cpu))
			pick_next_entity(cpu, prev, NULL);
		return;
	}
	task->yielded = false;
	if (!goes_on)
		set_next_entity(prev, task, cpu);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(baby_running, struct task_struct *p)
{
	set_next_entity(p, ctx_of(p), scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(baby_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = ctx_of(p);

	update_curr(p, task, cpu);
	if (is_turn_over(p, task, cpu))
		here->need_resched = here->is_charged = true;
	if ((balancing && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(baby_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	task->is_early = task->deadline > scx_bpf_now();
	update_curr(p, task, cpu);
	task->yielded = false;
	cpu_ctx(cpu)->curr = 0;
}

/* A task that sleeps before its deadline has a better priority from now on. */
void BPF_STRUCT_OPS(baby_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		raise(p, ctx_of(p));
}

bool BPF_STRUCT_OPS(baby_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->yielded = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(baby_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *parent = ctx_of(bpf_get_current_task_btf()), *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	task->cpu = -1;
	task->level = 1;
	task->bid = MIN_BID;
	task->start = scx_bpf_now();
	if (args->fork && variant == FEEDBACK) {
		task->start = parent->start;
		task->bursts = parent->bursts;
		task->prev_bursts = parent->prev_bursts;
		task->level = parent->level;
	}
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(baby_init)
{
	u32 cpu;
	s32 err = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(cpu, 0, nr_cpus) {
		cpu_ctx(cpu)->cash = cr_cash;
		err = err ?: scx_bpf_create_dsq(cpu, -1);
	}
	return err;
}

void BPF_STRUCT_OPS(baby_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(baby_ops,
	       .select_cpu	= (void *)baby_select_cpu,
	       .enqueue		= (void *)baby_enqueue,
	       .dispatch	= (void *)baby_dispatch,
	       .running		= (void *)baby_running,
	       .tick		= (void *)baby_tick,
	       .stopping	= (void *)baby_stopping,
	       .quiescent	= (void *)baby_quiescent,
	       .yield		= (void *)baby_yield,
	       .init_task	= (void *)baby_init_task,
	       .init		= (void *)baby_init,
	       .exit		= (void *)baby_exit,
	       .name		= "baby");
