/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory with its bounds (`struct bpf_dynptr`), and numbers in texts. */

/* The largest one, and what makes one that is only read. */
#define DYNPTR_MOST 0xffffffULL
#define DYNPTR_READ (1U << 31)

struct dynptr {
	u8 *data;
	u32 size;
	u32 offset;
};

static u32 dynptr_size(const struct dynptr *p)
{
	return p->size & ~DYNPTR_READ;
}

static bool is_outside(const struct dynptr *p, u64 offset, u64 size)
{
	return offset > dynptr_size(p) || size > dynptr_size(p) - offset;
}

static long dynptr_set(void *pointer, void *data, u64 size, long error)
{
	struct dynptr *p = pointer;

	*p = (struct dynptr) { .data = error ? NULL : data, .size = error ? 0 : size };
	return error;
}

long bpf_dynptr_from_mem(void *data, u64 size, u64 flags, struct bpf_dynptr *pointer)
{
	return dynptr_set(pointer, data, size, size > DYNPTR_MOST ? -E2BIG : flags ? -EINVAL : 0);
}

long bpf_ringbuf_reserve_dynptr(void *map, u32 size, u64 flags, struct bpf_dynptr *pointer)
{
	void *data = NULL;

	if (!flags && size <= DYNPTR_MOST)
		data = bpf_ringbuf_reserve(map, size, 0);
	return dynptr_set(pointer, data, size, size > DYNPTR_MOST ? -E2BIG : data ? 0 : -EINVAL);
}

void bpf_ringbuf_submit_dynptr(struct bpf_dynptr *pointer, u64 flags)
{
	struct dynptr *p = (void *)pointer;

	if (p->data)
		bpf_ringbuf_submit(p->data, flags);
	dynptr_set(p, NULL, 0, 0);
}

void bpf_ringbuf_discard_dynptr(struct bpf_dynptr *pointer, u64 flags)
{
	bpf_ringbuf_submit_dynptr(pointer, flags);
}

long bpf_dynptr_read(void *to, u64 size, const struct bpf_dynptr *pointer, u64 offset, u64 flags)
{
	const struct dynptr *p = (const void *)pointer;

	if (!p->data || flags)
		return -EINVAL;
	if (is_outside(p, offset, size))
		return -E2BIG;
	memmove(to, p->data + p->offset + offset, size);
	return 0;
}

long bpf_dynptr_write(const struct bpf_dynptr *pointer, u64 offset, void *from, u64 size,
		      u64 flags)
{
	const struct dynptr *p = (const void *)pointer;

	if (!p->data || flags || p->size & DYNPTR_READ)
		return -EINVAL;
	if (is_outside(p, offset, size))
		return -E2BIG;
	memmove(p->data + p->offset + offset, from, size);
	return 0;
}

void *bpf_dynptr_slice(const struct bpf_dynptr *pointer, u64 offset, void *buffer, u64 size)
{
	const struct dynptr *p = (const void *)pointer;

	return p->data && !is_outside(p, offset, size) ? p->data + p->offset + offset : NULL;
}

void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *pointer, u64 offset, void *buffer, u64 size)
{
	const struct dynptr *p = (const void *)pointer;

	return p->size & DYNPTR_READ ? NULL : bpf_dynptr_slice(pointer, offset, buffer, size);
}

void *bpf_dynptr_data(const struct bpf_dynptr *pointer, u64 offset, u64 size)
{
	return bpf_dynptr_slice_rdwr(pointer, offset, NULL, size);
}

int bpf_dynptr_adjust(const struct bpf_dynptr *pointer, u64 start, u64 end)
{
	struct dynptr *p = (void *)pointer;

	if (!p->data || start > end)
		return -EINVAL;
	if (start > dynptr_size(p) || end > dynptr_size(p))
		return -ERANGE;
	p->offset += start;
	p->size = (p->size & DYNPTR_READ) | (end - start);
	return 0;
}

bool bpf_dynptr_is_null(const struct bpf_dynptr *pointer)
{
	return !((const struct dynptr *)pointer)->data;
}

bool bpf_dynptr_is_rdonly(const struct bpf_dynptr *pointer)
{
	const struct dynptr *p = (const void *)pointer;

	return p->data && p->size & DYNPTR_READ;
}

u64 bpf_dynptr_size(const struct bpf_dynptr *pointer)
{
	const struct dynptr *p = (const void *)pointer;

	return p->data ? dynptr_size(p) : -EINVAL;
}

int bpf_dynptr_clone(const struct bpf_dynptr *pointer, struct bpf_dynptr *clone)
{
	*clone = *pointer;
	return bpf_dynptr_is_null(pointer) ? -EINVAL : 0;
}

/* What the kernel's `kstrtox` does; the sign is the first character that is no space. */
static long text_to_number(const char *text, size_t size, u64 flags, u64 *number, bool *is_negative)
{
	u64 base = flags & 31, digit;
	size_t at = 0, first;

	if (!size || flags > 31 || (base != 0 && base != 8 && base != 10 && base != 16))
		return -EINVAL;
	while (at < size && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')))
		at++;
	*is_negative = at < size && text[at] == '-';
	at += *is_negative;
#define LETTER(i) ((i) < size ? text[i] | 0x20 : 0)
#define DIGIT(i) (LETTER(i) >= 'a' && LETTER(i) <= 'f' ? (u64)LETTER(i) - 'a' + 10 :		\
		  (i) < size && text[i] >= '0' && text[i] <= '9' ? (u64)text[i] - '0' : 16)
	if (!base && at < size && text[at] == '0')
		base = LETTER(at + 1) == 'x' && DIGIT(at + 2) < 16 ? 16 : 8;
	else if (!base)
		base = 10;
	if (base == 16 && at < size && text[at] == '0' && LETTER(at + 1) == 'x')
		at += 2;
	first = at;
	for (*number = 0; (digit = DIGIT(at)) < base; at++)
		if (__builtin_mul_overflow(*number, base, number) ||
		    __builtin_add_overflow(*number, digit, number))
			return -ERANGE;
	return at > first ? (long)at : -EINVAL;
}

long bpf_strtoul(const char *text, size_t size, u64 flags, unsigned long *result)
{
	bool is_negative = false;
	u64 number;
	long used = text_to_number(text, size, flags, &number, &is_negative);

	if (used < 0)
		return used;
	if (is_negative)
		return -EINVAL;
	*result = number;
	return used;
}

long bpf_strtol(const char *text, size_t size, u64 flags, long *result)
{
	bool is_negative = false;
	u64 number;
	long used = text_to_number(text, size, flags, &number, &is_negative);

	if (used < 0)
		return used;
	if (is_negative ? (s64)-number > 0 : (s64)number < 0)
		return -ERANGE;
	*result = is_negative ? -number : number;
	return used;
}
