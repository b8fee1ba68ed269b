// SPDX-License-Identifier: GPL-2.0-only
/*
 * For a file that includes a scheduler whole, with another `init_task` that prints what a new task
 * begins with: CHILDREN_OPS(bore, …) is bore's ops table with the callbacks that all have.
 */
#include "facts.h"

#define CHILDREN_OPS(scheduler, ...)								\
	SCX_OPS_DEFINE(scheduler##_children,							\
		       .select_cpu	= (void *)scheduler##_select_cpu,			\
		       .enqueue		= (void *)scheduler##_enqueue,				\
		       .dispatch	= (void *)scheduler##_dispatch,				\
		       .running		= (void *)scheduler##_running,				\
		       .tick		= (void *)scheduler##_tick,				\
		       .stopping	= (void *)scheduler##_stopping,				\
		       .quiescent	= (void *)scheduler##_quiescent,			\
		       .yield		= (void *)scheduler##_yield,				\
		       .init_task	= (void *)scheduler##_children_init_task,		\
		       .init		= (void *)scheduler##_init,				\
		       .exit		= (void *)scheduler##_exit,				\
		       .name		= #scheduler "_children", ##__VA_ARGS__)
