// SPDX-License-Identifier: GPL-2.0-only
/*
 * ule: ULE, FreeBSD's scheduler.
 *
 * Idea: A task's score is the ratio of its running to its voluntary sleep in the last seconds. A
 *       task is interactive if its score and nice value are together below a threshold: it goes
 *       before all others, by its score. The others take turns by a calendar. The more a task uses
 *       the CPU and the nicer it is, the later its day, but that day comes.
 * Good at: Interactive tasks among many hogs, and many tasks of any kind: no step depends on their
 *          number.
 * Bad at: The cut: a task that runs for more than about 38 % of its time waits with the hogs.
 *         Interactive tasks that fill the CPU together, each below the cut, starve all others. Nice
 *         values move the cut and the day in the calendar, but hardly the share.
 * Origin: Jeff Roberson, FreeBSD 5.1 (2003); as of FreeBSD 12.
 * Family: 2003, Jeff Roberson; after o1
 * Queue: Three for each CPU: interactive by priority, calendar, idle; enqueue O(1), pick O(1).
 * Slice: 94 ms (12 ticks at 127 Hz), divided by the other tasks of the CPU, at least 16 ms.
 * Wake-up: Sleep is added to the history; an interactive task preempts one that is not.
 * Balancing: An idle CPU steals; about each second a task goes from the most to the least loaded.
 * Differs: Every wake-up preempts as one from another CPU does, because FreeBSD's interrupts are
 *          threads, after which a CPU chooses again. Queues are ordered trees. All CPUs share one
 *          cache. A slice ends at this kernel's next tick. No priority is lent. If CPU 0 idles, the
 *          ticks of CPUs where tasks wait wake it to balance. A task that a real-time task
 *          displaces waits for its CPU. Control groups have no effect: FreeBSD has none.
 */
#include <scx/common.bpf.h>
#include "include/common.h"
#include "include/tick.h"

char _license[] SEC("license") = "GPL";

/* A task with this score or a higher one is not interactive. */
const volatile u64 interact = 30;
/* A slice in ticks of 127 Hz, and the divisor of it where many tasks wait. */
const volatile u64 slice_ticks = 12, slice_min_divisor = 6;
/* Idle CPUs steal from CPUs with at least this number of runnable tasks. */
const volatile bool steal_idle = true;
const volatile u64 steal_thresh = 2;
/* CPUs are balanced after 0.5 to 1.5 times this many ticks of 127 Hz. */
const volatile bool balance = true;
const volatile u64 balance_interval_ticks = 128;
/* How long a CPU's cache is warm. */
const volatile u64 affinity_ms = 1;
/* Tasks can be interactive. */
const volatile bool interactivity = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;

UEI_DEFINE(uei);

struct task_ctx {
	u64 runtime, slptime;			/* the history, ticks << 10 */
	u64 use;				/* CPU use, ticks << 10 */
	u64 use_first, use_last;		/* the clock ticks between which that was */
	u64 charged_ns;				/* the time until which it has paid */
	u64 since;				/* when it fell asleep, ticks; 0 if it did not */
	u64 used;				/* what it has used of its slice, ticks of 127 Hz */
	u64 place;				/* its place in its queue */
	u32 prio, queue;
	s32 cpu;				/* the CPU where it was queued last */
	bool is_new, is_put, is_over;
};
DEFINE_TASK_CTX()

/*
 * A calendar has two indices into a ring of buckets: where tasks are inserted, and where they are
 * removed. A task is put as many buckets behind the insertion index as its priority says, and the
 * removal index follows. Buckets are numbered consecutively, which makes the ring a queue that is
 * ordered by them.
 */
struct calendar {
	u64 insert, remove;
};

struct cpu_ctx {
	s32 curr;		/* the pid of the running task; 0 if none of ours runs */
	u32 prio;		/* the priority of the running task */
	u64 clock_ns;		/* the time until which the calendar has advanced */
	u64 next_balance;	/* when CPU 0 balances next, ns */
	struct calendar calendar;
	bool need_resched, balance_due;
};
DEFINE_CPU_CTX()

