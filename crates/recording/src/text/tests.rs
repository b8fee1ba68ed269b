// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::event::{Leaves, SleepsFor, TaskIndex, Waker, What};

/// The same four events as each program prints them.
const FTRACE: &str = include_str!("samples/ftrace.txt");
const TRACE_CMD: &str = include_str!("samples/trace_cmd.txt");
const PERF: &str = include_str!("samples/perf.txt");

fn read(text: &str) -> Result<Recording, ReadFault> {
    let mut reader = Reader::new(text.lines().any(tells_waking), None);
    text.lines().try_for_each(|line| reader.line(line))?;
    Ok(reader.finish()?.0)
}

#[test]
fn three_programs_tell_the_same() {
    for (text, by_interrupt) in
        [(FTRACE, Waker::Unknown), (TRACE_CMD, Waker::Unknown), (PERF, Waker::Timer)]
    {
        assert!(is(text));
        let recording = read(text).expect(text);
        assert_eq!(recording.length_ns, 200_000);
        let names: Vec<&str> = recording.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["Web Content", "a=b [1]", "sh"]);
        assert_eq!(recording.tasks[0].attributes.nice, Some(5));
        assert_eq!(recording.tasks[2].attributes.policy.map(|policy| policy.priority), Some(50));
        let by = |place: usize| match recording.events[place].what {
            What::Wake { waker, .. } => waker,
            ref other => panic!("{other:?}"),
        };
        assert_eq!(by(1), Waker::Task(TaskIndex(0)));
        assert_eq!(by(2), by_interrupt);
        let leaves = Leaves::Sleeps(SleepsFor::Disk);
        let last = What::Switch { out: Some(TaskIndex(0)), leaves, next: None };
        assert_eq!(recording.events[3].what, last);
    }
    assert_eq!((read(FTRACE).unwrap().cpus, read(PERF).unwrap().cpus), (4, 2));
}

/// The same events with raw fields (`trace-cmd report -R`, ftrace's option `fields`), in the
/// latency formats of trace-cmd and ftrace, and with stacks and calls of functions between them.
#[test]
fn other_options_of_the_programs_change_nothing() {
    let told = |text: &str| {
        assert!(is(text), "{text}");
        let Recording { tasks, events, .. } = read(text).unwrap_or_else(|why| panic!("{why}"));
        (tasks, events)
    };
    let plain = told(FTRACE);
    let raw = FTRACE.replace("=R ==> ", "=0 ").replace("=D|K ==> ", "=258 ");
    let fields = raw.replace("state=0 ", "state=0x0 (0) ").replace("=258", "=0x102 (258)");
    let fields = fields.replace("next_prio=125", "next_prio=125 (0x7d)");
    let latency = FTRACE.replace("(   70) ", "").replace("(-----) ", "");
    let latency = latency.replace("     Web Content-77      [001] ", "Web Cont-77      1");
    let latency = latency.replace(" [001] ", "   1");
    let us = latency.replace("   17.000101:", "101us+:").replace("   17.000151:", " 151us :");
    let us = us.replace("   17.000001:", "  1us :").replace("   17.000201:", " 201us!:");
    let stacks = FTRACE.replace(
        "     Web Content-77      (",
        "     Web Content-77      [001] d..2.   17.000001: <stack trace>\n => __schedule\n     Web \
         Content-77      [001] d..2.    17.000001: schedule <-schedule_timeout\n     Web \
         Content-77      (",
    );
    for text in [raw, fields, latency, us, stacks] {
        assert_eq!(told(&text), plain, "{text}");
    }
}

#[test]
fn states_are_read_from_numbers() {
    for (state, leaves) in [
        ("0", Leaves::Runnable),
        ("0x100", Leaves::Runnable),
        ("2048", Leaves::Runnable),
        ("1", Leaves::Sleeps(SleepsFor::Unknown)),
        ("0x40", Leaves::Sleeps(SleepsFor::Unknown)),
        ("2", Leaves::Sleeps(SleepsFor::Disk)),
        ("16", Leaves::Ended),
        ("0x20", Leaves::Ended),
    ] {
        let text = format!(
            "a-7 [000] 1.000000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 \
             prev_state={state} next_comm=swapper/0 next_pid=0 next_prio=120\n"
        );
        let What::Switch { leaves: read, .. } = read(&text).unwrap().events[0].what else {
            panic!("{state}")
        };
        assert_eq!(read, leaves, "{state}");
    }
}

#[test]
fn a_trace_without_wake_ups_says_so_and_nothing_else_of_them() {
    let text: Vec<&str> = PERF.lines().filter(|line| !line.contains("sched_waking")).collect();
    let untold = read(&text.join("\n")).unwrap().untold.join("\n");
    assert!(untold.starts_with("no wake-up is in the trace"), "{untold}");
    assert!(!untold.contains("sched_wakeup") && !untold.contains("woke"), "{untold}");
}

