// SPDX-License-Identifier: GPL-2.0-only
//! What rt-app and its `workgen` accept, and what becomes of it.

use model::workload::Timer;
use model::{Policy, PolicyClass, Protocol, Step, TaskGroup, UtilClamp};
use proptest::prelude::*;

use super::json;

/// The groups and notes of a file with these tasks.
#[track_caller]
fn tasks(text: &str) -> (Vec<TaskGroup>, Vec<String>) {
    whole(&format!("{{\"tasks\": {{{text}}}, \"global\": {{\"duration\": 1}}}}"))
}

#[track_caller]
fn whole(text: &str) -> (Vec<TaskGroup>, Vec<String>) {
    let resolved = json(text).unwrap_or_else(|error| panic!("{error}"));
    (resolved.workload.tasks, resolved.notes)
}

#[track_caller]
fn steps(events: &str) -> Vec<Step> {
    let (mut groups, notes) = tasks(&format!("\"t\": {{{events}}}"));
    assert_eq!((groups.len(), notes), (1, vec![]));
    groups.remove(0).steps
}

fn policy(class: PolicyClass) -> Policy {
    Policy { class, ..Policy::default() }
}

#[test]
fn keys_repeat_in_their_order() {
    let played = steps("\"run\": 1, \"sleep\": 2, \"run\": 3, \"runner\": 4, \"sleep\": 5");
    let [first, second, third] = [1, 3, 4].map(Step::RunUs);
    assert_eq!(played, [first, Step::SleepUs(2), second, third, Step::SleepUs(5)]);
    let phases =
        steps("\"phases\": {\"a\": {\"run\": 1}, \"b\": {\"run\": 2}, \"a\": {\"run\": 3}}");
    assert_eq!(phases, [1, 2, 3].map(Step::RunUs));
    let (groups, notes) = tasks("\"a\": {\"run\": 1}, \"a\": {\"run\": 2}");
    assert_eq!((groups[0].name.as_str(), groups[1].name.as_str()), ("a", "a1"));
    assert_eq!(notes, ["w.json: task 'a' is called 'a1' here"]);
}

#[test]
fn a_bare_suspend_waits_for_the_tasks_own_name() {
    let (groups, _) = tasks(
        r#""one": {"suspend", /* "a": */ "run": 1, 'suspend'}, "two": {"sleep": 5, "resume": "one"}"#,
    );
    let suspend = Step::Suspend("one".into());
    assert_eq!(groups[0].steps, [suspend.clone(), Step::RunUs(1), suspend]);
}

#[test]
fn a_task_can_start_by_itself_and_be_forked() {
    let (groups, notes) = tasks(
        r#""child": {"loop": 2, "delay": 7, "run": 1},
           "parent": {"fork": "child", "sleep": 5, "fork": "other"},
           "other": {"instance": 0, "run": 3}, "never": {"instance": 0, "run": 3}"#,
    );
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["child", "parent", "other", "child-fork"]);
    assert_eq!((groups[0].template, groups[0].repeat, groups[0].delay_us), (false, Some(2), 7));
    let fork = |task: &str| Step::Fork { task: task.into(), count: 1 };
    assert_eq!(groups[1].steps, [fork("child-fork"), Step::SleepUs(5), fork("other")]);
    let looped = Step::Loop { count: 2, steps: vec![Step::RunUs(1)] };
    assert!(groups[3].template);
    assert_eq!(groups[3].steps, [Step::SleepUs(7), looped]);
    assert_eq!(
        notes,
        [
            "w.json: task 'never' has no instances and nobody forks it",
            "w.json: forked tasks 'child' are the group 'child-fork'"
        ]
    );
}

