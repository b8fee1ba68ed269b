// SPDX-License-Identifier: GPL-2.0-only
//! Arenas, and programs besides the callbacks.

use model::Record;

use crate::common::{compiled_text, hogs_and_sleepers, supervise, trial_of};

const HEAD: &str = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n";

fn record(name: &str, text: &str, cpus: u32) -> Record {
    let native = compiled_text(name, &format!("{HEAD}{text}"));
    let trial = trial_of(name, &[], cpus, 50, hogs_and_sleepers(3));
    let record = supervise(&trial, &native).unwrap_or_else(|error| panic!("{error}"));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record
}

/// Tasks wait in a list whose nodes lie in an arena, behind a lock in it.
const LIST: &str = r#"
#include <bpf_arena_common.bpf.h>
#include <bpf_arena_spin_lock.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1024);
	__ulong(map_extra, 1ull << 44);
} arena SEC(".maps");

struct waiting {
	struct waiting __arena *next;
	int pid;
};

struct arena_qnode __arena_global __hidden qnodes[_Q_MAX_CPUS][_Q_MAX_NODES];
arena_spinlock_t __arena_global lock;
struct waiting __arena *free_nodes;
struct waiting __arena *first;
struct waiting __arena *last;
u64 taken;

void BPF_STRUCT_OPS(list_enqueue, struct task_struct *p, u64 flags)
{
	struct waiting __arena *node;

	if (arena_spin_lock(&lock))
		return;
	node = free_nodes;
	if (node) {
		cast_kern(node);
		free_nodes = node->next;
		node->pid = p->pid;
		node->next = NULL;
		if (last)
			last->next = node;
		else
			first = node;
		last = node;
	}
	arena_spin_unlock(&lock);
}

void BPF_STRUCT_OPS(list_dispatch, s32 cpu, struct task_struct *prev)
{
	struct waiting __arena *node;
	struct task_struct *p;

	while (scx_bpf_dispatch_nr_slots() && can_loop) {
		if (arena_spin_lock(&lock))
			return;
		node = first;
		if (node) {
			first = node->next;
			if (!first)
				last = NULL;
			node->next = free_nodes;
			free_nodes = node;
		}
		arena_spin_unlock(&lock);
		if (!node)
			return;
		p = bpf_task_from_pid(node->pid);
		if (!p)
			continue;
		__sync_fetch_and_add(&taken, 1);
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, 0);
		bpf_task_release(p);
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(list_init)
{
	struct waiting __arena *node = first;
	int i;

	/* Of a page that is not there: a kernel writes nothing, and reads zeros. */
	node->pid = 1;
	if (node->next)
		return -4;
	if (bpf_arena_reserve_pages(&arena, NULL, 2))
		return -1;
	node = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);
	if (!node || ((u64)node & 0xffffffff) != 2 * 4096)
		return -2;
	if (bpf_arena_alloc_pages(&arena, NULL, 1022, NUMA_NO_NODE, 0))
		return -3;
	bpf_for(i, 0, 255)
		node[i].next = &node[i + 1];
	free_nodes = node;
	return 0;
}

void BPF_STRUCT_OPS(list_exit, struct scx_exit_info *ei)
{
	bpf_printk("%s", taken > 20 ? "many" : "few");
}

SCX_OPS_DEFINE(list_ops, .enqueue = (void *)list_enqueue, .dispatch = (void *)list_dispatch,
	       .init = (void *)list_init, .exit = (void *)list_exit, .name = "list");
"#;

#[test]
fn tasks_wait_in_an_arena() {
    for cpus in [1, 4] {
        let record = record("list", LIST, cpus);
        assert_eq!(record.provenance.printed, ["many"]);
        assert!(record.measured.value("cpu_time_ns", "hog").is_some_and(|ns| ns > 20e6));
    }
}

/// Counts events, and what the callbacks say of the same.
const EVENTS: &str = r#"
u64 switches, wakeups, by_hand, runs, wakes, wrong;

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	switches += next->pid != 0;
	wrong += prev == next || (preempt && state);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	wakeups++;
	return 0;
}

SEC("raw_tp/sched_wakeup")
int by_hand_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	by_hand += p->pid > 0;
	return 0;
}

SEC("tp_btf/softirq_entry")
int on_softirq(void *ctx)
{
	return 0;
}

void BPF_STRUCT_OPS(counts_runnable, struct task_struct *p, u64 flags)
{
	wakes += !!(flags & SCX_ENQ_WAKEUP);
}

void BPF_STRUCT_OPS(counts_running, struct task_struct *p)
{
	runs++;
}

void BPF_STRUCT_OPS(counts_exit, struct scx_exit_info *ei)
{
	bpf_printk("%d %d %d %d", runs > 10 && switches < runs + 20 && runs < switches + 20,
		   wakes > 5 && wakeups >= wakes,
		   wakeups == by_hand, wrong);
}

SCX_OPS_DEFINE(counts_ops, .runnable = (void *)counts_runnable, .running = (void *)counts_running,
	       .exit = (void *)counts_exit, .name = "counts");
"#;

#[test]
fn events_call_programs_and_others_are_noted() {
    let record = record("counts", EVENTS, 2);
    assert_eq!(record.provenance.printed, ["1 1 1 0"]);
    let notes = record.provenance.notes.join("\n");
    assert!(notes.contains("no events for on_softirq (tp_btf/softirq_entry)"), "{notes}");
}
