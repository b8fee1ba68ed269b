// SPDX-License-Identifier: GPL-2.0-only
/*
 * spins: Never returns from its dispatch callback.
 *
 * Idea: A mistake that nobody inside the machine can end: the CPU loops with interrupts off.
 * Good at: Nothing.
 * Bad at: Everything: the machine stands still.
 * Origin: A test.
 * Differs: From every scheduler that somebody wants.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

#define ROUNDS (1 << 23)

static int nothing(u64 index, void *context)
{
	return 0;
}

static int inner(u64 index, void *context)
{
	bpf_loop(ROUNDS, nothing, NULL, 0);
	return 0;
}

void BPF_STRUCT_OPS(spins_dispatch, s32 cpu, struct task_struct *prev)
{
	/* The verifier allows both loops; together they last for days. */
	bpf_loop(ROUNDS, inner, NULL, 0);
}

void BPF_STRUCT_OPS(spins_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(spins,
	       .dispatch	= (void *)spins_dispatch,
	       .exit		= (void *)spins_exit,
	       .name		= "spins");