#[test]
fn memory_and_null_are_written_through_the_buffer() {
    let (groups, notes) = whole(
        r#"{"global": {"duration": 1, "mem_buffer_size": 500, "io_device": "/dev/null"},
            "tasks": {"t": {"mem": 1000, "mem0": 0, "iorun": 2000}}}"#,
    );
    let memory = Step::WriteMemory { bytes: 1000, buffer: 500 };
    assert_eq!(groups[0].steps, [memory, Step::WriteNull { bytes: 2000, buffer: 500 }]);
    assert!(notes.is_empty());
    assert_eq!(steps("\"mem\": 5"), [Step::WriteMemory { bytes: 5, buffer: 4 << 20 }]);
    let (groups, notes) =
        whole(r#"{"global": {"duration": 1, "io_device": "out"}, "tasks": {"t": {"iorun": 9}}}"#);
    assert_eq!(groups[0].steps, [Step::WriteFile { bytes: 9, sync: false }]);
    assert_eq!(notes, ["w.json: instead of 'out', 'iorun' writes to a file of each task's own"]);
}

#[test]
fn a_fair_task_asks_for_its_slice_and_a_deadline_task_for_its_budget() {
    let (groups, _) = tasks(
        r#""fair": {"dl-runtime": 3000, "dl-period": 5000, "priority": -3, "run": 1},
           "batch": {"policy": "SCHED_BATCH", "dl-runtime": 700, "run": 1},
           "fifo": {"policy": "SCHED_FIFO", "dl-runtime": 700, "period": 9, "run": 1},
           "dl": {"policy": "SCHED_DEADLINE", "dl-runtime": 200, "run": 1},
           "old": {"policy": "SCHED_DEADLINE", "runtime": 20, "deadline": 50, "period": 100}"#,
    );
    let of = |number: usize| groups[number].policy.unwrap();
    let other = policy(PolicyClass::Other);
    assert_eq!(of(0), Policy { runtime_us: 3000, nice: -3, ..other });
    assert_eq!(of(1), Policy { runtime_us: 700, ..policy(PolicyClass::Batch) });
    assert_eq!(of(2), Policy { priority: 10, ..policy(PolicyClass::Fifo) });
    let deadline = |runtime_us, deadline_us, period_us| {
        let class = policy(PolicyClass::Deadline);
        Policy { runtime_us, deadline_us, period_us, ..class }
    };
    assert_eq!((of(3), of(4)), (deadline(200, 200, 200), deadline(20, 50, 100)));
    assert_eq!(groups[4].steps, [Step::RunUntilUs(20)]);
}

#[test]
fn a_phase_changes_the_policy_until_another_does() {
    let played = steps(
        r#""policy": "SCHED_FIFO", "priority": 20, "phases": {
             "a": {"run": 1}, "b": {"priority": 30, "run": 2}, "c": {"run": 3},
             "d": {"policy": "SCHED_OTHER", "run": 4}, "e": {"dl-runtime": 900, "run": 5}}"#,
    );
    let fifo = Policy { priority: 30, ..policy(PolicyClass::Fifo) };
    let sliced = Policy { runtime_us: 900, ..policy(PolicyClass::Other) };
    let change = Step::Policy;
    let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(Step::RunUs);
    let other = policy(PolicyClass::Other);
    assert_eq!(played, [one, change(fifo), two, three, change(other), four, change(sliced), five]);
}

#[test]
fn pi_enabled_makes_all_mutexes_inherit() {
    let resolved = json(
        r#"{"global": {"duration": 1, "pi_enabled": true}, "tasks": {"t": {
             "lock": "m", "run": 1, "unlock": "m", "sync": {"ref": "c", "mutex": "n"}}}}"#,
    );
    let mutexes = resolved.unwrap().workload.mutexes;
    let names: Vec<&str> = mutexes.iter().map(|mutex| &*mutex.name).collect();
    assert_eq!(names, ["m", "n"]);
    assert!(mutexes.iter().all(|mutex| mutex.protocol == Protocol::Inherit));
}

#[test]
fn timers_have_a_period_at_each_use_and_one_mode() {
    let played = steps(
        r#""phases": {
             "a": {"timer": {"ref": "unique", "period": 10}, "run": 1},
             "b": {"timer": {"ref": "unique", "period": 20, "mode": "absolute"}, "run": 1},
             "c": {"timer": {"ref": "u", "period": 30}, "timer": {"ref": "unique", "period": 0}}}"#,
    );
    let timer = |name: &str, period_us, relative| {
        Step::Timer(Timer { period_us, relative, skip: false, shared: false, name: name.into() })
    };
    let (short, long) = (timer("unique", 10, false), timer("unique", 20, false));
    let run = Step::RunUs(1);
    assert_eq!(played, [short, run.clone(), long, run, timer("u", 30, true)]);
}

