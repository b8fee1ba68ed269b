/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CO-RE without relocations: the scheduler is compiled against the very layout that it runs with,
 * so an offset is an offset and what the compiler accepts exists. What a scheduler's own form of a
 * type has, and the kernel has not, stands out by its alignment or value, see `flavors.rs`.
 */
#ifndef FAIRGROUND_BPF_CORE_READ_H
#define FAIRGROUND_BPF_CORE_READ_H

#define bpf_core_field_exists(field...) (__alignof__(___fairground_field(field)) != 2048)
#define bpf_core_field_size(field...) sizeof(___fairground_field(field))
#define bpf_core_field_offset(field...) ((unsigned long)&___fairground_field(field))
#define bpf_core_type_exists(type) (fairground_type_size(type) != 0)
#define bpf_core_type_matches(type) 1
#define bpf_core_type_size(type) fairground_type_size(type)
#define bpf_core_enum_value_exists(type, value) ((unsigned long long)(value) != 0xfa12000000000aULL)
#define bpf_core_enum_value(type, value) (value)
#define bpf_core_cast(pointer, type) ((typeof(type) *)(pointer))
#define bpf_rdonly_cast(pointer, id) ((void *)(pointer))

/* Two forms are in use: `(type, field)` and `(pointer->field)`. */
#define ___fairground_field1(field) (field)
#define ___fairground_field2(type, field) (((typeof(type) *)0)->field)
#define ___fairground_pick(_1, _2, name, ...) name
#define ___fairground_field(field...) \
	___fairground_pick(field, ___fairground_field2, ___fairground_field1)(field)

/* What lies below is never mapped. The kernel's reads fail there and give zeros. */
#define FAIRGROUND_LOWEST_ADDRESS 4096UL

#define bpf_core_read(to, size, from) bpf_probe_read_kernel(to, size, (const void *)(from))
#define bpf_core_read_str(to, size, from) bpf_probe_read_kernel_str(to, size, (const void *)(from))
#define bpf_core_read_user(to, size, from) bpf_probe_read_user(to, size, (const void *)(from))

#define BPF_CORE_READ_BITFIELD(pointer, field) ((unsigned long long)(pointer)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(pointer, field) ((unsigned long long)(pointer)->field)
#define BPF_CORE_WRITE_BITFIELD(pointer, field, value) ((pointer)->field = (value))

/* One step of a chain: the member's value, or zeros behind a null pointer. */
#define ___fairground_step(from, member)						\
	({										\
		typeof(from) ___from = (from);						\
		typeof(___from->member) ___value;					\
		if ((unsigned long)___from >= FAIRGROUND_LOWEST_ADDRESS)		\
			__builtin_memcpy((void *)&___value, (const void *)&___from->member, \
					 sizeof(___value));				\
		else									\
			__builtin_memset((void *)&___value, 0, sizeof(___value));	\
		___value;								\
	})
#define ___fairground_read1(s, a) ___fairground_step(s, a)
#define ___fairground_read2(s, a, b) ___fairground_step(___fairground_read1(s, a), b)
#define ___fairground_read3(s, a, b, c) ___fairground_step(___fairground_read2(s, a, b), c)
#define ___fairground_read4(s, a, b, c, d) ___fairground_step(___fairground_read3(s, a, b, c), d)
#define ___fairground_read5(s, a, b, c, d, e) \
	___fairground_step(___fairground_read4(s, a, b, c, d), e)
#define ___fairground_read6(s, a, b, c, d, e, f) \
	___fairground_step(___fairground_read5(s, a, b, c, d, e), f)
#define ___fairground_chain(_1, _2, _3, _4, _5, _6, name, ...) name

#define BPF_CORE_READ(from, members...)							\
	___fairground_chain(members, ___fairground_read6, ___fairground_read5,		\
			    ___fairground_read4, ___fairground_read3,			\
			    ___fairground_read2, ___fairground_read1)(from, members)
#define BPF_PROBE_READ(from, members...) BPF_CORE_READ(from, members)
#define BPF_CORE_READ_INTO(to, from, members...)					\
	({ typeof(BPF_CORE_READ(from, members)) ___read = BPF_CORE_READ(from, members);	\
	   __builtin_memcpy(to, (const void *)&___read, sizeof(*(to))); 0; })
#define BPF_PROBE_READ_INTO(to, from, members...) BPF_CORE_READ_INTO(to, from, members)
#define BPF_CORE_READ_STR_INTO(to, from, member)					\
	bpf_probe_read_kernel_str((void *)(to), sizeof(*(to)), (from)->member)

#endif /* FAIRGROUND_BPF_CORE_READ_H */
