// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::event::Task;

/// Chooses the groups of tasks; each task has its group and the nanoseconds that it runs. `quotas`
/// names the groups that have one.
fn chosen(tasks: &[(&str, u64)], quotas: &[&str]) -> (Vec<String>, Vec<String>, usize) {
    let task =
        |(group, _): &(&str, u64)| Task { control_group: (*group).into(), ..Task::default() };
    let quota = |name: &&str| ControlGroup {
        name: (*name).into(),
        quota_us: Some(1_000),
        ..ControlGroup::default()
    };
    let recording = Recording {
        tasks: tasks.iter().map(task).collect(),
        control_groups: quotas.iter().map(quota).collect(),
        ..Recording::default()
    };
    let played: Vec<TaskIndex> = (0..tasks.len() as u32).map(TaskIndex).collect();
    let tapes: Vec<Vec<TapeOp>> = tasks.iter().map(|(_, ns)| vec![TapeOp::Run(*ns)]).collect();
    let chosen = Chosen::of(&recording, &played, &tapes);
    let names = played.iter().map(|task| chosen.name(*task)).collect();
    (chosen.groups.into_iter().map(|group| group.name).collect(), names, chosen.merged)
}

#[test]
fn groups_that_change_nothing_are_left_out() {
    let none = (Vec::new(), vec![String::new(); 2], 0);
    assert_eq!(chosen(&[("", 1), ("", 1)], &[]), none);
    assert_eq!(chosen(&[("user.slice/a.scope", 1), ("user.slice/a.scope", 1)], &[]), none);
    let (groups, tasks, _) = chosen(&[("u/s/game", 1), ("u/s/make", 1), ("u/s/make", 1)], &[]);
    assert_eq!(groups, ["game", "make"]);
    assert_eq!(tasks, ["game", "make", "make"]);
    // A group beside a task counts, and so does a quota.
    assert_eq!(chosen(&[("u", 1), ("u/s", 1)], &[]).1, ["", "s"]);
    assert_eq!(chosen(&[("u/s/a", 1)], &["u/s"]).1, ["s"]);
}

#[test]
fn names_are_those_that_a_workload_may_have() {
    let long = "x".repeat(200);
    let odd = [("user@1000.service", 1), ("user:1000.service", 1), ("cpu.max", 1), (&*long, 1)];
    let (groups, tasks, _) = chosen(&odd, &[]);
    assert!(groups.iter().all(|name| check_name(name).is_ok()), "{groups:?}");
    assert_eq!(tasks[..3], ["user_1000.service_2", "user_1000.service", "g_cpu_max"]);
}

#[test]
fn a_workload_gets_no_more_groups_than_it_may_have() {
    let paths: Vec<String> = (0..100).map(|number| format!("a/g{number}")).collect();
    let many: Vec<(&str, u64)> =
        paths.iter().zip(0..).map(|(path, ns)| (path.as_str(), ns)).collect();
    let (groups, tasks, merged) = chosen(&many, &[]);
    assert_eq!((groups.len(), merged), (GROUPS_MAX, 37));
    assert_eq!((tasks[36].as_str(), tasks[37].as_str()), ("", "g37"));
    let deep = (0..20).map(|level| format!("{}x", "x/".repeat(level)));
    let deep: Vec<String> = deep.collect();
    let deep: Vec<(&str, u64)> = deep.iter().map(|path| (path.as_str(), 1)).collect();
    let (groups, tasks, merged) = chosen(&deep, &[]);
    assert_eq!(groups.len() + merged, 19);
    assert!(tasks.iter().all(|name| name.is_empty() || check_name(name).is_ok()), "{tasks:?}");
}

#[test]
fn no_name_is_left_in_an_anonymous_recording() {
    let group = |name: &str| ControlGroup { name: name.into(), ..ControlGroup::default() };
    let task = |name: &str| Task { control_group: name.into(), ..Task::default() };
    let mut recording = Recording {
        tasks: vec![task("secret/game"), task("")],
        control_groups: vec![group("secret"), group("secret/game")],
        ..Recording::default()
    };
    make_anonymous(&mut recording);
    let names: Vec<&str> = recording.control_groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["c1", "c1/c2"]);
    assert_eq!(recording.tasks[0].control_group, "c1/c2");
    assert_eq!(recording.tasks[1].control_group, "");
}
