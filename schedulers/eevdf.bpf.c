// SPDX-License-Identifier: GPL-2.0-only
/*
 * eevdf: Earliest Eligible Virtual Deadline First, Linux 6.6 to 7.x.
 *
 * Idea: Every task requests a slice. A task is eligible while it has had no more than its share,
 *       and it should have its slice by its virtual deadline. Among the eligible tasks the earliest
 *       deadline runs. What a task is owed, or owes, when it goes to sleep is kept until it
 *       returns.
 * Good at: Exact shares, bounded lag, and latency that a task can ask for: a shorter slice gives an
 *          earlier deadline, but no more CPU time.
 * Bad at: Waking up: a sleeper has no bonus, so it waits for the slices of those before it.
 * Origin: Ion Stoica and Hussein Abdel-Wahab, 1995; Peter Zijlstra, Linux 6.6 (2023).
 * Family: 2023, Peter Zijlstra; after cfs
 * Queue: One for each CPU, by virtual deadline; enqueue O(log n), pick O(n) among the eligible.
 * Slice: What the task asks for, 0.7 ms (one CPU) by default.
 * Wake-up: Keeps its lag; preempts a later deadline once the running task's slice is over.
 * Balancing: An idle CPU takes from the heaviest. A busy one pulls weight at intervals, until CPUs
 *            are equally heavy.
 * Differs: Wide wake-ups are missing. Groups share one queue, as in Linux 7.3: a task's weight is
 *          its part of its groups' weights, and is given anew when the task joins a queue or begins
 *          to run, and at ticks. Linux before 7.3 picks level by level; the shares are the same. A
 *          group with a cpuset counts as if it might run on all CPUs. A CPU's load, and a group's,
 *          is the weight that is runnable now, not its average, so that hogs are spread within a
 *          tick after they begin; Linux 7.3 needs 60 to 150 ms. A CPU that idles always takes what
 *          waits; from 7.0 on Linux leaves that to chance. In the workload reactions on two CPUs,
 *          eight blocks, the longest wait of a short task is 2.5 to 4.2 ms, in Linux 7.3 2.2 to
 *          2.8 ms. All CPUs are one domain, caches are never too hot, a running task is not moved,
 *          and exec places nothing. On two and four CPUs the shares of hogs are within 5 points of
 *          those of Linux 7.3. The earliest eligible task is found by walking the queue. At most 64
 *          sleepers of a CPU keep their places in it. From 7.0 on the longest slice of a queue
 *          bounds lag; here the task's own slice does. They are the same where no task asks for a
 *          slice.
 */
#include <scx/common.bpf.h>
#include "include/slice_timer.h"
#include "include/eevdf_queue.h"
#include "include/balance.h"
#include "include/group_ops.h"

/*
 * An overlay, a scheduler that changes parts of EEVDF, includes this file after it has defined
 * OVERLAY and the knobs below. It calls the functions from its own callbacks. If it defines
 * OVERLAY_FUNCTIONS, it has its own of the functions that are declared here without a body.
 */
#ifndef OVERLAY
char _license[] SEC("license") = "GPL";

/* The Linux version: 60600, 61200 or 70300 are 6.6, 6.12 and 7.3. */
const volatile u32 era = 70300;
/*
 * The slice that a task asks for, on one CPU. -1 is that of the era: 0.75 ms, or from 6.12 on 0.7.
 */
const volatile s64 base_slice_ns = -1;
/* How the slice grows with up to 8 CPUs: not (0), with their logarithm (1), or linearly (2). */
const volatile u32 sched_tunable_scaling = 1;
/*
 * Features. Lag is kept over sleep. A new task's first slice is half as long. From 6.12 on a task
 * that migrates keeps its relative deadline.
 */
const volatile bool place_lag = true, place_deadline_initial = true, place_rel_deadline = true;
/*
 * The running task is protected until its slice is over or it is no longer eligible. Woken tasks
 * may preempt. From 6.12 on, one with a shorter slice preempts even a protected task.
 */
