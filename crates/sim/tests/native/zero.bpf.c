// SPDX-License-Identifier: GPL-2.0-only
/* Divides by zero, in all widths, by registers and by memory. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

volatile u64 wide = 100, wide_zero;
volatile u32 word = 50, word_zero, two = 2;
volatile u16 half = 25, half_zero;
volatile u8 byte = 9, byte_zero;
volatile struct {
	u64 wide[4];
	u32 word[4];
} zeros;

s32 BPF_STRUCT_OPS_SLEEPABLE(zero_init)
{
	bpf_printk("%llu %llu %u", wide / wide_zero, wide % wide_zero, word / word_zero);
	bpf_printk("%u %u %u", word % word_zero, half / half_zero, half % half_zero);
	bpf_printk("%u %u %u", word / zeros.word[two & 3], word % zeros.word[two & 3],
		   byte / byte_zero);
	bpf_printk("%llu %llu %llu", wide / zeros.wide[two & 3], wide % zeros.wide[two & 3],
		   wide / 7);
	return 0;
}

SCX_OPS_DEFINE(zero_ops, .init = (void *)zero_init, .name = "zero");
