// SPDX-License-Identifier: GPL-2.0-only
/*
 * o1: The O(1) scheduler of Linux 2.6: active and expired arrays.
 *
 * Idea: Every CPU has two arrays of lists, with one list for each priority, and runs the first task
 *       of the best list in the active array. A task that has used its slice goes to the expired
 *       array. When the active array is empty, the two are swapped. Priority is the nice value,
 *       made better or worse by how much a task has slept of late. A task that has slept enough is
 *       interactive: it stays active, unless the expired tasks have starved for too long.
 * Good at: Many tasks and CPUs: no step depends on their number. Interactive tasks are served
 *          quickly.
 * Bad at: Guessing: a task that sleeps much and then computes is served first, at the cost of
 *         others. An expired task waits for the slices of all others. Slices jump from 100 to 420
 *         ms at nice -1.
 * Origin: Ingo Molnar (2002), Con Kolivas (2003). Linux 2.6.20; `early` is patch J7 for 2.4.17.
 * Family: 2002, Ingo Molnar and Con Kolivas; after linux24
 * Queue: Two arrays of 40 lists for each CPU, by priority; enqueue O(1), pick O(1).
 * Slice: 100 ms at nice 0, 800 to 5 by nice.
 * Wake-up: Preempts a worse priority; sleep makes it better by 5 at most, computing worse.
 * Balancing: An idle CPU takes at once, busy ones by count now and then.
 * Differs: A turn ends at this kernel's next tick; the excess is taken from the next turn. An idle
 *          CPU looks for work when some comes, not each millisecond. 2.6 balances by counting, as
 *          J7 does, and ignores exec and hardware siblings. Wake-ups by interrupts count as any
 *          others; so do synchronous ones with one CPU. A new nice value counts from the next slice
 *          on. Control groups have no effect: the original has none.
 */
#include <scx/common.bpf.h>
#include "include/common.h"
#include "include/scan.h"
#include "include/tick.h"

char _license[] SEC("license") = "GPL";

/* Patch J7 of January 2002, with its constants, instead of Linux 2.6.20. */
const volatile bool early = false;
/* Slices depend on nice values. */
const volatile bool nice_timeslices = true;
/* Priorities depend on sleep. */
const volatile bool interactivity_bonus = true;
/* Interactive tasks stay in the active array. */
const volatile bool interactive_reinsertion = true;
/* An interactive task expires nevertheless if expired tasks have starved. */
const volatile bool starvation_limit = true;
/* 2.6: Interactive tasks of equal priority take turns within a slice. */
const volatile bool timeslice_granularity = true;
/* 2.6: A new process runs before its parent, with the parent's priority. */
const volatile bool child_runs_first = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* Tasks are moved between CPUs. */
const volatile bool balancing = true;

UEI_DEFINE(uei);

/*
 * A run queue's active and expired array, each with a list for every priority, are one queue here
 * that is ordered by `dsq_vtime`: first the array, then the priority, then the turn, in order of
 * arrival. When the active array is empty, the next generation swaps the two.
 */
#define GENERATION_SHIFT 48
#define PRIO_SHIFT 40
#define TURN_MASK ((1ULL << PRIO_SHIFT) - 1)
/* A step leaves room for a task that is put in front of another one. */
#define TURN_STEP 16

struct prio_arrays {
	u64 generation;	/* that of the active array, from 1 on so that no place is 0 */
	u64 turn;
};

struct task_ctx {
	s64 time_slice;		/* what is left of it, in ticks */
	u64 charged_ns;		/* the time until which it has paid */
	u64 sleep_avg;		/* ns */
	u64 timestamp;		/* when it began to sleep, wait or run, ns */
	u32 prio;		/* 0 (best) … 39 */
	bool is_new;
	bool first_time_slice;	/* half of it was its parent's */
	bool synchronous;	/* its waker is about to sleep */
	bool uninterruptible;	/* it sleeps so */
	bool interactive_sleep;	/* waiting counts as sleep, too */
};
DEFINE_TASK_CTX()

struct cpu_ctx {
	struct prio_arrays arrays;
	u64 expired_timestamp;	/* when the first expired task expired, ns; 0 if none has */
	u64 next_balance;	/* ns */
	u32 best_expired_prio;	/* the best nice value of the expired tasks, as a priority */
	u32 prio;		/* the priority of the running task */
};
DEFINE_CPU_CTX()

