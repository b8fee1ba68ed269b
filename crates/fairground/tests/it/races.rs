// SPDX-License-Identifier: GPL-2.0-only
//! `fairground soak --races`: a race is found and can be replayed, a lock or an atomic operation
//! removes it, and without the option each callback is atomic.

use crate::common::{Bench, stderr, stdout};

/// Counts the tasks in a queue. `take` and `give` are how it adds and subtracts.
fn counting(name: &str, lock: &str, take: &str, give: &str) -> String {
    format!(
        r#"#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";
#define QUEUE 7
{lock}
u64 nr_queued;

void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 flags)
{{
{take}
}}

void BPF_STRUCT_OPS({name}_dispatch, s32 cpu, struct task_struct *prev)
{{
{give}
}}

s32 BPF_STRUCT_OPS_SLEEPABLE({name}_init)
{{
	return scx_bpf_create_dsq(QUEUE, -1);
}}

SCX_OPS_DEFINE({name}_ops, .enqueue = (void *){name}_enqueue,
	       .dispatch = (void *){name}_dispatch, .init = (void *){name}_init,
	       .name = "{name}");
"#
    )
}

const INSERT: &str = "	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, flags);";
const MOVE: &str = "	if (!scx_bpf_dsq_move_to_local(QUEUE, 0)) return;";
const LOCK: &str = "struct bpf_spin_lock lock SEC(\".data.lock\");";

fn racing() -> String {
    let take = format!("	u64 n = nr_queued;\n{INSERT}\n	nr_queued = n + 1;");
    let give = format!("	u64 n = nr_queued;\n{MOVE}\n	nr_queued = n - 1;");
    counting("racing", "", &take, &give)
}

/// The same with something around each update.
fn guarded(name: &str, lock: &str, add: &str, subtract: &str) -> String {
    let (take, give) = (format!("{INSERT}\n	{add}"), format!("{MOVE}\n	{subtract}"));
    counting(name, lock, &take, &give)
}

/// What `soak_short` says of a scheduler.
fn soak(bench: &Bench, file: &str, options: &[&str], code: i32) -> String {
    let _ = std::fs::remove_file(bench.path("soak.db"));
    let what = ["soak", "soak_short", "--on", "sim", "--machine", "four_cpus"];
    let how = ["--scheduler", file, "--store", "soak.db"];
    let ended = bench.run(&[&what[..], &how, options].concat()).code(code);
    let said = stderr(&ended);
    assert!(!said.contains("kernel's own scheduler"), "{said}");
    stdout(&ended)
}

#[test]
fn a_lost_update_is_found_and_replayed() {
    let bench = Bench::new();
    bench.write("racing.bpf.c", &racing());
    let said = soak(&bench, "./racing.bpf.c", &["--races", "--seed", "5"], 1);
    assert!(said.contains("lost update of nr_queued: "), "{said}");
    for part in ["reads it (racing.bpf.c:10) and writes it (racing.bpf.c:12)", "--seed 5"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(soak(&bench, "./racing.bpf.c", &["--races", "--seed", "5"], 1), said);
    assert_ne!(soak(&bench, "./racing.bpf.c", &["--races", "--seed", "6"], 1), said);
    assert!(soak(&bench, "./racing.bpf.c", &[], 0).ends_with("All survived.\n"));
}

#[test]
fn a_lock_or_an_atomic_operation_removes_it() {
    let bench = Bench::new();
    let under = |change: &str| {
        format!("bpf_spin_lock(&lock); nr_queued = nr_queued {change}; bpf_spin_unlock(&lock);")
    };
    bench.write("locking.bpf.c", &guarded("locking", LOCK, &under("+ 1"), &under("- 1")));
    let (add, subtract) =
        ("__sync_fetch_and_add(&nr_queued, 1);", "__sync_fetch_and_sub(&nr_queued, 1);");
    bench.write("atomic.bpf.c", &guarded("atomic", "", add, subtract));
    for file in ["./locking.bpf.c", "./atomic.bpf.c"] {
        let said = soak(&bench, file, &["--races"], 0);
        assert!(said.ends_with("All survived.\n"), "{file}: {said}");
    }
}

/// Two callbacks inside of what only one may be in: the scheduler sees it itself.
#[test]
fn an_ejection_names_the_callbacks_that_were_interleaved() {
    let bench = Bench::new();
    let give = "	if (__sync_fetch_and_add(&nr_queued, 1)) scx_bpf_error(\"two at once\");\n	\
                scx_bpf_dsq_move_to_local(QUEUE, 0);\n	__sync_fetch_and_sub(&nr_queued, 1);";
    bench.write("alone.bpf.c", &counting("alone", "", INSERT, give));
    let said = soak(&bench, "./alone.bpf.c", &["--races"], 1);
    assert!(said.contains("ejected: scx_bpf_error (alone.bpf.c:15: two at once)"), "{said}");
    assert!(said.contains("before that, dispatch on CPU "), "{said}");
    assert!(said.contains(" was left while "), "{said}");
    assert!(soak(&bench, "./alone.bpf.c", &[], 0).ends_with("All survived.\n"));
}

#[test]
fn the_schedulers_of_the_project_have_no_race_that_is_found() {
    testing::beyond_cargo_test!("takes a minute");
    let bench = Bench::new();
    let said = stdout(&bench.run(&["soak", "soak_short", "--races", "--store", "soak.db"]).code(0));
    assert!(said.ends_with("All survived.\n"), "{said}");
}