#include "include/counts.h"

/*
 * Clock ticks per second, and ticks per second at which time is charged. All times are those of
 * FreeBSD: clock ticks of 1 ms, shifted left by 10.
 */
#define HZ 1000ULL
#define STATHZ 127ULL
#define TICK_SHIFT 10
#define SECONDS(s) ((s) * HZ << TICK_SHIFT)
/* What a tick at which time is charged costs. */
#define TICK_COST ((HZ << TICK_SHIFT) / STATHZ)

#define HISTORY_CAP SECONDS(5)
#define FORK_CAP (SECONDS(1) / 2)
#define SCORE_HALF 50ULL

/* The window of CPU use, and the length at which it is cut to that again, in clock ticks. */
#define USE_WINDOW (10 * HZ)
#define USE_WINDOW_MAX (11 * HZ)

/*
 * The numbers of levels of priority: those of interactive tasks, and those of the others by CPU use
 * and by nice value.
 */
#define INTERACTIVE_RANGE 32
#define USE_RANGE 32
#define BATCH_RANGE (USE_RANGE + NICE_LEVELS)
/* The priority of SCHED_IDLE. */
#define MIN_IDLE (INTERACTIVE_RANGE + BATCH_RANGE)
#define NO_TASK 255

/*
 * Returns the score, 0 of a task that has only slept to 100 of one that has only run
 * (`sched_interact_score`).
 */
static inline u64 sched_interact_score(u64 run, u64 sleep)
{
	u64 unit;

	if (run > sleep) {
		unit = run / SCORE_HALF ?: 1;
		return SCORE_HALF + (SCORE_HALF - sleep / unit);
	}
	if (sleep > run) {
		unit = sleep / SCORE_HALF ?: 1;
		return run / unit;
	}
	return run ? SCORE_HALF : 0;
}

/* Bounds the stored history (`sched_interact_update`). */
static inline void sched_interact_update(struct task_ctx *task)
{
	u64 sum = task->runtime + task->slptime;

	if (sum < HISTORY_CAP)
		return;
	if (sum > 2 * HISTORY_CAP) {
		bool runs = task->runtime > task->slptime;

		task->runtime = runs ? HISTORY_CAP : 1;
		task->slptime = runs ? 1 : HISTORY_CAP;
	} else if (sum > HISTORY_CAP / 5 * 6) {
		task->runtime /= 2;
		task->slptime /= 2;
	} else {
		task->runtime = task->runtime / 5 * 4;
		task->slptime = task->slptime / 5 * 4;
	}
}

/*
 * Gives a new task its parent's history, but little of it (`sched_interact_fork`,
 * `sched_fork_thread`).
 */
static inline void sched_interact_fork(const struct task_ctx *parent, struct task_ctx *child)
{
	u64 ratio = (parent->runtime + parent->slptime) / FORK_CAP;

	child->runtime = parent->runtime / (ratio ?: 1);
	child->slptime = parent->slptime / (ratio ?: 1);
	child->use = parent->use;
	child->use_first = parent->use_first;
	child->use_last = parent->use_last;
}

/*
 * Brings the CPU use up to date. `runs` tells whether the task has run since the last time
 * (`sched_pctcpu_update`).
 */
static inline void sched_pctcpu_update(struct task_ctx *task, u64 now, bool runs)
{
	if (now - task->use_last >= USE_WINDOW) {
		task->use = 0;
		task->use_first = now - USE_WINDOW;
	} else if (now - task->use_first >= USE_WINDOW_MAX) {
		u64 span = task->use_last - task->use_first;

		task->use = task->use / (span ?: 1) * (task->use_last - (now - USE_WINDOW));
		task->use_first = now - USE_WINDOW;
	}
	if (runs)
		task->use += (now - task->use_last) << TICK_SHIFT;
	task->use_last = now;
}