#[test]
fn a_timer_belongs_to_all_threads_that_name_it_unless_it_is_unique() {
    let use_of = |name: &str| format!("\"timer\": {{\"ref\": \"{name}\", \"period\": 5}}");
    let (tick, own) = (use_of("tick"), use_of("unique"));
    let absolute = r#""timer0": {"ref": "tick", "period": 7, "mode": "absolute"}"#;
    let shares = |text: &str| -> Vec<(bool, bool)> {
        let steps = tasks(text).0.into_iter().flat_map(|group| group.steps);
        let timers = steps.filter_map(|step| match step {
            Step::Timer(timer) => Some((timer.shared, timer.relative)),
            _ => None,
        });
        timers.collect()
    };
    let two = format!(r#""a": {{{tick}, {own}}}, "b": {{{absolute}, {own}}}"#);
    assert_eq!(shares(&two), [(true, false), (false, true), (true, false), (false, true)]);
    let instances = format!(r#""a": {{"instance": 2, {tick}, {own}}}"#);
    assert_eq!(shares(&instances), [(true, true), (false, true)]);
    assert_eq!(shares(&format!(r#""a": {{{tick}, {tick}, {own}}}"#)), [(false, true); 3]);
    let forked =
        format!(r#""p": {{"sleep": 9, "fork": "c"}}, "c": {{"instance": 0, "loop": 1, {tick}}}"#);
    assert_eq!(shares(&forked), [(true, true)]);
}

#[test]
fn what_never_ends_is_stopped_and_what_never_comes_is_said() {
    for global in ["", "\"duration\": -1", "\"duration\": 0"] {
        let text = format!("{{\"global\": {{{global}}}, \"tasks\": {{\"t\": {{\"run\": 1}}}}}}");
        let resolved = json(&text).unwrap();
        assert_eq!(resolved.workload.duration_us, Some(2_000_000));
        let note = "w.json: it never ends; it is stopped after 2 s (\"duration\" in \"global\")";
        assert_eq!(resolved.notes, [note]);
    }
    let finite =
        json("{\"tasks\": {\"t\": {\"loop\": 1, \"run\": 1}, \"u\": {\"run\": 1}}}").unwrap();
    assert_eq!((finite.workload.duration_us, finite.notes), (None, vec![]));
    let (_, notes) = tasks(r#""t": {"phases": {"a": {"loop": -1, "run": 1}, "b": {"run": 1}}}"#);
    assert_eq!(notes, ["w.json: task 't': the phases after an endless one never come"]);
}

#[test]
fn what_says_nothing_is_taken() {
    for group in ["", "/"] {
        let played =
            steps(&format!(r#""taskgroup": "{group}", "util_min": -1, "util_max": -1, "run": 1"#));
        assert_eq!(played, [Step::RunUs(1)]);
    }
    let (_, notes) = tasks(r#""t": {"nodes_membind": [0], "run": 1}"#);
    assert_eq!(notes, ["w.json: ignored: nodes_membind, memory is not bound"]);
}

#[test]
fn utilisation_is_clamped_by_tasks_and_phases() {
    let (groups, _) = tasks(
        r#""t": {"util_min": 0, "util_max": 512, "phases": {
            "a": {"run": 1}, "b": {"util_min": 256, "run": 2}}}"#,
    );
    assert_eq!(groups[0].uclamp, UtilClamp { min: Some(0), max: Some(512) });
    let clamp = Step::Uclamp(UtilClamp { min: Some(256), max: None });
    assert_eq!(groups[0].steps, [Step::RunUs(1), clamp, Step::RunUs(2)]);
}

#[test]
fn task_groups_are_control_groups() {
    let resolved = json(
        r#"{"tasks": {
            "t": {"taskgroup": "/a/b", "phases": {
                "p": {"run": 1}, "q": {"taskgroup": "/c", "run": 2},
                "r": {"taskgroup": "", "run": 2}, "s": {"taskgroup": "/", "run": 3}}},
            "u": {"instance": 0, "taskgroup": "/c", "loop": 1, "run": 4},
            "v": {"loop": 1, "fork": "u"}}}"#,
    );
    let workload = resolved.unwrap().workload;
    let names: Vec<&str> = workload.control_groups.iter().map(|group| &*group.name).collect();
    assert_eq!((names, &*workload.tasks[0].group), (vec!["a/b", "c"], "a/b"));
    let moves = [
        Step::RunUs(1),
        Step::Group("c".into()),
        Step::RunUs(2),
        Step::RunUs(2),
        Step::Group(String::new()),
        Step::RunUs(3),
    ];
    assert_eq!(workload.tasks[0].steps, moves);
    assert_eq!(workload.tasks[1].steps, [Step::Group("c".into()), Step::RunUs(4)]);
}

#[test]
fn all_keys_about_logs_are_ignored_with_a_note() {
    let (_, notes) = whole(
        r#"{"global": {"duration": 1, "logsize": 4, "logdir": ".", "log_level": 9},
            "tasks": {"t": {"run": 1}}}"#,
    );
    assert_eq!(notes, ["w.json: ignored in 'global': logdir, logsize, log_level"]);
}

#[test]
fn a_run_of_minus_one_never_ends() {
    let (groups, notes) = whole(r#"{"tasks": {"t": {"loop": 3, "run": -1, "sleep": 5}}}"#);
    assert!(matches!(groups[0].steps[0], Step::Loop { .. }), "{:?}", groups[0].steps);
    assert!(notes[0].contains("it never ends; it is stopped after 2 s"), "{notes:?}");
}

#[test]
fn a_memory_run_has_its_own_buffer() {
    let run = |rest: &str| {
        let text = format!(r#""t": {{"memrun_a": {{"size": 4096, "count": 9, {rest}}}}}"#);
        let (groups, notes) = tasks(&text);
        assert_eq!(groups[0].steps, [Step::WriteMemory { bytes: 9, buffer: 4096 }]);
        notes
    };
    assert!(run(r#""type": "write""#).is_empty());
    assert_eq!(
        run(r#""type": "read", "ref": "m", "stride": 64"#),
        [
            "w.json: ignored: the ref of memrun: each task has a buffer of its own",
            "w.json: ignored: the type of memrun: it writes",
        ]
    );
}

proptest! {
    /// Every file is accepted or refused at a place, however it is cut and joined.
    #[test]
    fn no_text_makes_the_reader_fail(
        pieces in proptest::collection::vec((0..PIECES.len(), 0..PIECES.len()), 0..40),
        wrapped in any::<bool>(),
    ) {
        let inner: String = pieces.iter().map(|&(one, two)| [PIECES[one], PIECES[two]].concat()).collect();
        let text = if wrapped { format!("{{\"tasks\": {{{inner}}}}}") } else { inner };
        if let Err(error) = json(&text) {
            prop_assert!(error.to_string().starts_with("w.json"), "{error}");
        }
    }
}

/// Pieces of files, most of which fit together.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "},",
    "[",
    "]",
    ",",
    ":",
    "\"suspend\"",
    "'suspend',",
    "\"t\": {",
    "\"t\": {\"run\": 1},",
    "\"µ\": {\"instance\": 9223372036854775807, \"sleep\": 3, \"suspend\"},",
    "\"loop\": -1,",
    "\"run\": 5,",
    "\"fork\": \"t\",",
    "\"phases\": {",
    "\"timer\": {\"ref\": \"t\", \"period\": 4},",
    "\"mem\": 3,",
    "\"policy\": \"SCHED_FIFO\",",
    "\"dl-runtime\": 5,",
    "/* \"",
    "*/",
    "\"cpus\": [0],",
    "\"resume\": \"t\",",
];
