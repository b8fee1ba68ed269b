// SPDX-License-Identifier: GPL-2.0-only
/*
 * For a file that includes a scheduler whole, to ask its functions: the ops table is left out.
 *
 * After the scheduler, `#pragma pop_macro("SCX_OPS_DEFINE")` brings ops tables back. With OWN_CLOCK
 * the file itself sets the time, `asked_now`.
 */
#pragma push_macro("SCX_OPS_DEFINE")
#undef SCX_OPS_DEFINE
#define SCX_OPS_DEFINE(...)

#define say(what, number) bpf_printk("%s: %lld", what, (long long)(number))

#ifdef OWN_CLOCK
static u64 asked_now;
#define scx_bpf_now() asked_now
#endif

/* An ops table whose `enable` calls `ask()` for the first task. */
#define FACTS(scheduler, ...)									\
	void BPF_STRUCT_OPS(scheduler##_facts_enable, struct task_struct *p)			\
	{											\
		static bool has_asked;								\
												\
		if (!has_asked) {								\
			has_asked = true;							\
			ask(p);									\
		}										\
	}											\
	SCX_OPS_DEFINE(scheduler##_facts,							\
		       .enable		= (void *)scheduler##_facts_enable,			\
		       .exit		= (void *)scheduler##_exit,				\
		       .name		= #scheduler "_facts", ##__VA_ARGS__)