/* Returns the part of the window that a task has run, in levels (`SCHED_PRI_TICKS`). */
static inline u32 use_levels(const struct task_ctx *task)
{
	u64 span = task->use_last - task->use_first;
	u64 levels = (task->use >> TICK_SHIFT) * USE_RANGE / (span > HZ ? span : HZ);

	return levels < USE_RANGE ? levels : USE_RANGE - 1;
}

/* Returns the number of clock ticks until now (`ticks`). */
static inline u64 clock_ticks(void)
{
	return scx_bpf_now() / (NS_PER_SECOND / HZ);
}

/* Tells whether a task with this score and nice value is interactive (`sched_priority`). */
static inline bool is_interactive(u64 score, s32 nice)
{
	return interactivity && (s64)score + nice < (s64)interact;
}

/* Sets a task's priority by its history; 0 is the best (`sched_priority`). */
static inline void sched_priority(const struct task_struct *p, struct task_ctx *task)
{
	u64 score = sched_interact_score(task->runtime, task->slptime);
	s64 better = (s64)score + nice_of(p);

	if (has_idle_policy(p))
		task->prio = MIN_IDLE;
	else if (is_interactive(score, nice_of(p)))
		task->prio = better > 0 ? (u64)better * INTERACTIVE_RANGE / interact : 0;
	else
		task->prio = INTERACTIVE_RANGE + nice_index(p) + use_levels(task);
}

/* Returns the slice beside this number of other tasks, in ticks of 127 Hz (`tdq_slice`). */
static inline u64 tdq_slice(u32 others)
{
	if (others >= slice_min_divisor)
		return slice_ticks / slice_min_divisor;
	return others > 1 ? slice_ticks / others : slice_ticks;
}

/* Charges the running task for the ticks of 127 Hz that it has met (`sched_clock`). */
static inline void charge(struct task_struct *p, struct task_ctx *task)
{
	u64 ticks = pay_ticks(&task->charged_ns, STATHZ);

	sched_pctcpu_update(task, clock_ticks(), true);
	task->used += ticks;
	task->runtime += ticks * TICK_COST;
	if (ticks)
		sched_interact_update(task);
	sched_priority(p, task);
}

/* Adds a sleep to the history; a slice begins (`sched_wakeup`). */
static inline void sched_wakeup(struct task_struct *p, struct task_ctx *task)
{
	u64 now = clock_ticks();

	if (task->since) {
		task->slptime += (now - task->since) << TICK_SHIFT;
		sched_interact_update(task);
		task->used = 0;
	}
	task->since = 0;
	sched_pctcpu_update(task, now, false);
	sched_priority(p, task);
}

enum { INTERACTIVE, BATCH, IDLE, QUEUES };

#define BUCKETS 64
/* The number of levels of priority that share a list. */
#define LEVELS_PER_LIST 4

/* Returns the DSQ of one of a CPU's three queues (`tdq_realtime`, `tdq_timeshare`, `tdq_idle`). */
static inline u64 queue_of(s32 cpu, u32 queue)
{
	return (u64)cpu * 4 + queue;
}

/* Returns how many tasks wait for a CPU (`tdq_load`, without the running one). */
static inline u32 waiting(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(queue_of(cpu, INTERACTIVE)) +
	       scx_bpf_dsq_nr_queued(queue_of(cpu, BATCH)) +
	       scx_bpf_dsq_nr_queued(queue_of(cpu, IDLE));
}

/*
 * Returns the bucket of a task that is so many levels from the calendar's best priority
 * (`tdq_runq_add`).
 */
static inline u64 bucket_of(const struct calendar *calendar, u32 level)
{
	u64 bucket = calendar->insert + level * BUCKETS / BATCH_RANGE;
	u64 last = calendar->remove + BUCKETS - 1;

	return bucket < last ? bucket : last;
}