const volatile bool run_to_parity = true, wakeup_preemption = true, preempt_short = true;
/* A task that sleeps while it is not eligible loses its debt as time passes. It gains nothing. */
const volatile bool delay_dequeue = true, delay_zero = true;
/* A timer (1) ends slices, or the tick (0); -1 is the era's: from 7.0 on the timer. */
const volatile s32 hrtick = -1;
/*
 * How a group's weight is spread over the CPUs: up (0), smp (1), concur (2), max (3) or tasks (4),
 * as in `enum spread`. -1 is the era's: from 7.3 on concur, before smp.
 */
const volatile s32 cgroup_mode = -1;

UEI_DEFINE(uei);
#endif

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

#define TICK_NS (1000000000ULL / CONFIG_HZ)

/* No timer is set to a shorter time, so that it does not only interrupt. */
#define HRTICK_LEAST_NS 10000

/*
 * The base slice of this era on this machine, and on one CPU. They are volatile for the verifier's
 * sake.
 */
static volatile u64 default_slice, least_slice;

#include "include/eevdf_eras.h"

/* When each CPU's timer fires. It has not been started if this is 0 or in the past. */
static u64 hrtick_expires[MAX_CPUS];

/*
 * Why a task joins a queue: it migrates; it wakes up or is new (`ENQUEUE_WAKEUP`); or it has slept
 * in the average of this CPU and gets another place in it (0 in `requeue_delayed_entity`).
 */
enum join { JOIN_MIGRATED, JOIN_WOKEN, JOIN_REQUEUED };

/* The functions that follow are what an overlay changes. */

/* Runs before the vruntime of the running task changes by what the task has run. */
static inline void update_curr_first(struct task_struct *p, struct fair_task *task,
				     struct running *curr, u64 ran_ns);
/* Runs after the running task has been accounted for. The task may get another weight. */
static inline void update_curr_more(struct task_struct *p, struct fair_task *task,
				    struct running *curr, u64 ran_ns);
/* Returns how often the limit of lag is halved. */
static inline u32 lag_shift(void);
/* Tells whether a task that joins a queue has half a slice until its deadline. */
static inline bool has_half_slice(const struct fair_task *task, enum join join);
/* Tells whether the running task of a CPU may be protected at all. */
static inline bool may_protect(u32 cpu);
/* Tells whether a woken task preempts as one with a shorter slice does. */
static inline bool counts_as_short(const struct fair_task *task, const struct running *curr);
/* Tells whether a woken task makes the CPU choose again, whatever the choice will be. */
static inline bool forces_choice(const struct fair_task *task, const struct running *curr);
/* Tells whether a sleeper that is owed something by now keeps it when it returns. */
static inline bool keeps_credit(void);

#ifndef OVERLAY_FUNCTIONS
/* Does nothing in EEVDF. No counterpart: a place for BORE. */
static inline void update_curr_first(struct task_struct *p, struct fair_task *task,
				     struct running *curr, u64 ran_ns)
{
}

/* Does nothing in EEVDF. No counterpart: a place for BORE. */
static inline void update_curr_more(struct task_struct *p, struct fair_task *task,
				    struct running *curr, u64 ran_ns)
{
}

/* Returns 0: EEVDF does not halve the limit of lag. No counterpart: a place for BORE. */
static inline u32 lag_shift(void)
{
	return 0;
}

/* Tells whether a task has half a slice: only a new one has (`PLACE_DEADLINE_INITIAL`). */
static inline bool has_half_slice(const struct fair_task *task, enum join join)
{
	return task->is_new && place_deadline_initial;
}

/* Returns true: EEVDF may protect any running task. No counterpart: a place for BORE. */
static inline bool may_protect(u32 cpu)
{
	return true;
}

/* Returns false: EEVDF knows no penalties. No counterpart: a place for BORE. */
static inline bool counts_as_short(const struct fair_task *task, const struct running *curr)
{
	return false;
}

