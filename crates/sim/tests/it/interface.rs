// SPDX-License-Identifier: GPL-2.0-only
//! What the simulator lacks is refused by its name, and never accepted without effect.

use std::rc::Rc;

use compile::native::interface::{ENQ_FLAGS, Flag, MEMBERS, Named, OPS_FLAGS, Support};
use model::Outcome;
use serde_json::json;

use crate::common::{Tracer, compiled_text, hogs_and_sleepers, supervise, trial, trial_of};

fn refused(flags: &[Flag]) -> impl Iterator<Item = (&'static str, u64)> {
    let all: Vec<Flag> = flags.iter().copied().filter(|flag| flag.2 == Support::Refused).collect();
    all.into_iter().map(|flag| (flag.0, flag.1))
}

/// The reason of an outcome that is `unsupported`.
fn unsupported(outcome: Outcome) -> String {
    assert_eq!(outcome.word(), "unsupported", "{outcome:?}");
    outcome.reason().to_owned()
}

fn outcome_of(tracer: Tracer) -> Outcome {
    let hog = json!([{"name": "hog", "count": 2, "steps": [{"run_us": 10_000}]}]);
    crate::common::run(&trial(1, 20, hog), Rc::new(tracer)).outcome
}

/// How a scheduler in C ends, given the body of `enqueue`, which stands in line 3, and flags.
fn ending(name: &str, body: &str, flags: &str) -> Outcome {
    let native = compiled_text(
        name,
        &format!(
            "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
             void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 flags) {{ {body} }}\n\
             SCX_OPS_DEFINE({name}_ops, .enqueue = (void *){name}_enqueue, .flags = {flags},\n\
             .name = \"{name}\");\n"
        ),
    );
    let mut trial = trial_of(name, &[], 4, 20, hogs_and_sleepers(3));
    trial.machine.nodes = 2;
    supervise(&trial, &native).unwrap_or_else(|error| panic!("{error}")).outcome
}

#[test]
fn refused_flags_are_named() {
    for (name, bit) in refused(ENQ_FLAGS) {
        let reason = unsupported(outcome_of(Tracer { enq_flags: bit, ..Tracer::default() }));
        assert!(reason.contains(&format!("does not model {name}")), "{reason}");
    }
    for (name, bit) in refused(OPS_FLAGS) {
        let reason = unsupported(outcome_of(Tracer { flags: bit, ..Tracer::default() }));
        assert!(reason.contains(&format!("does not model {name}")), "{reason}");
    }
    let kick = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000, 0);\n scx_bpf_kick_cpu(0, 16);";
    let reason = unsupported(ending("kick", kick, "0"));
    assert!(reason.contains("the flags 0x10 of scx_bpf_kick_cpu()"), "{reason}");
    assert!(reason.ends_with("kick.bpf.c:4)"), "{reason}");
}

#[test]
fn refused_members_are_named() {
    let is_number = |name: &str| name == "sub_cgroup_id";
    let refused: Vec<&Named> = MEMBERS.iter().filter(|one| one.1 == Support::Refused).collect();
    let mut text =
        "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n".to_owned();
    let mut table = String::new();
    for (name, _) in &refused {
        if is_number(name) {
            table += &format!(".{name} = 1, ");
        } else {
            text += &format!("s32 BPF_STRUCT_OPS(x_{name}) {{ return 0; }}\n");
            table += &format!(".{name} = (void *)x_{name}, ");
        }
    }
    text += &format!("SCX_OPS_DEFINE(x_ops, {table} .name = \"x\");\n");
    let native = compiled_text("x", &text);
    let record = supervise(&trial_of("x", &[], 1, 20, hogs_and_sleepers(1)), &native);
    let reason = unsupported(record.unwrap_or_else(|error| panic!("{error}")).outcome);
    for (name, _) in refused {
        assert!(reason.contains(&format!("ops.{name}")), "{name}: {reason}");
    }
}

#[test]
fn idle_cpus_are_those_of_a_node_or_of_the_machine_as_the_scheduler_has_said() {
    let insert = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, flags);";
    let node = format!("scx_bpf_pick_idle_cpu_node(p->cpus_ptr, 1, 0); {insert}");
    let all = format!("scx_bpf_pick_idle_cpu(p->cpus_ptr, 0); {insert}");
    let ejected = |outcome: Outcome| {
        assert_eq!(outcome.word(), "ejected", "{outcome:?}");
        outcome.reason().to_owned()
    };
    let reason = ejected(ending("node", &node, "0"));
    assert!(reason.contains("per-node idle tracking is disabled"), "{reason}");
    let flag = "SCX_OPS_BUILTIN_IDLE_PER_NODE";
    let reason = ejected(ending("all", &all, flag));
    assert!(reason.contains("per-node idle tracking is enabled"), "{reason}");
    assert!(ending("node_told", &node, flag).is_ok());
    assert!(ending("all_told", &all, "0").is_ok());
}

/// Schedulers need not include `<scx/common.bpf.h>`: each kfunc has the kernel's own name, too.
const PLAIN: &str = r#"
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

SEC("struct_ops.s/init")
s32 BPF_PROG(plain_init)
{
	return scx_bpf_create_dsq(7, -1);
}

SEC("struct_ops/select_cpu")
s32 BPF_PROG(plain_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, p->cpus_ptr, 0);

	return cpu >= 0 ? cpu : prev_cpu;
}

SEC("struct_ops/enqueue")
void BPF_PROG(plain_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->pid % 2)
		scx_bpf_dsq_insert_vtime(p, 7, 1000000, scx_bpf_dsq_nr_queued(7), enq_flags);
	else
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, enq_flags);
}

SEC("struct_ops/dispatch")
void BPF_PROG(plain_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(7);
}

SEC("struct_ops/running")
void BPF_PROG(plain_running, struct task_struct *p)
{
	scx_bpf_task_set_slice(p, 2000000);
	scx_bpf_reenqueue_local();
}

SEC(".struct_ops.link")
struct sched_ext_ops plain_ops = {
	.select_cpu = (void *)plain_select_cpu,
	.enqueue = (void *)plain_enqueue,
	.dispatch = (void *)plain_dispatch,
	.running = (void *)plain_running,
	.init = (void *)plain_init,
	.name = "plain",
};
"#;

#[test]
fn the_kernels_own_names_of_kfuncs_work() {
    let native = compiled_text("plain", PLAIN);
    let record = supervise(&trial_of("plain", &[], 2, 100, hogs_and_sleepers(3)), &native);
    let record = record.unwrap_or_else(|error| panic!("{error}"));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    // Slices end at ticks.
    assert!(record.measured.value("involuntary_switches", "hog").is_some_and(|n| n > 10.0));
}