/*
 * Sets a task's place: at the tail of a list or, if it was preempted, at the head (`tdq_runq_add`).
 */
static inline void tdq_runq_add(struct task_ctx *task, s32 cpu, bool is_preempted)
{
	const struct calendar *calendar = &cpu_ctx(cpu)->calendar;
	u64 list = 0;

	task->queue = task->prio < INTERACTIVE_RANGE ? INTERACTIVE :
		      task->prio < MIN_IDLE ? BATCH : IDLE;
	if (task->queue == INTERACTIVE)
		list = task->prio / LEVELS_PER_LIST;
	else if (task->queue == BATCH)
		list = is_preempted ? calendar->remove :
				      bucket_of(calendar, task->prio - INTERACTIVE_RANGE);
	task->place = 2 * list + !is_preempted;
	task->cpu = cpu;
}

/* Returns the first bucket with a waiting task, `none` if there is none (`runq_choose_from`). */
static inline u64 first_bucket(s32 cpu, u64 none)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, BATCH));

	return p ? p->scx.dsq_vtime / 2 : none;
}

/*
 * Advances the calendar at a tick. The insertion index is at most one ahead of the bucket that is
 * emptied (`sched_clock`).
 */
static inline void advance(s32 cpu)
{
	struct calendar *calendar = &cpu_ctx(cpu)->calendar;

	if (calendar->insert != calendar->remove)
		return;
	calendar->insert++;
	if (first_bucket(cpu, ~0ULL) > calendar->remove)
		calendar->remove = calendar->insert;
}

/* Advances the removal index if a task has left an empty bucket behind (`tdq_runq_rem`). */
static inline void follow(s32 cpu)
{
	struct calendar *calendar = &cpu_ctx(cpu)->calendar;

	if (calendar->insert != calendar->remove && first_bucket(cpu, ~0ULL) > calendar->remove)
		calendar->remove++;
}

/* Tells whether a task comes before all that wait (`tdq_choose`). */
static inline bool is_first(const struct task_ctx *task, s32 cpu)
{
	u32 queue;

	bpf_for(queue, 0, QUEUES) {
		struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(queue_of(cpu, queue));

		if (p)
			return task->queue < queue ||
			       (task->queue == queue && task->place < p->scx.dsq_vtime);
	}
	return true;
}

/* Runs the first of a CPU's waiting tasks next (`tdq_choose`). */
static inline bool tdq_choose(s32 cpu)
{
	u32 queue;

	bpf_for(queue, 0, QUEUES) {
		if (!scx_bpf_dsq_nr_queued(queue_of(cpu, queue)) ||
		    !scx_bpf_dsq_move_to_local(queue_of(cpu, queue), 0))
			continue;
		if (queue == BATCH)
			follow(cpu);
		return true;
	}
	return false;
}

/*
 * Moves the first task of a queue that may run on another CPU there. The function is out of line
 * because its loop would be three times in each caller (`runq_steal_from`).
 */
static __noinline bool runq_steal_from(s32 from, u32 queue, s32 to)
{
	struct task_struct *p;
	bool has_moved = false;

	bpf_for_each(scx_dsq, p, queue_of(from, queue), 0) {
		struct task_ctx *task = ctx_of(p);

		if (!bpf_cpumask_test_cpu(to, p->cpus_ptr))
			continue;
		tdq_runq_add(task, to, false);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, task->place);
		has_moved = scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, queue_of(to, queue), 0);
		break;
	}
	if (has_moved && queue == BATCH)
		follow(from);
	return has_moved;
}

/* Moves one task between CPUs (`tdq_move`). */
static inline bool tdq_move(s32 from, s32 to)
{
	return runq_steal_from(from, INTERACTIVE, to) || runq_steal_from(from, BATCH, to) ||
	       runq_steal_from(from, IDLE, to);
}

/* Returns the priority of the running task (`tdq_lowpri`). */
static inline u32 prio_on(s32 cpu)
{
	return cpu_ctx(cpu)->curr ? cpu_ctx(cpu)->prio : NO_TASK;
}

