// SPDX-License-Identifier: GPL-2.0-only
/*
 * muqss: The Multiple Queue Skiplist Scheduler: BFS with a sorted queue for each cache.
 *
 * Idea: As in BFS, slices are equal, each new slice has a deadline, later for nicer tasks, and the
 *       earliest deadline runs. But a queue is sorted, and only the CPUs that share a cache share
 *       it. A CPU that chooses also looks at the first task of every other queue, from the nearest
 *       to the farthest, and takes the earliest of all. There is no other balancing.
 * Good at: Few tasks: a task that sleeps much keeps an early deadline, and every CPU takes what is
 *          due.
 * Bad at: Tasks that need more than a slice at a time: each refill puts them behind all others.
 *         Slices do not shrink with load. Each choice looks at every queue. Idle-policy tasks can
 *         starve.
 * Origin: Con Kolivas (2016), caches by Eduards Bezverhijs (2019). MuQSS 0.210 for Linux 5.12.
 * Family: 2016, Con Kolivas; after bfs
 * Queue: One for each cache, a skip list by virtual deadline; enqueue O(log n), pick O(queues).
 * Slice: Fixed, 6.29 ms by a clock that counts 2^30 / HZ ns for each tick, and therefore runs 7 %
 *        fast.
 * Wake-up: Takes an idle CPU, else the least loaded; preempts the first later deadline.
 * Balancing: Each choice looks at the first of every queue, from the nearest to the farthest.
 * Differs: The kernel's tree replaces the skip list. SCHED_ISO is missing. Siblings of a core are
 *          neither spared nor told apart from other CPUs that share the cache. A woken task takes
 *          its last CPU if that idles, else the idle one that sched_ext finds nearest. A CPU waits
 *          for a queue's lock; the original tries it. Real-time tasks have a class of their own; a
 *          task that one displaces stays on its CPU. With one CPU no wake-up is reported as
 *          synchronous, so a woken task preempts its waker: `messaging` takes 2.1 times as long as
 *          under the original. CPUs share one clock. A process that is created as its creator's
 *          sibling (CLONE_PARENT) counts as its child. Control groups have no effect: the original
 *          has none.
 */
#include <scx/common.bpf.h>

static inline u64 niffies(void);
#define TURN_NOW() niffies()

#include "include/near.h"
#include "include/scan.h"
#include "include/virtual_deadline.h"

char _license[] SEC("license") = "GPL";

/* A slice, in milliseconds of 2^20 ns. */
const volatile u64 rr_interval_ms = 6;
/*
 * The earliest deadline runs. Without this, CPUs look only at queues that are longer than their
 * own.
 */
const volatile bool interactive = true;
/*
 * Which CPUs share a queue: none (0), those of a cache (1, `mc`), those of a node (2), or all (3).
 */
const volatile u32 rqshare = 1;
/*
 * What sched_yield() does: nothing (0), another choice (1), or another choice without the rest of
 * the slice (2).
 */
const volatile u32 yield_type = 1;
/* A timer ends slices exactly. Without it, they end at this kernel's next tick. */
const volatile bool exact_slices = true;
/* A tick counts as 2^30 / HZ ns, 7 % more than it lasts, in slices and deadlines. */
const volatile bool long_jiffies = true;
/* A woken task may preempt. */
const volatile bool wakeup_preemption = true;
/* A CPU that has work looks at other queues, too. */
const volatile bool peeking = true;

UEI_DEFINE(uei);

/*
 * What a SCHED_IDLE task's key is later than its deadline: it comes after all others, and does not
 * wrap.
 */
#define IDLEPRIO_OFFSET (1ULL << 61)

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

#define TICK_NS (1000000000ULL / CONFIG_HZ)
#define JIFFY_NS ((1ULL << 30) / CONFIG_HZ)

/* The time of the last tick. */
static u64 tick_ns;

/*
 * Returns the time of the clock of slices and deadlines. At each tick it is set forward, as if
 * there were HZ ticks in 2^30 ns (`update_clocks`).
 */
