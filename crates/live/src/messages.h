/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks put bytes into a pipe or a socket of this machine, and which take them out. It tells
 * of sleeps that did not happen: a reader that finds its bytes there does not sleep, but would
 * have, had it come earlier.
 *
 * Each program is left out where the kernel lacks its function. Their number of arguments differs
 * from kernel to kernel, so only those are named that all have, and the kernel is asked for the
 * result. A file that includes this has a function `message`, which sends the event
 * with the slots of a pipe, if they are known.
 *
 * There are two programs for each function, and one is loaded. Those at the function's end are
 * cheap, but the kernel does not let a task into one that another task of the CPU is in: where a
 * task is preempted there, and must wait, no other one's messages are seen meanwhile. Those of a
 * session, at its begin and its end (from Linux 6.14 on without a limit to the calls under way),
 * cannot be preempted.
 */
#ifndef FAIRGROUND_MESSAGES_H
#define FAIRGROUND_MESSAGES_H

#define MSG_PEEK 2
#define AF_INET 2

/* A stream's number: two streams of one machine hardly ever share it. */
static __always_inline u32 stream(u32 kind, u64 what)
{
	return (what * 0x9e3779b97f4a7c15 >> 32) + kind;
}

static __always_inline int moved(void *ctx, u32 how, u32 kind, u64 what, u32 slots)
{
	u64 result = 0;

	/* An int's upper half means nothing, and no call moves 2 GiB. */
	if (!what || bpf_get_func_ret(ctx, &result) || (s32)result <= 0)
		return 0;
	message(how, stream(kind, what), result, slots);
	return 0;
}

/* From Linux 7.0 on these have an argument. */
extern bool bpf_session_is_return___bare(void) __ksym __weak;
extern bool bpf_session_is_return___with(void *ctx) __ksym __weak;
extern __u64 *bpf_session_cookie___bare(void) __ksym __weak;
extern __u64 *bpf_session_cookie___with(void *ctx) __ksym __weak;

static __always_inline bool is_return(void *ctx)
{
	if (bpf_ksym_exists(bpf_session_is_return___with))
		return bpf_session_is_return___with(ctx);
	return bpf_session_is_return___bare();
}

/* What the kernel keeps of a call until its end. */
static __always_inline u64 *kept(void *ctx)
{
	if (bpf_ksym_exists(bpf_session_cookie___with))
		return bpf_session_cookie___with(ctx);
	return bpf_session_cookie___bare();
}

/* A call begins; 1 if its end does not matter. */
static __always_inline int call_begins(void *ctx, u32 kind, u64 what, u32 slots)
{
	u64 *call = kept(ctx);

	if (!what || !call)
		return 1;
	*call = (u64)slots << 32 | stream(kind, what);
	return 0;
}

static __always_inline int call_returns(struct pt_regs *ctx, u32 how)
{
	u64 *call = kept(ctx);
	s32 result = PT_REGS_RC(ctx);

	if (call && result > 0)
		message(how, *call, result, *call >> 32);
	return 0;
}

/* Both ends of a pipe are one file of the kernel's own file system. */
static __always_inline u64 pipe_of(struct kiocb *iocb)
{
	return BPF_CORE_READ(iocb, ki_filp, f_inode, i_ino);
}

/* A slot has room for a page. */
static __always_inline u32 slots_of(struct kiocb *iocb)
{
	struct pipe_inode_info *pipe = BPF_CORE_READ(iocb, ki_filp, private_data);

	return BPF_CORE_READ(pipe, max_usage);
}

SEC("fexit/anon_pipe_write")
int BPF_PROG(trace_anon_pipe_write, struct kiocb *iocb)
{
	return moved(ctx, MESSAGE_SENT, 0, pipe_of(iocb), slots_of(iocb));
}

SEC("fexit/anon_pipe_read")
int BPF_PROG(trace_anon_pipe_read, struct kiocb *iocb)
{
	return moved(ctx, MESSAGE_TAKEN, 0, pipe_of(iocb), 0);
}

SEC("kprobe.session/anon_pipe_write")
int trace_pipe_sends(struct pt_regs *ctx)
{
	struct kiocb *iocb = (void *)PT_REGS_PARM1(ctx);

	return is_return(ctx) ? call_returns(ctx, MESSAGE_SENT) :
				call_begins(ctx, 0, pipe_of(iocb), slots_of(iocb));
}