/*
 * Returns the least loaded CPU for a task, with `at_once` only of those where it would run at once;
 * else -1. The function is out of line because `ops.select_cpu` calls it twice (`sched_lowest`).
 */
static __noinline s32 sched_lowest(struct task_struct *p, s32 prev_cpu, bool at_once)
{
	u32 step, least = ~0U, prio = ctx_of(p)->prio;
	s32 found = -1;

	bpf_for(step, 0, nr_cpus) {
		u32 cpu = next_cpu(prev_cpu, step);
		u32 load = nr_running(cpu);

		if (load < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) &&
		    (!at_once || prio_on(cpu) > prio)) {
			least = load;
			found = cpu;
		}
	}
	return found;
}

/* Moves one task from the most loaded CPU to the least loaded one (`sched_balance`). */
static inline void sched_balance(void)
{
	struct extremes extremes;
	s32 to;

	find_extremes(&extremes);
	to = extremes.laziest;
	cpu_ctx(0)->next_balance = scx_bpf_now() + balance_interval_ticks * NS_PER_SECOND / STATHZ *
				   (bpf_get_prandom_u32() % 1024 + 512) / 1024;
	if (balance && extremes.most > extremes.least && tdq_move(extremes.busiest, to))
		wake_up_for_work(to);
}

/* Finds work for a CPU that would idle, on the most loaded CPU, else on the next (`tdq_idled`). */
static inline bool tdq_idled(s32 cpu)
{
	struct extremes extremes;
	u32 step;

	if (!steal_idle)
		return false;
	find_extremes(&extremes);
	if (extremes.most >= steal_thresh && tdq_move(extremes.busiest, cpu))
		return true;
	bpf_for(step, 1, nr_cpus) {
		u32 other = next_cpu(cpu, step);

		if (nr_running(other) >= steal_thresh && tdq_move(other, cpu))
			return true;
	}
	return false;
}

s32 BPF_STRUCT_OPS(ule_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 found;

	if (!nr_running(prev_cpu) && clock_ticks() - ctx_of(p)->use_last <= affinity_ms)
		return prev_cpu;
	found = sched_lowest(p, prev_cpu, true);
	if (found < 0)
		found = sched_lowest(p, prev_cpu, false);
	return found < 0 ? prev_cpu : found;
}

/* Tells whether a task preempts the running one (`sched_shouldpreempt`). */
static bool sched_shouldpreempt(struct task_ctx *task, s32 cpu)
{
	u32 prio = prio_on(cpu);

	if (!wakeup_preemption || prio == NO_TASK || task->prio >= prio)
		return false;
	return prio == MIN_IDLE || (task->queue == INTERACTIVE && prio >= INTERACTIVE_RANGE);
}

void BPF_STRUCT_OPS(ule_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	bool is_woken = task->is_new || (enq_flags & SCX_ENQ_WAKEUP);

	if (is_woken)
		sched_wakeup(p, task);
	if (is_woken || !task->is_put || task->cpu != cpu)
		tdq_runq_add(task, cpu, false);
	task->is_new = task->is_put = false;
	scx_bpf_dsq_insert_vtime(p, queue_of(cpu, task->queue), SCX_SLICE_INF, task->place, enq_flags);
	if (is_woken && sched_shouldpreempt(task, cpu))
		resched_cpu(cpu);
	else
		wake_up_if_free(cpu);
}

/*
 * Puts the task that has run back: at the tail of its list or, if its slice is not over, at the
 * head (`sched_switch`).
 */
static void put_prev(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	charge(p, task);
	tdq_runq_add(task, cpu, !task->is_over);
	task->used = task->is_over ? 0 : task->used;
	task->is_over = false;
	task->is_put = true;
}

