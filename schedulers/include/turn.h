// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time slices in nanoseconds, charged as they are used, and a timer for each CPU that ends a turn
 * when its slice is used up, not at this kernel's next tick: it looks each millisecond, and at the
 * moment itself. Only who begins with less than that left may end late, by so much.
 *
 * The scheduler has defined before it includes this `struct task_ctx`, with `time_slice`,
 * `charged_ns` and `is_displaced`, `struct cpu_ctx`, and the knob `exact_slices`.
 */
#ifndef FAIRGROUND_TURN_H
#define FAIRGROUND_TURN_H

#include "cpu_ctx.h"

#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#endif

#define NS_PER_MS 1000000ULL
/* In what these schedulers call a millisecond. */
#define NS_PER_SHORT_MS (1ULL << 20)
/* Who has less than this left, 100 "µs" of 1024 ns, has used up its slice. */
#define RESCHED_NS (100 * 1024)

/* Who runs pays for the time since the last look. */
static inline void charge(struct task_ctx *task)
{
	u64 now = scx_bpf_now();

	if (!task->charged_ns)
		return;
	/* Clocks of two CPUs may differ a little. */
	task->time_slice -= now > task->charged_ns ? now - task->charged_ns : 0;
	task->charged_ns = now;
}

static inline bool is_used_up(const struct task_ctx *task)
{
	return task->time_slice < RESCHED_NS;
}

struct turn {
	struct bpf_timer timer;
	u64 ends_ns;	/* when the present turn has to end; 0: nobody of ours runs */
	u64 looked_ns;	/* when the timer has looked last; 0: it does not go */
	u32 vain_looks;	/* how often in a row it has found nobody */
	u64 rechecked_ns;	/* when it has chosen anew last, because of a displaced task */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct turn);
} turns SEC(".maps");

/*
 * A CPU chooses anew after a displacement at most this often: tasks that the kernel queues itself
 * (those that exit, or may not migrate) come back as displaced, too, and would go on displacing one
 * another.
 */
#define RECHECK_NS 500000

/* How soon the timer looks again: where somebody runs, and on an idle CPU. */
#define LOOK_NS NS_PER_MS
#define IDLE_LOOK_NS (4 * NS_PER_MS)
/* After so many looks on an idle CPU it stops, so that the CPU can sleep. */
#define VAIN_LOOKS 10
/* A timer that has not looked for so long has got lost. */
#define LOST_NS (100 * NS_PER_MS)

/* The scheduler is being unloaded: timers must not touch it. */
static bool turns_are_over;

/*
 * Whether the timer of a CPU where nobody runs stops. Where this may be interrupted, a turn can
 * begin meanwhile, which still sees it going: hence the second look.
 */
static inline bool has_stopped(struct turn *turn)
{
	if (++turn->vain_looks < VAIN_LOOKS)
		return false;
	turn->vain_looks = 0;
	turn->looked_ns = 0;
	barrier();
	return !turn->ends_ns;
}

/*
 * The timer sets itself again; to set it from the callbacks of a switch, which hold a lock, is many
 * times as expensive.
 */
static int look(void *map, int *cpu, struct turn *turn)
{
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
	bpf_timer_start(&turn->timer, next_ns, BPF_F_TIMER_CPU_PIN);
	return 0;
}

static inline u64 end_of(const struct task_ctx *task, u64 now)
{
	return now + (task->time_slice > 0 ? task->time_slice : 0);
}

/* Halves the slice between the parent, which runs, and its child; false if there is too little. */
static inline bool split_slice(struct task_ctx *parent, struct task_ctx *child)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct turn *turn = bpf_map_lookup_elem(&turns, &cpu);

	charge(parent);
	parent->time_slice >>= 1;
	child->time_slice = parent->time_slice;
	if (exact_slices && turn)
		turn->ends_ns = end_of(parent, scx_bpf_now());
	return !is_used_up(parent);
}

/*
 * A task's turn begins on a CPU, or goes on with a new slice. Whom a real-time task has displaced
 * comes back without having been queued; the CPU then chooses anew, for others may have come.
 */
static inline void begin_turn(s32 cpu, struct task_ctx *task)
{
	struct turn *turn = bpf_map_lookup_elem(&turns, &cpu);
	u64 now = scx_bpf_now();

	task->charged_ns = now;
	if (!turn)
		return;
	if (task->is_displaced && now - turn->rechecked_ns > RECHECK_NS) {
		turn->rechecked_ns = now;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	task->is_displaced = false;
	if (!exact_slices)
		return;
	turn->ends_ns = end_of(task, now);
	if (turn->looked_ns && now - turn->looked_ns < LOST_NS)
		return;
	turn->looked_ns = now;
	bpf_timer_start(&turn->timer, LOOK_NS, BPF_F_TIMER_CPU_PIN);
}

/* It stops to run there; when it is queued it is not displaced. */
static inline void leave_turn(s32 cpu, struct task_ctx *task, bool runnable)
{
	struct turn *turn = bpf_map_lookup_elem(&turns, &cpu);

	charge(task);
	task->charged_ns = 0;
	task->is_displaced = runnable;
	if (turn)
		turn->ends_ns = 0;
}

/* `ops.tick`, for when the timer is late or not used. */
static inline void check_slice(struct task_struct *p)
{
	charge(ctx_of(p));
	if (is_used_up(ctx_of(p)))
		scx_bpf_task_set_slice(p, 0);
}

/* For `ops.init`. */
static inline s32 make_turns(u32 nr_cpus)
{
	struct turn *turn;
	u32 cpu;
	s32 err;

	bpf_for(cpu, 0, nr_cpus) {
		turn = bpf_map_lookup_elem(&turns, &cpu);
		if (!turn)
			return -E2BIG;
		err = bpf_timer_init(&turn->timer, &turns, CLOCK_MONOTONIC) ?:
		      bpf_timer_set_callback(&turn->timer, look);
		if (err)
			return err;
	}
	return 0;
}

#endif /* FAIRGROUND_TURN_H */
