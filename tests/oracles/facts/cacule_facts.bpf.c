// SPDX-License-Identifier: GPL-2.0-only
/* Asks the functions of cacule what they make of given numbers, and prints the answers. */
#include <scx/common.bpf.h>
#include "facts.h"
#include "cacule.bpf.c"
#pragma pop_macro("SCX_OPS_DEFINE")

#define MS 1000000ULL
#define US 1000ULL
#define LIFE (10000 * MS)

/* Somebody of our own making who wakes up, and who runs meanwhile. */
static struct task_struct asked;
static struct fair_task waiting;
static struct running curr;

static void ask_score(void)
{
	static const u32 ran_ms[] = { 100, 500, 1000, 2000, 2500, 5000, 7500, 8000, 9000, 10000 };
	u32 i;

	bpf_for(i, 0, sizeof(ran_ms) / sizeof(ran_ms[0]))
		bpf_printk("ran %u: %lld", ran_ms[i], calc_interactivity(LIFE, ran_ms[i] * MS));
	say("just born", calc_interactivity(0, 0));
	say("yielded", calc_interactivity(LIFE, MS | YIELD_MARK));
}

static void ask_window(const char *what, u64 vruntime)
{
	struct lifetime life = { 0, vruntime };
	u64 most = cacule_max_lifetime_ms << 20;

	normalize_lifetime(&life, cacule_max_lifetime_ms, most + 1);
	say(what, life.vruntime);
}

static void ask_elapsed(void)
{
	static const u32 us[] = { 100, 500, 1000, 1500, 2000, 3000, 6000, 10000, 30000 };
	u32 i;

	bpf_for(i, 0, sizeof(us) / sizeof(us[0])) {
		bpf_printk("cold after %u: %lld", us[i], calc_cache_score(us[i] * US));
		bpf_printk("starved after %u: %lld", us[i], calc_starve_score(us[i] * US));
	}
	say("cold after 0", calc_cache_score(0));
	say("starved after 0", calc_starve_score(0));
}

/* Whether somebody who has run so long of 10 s preempts somebody who has. */
static bool preempts_at(u64 waiting_ns, u64 curr_ns)
{
	waiting.life.start = curr.start = scx_bpf_now() - LIFE;
	waiting.life.vruntime = waiting_ns;
	curr.vruntime = curr_ns;
	curr.is_set = true;
	return check_preempt_wakeup(&asked, &waiting, &curr);
}

static void ask(struct task_struct *p)
{
	ask_score();
	ask_window("half of a window", 11534336000);
	ask_window("a quarter of a window", 5767168000);
	ask_window("all of a window", 23068672000);
	ask_elapsed();
	say("32 against 32", preempts_at(10000 * US, 10000 * US));
	say("32 against 33", preempts_at(10000 * US, 10080 * US));
	say("33 against 32", preempts_at(10080 * US, 10000 * US));
}

FACTS(cacule, .init = (void *)cacule_init);