#define LENGTHS 1024

/* The queues' lengths that each CPU saw last time, at most 255 (`rq->prev_nr_running`). */
static u8 seen_lengths[LENGTHS][LENGTHS];

#define BALANCE_NS (NS_PER_SECOND / 4)
/* The priority where no task runs: it is worse than any. */
#define NO_TASK NICE_LEVELS

/* Timer interrupts per second. */
#define HZ (early ? 100 : 1000)
/* The most sleep that is remembered, and how many levels of priority it is worth. */
#define MAX_SLEEP_AVG ((early ? 2 : 1) * NS_PER_SECOND)
#define MAX_BONUS (early ? 28 : 10)
/*
 * In percent: the part of its parent's sleep that a new task inherits, and the part of its waiting
 * that counts as sleep.
 */
#define CHILD_PENALTY 95
#define ON_RUNQUEUE_WEIGHT 30
/* The weight of a parent's own sleep; that of its dead child weighs 1. */
#define EXIT_WEIGHT 3
/* J7's longest slice, ticks. */
#define MAX_TIMESLICE 30
/* `TASK_UNINTERRUPTIBLE` of `p->__state`. */
#define UNINTERRUPTIBLE 2

/* How long expired tasks wait for each runnable task until they starve. */
#define STARVATION_LIMIT MAX_SLEEP_AVG

/* Returns a slice in ticks: 5 to 800 ms in 2.6, 10 to 300 ms in J7 (`task_timeslice`). */
static inline s64 task_timeslice(const struct task_struct *p)
{
	u64 room = nice_timeslices ? 19 - nice_of(p) : 19, ms;

	if (early)
		return 1 + 29 * room / 39;
	ms = (room > 19 ? 400 : 100) * (room + 1) / 20;
	return ms > 5 ? ms : 5;
}

/* Returns how many levels of priority a task's sleep is worth (`CURRENT_BONUS`). */
static inline u64 current_bonus(const struct task_ctx *task)
{
	return task->sleep_avg * MAX_BONUS / MAX_SLEEP_AVG;
}

/*
 * Returns the priority, 0 (best) to 39: the nice value, made better or worse by up to half of the
 * bonus (`effective_prio`).
 */
static inline u32 effective_prio(const struct task_struct *p, const struct task_ctx *task)
{
	s32 bonus = interactivity_bonus ? current_bonus(task) - MAX_BONUS / 2 : 0;
	s32 prio = (s32)nice_index(p) - bonus;

	return prio < 0 ? 0 : prio > 39 ? 39 : prio;
}

/*
 * 2.6: Returns by how much a task must be better than its nice value to be interactive (`DELTA`).
 */
static inline s32 delta_of(const struct task_struct *p)
{
	return (s32)(nice_index(p) * 10 / 40) - 5 + 2;
}

/* Tells whether a task stays active when its slice is over (`TASK_INTERACTIVE`). */
static inline bool is_interactive(const struct task_struct *p, const struct task_ctx *task)
{
	s32 prio = task->prio, static_prio = nice_index(p);

	if (early)
		return prio <= 8 || (prio < 24 && prio <= static_prio - 3);
	return prio <= static_prio - delta_of(p);
}

/*
 * 2.6: Tells whether a task is a batch task: no sleep makes it interactive, and it is expired when
 * it wakes up (`batch_task`).
 */
static inline bool is_batch(const struct task_struct *p)
{
	return !early && p->policy == POLICY_BATCH;
}

/* Subtracts from the stored sleep (`p->sleep_avg`). */
static inline void forget_sleep(struct task_ctx *task, u64 ns)
{
	task->sleep_avg = ns < task->sleep_avg ? task->sleep_avg - ns : 0;
}

/*
 * Charges a task's sleep for what it has run: J7 at every tick, 2.6 at every schedule(), and there
 * less the more the task has slept (`schedule`).
 */
static inline void count_run(struct task_ctx *task, u64 ticks)
{
	u64 now = scx_bpf_now(), ran = now - task->timestamp;

	if (early)
		return forget_sleep(task, ticks * (NS_PER_SECOND / HZ));
	if (ticks)
		return;
	forget_sleep(task, (ran < NS_PER_SECOND ? ran : NS_PER_SECOND) / (current_bonus(task) ?: 1));
	task->timestamp = now;
}

