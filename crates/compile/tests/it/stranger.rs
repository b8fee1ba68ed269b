// SPDX-License-Identifier: GPL-2.0-only
//! A file from outside the project is compiled with nothing but clang and what the binary brings.

use std::path::Path;

const GOOD: &str = r#"
#include <scx/common.bpf.h>
#include "include/common.h"
#include "mine.h"
char _license[] SEC("license") = "GPL";
void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert_vtime(p, MINE, SCX_SLICE_DFL, virtual_time(p, 1), enq_flags);
}
SCX_OPS_DEFINE(mine_ops, .enqueue = (void *)mine_enqueue, .name = "mine");
"#;

/// A scheduler that includes one of the tree: `eevdf` with slices of at least 100 ms.
const OVERLAY: &str = r#"
#include <scx/common.bpf.h>
char _license[] SEC("license") = "GPL";
UEI_DEFINE(uei);
const volatile bool wakeup_preemption = true;
#define OVERLAY
#define era 70000
#define base_slice_ns (-1)
#define sched_tunable_scaling 0
#define place_lag true
#define place_deadline_initial true
#define place_rel_deadline true
#define run_to_parity true
#define preempt_short true
#define delay_dequeue true
#define delay_zero true
#define hrtick false
#define cgroup_mode (-1)
#include "eevdf.bpf.c"
void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 enq_flags)
{
	enqueue_task_fair(p, enq_flags);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(mine_init)
{
	s32 err = init_sched_fair_class();

	default_slice = 100000000;
	return err;
}
void BPF_STRUCT_OPS(mine_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}
SCX_OPS_DEFINE(mine_ops,
	       .enqueue = (void *)mine_enqueue,
	       .init = (void *)mine_init,
	       .exit = (void *)mine_exit,
	       .name = "mine");
"#;

fn compiled(folder: &Path) -> Result<compile::Compiled, compile::CompileError> {
    compile::compile(&compile::resolve("mine.bpf.c", folder)?)
}

#[test]
fn a_strangers_file_is_compiled_once_and_its_faults_are_named() {
    // It moves the cache by an environment variable of the whole process.
    testing::alone!();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = folder.path().join("home");
    // SAFETY: nothing else runs in this process.
    unsafe { std::env::set_var("FAIRGROUND_HOME", &home) };
    std::fs::write(folder.path().join("mine.bpf.c"), GOOD).expect("it can be written");
    std::fs::write(folder.path().join("mine.h"), "#define MINE 1\n").expect("it can be written");

    let first = compiled(folder.path()).expect("it is right");
    assert_eq!(first.name, "mine");
    assert!(first.object.starts_with(b"\x7fELF"));
    assert_eq!(compile::find_object(&first.sha256), Some(first.clone()), "it is in the cache");

    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("include")).expect("it can be made");
    for header in ["mine.h", "include/common.h"] {
        let text = "#error not the scheduler's\n";
        std::fs::write(elsewhere.join(header), text).expect("it can be written");
    }
    std::env::set_current_dir(&elsewhere).expect("it is there");
    std::fs::write(folder.path().join("mine.h"), "#define MINE 2\n").expect("it can be written");
    let second = compiled(folder.path()).expect("it is right");
    assert_ne!(second.sha256, first.sha256, "a changed header makes another scheduler");

    std::fs::write(folder.path().join("mine.bpf.c"), OVERLAY).expect("it can be written");
    let ours = compiled(folder.path()).expect("it is made of what the binary brings");
    let resolved = compile::resolve("mine.bpf.c", folder.path()).expect("it is there");
    compile::native::native(&resolved).expect("the simulator takes it");
    let eevdf = compile::resolve("eevdf", Path::new(".")).expect("it is built in").text;
    std::fs::write(folder.path().join("eevdf.bpf.c"), eevdf + "\n").expect("it can be written");
    let own = compiled(folder.path()).expect("a copy is as good");
    assert_ne!(own.sha256, ours.sha256, "a changed copy makes another scheduler");

    let bad = GOOD.replace("SCX_SLICE_DFL", "SLICE");
    std::fs::write(folder.path().join("mine.bpf.c"), bad).expect("it can be written");
    let error = compiled(folder.path()).unwrap_err();
    assert!(error.file.ends_with("mine.bpf.c"), "{error}");
    assert_eq!(error.line, Some(8));
    assert!(error.message.contains("undeclared identifier 'SLICE'"), "{error}");
}
