// SPDX-License-Identifier: GPL-2.0-only
/* Why a scheduler had to go, written down for its loader. */
#ifndef FAIRGROUND_EXIT_H
#define FAIRGROUND_EXIT_H

UEI_DEFINE(uei);

/* For `ops.exit`. */
void BPF_STRUCT_OPS(record_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

#endif /* FAIRGROUND_EXIT_H */