/*
 * Adds a sleep to the stored one. In 2.6 one long sleep, or a sleep for the disk, does not make a
 * task interactive (`recalc_task_prio`).
 */
static inline void recalc_task_prio(struct task_struct *p, struct task_ctx *task, u64 ns)
{
	u64 ceiling = NS_PER_SECOND / 10 * (5 + delta_of(p) + 1) - NS_PER_SECOND / HZ;
	bool for_disk = task->uninterruptible && !early && p->mm;

	if (is_batch(p))
		ns = 0;
	if (!early && p->mm && task->sleep_avg < ceiling &&
	    (ns > ceiling || (for_disk && task->sleep_avg + ns > ceiling))) {
		task->sleep_avg = ceiling;
		task->interactive_sleep = false;
	} else if (!for_disk || task->sleep_avg < ceiling) {
		task->sleep_avg += ns;
	}
	if (task->sleep_avg > MAX_SLEEP_AVG)
		task->sleep_avg = MAX_SLEEP_AVG;
	task->prio = effective_prio(p, task);
}

/* Notes that a task falls asleep (`deactivate_task`). */
static inline void note_sleep(const struct task_struct *p, struct task_ctx *task)
{
	task->uninterruptible = p->__state & UNINTERRUPTIBLE;
	task->interactive_sleep = !early && !task->uninterruptible;
	task->timestamp = scx_bpf_now();
}

/*
 * 2.6: Counts a part of the time that a task has waited since it woke up as sleep
 * (`ON_RUNQUEUE_WEIGHT` in `schedule`).
 */
static inline void count_wait(struct task_struct *p, struct task_ctx *task)
{
	if (task->interactive_sleep)
		recalc_task_prio(p, task, (scx_bpf_now() - task->timestamp) * ON_RUNQUEUE_WEIGHT / 100);
	task->interactive_sleep = false;
	task->timestamp = scx_bpf_now();
}

/*
 * Gives a new task half of its parent's slice and most of its sleep (`sched_fork`,
 * `wake_up_new_task`).
 */
static inline void sched_fork(struct task_ctx *parent, struct task_ctx *child)
{
	child->first_time_slice = true;
	child->time_slice = (parent->time_slice + 1) >> 1;
	parent->time_slice >>= 1;
	child->sleep_avg = current_bonus(parent) * CHILD_PENALTY / 100 * MAX_SLEEP_AVG / MAX_BONUS;
	if (early)
		child->sleep_avg = parent->sleep_avg * CHILD_PENALTY / 100;
}

/*
 * Returns what a child leaves of its slice to its parent, up to a whole slice; in 2.6 only what it
 * leaves of its first slice, and on the same CPU. A parent is judged by its children, in 2.6 by
 * those that have slept less than it (`sched_exit`).
 */
static inline void sched_exit(struct task_ctx *parent, const struct task_ctx *child,
				    bool same_cpu, s64 slice)
{
	s64 sum = parent->time_slice + child->time_slice, most = early ? MAX_TIMESLICE : slice;

	if (early || (child->first_time_slice && same_cpu))
		parent->time_slice = sum < most ? sum : most;
	if (early || child->sleep_avg < parent->sleep_avg)
		parent->sleep_avg = (parent->sleep_avg * EXIT_WEIGHT + child->sleep_avg) /
				    (EXIT_WEIGHT + 1);
}

/*
 * 2.6: Tells whether a turn has ended in the last ticks, and there is slice left for another.
 * Interactive tasks of equal priority take turns of 10 ms for the most interactive to 5 s, for each
 * CPU (`TIMESLICE_GRANULARITY`).
 */
static inline bool has_had_turn(struct task_struct *p, struct task_ctx *task, s64 slice, u64 ticks)
{
	u64 missing = MAX_BONUS - current_bonus(task);
	s64 turn = (10LL << (missing > 1 ? missing - 1 : 0)) * nr_cpus;
	s64 used = slice - task->time_slice;

	if (early || used < (s64)ticks || task->time_slice < turn || !is_interactive(p, task))
		return false;
	return (u64)used / turn != (used - ticks) / turn;
}

/* Returns the place behind all tasks of a priority, 0 (best) to 255 (`enqueue_task`). */
static inline u64 tail_of(struct prio_arrays *arrays, bool expired, u32 prio)
{
	arrays->turn += TURN_STEP;
	return (arrays->generation + expired) << GENERATION_SHIFT | (u64)prio << PRIO_SHIFT |
	       (arrays->turn & TURN_MASK);
}

