/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Callbacks take their arguments as they are, each in a register; `ctx` in a program's body is an
 * array of them. What the simulator starts has at most five; programs on functions of the kernel,
 * which it leaves out, may have up to twelve.
 */
#ifndef FAIRGROUND_BPF_TRACING_H
#define FAIRGROUND_BPF_TRACING_H

#define ___fairground_words(a, b, c, d, e)						\
	unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e
#define ___fairground_count(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, count, ...) count
#define ___fairground_args0()
#define ___fairground_args1(x) (void *)ctx[0]
#define ___fairground_args2(x, args...) ___fairground_args1(args), (void *)ctx[1]
#define ___fairground_args3(x, args...) ___fairground_args2(args), (void *)ctx[2]
#define ___fairground_args4(x, args...) ___fairground_args3(args), (void *)ctx[3]
#define ___fairground_args5(x, args...) ___fairground_args4(args), (void *)ctx[4]
#define ___fairground_args6(x, args...) ___fairground_args5(args), (void *)ctx[5]
#define ___fairground_args7(x, args...) ___fairground_args6(args), (void *)ctx[6]
#define ___fairground_args8(x, args...) ___fairground_args7(args), (void *)ctx[7]
#define ___fairground_args9(x, args...) ___fairground_args8(args), (void *)ctx[8]
#define ___fairground_args10(x, args...) ___fairground_args9(args), (void *)ctx[9]
#define ___fairground_args11(x, args...) ___fairground_args10(args), (void *)ctx[10]
#define ___fairground_args12(x, args...) ___fairground_args11(args), (void *)ctx[11]
#define ___fairground_args(args...)							\
	___fairground_count(0, ##args, ___fairground_args12, ___fairground_args11,	\
			    ___fairground_args10, ___fairground_args9, ___fairground_args8,	\
			    ___fairground_args7, ___fairground_args6, ___fairground_args5,	\
			    ___fairground_args4, ___fairground_args3, ___fairground_args2,	\
			    ___fairground_args1, ___fairground_args0)(args)

#define BPF_PROG(name, args...)								\
	name(___fairground_words(, , , , ));						\
	static inline __attribute__((always_inline)) typeof(name(0, 0, 0, 0, 0))	\
	____##name(unsigned long long *ctx, ##args);					\
	typeof(name(0, 0, 0, 0, 0)) name(___fairground_words(a, b, c, d, e))		\
	{										\
		unsigned long long ctx[12] = { a, b, c, d, e };				\
											\
		return ____##name(___fairground_passed(args));				\
	}										\
	static inline __attribute__((always_inline)) typeof(name(0, 0, 0, 0, 0))	\
	____##name(unsigned long long *ctx, ##args)
#define ___fairground_passed(args...)							\
	___fairground_count(0, ##args, ___fairground_with, ___fairground_with,		\
			    ___fairground_with, ___fairground_with, ___fairground_with,	\
			    ___fairground_with, ___fairground_with, ___fairground_with,	\
			    ___fairground_with, ___fairground_with, ___fairground_with,	\
			    ___fairground_with, ___fairground_alone)(args)
#define ___fairground_alone() ctx
#define ___fairground_with(args...) ctx, ___fairground_args(args)
#define BPF_PROG2(name, args...) BPF_PROG(name, ##args)

/* Programs that nothing starts here: it is enough that they compile. */
#define BPF_KPROBE(name, args...) name(struct pt_regs *ctx, ##args)
#define BPF_KRETPROBE(name, args...) name(struct pt_regs *ctx, ##args)
#define BPF_UPROBE(name, args...) name(struct pt_regs *ctx, ##args)
#define BPF_URETPROBE(name, args...) name(struct pt_regs *ctx, ##args)
#define BPF_KSYSCALL(name, args...) name(struct pt_regs *ctx, ##args)
#define BPF_KPROBE_SYSCALL BPF_KSYSCALL
#define PT_REGS_PARM1(ctx) 0UL
#define PT_REGS_PARM2(ctx) PT_REGS_PARM1(ctx)
#define PT_REGS_PARM3(ctx) PT_REGS_PARM1(ctx)
#define PT_REGS_PARM4(ctx) PT_REGS_PARM1(ctx)
#define PT_REGS_PARM5(ctx) PT_REGS_PARM1(ctx)
#define PT_REGS_RC(ctx) PT_REGS_PARM1(ctx)
#define PT_REGS_IP(ctx) PT_REGS_PARM1(ctx)

#endif /* FAIRGROUND_BPF_TRACING_H */
