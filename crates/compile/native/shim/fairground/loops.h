/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loops without an end that a verifier could see. Included after each header that limits them by an
 * instruction of BPF, so there is no guard.
 */

/* The kernel's limit of a loop with `may_goto`, counted over a whole callback. */
/* DIVERGES: a kernel limits each loop on its own, and from 6.17 on by time. */
#undef can_loop
#ifdef FAIRGROUND_RACES
#define can_loop fairground_may_loop()
#else
#define can_loop (fairground.loops_left > 0 && fairground.loops_left--)
#endif
#undef __cond_break
#define __cond_break(expr) ({ if (!can_loop) expr; })
