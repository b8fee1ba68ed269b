// SPDX-License-Identifier: GPL-2.0-only
//! The fields of `struct task_struct` that schedulers read have the kernel's values.

use serde_json::json;

use crate::common::{compiled_text, supervise, trial_of};

/// A FIFO scheduler with one queue, with this at the end of its callbacks.
fn scheduler(name: &str, enqueue: &str, running: &str, stopping: &str) -> compile::native::Native {
    compiled_text(
        name,
        &format!(
            "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
             extern unsigned long CONFIG_HZ __kconfig;\nu64 seen;\n\
             s32 BPF_STRUCT_OPS_SLEEPABLE({name}_init) {{ return scx_bpf_create_dsq(7, -1); }}\n\
             void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 flags)\n\
             {{ {enqueue} scx_bpf_dsq_insert(p, 7, 2000000, flags); }}\n\
             void BPF_STRUCT_OPS({name}_dispatch, s32 cpu, struct task_struct *prev)\n\
             {{ scx_bpf_dsq_move_to_local(7, 0); }}\n\
             void BPF_STRUCT_OPS({name}_running, struct task_struct *p) {{ {running} }}\n\
             void BPF_STRUCT_OPS({name}_stopping, struct task_struct *p, bool runnable)\n\
             {{ {stopping} }}\n\
             SCX_OPS_DEFINE({name}_ops, .init = (void *){name}_init,\n\
             .enqueue = (void *){name}_enqueue, .dispatch = (void *){name}_dispatch,\n\
             .running = (void *){name}_running, .stopping = (void *){name}_stopping,\n\
             .flags = SCX_OPS_TID_TO_TASK, .name = \"{name}\");\n"
        ),
    )
}

/// Two hogs, a sleeper and a writer share a CPU for 200 ms; what the scheduler prints is its
/// complaints.
fn complaints(name: &str, enqueue: &str, running: &str, stopping: &str) -> Vec<String> {
    let tasks = json!([
        {"name": "hog", "count": 2, "steps": [{"run_us": 1000}]},
        {"name": "sleeper", "count": 1, "steps": [{"run_us": 200}, {"sleep_us": 1000}]},
        {"name": "writer", "count": 1, "steps": [{"run_us": 100}, {"write_file": {"bytes": 4096, "sync": true}}]}]);
    let trial = trial_of(name, &[], 1, 200, tasks);
    let native = scheduler(name, enqueue, running, stopping);
    let record = supervise(&trial, &native).unwrap_or_else(|error| panic!("{error}"));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record.provenance.printed
}

#[test]
fn the_queue_of_a_task_is_known() {
    let enqueue = "if (p->scx.dsq) bpf_printk(\"enqueued in a queue\");\n\
        struct task_struct *q = scx_bpf_dsq_peek(7);\n\
        if (q && (!q->scx.dsq || q->scx.dsq->id != 7)) bpf_printk(\"in no queue\");\n\
        if (q && q->scx.dsq->nr != scx_bpf_dsq_nr_queued(7)) bpf_printk(\"of other length\");\n\
        if (p->se.vruntime) bpf_printk(\"fair\");\n\
        if (p->scx.ddsp_dsq_id != SCX_DSQ_INVALID) bpf_printk(\"a target\");";
    let running = "if (p->scx.dsq) bpf_printk(\"runs in a queue\");\n\
        if (scx_bpf_tid_to_task(p->scx.tid) != p) bpf_printk(\"no task\");";
    assert_eq!(complaints("queue", enqueue, running, ""), [""; 0]);
}

#[test]
fn waits_and_runs_are_counted() {
    let running = "u64 now = bpf_ktime_get_ns(), waited = now - p->sched_info.last_queued;\n\
        if (p->sched_info.last_queued && waited > 100000000) bpf_printk(\"waits %llu\", waited);\n\
        if (!p->sched_info.last_queued && !p->sched_info.pcount) bpf_printk(\"came from nowhere\");\n\
        if (now - p->scx.runnable_at * (1000000000 / CONFIG_HZ) > 100000000)\n\
            bpf_printk(\"runnable at %lu\", p->scx.runnable_at);";
    let stopping = "struct sched_info *i = &p->sched_info;\n\
        if (!i->pcount || i->last_queued) bpf_printk(\"never came\");\n\
        if (i->pcount > 3 && !i->run_delay) bpf_printk(\"never waited\");\n\
        if (bpf_ktime_get_ns() - i->last_arrival > 10000000) bpf_printk(\"ran for long\");\n\
        if (p->comm[0] == 'h' && i->pcount > 100 && !p->utime) bpf_printk(\"no ticks\");\n\
        if (p->utime > p->se.sum_exec_runtime + 20000000 || p->stime) bpf_printk(\"ticks\");";
    let printed = complaints("waits", "", running, stopping);
    assert_eq!(printed, [""; 0]);
}