/* Returns false: EEVDF knows no penalties. No counterpart: a place for BORE. */
static inline bool forces_choice(const struct fair_task *task, const struct running *curr)
{
	return false;
}

/*
 * Tells whether a sleeper keeps its credit: with `delay_zero` it does not (`DELAY_ZERO` in
 * `requeue_delayed_entity`).
 */
static inline bool keeps_credit(void)
{
	return !delay_zero;
}
#endif

/* Returns a task's slice, which may be its own (`se->slice`). */
static inline u64 slice_of(const struct task_struct *p)
{
	return p->se.custom_slice && has_custom_slices() ? p->se.slice : default_slice;
}

/* Returns what the running task has left of its slice, ns (`hrtick_start_fair`). */
static inline u64 hrtick_left_ns(const struct running *curr)
{
	s64 left = curr->deadline - live_vruntime(curr);

	return left > 0 ? real_time_of(curr, left) : 0;
}

/*
 * Handles a CPU's timer. Another task may run by now than the one that the timer was started for
 * (`hrtick`).
 */
static int slice_timer_fires(void *map, int *cpu, struct slice_timer *timer)
{
	const struct running *curr = of_cpu(currs, *cpu);
	u64 left_ns = hrtick_left_ns(curr);

	*of_cpu(hrtick_expires, *cpu) = 0;
	if (curr->is_set && left_ns > HRTICK_LEAST_NS) {
		*of_cpu(hrtick_expires, *cpu) = scx_bpf_now() + left_ns;
		bpf_timer_start(&timer->timer, left_ns, 0);
	} else {
		scx_bpf_kick_cpu(*cpu, SCX_KICK_PREEMPT);
	}
	return 0;
}

/*
 * Starts the timer that makes the CPU choose again when the running task has nothing left. A timer
 * that fires earlier stays as it is, because setting one costs more than a switch
 * (`hrtick_start_fair`).
 */
static inline void hrtick_start(const struct running *curr, u32 cpu)
{
	u64 *expires = of_cpu(hrtick_expires, cpu);
	u64 left_ns, now;

	if (!has_hrtick() || !curr->is_set || of_cpu(loads, cpu)->nr_running < 2)
		return;
	left_ns = hrtick_left_ns(curr);
	now = scx_bpf_now();
	if (!time_before(*expires, now) && !time_before(now + left_ns, *expires))
		return;
	left_ns = left_ns > HRTICK_LEAST_NS ? left_ns : HRTICK_LEAST_NS;
	*expires = scx_bpf_now() + left_ns;
	start_slice_timer(cpu, left_ns, 0);
}

/*
 * Accounts for what the running task has run. Returns its CPU's sums with that. `task` may be NULL
 * (`update_curr`).
 */
static __always_inline struct sums update_curr(struct task_struct *p, struct fair_task *task,
					       u32 cpu)
{
	struct running *curr = of_cpu(currs, cpu);
	u64 ran = p->se.sum_exec_runtime - curr->sum_exec, before, now;
	struct sums sums;
	u32 weight;

	if (ran)
		update_curr_first(p, task, curr, ran);
	before = curr->vruntime;
	now = account(curr, p);
	weight = curr->weight;
	sums = avg_vruntime_add(cpu, 0, weight * (now - before));
	curr->is_over = update_deadline(curr, now);
	if (ran)
		update_curr_more(p, task, curr, ran);
	return curr->weight == weight ? sums : average_sums(cpu);
}

/* Returns the limit of lag, in virtual nanoseconds (`entity_lag`). */
static inline s64 lag_limit(const struct task_struct *p, const struct fair_task *task)
{
	u64 limit = most_lag(slice_of(p));

	return fair_time(p, task, limit < TICK_NS ? TICK_NS : limit) >> lag_shift();
}

#include "include/reweight.h"