/* Returns the priority of a place (`p->prio`). */
static inline u32 prio_of(u64 place)
{
	return (place >> PRIO_SHIFT) & 0xff;
}

/* Tells whether a place is in the expired array (`rq->expired`). */
static inline bool is_expired(const struct prio_arrays *arrays, u64 place)
{
	return time_before(arrays->generation << GENERATION_SHIFT | TURN_MASK | 0xffULL << PRIO_SHIFT,
			   place);
}

/* Tells whether a place is in these arrays, and not in those of another CPU (`p->array`). */
static inline bool is_place_in(const struct prio_arrays *arrays, u64 place)
{
	return (u16)((place >> GENERATION_SHIFT) - arrays->generation + 1) <= 2;
}

/*
 * Returns the place in front of the parent if that runs on this CPU and the new task is no thread
 * of it; else 0 (`wake_up_new_task`).
 */
static inline u64 place_before_parent(const struct task_struct *p, s32 cpu)
{
	struct task_struct *parent = p->real_parent;

	if (!parent || parent->mm == p->mm || !scx_bpf_task_running(parent) ||
	    scx_bpf_task_cpu(parent) != cpu)
		return 0;
	return parent->scx.dsq_vtime - 1;
}

/* Returns how many tasks are runnable on a CPU, with the running one (`rq->nr_running`). */
static inline u32 nr_running(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(cpu) + (cpu_ctx(cpu)->prio != NO_TASK);
}

/*
 * 2.6: Tells whether a task is woken on its waker's CPU because that has less to do than its own
 * (`try_to_wake_up`).
 */
static inline bool is_woken_here(s32 this_cpu, s32 prev_cpu, bool sync)
{
	u32 load = nr_running(prev_cpu), this_load = nr_running(this_cpu);

	this_load -= sync && this_load;
	return (this_load <= load && this_load + load <= 1) || 100 * (this_load + 1) <= 112 * load;
}

struct busiest {
	s32 cpu;	/* -1 if no CPU has too many tasks */
	u32 surplus;	/* the number of tasks to take */
};

/*
 * Finds the CPU with most tasks. A busy CPU uses the smaller of a queue's present and former
 * length, and the larger of its own, so that short bursts move no task (`find_busiest_queue`).
 */
static __always_inline struct busiest find_busiest_queue(s32 cpu, bool idle)
{
	struct busiest found = { .cpu = -1 };
	u32 i, own = 0, most = 1;

	bpf_for(i, 0, nr_cpus) {
		u8 *seen = &seen_lengths[cpu & (LENGTHS - 1)][i & (LENGTHS - 1)];
		u32 now = nr_running(i), then = *seen;

		*seen = now < 255 ? now : 255;
		if (i == cpu) {
			own = idle || now > then ? now : then;
			continue;
		}
		now = idle || now < then ? now : then;
		if (now > most) {
			most = now;
			found.cpu = i;
		}
	}
	found.surplus = most > own ? (most - own) / 2 : 0;
	if (!found.surplus || (!idle && found.surplus < (most + 3) / 4))
		found.cpu = -1;
	if (idle)
		found.surplus = 1;
	return found;
}

/*
 * Takes the best tasks that may run on a CPU, of the expired array only or of both. Returns how
 * many. The function is out of line because it has a loop and is called twice (`pull_task`).
 */
static __noinline u32 pull(s32 from, s32 to, u32 wanted, bool only_expired)
{
	struct task_struct *p;
	u32 pulled = 0;

	bpf_for_each(scx_dsq, p, from, 0) {
		u64 place = p->scx.dsq_vtime;
		bool expired = is_expired(&cpu_ctx(from)->arrays, place);

		if (pulled >= wanted)
			break;
		if ((only_expired && !expired) || !bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		/* J7 makes all of them active. */
		place = tail_of(&cpu_ctx(to)->arrays, expired && !early, prio_of(place));
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, place);
		pulled += scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, to, 0);
	}
	return pulled;
}

/*
 * Moves tasks from the busiest CPU. Expired tasks go first: they have waited for longest, and their
 * caches are cold (`load_balance`).
 */