#[test]
fn only_a_task_that_waits_for_the_disk_waits_for_io() {
    let enqueue = "if (p->in_iowait) seen++;\n\
        if (p->in_iowait && p->comm[0] != 'w') bpf_printk(\"%s waits for io\", p->comm);";
    let stopping = "if (p->comm[0] == 'w' && p->nvcsw > 4 && !seen) bpf_printk(\"no io\");";
    assert_eq!(complaints("disk", enqueue, "", stopping), [""; 0]);
}

#[test]
fn what_a_task_belongs_to_is_known() {
    let running = "struct signal_struct *s = p->signal;\n\
        struct list_head *head = &s->thread_head;\n\
        if (s->nr_threads < 1 || s != p->group_leader->signal) bpf_printk(\"threads\");\n\
        if (s->nr_threads == 1 && head->next != &p->thread_node) bpf_printk(\"list\");\n\
        if (p->thread_pid->numbers[0].nr != p->pid) bpf_printk(\"number\");\n\
        if (p->thread_pid->numbers[0].ns->ns.inum != 0xeffffffcU) bpf_printk(\"space\");\n\
        if (p->real_cred->uid.val || p->cred != p->real_cred || p->mempolicy) bpf_printk(\"cred\");\n\
        if (p->se.load.weight != 1048576) bpf_printk(\"weight %lu\", p->se.load.weight);\n\
        struct cgroup *c = scx_bpf_task_cgroup(p);\n\
        if (c != p->cgroups->dfl_cgrp || c->level || c->kn->id != 1) bpf_printk(\"cgroup\");\n\
        struct cgroup *root = bpf_cgroup_from_id(1);\n\
        if (root != c || bpf_cgroup_ancestor(c, 1)) bpf_printk(\"root\");\n\
        bpf_cgroup_release(root); bpf_cgroup_release(c);";
    assert_eq!(complaints("belongs", "", running, ""), [""; 0]);
}

#[test]
fn what_happened_is_counted() {
    let stopping = "struct scx_event_stats e = {};\n\
        scx_bpf_events(&e, sizeof(e));\n\
        if (e.SCX_EV_REENQ_IMMED) bpf_printk(\"none was immediate\");\n\
        struct rq *rq = scx_bpf_locked_rq();\n\
        if (!rq || rq->cpu != 0 || rq->curr != p) bpf_printk(\"run queue\");\n\
        scx_bpf_task_set_lazy_resched(p, true);\n\
        if (!p->scx.lazy_resched) bpf_printk(\"not lazy\");";
    assert_eq!(complaints("counted", "", "", stopping), [""; 0]);
}

/// What a scheduler that takes only tasks that ask for it makes of a task of this policy.
fn partial(class: &str) -> model::Record {
    let text = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
        void BPF_STRUCT_OPS(partial_running, struct task_struct *p)\n\
        { if (p->comm[0] == 'h') bpf_printk(\"policy %u\", p->policy); }\n\
        SCX_OPS_DEFINE(partial_ops, .running = (void *)partial_running,\n\
        .flags = SCX_OPS_SWITCH_PARTIAL, .name = \"partial\");\n";
    let tasks = json!([{"name": "hog", "count": 1, "policy": {"class": class},
        "repeat": 1, "steps": [{"run_us": 1000}]}]);
    supervise(&trial_of("partial", &[], 1, 20, tasks), &compiled_text("partial", text)).unwrap()
}

#[test]
fn ordinary_tasks_ask_for_a_scheduler_that_takes_no_others() {
    for class in ["other", "batch"] {
        let record = partial(class);
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        let printed = record.provenance.printed;
        assert!(printed.iter().all(|line| line.ends_with("policy 7")), "{printed:?}");
        assert!(!printed.is_empty());
    }
}

#[test]
fn an_idle_task_beside_such_a_scheduler_is_not_modelled() {
    let outcome = partial("idle").outcome;
    assert_eq!(outcome.word(), "unsupported");
    assert!(outcome.reason().contains("SCHED_IDLE"), "{}", outcome.reason());
}
