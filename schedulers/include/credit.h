// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bidding, as in Baby's variant cr. A task has credit, which its CPU pays from its cash, and offers
 * a part of it; the best offer wins and is paid. Losers bid larger parts. The scheduler has defined
 * the knobs, and `struct task_ctx` and `struct cpu_ctx`, before it includes this.
 */
#ifndef FAIRGROUND_CREDIT_H
#define FAIRGROUND_CREDIT_H

/* Percent of a task's credit. */
#define MIN_BID 10
#define MAX_BID 100

/* What it would pay now. */
static inline u64 offer_of(const struct task_ctx *task)
{
	return task->credit * task->bid / 100;
}

/* Cash of a CPU becomes a task's credit (cr). */
static inline void pay(struct cpu_ctx *here, struct task_ctx *task, u32 runnable)
{
	u64 payment = runnable > 1 ? here->cash / runnable : cr_payment;

	payment = payment < cr_payment ? payment : cr_payment;
	payment = payment < here->cash ? payment : here->cash;
	here->cash -= payment;
	task->credit += payment;
}

/* The winner pays what it has offered (cr). */
static inline void charge_offer(struct cpu_ctx *here, struct task_ctx *task)
{
	u64 offer = offer_of(task);

	task->credit -= offer;
	here->cash += offer;
	task->bid = MIN_BID;
}

/* Who loses bids more. */
static inline void raise_bid(struct task_ctx *task)
{
	task->bid += task->bid < MAX_BID ? MIN_BID : 0;
}

/* After some turns the CPU has new cash, and all of its tasks are paid. */
static __noinline void pay_all(struct task_struct *curr, s32 cpu)
{
	u32 runnable = nr_running(cpu);
	struct task_struct *p;

	cpu_ctx(cpu)->cash = cr_cash;
	pay(cpu_ctx(cpu), ctx_of(curr), runnable);
	bpf_for_each(scx_dsq, p, cpu, 0)
		pay(cpu_ctx(cpu), ctx_of(p), runnable);
}

/* The winner runs. */
static inline void take_turn(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	charge_offer(here, task);
	if (++here->turns < cr_turns)
		return;
	here->turns = 0;
	pay_all(p, cpu);
}

#endif /* FAIRGROUND_CREDIT_H */