/* Notes that a task begins to run (`sched_switch`). */
static void set_next(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->curr = p->pid;
	here->prio = task->prio;
	task->charged_ns = scx_bpf_now();
	sched_pctcpu_update(task, clock_ticks(), task->is_put && task->cpu == cpu);
	task->is_put = false;
}

void BPF_STRUCT_OPS(ule_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = could_go_on(prev) ? ctx_of(prev) : NULL;
	bool goes_on = task && here->balance_due && !here->need_resched;

	if (here->balance_due)
		sched_balance();
	here->balance_due = here->need_resched = false;
	if (task && !goes_on)
		put_prev(prev, task, cpu);
	if (!task && !tdq_choose(cpu) && tdq_idled(cpu))
		tdq_choose(cpu);
	if (!task || (!goes_on && !is_first(task, cpu) && tdq_choose(cpu)))
		return;
	if (!goes_on)
		set_next(prev, task, cpu);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(ule_running, struct task_struct *p)
{
	set_next(p, ctx_of(p), scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(ule_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *here = cpu_ctx(cpu);
	struct task_ctx *task = ctx_of(p);
	bool is_time = scx_bpf_now() >= cpu_ctx(0)->next_balance;

	if (pay_ticks(&here->clock_ns, STATHZ))
		advance(cpu);
	charge(p, task);
	here->prio = task->prio;
	task->is_over = task->used >= tdq_slice(waiting(cpu));
	if (task->is_over)
		here->need_resched = true;
	if ((is_time && request_balance(cpu)) || here->need_resched)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(ule_stopping, struct task_struct *p, bool runnable)
{
	if (!ctx_of(p)->is_put)
		charge(p, ctx_of(p));
	cpu_ctx(scx_bpf_task_cpu(p))->curr = 0;
}

void BPF_STRUCT_OPS(ule_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		ctx_of(p)->since = clock_ticks();
}

bool BPF_STRUCT_OPS(ule_yield, struct task_struct *from, struct task_struct *to)
{
	ctx_of(from)->is_over = true;
	cpu_ctx(scx_bpf_task_cpu(from))->need_resched = true;
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* A child begins with its parent's history, and the parent pays a tick for it (`sched_fork`). */
s32 BPF_STRUCT_OPS_SLEEPABLE(ule_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *parent = ctx_of(bpf_get_current_task_btf()), *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	task->is_new = true;
	task->use_first = task->use_last = clock_ticks();
	if (args->fork) {
		sched_interact_fork(parent, task);
		parent->runtime += TICK_COST;
		sched_interact_update(parent);
	}
	sched_priority(p, task);
	return 0;
}

/* The time that a child has run counts as its parent's (`sched_exit`). */
void BPF_STRUCT_OPS(ule_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_struct *parent = p->real_parent;

	if (!parent || args->cancelled)
		return;
	ctx_of(parent)->runtime += ctx_of(p)->runtime;
	sched_interact_update(ctx_of(parent));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(ule_init)
{
	u32 cpu, queue;
	s32 err = 0;

	nr_cpus = scx_bpf_nr_cpu_ids();
	bpf_for(cpu, 0, nr_cpus) {
		bpf_for(queue, 0, QUEUES)
			err = err ?: scx_bpf_create_dsq(queue_of(cpu, queue), -1);
	}
	return err;
}

void BPF_STRUCT_OPS(ule_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(ule_ops,
	       .select_cpu	= (void *)ule_select_cpu,
	       .enqueue		= (void *)ule_enqueue,
	       .dispatch	= (void *)ule_dispatch,
	       .running		= (void *)ule_running,
	       .tick		= (void *)ule_tick,
	       .stopping	= (void *)ule_stopping,
	       .quiescent	= (void *)ule_quiescent,
	       .yield		= (void *)ule_yield,
	       .init_task	= (void *)ule_init_task,
	       .exit_task	= (void *)ule_exit_task,
	       .init		= (void *)ule_init,
	       .exit		= (void *)ule_exit,
	       .name		= "ule");