/* Places a task that joins a queue. Returns the new sums (`place_entity`). */
static __always_inline struct sums place_entity(const struct task_struct *p, struct fair_task *task,
						u32 cpu, struct sums sums, enum join join)
{
	bool keeps = join == JOIN_MIGRATED && task->left_weight && has_place_rel_deadline();
	u64 vslice = fair_time(p, task, slice_of(p));
	u32 weight = fair_weight(p, task);

	reweight_entity(task, weight);
	sums = join_with_lag(task, cpu, sums, weight, place_lag ? task->vlag : 0);
	if (has_half_slice(task, join))
		vslice /= 2;
	task->deadline = task->vruntime + (keeps ? task->rel_deadline : vslice);
	return sums;
}

/*
 * Returns a sleeper that has stayed in the average to the queue. With `delay_zero` it does not get
 * what it is owed by now (`requeue_delayed_entity`).
 */
static __always_inline struct sums requeue_delayed_entity(const struct task_struct *p,
							  struct fair_task *task, u32 cpu,
							  u64 vruntime)
{
	s32 old_cpu = task->load.cpu;
	struct sleeper *sleeper = sleeper_at(old_cpu, task->place);
	bool has_place = sleeper->pid == p->pid;
	s64 weight = has_place ? clear_delayed(sleeper, old_cpu) : 0, limit = lag_limit(p, task);
	s64 vlag = weight ? entity_lag(task, live_sums(old_cpu), limit) :
		   has_place ? sleeper->vlag : 0;

	if (weight && (vlag <= 0 || keeps_credit()) && old_cpu == cpu &&
	    weight == fair_weight(p, task)) {
		load_join(&task->load, cpu, weight);
		task->deadline = task->vruntime + task->rel_deadline;
		return average_sums(cpu);
	}
	if (weight)
		avg_vruntime_add(old_cpu, -weight, -weight * (s64)task->vruntime);
	task->vlag = vlag > 0 && delay_zero ? 0 : vlag > limit ? limit : vlag;
	return place_entity(p, task, cpu, sums_at(cpu, vruntime),
			    weight && old_cpu == cpu ? JOIN_REQUEUED : JOIN_WOKEN);
}

/*
 * Puts a task into the average of a CPU whose running task is at `vruntime`. Returns the sums of
 * the average then (`enqueue_entity`).
 */
static __always_inline struct sums enqueue_entity(const struct task_struct *p,
						  struct fair_task *task, s32 cpu, u64 vruntime,
						  bool is_woken)
{
	struct sums sums;

	if (task->load.weight)
		leave_average(task, live_sums(task->load.cpu), lag_limit(p, task));
	sums = task->is_delayed ? requeue_delayed_entity(p, task, cpu, vruntime) :
				  place_entity(p, task, cpu, sums_at(cpu, vruntime),
					       is_woken ? JOIN_WOKEN : JOIN_MIGRATED);
	task->is_delayed = false;
	return advanced(sums, cpu, vruntime);
}

/* Tells whether a CPU's average counts a task (`se->on_rq`). */
static inline bool is_on(const struct fair_task *task, s32 cpu)
{
	return task->load.weight && task->load.cpu == cpu;
}

/* Tells whether no task may preempt the running one while it is eligible (`protect_slice`). */
static inline bool protect_slice(const struct running *curr, u32 cpu, u64 vruntime)
{
	return may_protect(cpu) && time_before(vruntime, curr->vprot);
}

/*
 * Tells whether the running task, which is at `vruntime` and not alone, has lost its protection so
 * that the CPU chooses again (`update_curr`, `did_preempt_short`).
 */
static inline bool did_preempt_short(const struct running *curr, u32 cpu, u64 vruntime)
{
	if (time_before(vruntime, curr->vprot))
		return false;
	return protection_ends_turn() || (has_preempt_short() && run_to_parity &&
					  !vruntime_eligible(sums_at(cpu, vruntime), vruntime));
}

/*
 * Tells whether a woken task is the one that a new choice would take while the running task is at
 * `vruntime` (`check_preempt_wakeup_fair`).
 */