static inline u64 niffies(void)
{
	u64 now = scx_bpf_now();

	if (long_jiffies)
		now += (now - tick_ns % TICK_NS) / TICK_NS * (JIFFY_NS - TICK_NS);
	return now;
}

/* Gives a task a new slice and deadline (`time_slice_expired`). */
static void refill(const struct task_struct *p, struct task_ctx *task)
{
	task->turn.time_slice = rr_interval_ms * NS_PER_SHORT_MS;
	task->deadline = niffies() + virtual_offset(p);
}

/* Returns the key by which a queue is sorted (`node->key` in `enqueue_task`). */
static u64 key_of(struct task_struct *p)
{
	return ctx_of(p)->deadline + (has_idle_policy(p) ? IDLEPRIO_OFFSET : 0);
}

s32 BPF_STRUCT_OPS(muqss_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = claim_idle_cpu(p, prev_cpu, wake_flags);

	task->synchronous = wake_flags & SCX_WAKE_SYNC;
	task->has_cpu = cpu >= 0;
	if (cpu >= 0)
		return cpu;
	return wake_flags & SCX_WAKE_FORK ? prev_cpu : least_loaded_near(p, prev_cpu);
}

/* Preempts on the first CPU that runs a worse task, from the chosen one on (`try_preempt`). */
static void try_preempt(struct task_struct *p, struct task_ctx *task, s32 chosen)
{
	u32 i;

	bpf_for(i, 0, NR_DISTANCES * nr_cpus) {
		s32 cpu = nth_nearest(chosen, i);

		if (cpu < 0 || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr) ||
		    (!interactive && cpu != chosen && nr_running_on(cpu) <= nr_running_on(chosen)))
			continue;
		if (is_before(p, task->deadline, cpu_ctx(cpu))) {
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
			return;
		}
	}
}

void BPF_STRUCT_OPS(muqss_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	scx_bpf_dsq_insert_vtime(p, group_of(cpu), SCX_SLICE_INF, key_of(p), enq_flags);
	load_join(&task->load, cpu, 1);
	if (wants_to_preempt(p, task, enq_flags))
		try_preempt(p, task, cpu);
}

/* The earliest task so far (`edt` in `earliest_deadline_task`). */
struct earliest {
	u64 key;
	s64 entries;	/* the number of tasks in its queue */
	u32 queue;
	s32 pid;	/* 0 if there is none yet */
};

/* Tells whether a key is earlier than the best one so far (`earliest_deadline_task`). */
static bool is_earlier(u64 key, const struct earliest *best)
{
	return !best->pid || time_before(key, best->key);
}

/*
 * Looks for an earlier task that may run on a CPU. Where caches count, a task that may not ends the
 * search in another queue. The function is out of line because the verifier would walk its loop
 * again for each queue (`earliest_deadline_task`).
 */
static __noinline void look_into(u32 queue, s32 cpu, struct earliest *best)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0) {
		if (!is_earlier(p->scx.dsq_vtime, best))
			return;
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			*best = (struct earliest){ p->scx.dsq_vtime, scx_bpf_dsq_nr_queued(queue),
						   queue, p->pid };
			return;
		}
		if (!interactive && queue != group_of(cpu))
			return;
	}
}

/*
 * Tells whether the first task of another queue may be earlier, which needs no lock
 * (`earliest_deadline_task`, `best_key`).
 */
static bool is_promising(u32 queue, s32 cpu, const struct earliest *best)
{
	struct task_struct *first;
	bool promising;

	if (best->pid && !peeking)
		return false;
	if (!interactive && (scx_bpf_dsq_nr_queued(queue) <= best->entries ||
			     (best->pid && distance(cpu, queue) == OTHER_NODE)))
		return false;
	bpf_rcu_read_lock();
	first = __COMPAT_scx_bpf_dsq_peek(queue);
	promising = first && is_earlier(first->scx.dsq_vtime, best);
	bpf_rcu_read_unlock();
	return promising;
}

