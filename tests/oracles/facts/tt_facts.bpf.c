// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of tt what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "tt.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define US 1000ULL
#define NOW (100000 * MS_NS)

static void ask_hrrn(void)
{
	struct fair_task ran = { .tt.life = { 0, 1000 * MS_NS } };

	say("1 s of 4 s", value_of(&ran, 4000 * MS_NS));
	say("1 s of 1 ns less", value_of(&ran, 4000 * MS_NS - 1));
	ran.tt.life.vruntime |= YIELD_MARK;
	say("yielded", value_of(&ran, 4000 * MS_NS) > 1000000);
}

static void ask_charge(void)
{
	static const s32 prios[] = { -20, -15, -10, -5, 0, 5, 10, 19 };
	u32 i;

	bpf_for(i, 0, sizeof(prios) / sizeof(prios[0])) {
		bpf_printk("4 ms at %d, 250 Hz: %llu", prios[i], convert_to_vruntime(4 * MS_NS, prios[i], 250));
		bpf_printk("1 ms at %d, 1000 Hz: %llu", prios[i], convert_to_vruntime(MS_NS, prios[i], 1000));
	}
	say("0.5 ms at -20, 250 Hz", convert_to_vruntime(MS_NS / 2, -20, 250));
}

/* The type of who has slept and run so long, and whose bursts are too long for REALTIME. */
static u32 type_after(u64 wait_ms, u64 ran_ms)
{
	struct tt_node it = {
		.life.vruntime = ran_ms * MS_NS, .wait_time = wait_ms * MS_NS, .type = NO_TYPE,
		.prev_wait_time = 10 * MS_NS, .burst = 5 * MS_NS, .prev_burst = 5 * MS_NS,
	};

	return type_of(&it, wait_ms ? 30 * MS_NS : 0, false, NOW);
}

/* Of who has slept for 10 ms and then for so long, and has run for 3 ms and then for so long. */
static bool is_realtime_after(u64 age_ms, u64 wait_us, u64 burst_us)
{
	struct tt_node it = {
		.life.vruntime = 200 * MS_NS, .wait_time = 800 * MS_NS,
		.created = NOW - age_ms * MS_NS, .prev_wait_time = 10 * MS_NS,
		.burst = burst_us * US, .prev_burst = 3 * MS_NS,
	};

	return type_of(&it, wait_us * US, false, NOW) == REALTIME;
}

static void ask_types(void)
{
	say("type without sleep", type_after(0, 1000));
	say("type at 80 %", type_after(1000, 4000));
	say("type at 60 %", type_after(1000, 1500));
	say("type at 33 %", type_after(2000, 1000));
	say("10.5 ms, 2 ms", is_realtime_after(1000, 10500, 2000));
	say("10.9 ms, 2 ms", is_realtime_after(1000, 10900, 2000));
	say("10.5 ms, 2 ms, age 0.4 s", is_realtime_after(400, 10500, 2000));
	say("10.5 ms, 4.1 ms", is_realtime_after(1000, 10500, 4100));
}

static void ask_sticky(void)
{
	struct tt_node it = { .life.vruntime = 1000 * MS_NS, .type = REALTIME, .rt_sticky = 4 };
	u32 i;

	bpf_for(i, 1, 6) {
		detect_type(&it, 0, false, NOW);
		bpf_printk("type after %u failures: %u", i, it.type);
	}
	end_burst(&it);
	say("type of a sleeper", it.type);
}

/* Who has run for 2 s less the last 3 ms, and is CPU_BOUND, falls asleep. */
static void ask_sleep(struct task_struct *p)
{
	u64 now = scx_bpf_now();
	struct tt_node it = {
		.life = { now - 2000 * MS_NS, 1997 * MS_NS }, .exec_start = now - 3 * MS_NS,
		.type = CPU_BOUND, .curr_burst = 7 * MS_NS, .is_current = true,
	};

	leave(p, &it, true);
	say("its burst", it.burst);
	say("its next burst", it.curr_burst);
	say("what it has run", it.life.vruntime);
	say("its type", it.type);
	end_sleep(&it, true, now + 5 * MS_NS);
	say("it has slept since the boot", it.wait_time == now + 5 * MS_NS);
}

/* Who is REALTIME runs for 1 ms, of which it pays for nothing, and is accounted for twice. */
static void ask_accounts(struct task_struct *p)
{
	u64 now = scx_bpf_now();
	struct tt_node it = {
		.life = { now - 2000 * MS_NS, 1000 * MS_NS }, .exec_start = now - MS_NS,
		.type = REALTIME, .rt_sticky = RT_STICKY,
	};

	update_curr_tt(p, &it, true);
	say("a REALTIME burst", it.curr_burst);
	update_curr_tt(p, &it, true);
	say("paid in two accounts", it.life.vruntime - 1000 * MS_NS);
}

/* Who has yielded, and is CPU_BOUND otherwise. */
static void ask_mark(void)
{
	struct tt_node it = { .life.vruntime = 1000 * MS_NS | YIELD_MARK };

	say("type of who has yielded", type_of(&it, 0, false, NOW));
}

/* After an account that makes the window too long, by 1 ns. */
static void ask_window(struct task_struct *p, const char *what, u64 vruntime)
{
	u64 now = scx_bpf_now(), most = tt_max_lifetime_ms << 20;
	struct tt_node it = {
		.life = { now - most - 1, vruntime - 1 }, .exec_start = now - 1,
		.created = now, .type = NO_TYPE,
	};

	update_curr_tt(p, &it, false);
	say(what, it.life.vruntime);
}

static void ask(struct task_struct *p)
{
	ask_hrrn();
	ask_charge();
	ask_types();
	ask_sticky();
	ask_sleep(p);
	ask_accounts(p);
	ask_mark();
	ask_window(p, "half of a window", 11534336000);
	ask_window(p, "a quarter of a window", 5767168000);
	ask_window(p, "a tenth of a window", 2306867200);
	ask_window(p, "all of a window", 23068672000);
}

FACTS(tt, .init_task = (void *)tt_init_task, .init = (void *)tt_init);