static __always_inline bool check_preempt_wakeup(const struct task_struct *p,
						 struct fair_task *task, u32 cpu, struct sums sums,
						 u64 vruntime, u64 deadline)
{
	struct running *curr = of_cpu(currs, cpu);
	bool is_short = has_preempt_short() &&
			(slice_of(p) < curr->slice || counts_as_short(task, curr));

	if (curr->has_idle_policy && !gives_way_to_all(p, task))
		return true;
	if (p->policy != POLICY_NORMAL || (task->is_new && !is_short && !new_task_preempts()))
		return false;
	if (vruntime_eligible(sums, vruntime) && ((!is_short && protect_slice(curr, cpu, vruntime)) ||
						  time_before(curr->deadline, deadline)))
		return false;
	return vruntime_eligible(sums, task->vruntime) && !next_sleeper(cpu, sums, &deadline) &&
	       !pick_eevdf(cpu, sums, &deadline, false);
}

/*
 * Shortens the protection of a running task that is ahead of the average when a woken task does not
 * preempt it (`update_protect_slice`).
 */
static __always_inline void challenge(const struct task_struct *p, struct fair_task *task, u32 cpu,
				      struct sums sums, u64 vruntime)
{
	struct running *curr = of_cpu(currs, cpu);

	if (p->policy == POLICY_NORMAL && forces_choice(task, curr)) {
		resched_curr(curr, cpu);
	} else if (run_to_parity && has_update_protect_slice()) {
		curr->vprot = earlier_of(curr->vprot,
					 average_of(sums, curr->vruntime) + curr->vslice);
	}
}

/* Handles `ops.select_cpu` (`select_task_rq_fair`). */
static inline s32 select_delayed_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fair_task *task = of_cpu(sleepers, prev_cpu)->count ? fair_task(p) : NULL;

	/* The task has not left its CPU's average yet. */
	if (task && task->is_delayed && is_asleep_on(prev_cpu, p, task))
		return prev_cpu;
	return select_task_rq_fair(p, prev_cpu, wake_flags);
}

/* Handles `ops.enqueue` (`enqueue_task_fair`). */
static inline void enqueue_task_fair(struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);
	bool is_woken, may_preempt, is_over, preempts;
	u64 vruntime = live_vruntime(curr);
	struct sums sums = {};

	if (!task)
		return;
	if (may_not_run(task)) {
		park(p, task, enq_flags);
		return;
	}
	count_in_group(p, task);
	is_woken = task->is_new || enq_flags & SCX_ENQ_WAKEUP;
	may_preempt = is_woken && curr->is_set && wakeup_preemption;
	is_over = curr->is_set && (update_deadline(curr, vruntime) ||
				   did_preempt_short(curr, cpu, vruntime));
	if (is_woken || !is_on(task, cpu))
		note_other(cpu);
	if (!is_on(task, cpu))
		sums = enqueue_entity(p, task, cpu, vruntime, is_woken);
	else if (has_groups && reweight_queued(p, task, &task->vruntime, &task->deadline))
		sums = sums_at(cpu, vruntime);
	else if (may_preempt)
		sums = sums_at(cpu, vruntime);
	preempts = may_preempt &&
		   check_preempt_wakeup(p, task, cpu, sums, vruntime, task->deadline);
	if (preempts)
		curr->vprot = curr->vruntime;
	/* Any waiting task may replace one with the idle policy, so the CPU has to choose. */
	if (preempts && !curr->has_idle_policy && run_at_once(p, cpu, enq_flags)) {
		join_cpu(task, cpu, p);
		return;
	}
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, task->deadline, enq_flags);
	if (preempts || (is_over && nr_queued_on(cpu) > 2))
		resched_curr(curr, cpu);
	else if (may_preempt)
		challenge(p, task, cpu, sums, vruntime);
	join_cpu(task, cpu, p);
	if (may_preempt && of_cpu(loads, cpu)->nr_running == 2)
		hrtick_start(curr, cpu);
}

