// SPDX-License-Identifier: GPL-2.0-only
// Forges its trial's answer: it makes the simulator's `write` its own, so that the answer's own
// beginning, with the trial's identity, stays, and the rest is another one. @MEASURED@ and @PRINTED@
// are statements that write what is claimed.
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

#ifdef __x86_64__
#define ANSWER 3
#define PAGE 4095ULL

static long call(long number, long a, long b, long c)
{
	long result;

	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c)
		     : "rcx", "r11", "memory");
	return result;
}

static void out(const char *text, u64 bytes)
{
	while (bytes) {
		long written = call(1, ANSWER, (long)text, bytes);

		if (written <= 0)
			return;
		text += written;
		bytes -= written;
	}
}

static void say(const char *text)
{
	u64 bytes = 0;

	while (text[bytes])
		bytes++;
	out(text, bytes);
}

static char piece[1 << 20];

/* Says a text again and again, `total` bytes in all. */
static void repeat(const char *text, u64 total)
{
	u64 bytes = 0, filled = 0;

	while (text[bytes])
		bytes++;
	for (; filled + bytes < sizeof(piece); filled += bytes)
		for (u64 at = 0; at < bytes; at++)
			piece[filled + at] = text[at];
	for (; total >= filled; total -= filled)
		out(piece, filled);
	for (; total >= bytes; total -= bytes)
		out(text, bytes);
}

static const char *find(const char *in, u64 bytes, const char *word)
{
	for (u64 from = 0; from < bytes; from++) {
		u64 at = 0;

		while (word[at] && from + at < bytes && in[from + at] == word[at])
			at++;
		if (!word[at])
			return in + from;
	}
	return 0;
}

static long forged_write(int fd, const char *answer, u64 bytes)
{
	const char *before, *printed;

	if (fd != ANSWER || bytes < 40)
		return call(1, fd, (long)answer, bytes);
	before = find(answer, bytes, "\"before\":");
	printed = find(answer, bytes, "\"printed\":");
	/* {"trial":"0123456789abcdef" */
	out(answer, 27);
	say(",\"outcome\":{\"kind\":\"ok\"},\"measured\":{");
	@MEASURED@
	say("},\"trace\":null,");
	out(before, printed - before);
	say("\"printed\":[");
	@PRINTED@
	say("],\"notes\":[]}");
	return bytes;
}

static long kept(void *memory, u64 bytes)
{
	return 0;
}

static int same(const char *one, const char *other)
{
	while (*one && *one == *other)
		one++, other++;
	return *one == *other;
}

/* Tells whether a program begins here that has code at this address, and not one inside it. */
static int is_program_of(u64 base, u64 code)
{
	if (*(volatile u32 *)base != 0x464c457f)
		return 0;
	for (u16 at = 0; at < *(u16 *)(base + 56); at++) {
		u64 segment = base + *(u64 *)(base + 32) + at * 56, begin = base + *(u64 *)(segment + 16);

		if (*(u32 *)segment == 1 && code >= begin && code < begin + *(u64 *)(segment + 40))
			return 1;
	}
	return 0;
}

/* Finds the program that called, and in its table of functions those that are replaced. */
static void arm(void)
{
	u64 code = (u64)fairground.calls.scx_bpf_dsq_insert___v2___compat, base = code & ~PAGE;
	u64 *dynamic = 0, value[64] = {0};

	if (!base)
		return;
	while (!is_program_of(base, code))
		base -= PAGE + 1;
	for (u16 at = 0; at < *(u16 *)(base + 56); at++) {
		u64 segment = base + *(u64 *)(base + 32) + at * 56;

		if (*(u32 *)segment == 2)
			dynamic = (u64 *)(base + *(u64 *)(segment + 16));
	}
	for (; dynamic[0]; dynamic += 2)
		if (dynamic[0] < 64)
			value[dynamic[0]] = dynamic[1] + (dynamic[1] < base ? base : 0);
	for (int which = 0; which < 2; which++) {
		u64 table = value[which ? 23 : 7], size = value[which ? 2 : 8];

		if (size > base)
			size -= base;
		for (u64 entry = table; table && entry < table + size; entry += 24) {
			u64 info = *(u64 *)(entry + 8), place = base + *(u64 *)entry;
			const char *name = (const char *)(value[5] + *(u32 *)(value[6] + (info >> 32) * 24));
			int is_write;

			if ((u32)info != 6 && (u32)info != 7)
				continue;
			is_write = same(name, "write");
			if (!is_write && !same(name, "munmap"))
				continue;
			call(10, place & ~PAGE, 2 * (PAGE + 1), 3);
			*(u64 *)place = is_write ? (u64)forged_write : (u64)kept;
		}
	}
}
#else
static void arm(void) {}
#endif

void BPF_STRUCT_OPS(forge_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 5000000, enq_flags);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(forge_init)
{
	arm();
	return 0;
}

void BPF_STRUCT_OPS(forge_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(forge_ops,
	       .enqueue = (void *)forge_enqueue,
	       .init = (void *)forge_init,
	       .exit = (void *)forge_exit,
	       .name = "forge");
