/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * References that a callback holds: what it has acquired, and neither released nor put into a map,
 * a list or a tree. The kernel's verifier proves that none is left when the callback returns and
 * that only held ones are released. Here they are counted.
 */
#ifndef FAIRGROUND_RACES

/* How far a node may lie inside its object. */
#define FAIRGROUND_LARGEST_OBJECT 4096

static void *hold(void *object, const char *kfunc, void *caller)
{
	u32 number = fairground.references;

	if (!object)
		return NULL;
	if (number < FAIRGROUND_MOST_REFERENCES)
		fairground.held[number] = (struct fairground_reference) { object, kfunc, caller };
	fairground.references++;
	return object;
}

static u64 distance(const void *a, const void *b)
{
	return a < b ? b - a : a - b;
}

/* False, and an error, if it is not held. Lists and trees hold nodes, which lie in objects. */
static bool give_up(const void *object, const char *kfunc, void *caller)
{
	u64 nearest = FAIRGROUND_LARGEST_OBJECT;
	u32 found = FAIRGROUND_MOST_REFERENCES, number;

	if (fairground.references > FAIRGROUND_MOST_REFERENCES) {
		fairground.references--;
		return true;
	}
	for (number = fairground.references; number--;) {
		u64 away = distance(fairground.held[number].object, object);

		if (away < nearest) {
			nearest = away;
			found = number;
		}
	}
	if (found == FAIRGROUND_MOST_REFERENCES) {
		fairground_unowned(kfunc, caller);
		return false;
	}
	fairground.references--;
	for (number = found; number < fairground.references; number++)
		fairground.held[number] = fairground.held[number + 1];
	return true;
}

#else /* The callbacks of all CPUs share the state: nothing is counted. */

static void *hold(void *object, const char *kfunc, void *caller)
{
	return object;
}

static bool give_up(const void *object, const char *kfunc, void *caller)
{
	return true;
}

#endif

#define HOLD(object) hold((void *)(object), __func__, __builtin_return_address(0))
#define GIVE_UP(object) give_up(object, __func__, __builtin_return_address(0))

/* One thread runs the whole machine: nothing comes between. */
static char rcu, preemption, interrupts;

void bpf_rcu_read_lock(void)
{
	HOLD(&rcu);
}

void bpf_rcu_read_unlock(void)
{
	GIVE_UP(&rcu);
}

void bpf_preempt_disable(void)
{
	HOLD(&preemption);
}

void bpf_preempt_enable(void)
{
	GIVE_UP(&preemption);
}

void bpf_local_irq_save(unsigned long *flags)
{
	*flags = 0;
	HOLD(&interrupts);
}

void bpf_local_irq_restore(unsigned long *flags)
{
	GIVE_UP(&interrupts);
}

struct task_struct *bpf_task_from_pid(s32 pid)
{
	return HOLD(fairground_task_from_pid(pid));
}

struct task_struct *bpf_task_acquire(struct task_struct *p)
{
	return HOLD(p);
}

void bpf_task_release(struct task_struct *p)
{
	GIVE_UP(p);
}

const struct cpumask *scx_bpf_get_possible_cpumask(void)
{
	return HOLD(fairground_possible_cpumask());
}

const struct cpumask *scx_bpf_get_online_cpumask(void)
{
	return HOLD(fairground_possible_cpumask());
}

/* Instead of a node; the simulator's `native/kfuncs.rs` has the same. */
#define ALL_NODES ((int)0x80000000)

const struct cpumask *scx_bpf_get_idle_cpumask(void)
{
	return HOLD(fairground_idle_cpumask(ALL_NODES));
}

const struct cpumask *scx_bpf_get_idle_cpumask_node(int node)
{
	return HOLD(fairground_idle_cpumask(node));
}

const struct cpumask *scx_bpf_get_idle_smtmask(void)
{
	return HOLD(fairground_idle_smtmask(ALL_NODES));
}

const struct cpumask *scx_bpf_get_idle_smtmask_node(int node)
{
	return HOLD(fairground_idle_smtmask(node));
}

void scx_bpf_put_cpumask(const struct cpumask *cpumask)
{
	GIVE_UP(cpumask);
}

void scx_bpf_put_idle_cpumask(const struct cpumask *cpumask)
{
	GIVE_UP(cpumask);
}

void *bpf_ringbuf_reserve(void *map, u64 size, u64 flags)
{
	return HOLD(fairground_ring_reserve(map, size));
}

void bpf_ringbuf_submit(void *data, u64 flags)
{
	if (GIVE_UP(data))
		fairground_ring_settle(data);
}

void bpf_ringbuf_discard(void *data, u64 flags)
{
	if (GIVE_UP(data))
		fairground_ring_settle(data);
}

void *bpf_kptr_xchg(void *place, void *pointer)
{
	void *before = *(void **)place;

	if (pointer && !GIVE_UP(pointer))
		return NULL;
	*(void **)place = pointer;
	return HOLD(before);
}