/* Gives a task that this CPU has pulled its place here (`attach_task`). */
static __noinline u64 attach_task(struct task_struct *p, struct fair_task *task, s32 cpu)
{
	enqueue_entity(p, task, cpu, live_vruntime(of_cpu(currs, cpu)), false);
	return task->deadline;
}

/* Takes a waiting task whose group is throttled out of the average (`dequeue_throttle`). */
static void detach_throttled(struct task_struct *p, struct fair_task *task)
{
	leave_group(&task->member);
	if (task->load.weight)
		leave_average(task, live_sums(task->load.cpu), lag_limit(p, task));
}

/* Handles `ops.dispatch` (`pick_next_task_fair`). */
static inline void pick_next_task_fair(s32 cpu, struct task_struct *prev)
{
	struct running *curr = of_cpu(currs, cpu);
	bool goes_on = could_go_on(prev), may_stay;
	struct sums sums;

	curr->need_resched = false;
	sched_balance_domains(cpu);
	sums = goes_on ? update_curr(prev, NULL, cpu) : average_sums(cpu);
	if (has_quotas) {
		goes_on = goes_on && !is_throttled(curr->group);
		sort_throttled(cpu);
		sums = average_sums(cpu);
	}
	may_stay = goes_on && vruntime_eligible(sums, curr->vruntime);
	if (!may_stay || !protect_slice(curr, cpu, curr->vruntime)) {
		sums = dismiss_sleepers(cpu, sums, goes_on ? curr : NULL);
		may_stay = goes_on && vruntime_eligible(sums, curr->vruntime);
		if (pick_eevdf(cpu, sums, may_stay ? &curr->deadline : NULL, true))
			return;
	}
	hrtick_start(curr, cpu);
	if (goes_on)
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	else if (!scx_bpf_dsq_move_to_local(cpu, 0))
		newidle_balance(cpu, busiest_cpu(cpu));
}

/* Handles `ops.running` (`set_next_task_fair`). */
static inline void set_next_task_fair(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	if (!is_on(task, cpu))
		enqueue_entity(p, task, cpu, live_vruntime(curr), false);
	else if (has_groups)
		reweight_queued(p, task, &task->vruntime, &task->deadline);
	curr->deadline = task->deadline;
	begin_to_run(curr, p, task, task->vruntime);
	curr->slice = slice_of(p);
	curr->vslice = virtual_time_at(curr->inverse_weight, curr->slice);
	curr->vprot = run_to_parity ? curr->deadline : task->vruntime +
		      virtual_time_at(curr->inverse_weight, least_protection());
	if (must_choose_again(cpu)) {
		curr->vprot = curr->vruntime;
		resched_curr(curr, cpu);
	}
	hrtick_start(curr, cpu);
}

/* Handles `ops.tick` (`task_tick_fair`). */
static inline void task_tick_fair(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = has_groups ? fair_task(p) : NULL;
	bool is_over;

	update_curr(p, task, cpu);
	if (task)
		reweight_running(p, task, curr);
	is_over = curr->is_over || did_preempt_short(curr, cpu, curr->vruntime);
	if (is_balance_due(cpu) || (is_over && nr_queued_on(cpu) > 1) ||
	    (has_quotas && is_throttled(curr->group)))
		scx_bpf_task_set_slice(p, 0);
}

/* Handles `ops.stopping` (`put_prev_task_fair`). */
static inline void put_prev_task_fair(struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct running *curr = of_cpu(currs, cpu);
	struct fair_task *task = fair_task(p);

	/* In most cases `ops.dispatch` has just done so. */
	if (p->se.sum_exec_runtime != curr->sum_exec)
		update_curr(p, task, cpu);
	if (task) {
		task->vruntime = curr->vruntime;
		task->deadline = curr->deadline;
	}
	stop_running(curr, p, runnable);
}