static inline void load_balance(s32 cpu, bool idle)
{
	struct busiest busiest = find_busiest_queue(cpu, idle);
	u32 pulled;

	cpu_ctx(cpu)->next_balance = scx_bpf_now() + BALANCE_NS;
	if (busiest.cpu < 0)
		return;
	pulled = pull(busiest.cpu, cpu, busiest.surplus, true);
	pull(busiest.cpu, cpu, busiest.surplus - pulled, false);
}

/* Tells whether expired tasks have waited for too long (`EXPIRED_STARVING`). */
static bool expired_starving(struct cpu_ctx *here, const struct task_struct *p)
{
	u64 waited = scx_bpf_now() - here->expired_timestamp;

	if (!starvation_limit)
		return false;
	if (!early && nice_index(p) > here->best_expired_prio)
		return true;
	return here->expired_timestamp && waited > STARVATION_LIMIT * nr_running(scx_bpf_task_cpu(p));
}

/* Puts a task at the end of a list (`requeue_task`). */
static void requeue_task(struct cpu_ctx *here, struct task_struct *p, u32 prio, bool expired)
{
	scx_bpf_task_set_dsq_vtime(p, tail_of(&here->arrays, expired, prio));
}

/* Gives a task whose slice is over a new one (`scheduler_tick`). */
static void expire(struct cpu_ctx *here, struct task_struct *p, struct task_ctx *task)
{
	bool stays;

	task->prio = effective_prio(p, task);
	task->time_slice += task_timeslice(p);
	task->first_time_slice = false;
	stays = interactive_reinsertion && is_interactive(p, task) && !expired_starving(here, p);
	requeue_task(here, p, task->prio, !stays);
	if (!here->expired_timestamp && (!early || !stays))
		here->expired_timestamp = scx_bpf_now();
	if (!stays && nice_index(p) < here->best_expired_prio)
		here->best_expired_prio = nice_index(p);
}

/*
 * Charges the running task for the timer interrupts that it has met. Returns true if other tasks
 * are to have a turn (`scheduler_tick`).
 */
static bool scheduler_tick(struct task_struct *p, struct task_ctx *task)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));
	u64 ticks = pay_ticks(&task->charged_ns, HZ);

	if (!ticks)
		return false;
	count_run(task, ticks);
	task->time_slice -= ticks;
	if (task->time_slice <= 0)
		expire(here, p, task);
	else if (timeslice_granularity && has_had_turn(p, task, task_timeslice(p), ticks))
		requeue_task(here, p, task->prio, is_expired(&here->arrays, p->scx.dsq_vtime));
	else
		return false;
	return true;
}

s32 BPF_STRUCT_OPS(o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id();
	bool sync = wake_flags & SCX_WAKE_SYNC;

	ctx_of(p)->synchronous = sync && !early;
	if (early || !balancing || (wake_flags & SCX_WAKE_FORK) ||
	    !bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return prev_cpu;
	return is_woken_here(this_cpu, prev_cpu, sync) ? this_cpu : prev_cpu;
}

void BPF_STRUCT_OPS(o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);
	bool woken = enq_flags & SCX_ENQ_WAKEUP, comes = woken || task->is_new;
	bool quiet = !wakeup_preemption || (task->synchronous && cpu == bpf_get_smp_processor_id());
	u64 place = p->scx.dsq_vtime, now = scx_bpf_now();
	bool runs_first = task->is_new && child_runs_first && !early;
	u64 first = runs_first ? place_before_parent(p, cpu) : 0;

	if (woken)
		recalc_task_prio(p, task, now - task->timestamp);
	if (comes || !is_place_in(&here->arrays, place))
		place = first ?: tail_of(&here->arrays, is_batch(p), task->prio);
	if (comes)
		task->timestamp = now;
	if (first)
		task->prio = prio_of(first);
	task->is_new = task->synchronous = false;
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_INF, place, enq_flags);
	if (is_idle(cpu) || first || (comes && !quiet && prio_of(place) < here->prio))
		wake_or_preempt(cpu);
	else if (balancing)
		kick_idle_cpu_for(p);
}