SEC("kprobe.session/anon_pipe_read")
int trace_pipe_takes(struct pt_regs *ctx)
{
	return is_return(ctx) ? call_returns(ctx, MESSAGE_TAKEN) :
				call_begins(ctx, 0, pipe_of((void *)PT_REGS_PARM1(ctx)), 0);
}

/* Before 6.15. */
SEC("fexit/pipe_write")
int BPF_PROG(trace_pipe_write, struct kiocb *iocb)
{
	return moved(ctx, MESSAGE_SENT, 0, pipe_of(iocb), slots_of(iocb));
}

SEC("fexit/pipe_read")
int BPF_PROG(trace_pipe_read, struct kiocb *iocb)
{
	return moved(ctx, MESSAGE_TAKEN, 0, pipe_of(iocb), 0);
}

/* What is sent goes to the queue of the other end. */
static __always_inline u64 unix_peer(struct socket *sock)
{
	struct unix_sock *own = (struct unix_sock *)BPF_CORE_READ(sock, sk);

	return (u64)BPF_CORE_READ(own, peer);
}

static __always_inline u64 unix_own(struct socket *sock)
{
	return (u64)BPF_CORE_READ(sock, sk);
}

SEC("fexit/unix_stream_sendmsg")
int BPF_PROG(trace_unix_sent, struct socket *sock)
{
	return moved(ctx, MESSAGE_SENT, 1, unix_peer(sock), 0);
}

SEC("kprobe.session/unix_stream_sendmsg")
int trace_unix_sends(struct pt_regs *ctx)
{
	return is_return(ctx) ? call_returns(ctx, MESSAGE_SENT) :
				call_begins(ctx, 1, unix_peer((void *)PT_REGS_PARM1(ctx)), 0);
}

SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(trace_unix_taken, struct socket *sock, struct msghdr *msg, u64 size, int flags)
{
	return flags & MSG_PEEK ? 0 : moved(ctx, MESSAGE_TAKEN, 1, unix_own(sock), 0);
}

SEC("kprobe.session/unix_stream_recvmsg")
int trace_unix_takes(struct pt_regs *ctx)
{
	if (is_return(ctx))
		return call_returns(ctx, MESSAGE_TAKEN);
	return PT_REGS_PARM4(ctx) & MSG_PEEK ?
		       1 :
		       call_begins(ctx, 1, unix_own((void *)PT_REGS_PARM1(ctx)), 0);
}

/* 127.0.0.0/8, as the network has its bytes. */
static __always_inline bool is_local(u32 address)
{
	return (address & 0xff) == 127;
}

/* The ports of a connection within this machine, the sender's first. */
static __always_inline u64 connection(struct sock *sk, bool sends)
{
	u32 address = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	u64 own = BPF_CORE_READ(sk, __sk_common.skc_num);
	u64 other = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));

	if (BPF_CORE_READ(sk, __sk_common.skc_family) != AF_INET || !is_local(address))
		return 0;
	return sends ? own << 16 | other : other << 16 | own;
}

SEC("fexit/tcp_sendmsg")
int BPF_PROG(trace_tcp_sent, struct sock *sk)
{
	return moved(ctx, MESSAGE_SENT, 2, connection(sk, true), 0);
}

SEC("kprobe.session/tcp_sendmsg")
int trace_tcp_sends(struct pt_regs *ctx)
{
	return is_return(ctx) ? call_returns(ctx, MESSAGE_SENT) :
				call_begins(ctx, 2, connection((void *)PT_REGS_PARM1(ctx), true), 0);
}

SEC("kprobe.session/tcp_recvmsg")
int trace_tcp_takes(struct pt_regs *ctx)
{
	if (is_return(ctx))
		return call_returns(ctx, MESSAGE_TAKEN);
	return PT_REGS_PARM4(ctx) & MSG_PEEK ?
		       1 :
		       call_begins(ctx, 2, connection((void *)PT_REGS_PARM1(ctx), false), 0);
}

/* Before 5.19 the flags were the next argument, which cannot be told apart here. */
SEC("fexit/tcp_recvmsg")
int BPF_PROG(trace_tcp_taken, struct sock *sk, struct msghdr *msg, u64 size, int flags)
{
	return flags & MSG_PEEK ? 0 : moved(ctx, MESSAGE_TAKEN, 2, connection(sk, false), 0);
}

#endif /* FAIRGROUND_MESSAGES_H */
