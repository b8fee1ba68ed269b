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