/*
 * Finds the earliest task of all queues and of the running one, which is the last of its own queue.
 * The function is out of line because its caller tries it in a loop (`earliest_deadline_task`).
 */
static __noinline void find_earliest(s32 cpu, struct task_struct *prev, struct earliest *best)
{
	u32 i, own = group_of(cpu);

	look_into(own, cpu, best);
	if (prev && is_earlier(key_of(prev), best))
		*best = (struct earliest){ key_of(prev), 0, own, prev->pid };
	best->entries = scx_bpf_dsq_nr_queued(own) + !!prev;
	bpf_for(i, 0, NR_DISTANCES * nr_cpus) {
		s32 queue = nth_nearest(cpu, i);

		if (queue < 0 || queue == own || group_of(queue) != queue)
			continue;
		if (is_promising(queue, cpu, best))
			look_into(queue, cpu, best);
	}
}

void BPF_STRUCT_OPS(muqss_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 i;

	prev = contender(prev);
	bpf_for(i, 0, ATTEMPTS) {
		struct earliest best = {};

		find_earliest(cpu, prev, &best);
		if (!best.pid)
			return;
		if (prev && best.pid == prev->pid)
			break;
		if (scx_bpf_dsq_move_to_local(best.queue, 0))
			return;
	}
	if (prev)
		keep(cpu, prev);
}

void BPF_STRUCT_OPS(muqss_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);

	load_join(&ctx_of(p)->load, cpu, 1);
	note_running(cpu, p, ctx_of(p));
}

void BPF_STRUCT_OPS(muqss_tick, struct task_struct *p)
{
	tick_ns = scx_bpf_now();
	check_slice(p, &ctx_of(p)->turn);
}

void BPF_STRUCT_OPS(muqss_stopping, struct task_struct *p, bool runnable)
{
	note_stopping(scx_bpf_task_cpu(p), p, runnable);
}

void BPF_STRUCT_OPS(muqss_quiescent, struct task_struct *p, u64 deq_flags)
{
	load_leave(&ctx_of(p)->load);
	check_sleeper(p, deq_flags);
}

bool BPF_STRUCT_OPS(muqss_yield, struct task_struct *from, struct task_struct *to)
{
	if (yield_type == 2)
		refill(from, ctx_of(from));
	if (yield_type)
		scx_bpf_task_set_slice(from, 0);
	return false;
}

/* Gives a task a slice of its own or, if it is new, a part of its maker's (`sched_fork`). */
static inline s32 sched_fork(struct task_struct *p, bool is_forked)
{
	struct task_ctx *task = make_ctx(p);

	if (!task)
		return -ENOMEM;
	refill(p, task);
	if (is_forked)
		inherit(p, task);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(muqss_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	return sched_fork(p, args->fork);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(muqss_init)
{
	s32 err;
	u32 cpu;

	nr_cpus = scx_bpf_nr_cpu_ids();
	make_ratios(128);
	make_groups(rqshare);
	err = init_slice_timers();
	bpf_for(cpu, 0, nr_cpus) {
		if (group_of(cpu) == cpu)
			err = err ?: scx_bpf_create_dsq(cpu, -1);
	}
	return err;
}

void BPF_STRUCT_OPS(muqss_exit, struct scx_exit_info *ei)
{
	turns_are_over = true;
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(muqss_ops,
	       .select_cpu	= (void *)muqss_select_cpu,
	       .enqueue		= (void *)muqss_enqueue,
	       .dispatch	= (void *)muqss_dispatch,
	       .running		= (void *)muqss_running,
	       .tick		= (void *)muqss_tick,
	       .stopping	= (void *)muqss_stopping,
	       .quiescent	= (void *)muqss_quiescent,
	       .yield		= (void *)muqss_yield,
	       .init_task	= (void *)muqss_init_task,
	       .init		= (void *)muqss_init,
	       .exit		= (void *)muqss_exit,
	       .name		= "muqss");
