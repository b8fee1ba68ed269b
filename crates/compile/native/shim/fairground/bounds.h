/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verifier needs proof of bounds in assembler; a comparison is enough here. Included after each
 * header that has the assembler, so there is no guard.
 */
#undef MEMBER_VPTR
#define MEMBER_VPTR(base, member)							\
	((typeof((base) member) *)___fairground_inside(					\
		(unsigned long)&((base) member) - (unsigned long)&(base),		\
		sizeof(base) - sizeof((base) member), &(base)))
#undef ARRAY_ELEM_PTR
#define ARRAY_ELEM_PTR(arr, i, n)							\
	((typeof(arr[i]) *)___fairground_inside(					\
		(unsigned long)&(arr[i]) - (unsigned long)(arr),			\
		sizeof(arr[0]) * ((n) - 1), arr))
