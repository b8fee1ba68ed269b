// SPDX-License-Identifier: GPL-2.0-only
//! Sessions of tasks: what a scheduler sees of them, and what they get where autogroup is on.

use model::{ControlGroup, Record, TaskSession, Trial, Workload};
use serde_json::{Value, json};

use crate::common::{builtin, supervise, trial_of, value};
use crate::rarer_members::{TO_GLOBAL, printed, ran};

/// A trial whose tasks may be in the sessions `a`, and `b` of nice 5.
fn trial(name: &str, tasks: Value) -> Trial {
    let trial = trial_of(name, &[], 1, 500, tasks);
    let sessions: Vec<TaskSession> =
        serde_json::from_value(json!([{"name": "a"}, {"name": "b"}, {"name": "low", "nice": 5}]))
            .expect("sessions");
    let workload = Workload { sessions, ..(*trial.workload).clone() };
    let mut trial = Trial { workload: workload.into(), ..trial };
    trial.machine.autogroup = true;
    trial
}

fn hogs(session: &str, count: u32) -> Value {
    let name = if session.is_empty() { "none" } else { session };
    json!({"name": name, "count": count, "session": session, "steps": [{"run_us": 1_000}]})
}

fn run(trial: &Trial) -> Record {
    let record = supervise(trial, &builtin(&trial.contestant.name)).expect("a record");
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record
}

#[track_caller]
fn has_share(record: &Record, group: &str, expected: f64) {
    let share = value(record, "cpu_share", group);
    assert!(
        (share - expected).abs() < 0.02,
        "{group} of {}: {share}",
        record.trial.contestant.name
    );
}

#[test]
fn each_session_gets_the_same_however_many_tasks_it_has() {
    for scheduler in ["eevdf", "cfs", "bore"] {
        let record = run(&trial(scheduler, json!([hogs("a", 1), hogs("b", 16)])));
        has_share(&record, "a", 0.5);
        assert_eq!(record.provenance.notes, [""; 0]);
        assert_eq!(record.provenance.kernel_facts["autogroup"], "1");
    }
}

#[test]
fn a_session_has_the_weight_of_its_nice_value() {
    for scheduler in ["eevdf", "cfs"] {
        let record = run(&trial(scheduler, json!([hogs("low", 3), hogs("b", 1)])));
        has_share(&record, "low", 335.0 / (335.0 + 1024.0));
    }
}

#[test]
fn a_task_of_no_session_counts_beside_them() {
    let record = run(&trial("eevdf", json!([hogs("a", 4), hogs("", 2), hogs("b", 1)])));
    has_share(&record, "a", 0.25);
    has_share(&record, "none", 0.5);
}

#[test]
fn without_autogroup_sessions_change_nothing() {
    let tasks = || json!([hogs("a", 1), hogs("b", 3)]);
    let mut off = trial("eevdf", tasks());
    off.machine.autogroup = false;
    has_share(&run(&off), "a", 0.25);
    // In another control group than the root a session does not count, either.
    let mut grouped = trial("eevdf", tasks());
    let control_groups = vec![ControlGroup { name: "g".into(), ..ControlGroup::default() }];
    grouped.workload = Workload { control_groups, ..(*grouped.workload).clone() }.into();
    has_share(&run(&grouped), "a", 0.25);
}

#[test]
fn a_game_is_late_beside_hogs_of_its_own_session_only() {
    let late = |session: &str| {
        let frame = json!([{"timer": {"period_us": 16_667}}, {"run_us": 3_000}]);
        let game = json!({"name": "game", "session": session, "steps": frame});
        value(&run(&trial("eevdf", json!([game, hogs("a", 16)]))), "deadline_miss_ratio", "game")
    };
    assert!(late("a") > 0.9, "{}", late("a"));
    assert_eq!(late("b"), 0.0);
}

#[test]
fn forked_tasks_are_in_the_session_of_their_parent() {
    let parent = json!({"name": "parent", "session": "a", "repeat": 1,
        "steps": [{"fork": {"task": "child", "count": 7}}, "wait_children"]});
    let child = json!({"name": "child", "template": true, "steps": [{"run_us": 10_000_000}]});
    let record = run(&trial("eevdf", json!([parent, child, hogs("b", 1)])));
    has_share(&record, "b", 0.5);
}

const FORMS: &str = "#define FORM __attribute__((preserve_access_index))\n\
    struct autogroup___a { unsigned long id; int nice; } FORM;\n\
    struct signal_struct___a { struct autogroup___a *autogroup; } FORM;\n\
    struct task_group___a { unsigned long shares; struct autogroup___a *autogroup; } FORM;\n";

#[test]
fn a_scheduler_sees_the_session_of_a_task() {
    let text = format!(
        "{FORMS}\
         void BPF_STRUCT_OPS(seen_exit_task, struct task_struct *p, struct scx_exit_task_args *a) {{\n\
         struct autogroup___a *ag = ((struct signal_struct___a *)p->signal)->autogroup;\n\
         struct task_group___a *tg = (void *)p->sched_task_group;\n\
         if (p->comm[0] != 'f') bpf_printk(\"%s %lu %d ended %d\", p->comm, ag->id, ag->nice, \
             tg->autogroup == NULL); }}\n\
         void BPF_STRUCT_OPS(seen_enqueue, struct task_struct *p, u64 flags) {{\n\
         struct autogroup___a *ag = ((struct signal_struct___a *)p->signal)->autogroup;\n\
         struct task_group___a *tg = (void *)p->sched_task_group;\n\
         struct cgroup *c = scx_bpf_task_cgroup(p);\n\
         if (!bpf_core_field_exists(ag->id) || c->level) bpf_printk(\"wrong\");\n\
         if (p->comm[0] != 'f' && !(p->flags & 4) && flags & SCX_ENQ_WAKEUP && ag->id)\n\
             bpf_printk(\"%s %lu %d %lu %d\", p->comm, ag->id, ag->nice, tg->shares >> 10, \
                 tg->autogroup == ag);\n\
         bpf_cgroup_release(c); {TO_GLOBAL} }}"
    );
    let table = ".enqueue = (void *)seen_enqueue, .exit_task = (void *)seen_exit_task";
    let once = |name: &str, session: &str| json!({"name": name, "session": session, "repeat": 1, "steps": [{"run_us": 100}]});
    let tasks = json!([once("of_low", "low"), once("of_none", ""), once("of_a", "a")]);
    let lines = printed(&trial("seen", tasks), &text, "SCX_OPS_DEFINE", table);
    for line in ["of_low 3 5 335 1", "of_a 1 0 1024 1", "of_a 1 0 ended 1", "of_none 0 0 ended 1"] {
        assert!(lines.iter().any(|other| other == line), "{line}: {lines:?}");
    }
    assert!(!lines.iter().any(|line| line == "wrong"), "{lines:?}");
}

#[test]
fn a_scheduler_that_does_not_look_is_noted() {
    let text = format!(
        "void BPF_STRUCT_OPS(blind_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let table = ".enqueue = (void *)blind_enqueue";
    let mut trial = trial("blind", json!([hogs("a", 1)]));
    let notes = |trial: &Trial| ran(trial, &text, "SCX_OPS_DEFINE", table).provenance.notes;
    let expected = "the scheduler does not look at the sessions of tasks: the machine's autogroup \
                    has no effect";
    assert_eq!(notes(&trial), [expected]);
    trial.machine.autogroup = false;
    assert_eq!(notes(&trial), [""; 0]);
}