#[test]
fn a_number_that_is_used_again_is_another_task() {
    let text = include_str!("samples/used_again.txt");
    let recording = read(text).unwrap();
    let tasks: Vec<(u32, &str)> =
        recording.tasks.iter().map(|task| (task.tid, task.name.as_str())).collect();
    assert_eq!(tasks, [(7, "a"), (8, "b"), (7, "c")]);
}

#[test]
fn lost_events_and_old_wake_ups_are_told() {
    let old = PERF.replace("sched_waking", "sched_wakeup");
    let recording = read(&format!("{old}CPU:1 [LOST 35 EVENTS]\n# 5 events were lost\n")).unwrap();
    assert_eq!(recording.lost_events, 40);
    assert!(recording.untold[0].contains("trace sched_waking too"), "{:?}", recording.untold);
    // Flags that never show an interrupt tell nothing.
    let plain = FTRACE.replace("d.h2.", "d..2.");
    let untold = read(&plain).unwrap().untold;
    assert!(untold[0].contains("looks like that task"), "{untold:?}");
    assert!(!read(FTRACE).unwrap().untold[0].contains("looks like that task"));
}

#[test]
fn what_is_no_trace_gets_its_line() {
    let fault = |text: &str| read(text).expect_err(text).in_file("a");
    let cut = &TRACE_CMD[..TRACE_CMD.len() - 12];
    let lacking = "a:7: sched_switch: a task or its state is missing";
    let said = fault(cut);
    assert!(said.starts_with(&format!("{lacking}; if")), "{said}");
    let said = fault(&format!("{FTRACE}nonsense \u{1b}[2J"));
    assert!(said.starts_with("a:8: 'nonsense \\u001b[2J' is no line of a trace; if"), "{said}");
    // Only the last line can be cut off.
    assert_eq!(fault(&format!("{cut}\n{TRACE_CMD}")), lacking);
    let said = fault("a-1 [000] 1.0: irq_handler_entry: irq=1\n");
    assert!(said.starts_with("a: ") && said.contains("no sched_switch"), "{said}");
    assert!(!is("# a comment\nT: 0 ( 1001) P:80 I:1000\n"));
}

/// As `perf record --all-cgroups` and `perf script -F +cgroup` of perf 6.12 write it.
#[test]
fn tasks_are_in_the_control_groups_that_perf_shows() {
    let text = "\
    sh  7 [000] 17.000001: sched:sched_waking: sh:8 [120] CPU:001 /user.slice/a game [1]
    sh  7 [000] 17.000002: sched:sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 \
    prev_state=S ==> next_comm=sh next_pid=8 next_prio=120 /user.slice/a game [1]
    sh  8 [000] 17.000003: sched:sched_switch: sh:8 [120] S ==> make:9 [125] /system.slice
  make  9 [000] 17.000004: sched:sched_switch: make:9 [125] S ==> sh:7 [120] /
    sh  7 [000] 17.000005: sched:sched_waking: comm=cat pid=10 prio=120 target_cpu=001 unknown
";
    let recording = read(text).expect("a trace");
    let tasks = recording.tasks.iter();
    let mut groups: Vec<_> = tasks.map(|task| (task.tid, task.control_group.as_str())).collect();
    groups.sort_unstable();
    let game = "user.slice/a game [1]";
    assert_eq!(groups, [(7, game), (8, "system.slice"), (9, ""), (10, "")]);
    // A text of ftrace has no such field.
    let text = text.replace("sched:sched_", "sched_").replace("sh  7", "sh-7").replace("[1]", "");
    let recording = read(&text.replace("sh  8", "sh-8").replace("make  9", "make-9"));
    let tasks = recording.expect("a trace").tasks;
    assert!(tasks.iter().all(|task| task.control_group.is_empty()), "{tasks:?}");
}

#[test]
fn tasks_are_in_the_control_groups_that_they_were_attached_to() {
    let line = |us: u32, event: &str| format!("  sh-7     [000] d..2.   17.{us:06}: {event}\n");
    let attached = |root: u32, path: &str, task: &str| {
        format!("cgroup_attach_task: dst_root={root} dst_id=41 dst_level=2 dst_path={path} {task}")
    };
    let text = [
        line(1, &attached(0, "/user.slice/a game pid=3", "pid=7 comm=sh")),
        line(2, &attached(4, "/of v1", "pid=7 comm=sh")),
        line(3, "sched_process_fork: comm=sh pid=7 child_comm=sh child_pid=8"),
        line(4, &attached(0, "/", "pid=9 comm=make pid=1")),
        line(
            5,
            "sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=sh \
             next_pid=8 next_prio=120",
        ),
    ];
    let recording = read(&text.concat()).expect("a trace");
    let tasks = recording.tasks.iter();
    let groups: Vec<_> = tasks.map(|task| (task.tid, task.control_group.as_str())).collect();
    let game = "user.slice/a game pid=3";
    assert_eq!(groups, [(7, game), (8, game), (9, "")]);
    assert!(recording.untold.iter().any(|said| said.contains("no weights")), "{recording:?}");
    let cut = line(1, "cgroup_attach_task: dst_root=0 dst_id=41");
    assert!(read(&cut).unwrap_err().to_string().contains("the task or its group is missing"));
}
