/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For schedulers whose callbacks interleave (`soak --races`). They may stop in front of each kfunc,
 * helper and lock. The compiler reports each access to memory by the functions of its thread
 * sanitizer, so that the simulator sees which updates are lost.
 */
#ifdef FAIRGROUND_RACES

#define WATCH(function, ...)								\
	(((void (*)())fairground.calls.function)(__VA_ARGS__,				\
						 (u64)__builtin_return_address(0),	\
						 fairground.simulator))
/* Copies of memory are no calls of the kernel. */
#define POINT(function)									\
	if (__builtin_strncmp(#function, "mem", 3))					\
		((void (*)())fairground.calls.fairground_point)(				\
			(u64)__builtin_return_address(0), fairground.simulator)
#define LOCK(lock) fairground_lock(lock)
#define UNLOCK(lock) fairground_unlock(lock)

void __tsan_init(void)
{
}

#define ACCESS(bytes)									\
	void __tsan_read##bytes(void *at) { WATCH(fairground_read, at); }		\
	void __tsan_write##bytes(void *at) { WATCH(fairground_write, at); }		\
	void __tsan_unaligned_read##bytes(void *at) { WATCH(fairground_read, at); }	\
	void __tsan_unaligned_write##bytes(void *at) { WATCH(fairground_write, at); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)

/* An operation that reads and writes at once loses nothing itself. */
#define UPDATE(type, name, operation)							\
	type name(type *at, type value, int order)					\
	{										\
		WATCH(fairground_read, at);						\
		WATCH(fairground_write, at);						\
		return operation(at, value, __ATOMIC_SEQ_CST);				\
	}
#define EXCHANGE(type, name)								\
	int name(type *at, type *expected, type value, int order, int failure)		\
	{										\
		WATCH(fairground_read, at);						\
		WATCH(fairground_write, at);						\
		return __atomic_compare_exchange_n(at, expected, value, false,		\
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	}
#define ATOMIC(bits, type)								\
	type __tsan_atomic##bits##_load(const type *at, int order)			\
	{										\
		WATCH(fairground_read, at);						\
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);				\
	}										\
	void __tsan_atomic##bits##_store(type *at, type value, int order)		\
	{										\
		WATCH(fairground_write, at);						\
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST);				\
	}										\
	UPDATE(type, __tsan_atomic##bits##_exchange, __atomic_exchange_n)		\
	UPDATE(type, __tsan_atomic##bits##_fetch_add, __atomic_fetch_add)		\
	UPDATE(type, __tsan_atomic##bits##_fetch_sub, __atomic_fetch_sub)		\
	UPDATE(type, __tsan_atomic##bits##_fetch_and, __atomic_fetch_and)		\
	UPDATE(type, __tsan_atomic##bits##_fetch_or, __atomic_fetch_or)			\
	UPDATE(type, __tsan_atomic##bits##_fetch_xor, __atomic_fetch_xor)		\
	UPDATE(type, __tsan_atomic##bits##_fetch_nand, __atomic_fetch_nand)		\
	EXCHANGE(type, __tsan_atomic##bits##_compare_exchange_strong)			\
	EXCHANGE(type, __tsan_atomic##bits##_compare_exchange_weak)			\
	type __tsan_atomic##bits##_compare_exchange_val(type *at, type expected,	\
							type value, int order, int failure) \
	{										\
		WATCH(fairground_read, at);						\
		WATCH(fairground_write, at);						\
		__atomic_compare_exchange_n(at, &expected, value, false,		\
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
		return expected;							\
	}
ATOMIC(8, u8) ATOMIC(16, u16) ATOMIC(32, u32) ATOMIC(64, u64)

/* One thread runs the whole machine. */
void __tsan_atomic_thread_fence(int order)
{
}

void __tsan_atomic_signal_fence(int order)
{
}

#else

#define POINT(function)
#define LOCK(lock) 0
#define UNLOCK(lock)

#endif