void BPF_STRUCT_OPS(o1_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	struct cpu_ctx *here = cpu_ctx(cpu);
	bool waits, idle = !task && !scx_bpf_dsq_nr_queued(cpu);
	u64 place;

	if (task) {
		scheduler_tick(prev, task);
		count_run(task, 0);
	}
	if (balancing && (idle || scx_bpf_now() >= here->next_balance))
		load_balance(cpu, idle);
	waits = first_place(cpu, &place);
	if (!waits && !task) {
		here->expired_timestamp = 0;
		return;
	}
	if (task && (!waits || !time_before(place, prev->scx.dsq_vtime))) {
		waits = false;
		place = prev->scx.dsq_vtime;
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	}
	if (is_expired(&here->arrays, place)) {
		/* No task is active any more, so the arrays are swapped. */
		here->arrays.generation++;
		here->expired_timestamp = 0;
		here->best_expired_prio = NO_TASK;
	}
	if (waits)
		scx_bpf_dsq_move_to_local(cpu, 0);
}

void BPF_STRUCT_OPS(o1_running, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));
	struct task_ctx *task = ctx_of(p);
	u32 prio = task->prio;

	count_wait(p, task);
	if (task->prio != prio)
		requeue_task(here, p, task->prio, is_expired(&here->arrays, p->scx.dsq_vtime));
	task->charged_ns = scx_bpf_now();
	here->prio = task->prio;
}

void BPF_STRUCT_OPS(o1_tick, struct task_struct *p)
{
	struct cpu_ctx *here = cpu_ctx(scx_bpf_task_cpu(p));

	if (scheduler_tick(p, ctx_of(p)) || (nr_cpus > 1 && scx_bpf_now() >= here->next_balance))
		scx_bpf_task_set_slice(p, 0);
	here->prio = ctx_of(p)->prio;
}

void BPF_STRUCT_OPS(o1_stopping, struct task_struct *p, bool runnable)
{
	scheduler_tick(p, ctx_of(p));
	count_run(ctx_of(p), 0);
	if (!runnable)
		note_sleep(p, ctx_of(p));
	cpu_ctx(scx_bpf_task_cpu(p))->prio = NO_TASK;
}

/*
 * In 2.6 a task that yields goes to the expired array; in J7 it becomes a little worse
 * (`sys_sched_yield`).
 */
bool BPF_STRUCT_OPS(o1_yield, struct task_struct *from, struct task_struct *to)
{
	struct task_ctx *task = ctx_of(from);

	task->prio += early && task->prio < 39;
	requeue_task(cpu_ctx(scx_bpf_task_cpu(from)), from, task->prio, !early);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* A new task and its parent share the parent's slice (`sched_fork`). */
s32 BPF_STRUCT_OPS_SLEEPABLE(o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	struct task_ctx *task = make_ctx(p), *parent = ctx_of(forker);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	task->timestamp = scx_bpf_now();
	task->time_slice = task_timeslice(p);
	if (args->fork)
		sched_fork(parent, task);
	task->prio = effective_prio(p, task);
	if (args->fork && !parent->time_slice) {
		expire(cpu_ctx(scx_bpf_task_cpu(forker)), forker, parent);
		scx_bpf_kick_cpu(scx_bpf_task_cpu(forker), SCX_KICK_PREEMPT);
	}
	return 0;
}

/* A dead child's slice returns to its parent, which also learns from its sleep (`sched_exit`). */
void BPF_STRUCT_OPS(o1_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_struct *forker = p->real_parent;
	bool here = forker && scx_bpf_task_cpu(p) == scx_bpf_task_cpu(forker);

	if (forker)
		sched_exit(ctx_of(forker), ctx_of(p), here, task_timeslice(forker));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(o1_init)
{
	s32 err = create_queues();
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		cpu_ctx(cpu)->arrays.generation = 1;
		cpu_ctx(cpu)->best_expired_prio = cpu_ctx(cpu)->prio = NO_TASK;
	}
	return err;
}

void BPF_STRUCT_OPS(o1_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(o1_ops,
	       .select_cpu	= (void *)o1_select_cpu,
	       .enqueue		= (void *)o1_enqueue,
	       .dispatch	= (void *)o1_dispatch,
	       .running		= (void *)o1_running,
	       .tick		= (void *)o1_tick,
	       .stopping	= (void *)o1_stopping,
	       .yield		= (void *)o1_yield,
	       .init_task	= (void *)o1_init_task,
	       .exit_task	= (void *)o1_exit_task,
	       .init		= (void *)o1_init,
	       .exit		= (void *)o1_exit,
	       .name		= "o1");