/* Handles `ops.quiescent` (`dequeue_task_fair`). */
static inline void dequeue_task_fair(struct task_struct *p, u64 deq_flags)
{
	struct fair_task *task = fair_task(p);
	struct sums sums;

	if (task && has_groups)
		leave_group(&task->member);
	if (!task || !task->load.weight)
		return;
	sums = live_sums(task->load.cpu);
	task->is_delayed = has_delay_dequeue() && (deq_flags & SCX_DEQ_SLEEP) &&
			   !vruntime_eligible(sums, task->vruntime) && set_delayed(p, task);
	if (!task->is_delayed)
		leave_average(task, sums, lag_limit(p, task));
}

/* Gives a task that yields a later deadline; it may forfeit its slice (`yield_task_fair`). */
static inline void forfeit(struct running *curr, u32 cpu, struct sums sums)
{
	if (yield_forfeits()) {
		if (!vruntime_eligible(sums, curr->vruntime))
			return;
		avg_vruntime_add(cpu, 0, curr->weight * (curr->deadline - curr->vruntime));
		curr->vruntime = curr->deadline;
	}
	curr->deadline += curr->vslice;
}

/* Handles `ops.yield` (`yield_task_fair`). */
static inline bool yield_task_fair(struct task_struct *from)
{
	s32 cpu = scx_bpf_task_cpu(from);
	struct running *curr = of_cpu(currs, cpu);
	struct sums sums = update_curr(from, NULL, cpu);

	if (of_cpu(loads, cpu)->nr_running > 1)
		forfeit(curr, cpu, sums);
	curr->vprot = curr->vruntime;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Handles `ops.init` (`init_sched_fair_class`). */
static inline s32 init_sched_fair_class(void)
{
	s32 err = create_queues();

	least_slice = sysctl_sched_base_slice();
	default_slice = scaled(least_slice, sched_tunable_scaling);
	err = err ?: init_domains();
	init_spread(cgroup_mode < 0 ? default_spread() : cgroup_mode, nr_online);
	return err ?: has_hrtick() ? init_slice_timers() : 0;
}

#ifndef OVERLAY
s32 BPF_STRUCT_OPS(eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return select_delayed_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(eevdf_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task_fair(p, enq_flags);
}

void BPF_STRUCT_OPS(eevdf_dispatch, s32 cpu, struct task_struct *prev)
{
	pick_next_task_fair(cpu, prev);
}

void BPF_STRUCT_OPS(eevdf_running, struct task_struct *p)
{
	set_next_task_fair(p);
}

void BPF_STRUCT_OPS(eevdf_tick, struct task_struct *p)
{
	task_tick_fair(p);
}

void BPF_STRUCT_OPS(eevdf_stopping, struct task_struct *p, bool runnable)
{
	put_prev_task_fair(p, runnable);
}

void BPF_STRUCT_OPS(eevdf_quiescent, struct task_struct *p, u64 deq_flags)
{
	dequeue_task_fair(p, deq_flags);
}

bool BPF_STRUCT_OPS(eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	return yield_task_fair(from);
}

s32 BPF_STRUCT_OPS(eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return make_grouped_task(p, args);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_init)
{
	return init_sched_fair_class();
}

void BPF_STRUCT_OPS(eevdf_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(eevdf_ops,
	       .select_cpu	= (void *)eevdf_select_cpu,
	       .enqueue		= (void *)eevdf_enqueue,
	       .dispatch	= (void *)eevdf_dispatch,
	       .running		= (void *)eevdf_running,
	       .tick		= (void *)eevdf_tick,
	       .stopping	= (void *)eevdf_stopping,
	       .quiescent	= (void *)eevdf_quiescent,
	       .yield		= (void *)eevdf_yield,
	       .init_task	= (void *)eevdf_init_task,
	       GROUP_CALLBACKS,
	       .flags		= SCX_OPS_ENQ_LAST,
	       .init		= (void *)eevdf_init,
	       .exit		= (void *)eevdf_exit,
	       .name		= "eevdf");
#endif
