// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time slices in nanoseconds, charged as they are used, and ended by a timer when they are used up.
 *
 * Each CPU's timer looks each millisecond, and at the moment itself. Only a task that begins with
 * less than a millisecond left may end late, by as much.
 */
#ifndef FAIRGROUND_TURN_H
#define FAIRGROUND_TURN_H

#include "slice_timer.h"

#define NS_PER_MS 1000000ULL
/* The length of what these schedulers call a millisecond. */
#define NS_PER_SHORT_MS (1ULL << 20)
/* A task with less than this left, 100 "µs" of 1024 ns, has used up its slice. */
#define RESCHED_NS (100 * 1024)

/* The clock by which tasks pay. A scheduler may have its own. */
#ifndef TURN_NOW
#define TURN_NOW() scx_bpf_now()
#endif

/* The scheduler's knob: a slice ends exactly, by the timer. */
extern const volatile bool exact_slices;

struct task_turn {
	s64 time_slice;		/* what is left of it, ns */
	u64 charged_ns;		/* the time by that clock until which the running task has paid, or 0 */
};

/* The present turn on a CPU. */
struct cpu_turn {
	u64 ends_ns;	/* when it has to end; 0 if no task of ours runs */
	u64 looked_ns;	/* when the timer looked last; 0 if it is stopped */
	u32 vain_looks;	/* how often in a row the timer has found no task */
};

static struct cpu_turn turns[MAX_CPUS];

/* How soon the timer looks again: where a task runs, and on an idle CPU. */
#define LOOK_NS NS_PER_MS
#define IDLE_LOOK_NS (4 * NS_PER_MS)
/* After this many looks on an idle CPU it stops, so that the CPU can sleep. */
#define VAIN_LOOKS 10
/* A timer that has not looked for this long has been lost. */
#define LOST_NS (100 * NS_PER_MS)

/* The scheduler is being unloaded: timers must not touch it. */
static bool turns_are_over;

/* Charges the running task for the time since the last look (`update_cpu_clock_switch`). */
static inline void charge(struct task_turn *task)
{
	u64 now = TURN_NOW();

	if (!task->charged_ns)
		return;
	/* Clocks of two CPUs may differ a little. */
	task->time_slice -= now > task->charged_ns ? now - task->charged_ns : 0;
	task->charged_ns = now;
}

/* Tells whether the slice is over (`RESCHED_US`, `RESCHED_NS`). */
static inline bool is_used_up(const struct task_turn *task)
{
	return task->time_slice < RESCHED_NS;
}

/*
 * Tells whether the timer of a CPU where no task runs stops. Where this may be interrupted, a turn
 * can begin meanwhile, which still sees the timer active: hence the second look.
 */
static inline bool has_stopped(struct cpu_turn *turn)
{
	if (++turn->vain_looks < VAIN_LOOKS)
		return false;
	turn->vain_looks = 0;
	turn->looked_ns = 0;
	barrier();
	return !turn->ends_ns;
}

/*
 * Looks whether the present turn is over, and starts the timer again (`hrexpiry`, `hrtick`). The
 * callbacks of a switch hold a lock: to start a timer there is many times as expensive.
 */
static int slice_timer_fires(void *map, int *cpu, struct slice_timer *timer)
{
	struct cpu_turn *turn = of_cpu(turns, *cpu);
	u64 now = scx_bpf_now(), ends_ns = turn->ends_ns, next_ns = ends_ns ? LOOK_NS : IDLE_LOOK_NS;

	if (turns_are_over || (!ends_ns && has_stopped(turn)))
		return 0;
	turn->looked_ns = now;
	if (ends_ns)
		turn->vain_looks = 0;
	if (ends_ns && ends_ns <= now)
		scx_bpf_kick_cpu(*cpu, SCX_KICK_PREEMPT);
	else if (ends_ns && ends_ns - now < LOOK_NS)
		next_ns = ends_ns - now;
	bpf_timer_start(&timer->timer, next_ns, BPF_F_TIMER_CPU_PIN);
	return 0;
}

static inline u64 end_of(const struct task_turn *task, u64 now)
{
	return now + (task->time_slice > 0 ? task->time_slice : 0);
}

/* Halves the slice between parent and child; false if there is too little (`sched_fork`). */
static inline bool halve_slice(struct task_turn *parent, struct task_turn *child)
{
	parent->time_slice >>= 1;
	child->time_slice = parent->time_slice;
	return !is_used_up(parent);
}

/* Does the same while the parent runs and has paid for a part of its turn. */
static inline bool split_slice(struct task_turn *parent, struct task_turn *child)
{
	s32 cpu = bpf_get_smp_processor_id();
	bool is_enough;

	charge(parent);
	is_enough = halve_slice(parent, child);
	if (exact_slices)
		of_cpu(turns, cpu)->ends_ns = end_of(parent, scx_bpf_now());
	return is_enough;
}

/* Begins a task's turn on a CPU, or continues it with a new slice (`set_rq_task`). */
static inline void begin_turn(s32 cpu, struct task_turn *task)
{
	struct cpu_turn *turn = of_cpu(turns, cpu);
	u64 now = scx_bpf_now();

	task->charged_ns = TURN_NOW();
	if (!exact_slices)
		return;
	turn->ends_ns = end_of(task, now);
	if (turn->looked_ns && now - turn->looked_ns < LOST_NS)
		return;
	turn->looked_ns = now;
	start_slice_timer(cpu, LOOK_NS, BPF_F_TIMER_CPU_PIN);
}

/* Ends a task's turn on a CPU. If the task is runnable, it is queued next. */
static inline void leave_turn(s32 cpu, struct task_struct *p, struct task_turn *task, bool runnable)
{
	charge(task);
	task->charged_ns = 0;
	of_cpu(turns, cpu)->ends_ns = 0;
	queue_again(p, runnable);
}

/*
 * Ends a slice at a tick if the timer is late or not used. For `ops.tick` (`task_tick`,
 * `scheduler_task_tick`).
 */
static inline void check_slice(struct task_struct *p, struct task_turn *task)
{
	charge(task);
	if (is_used_up(task))
		scx_bpf_task_set_slice(p, 0);
}

#endif /* FAIRGROUND_TURN_H */
