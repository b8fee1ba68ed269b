// SPDX-License-Identifier: GPL-2.0-only

use clap::Parser;
use recording::event::{Event, Leaves, Task, TaskIndex};

use super::*;

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    args: Args,
}

fn parsed(words: &[&str]) -> Result<Args, String> {
    let line = CommandLine::try_parse_from([&["record"], words].concat());
    line.map(|line| line.args).map_err(|error| error.to_string())
}

fn recorded(lost_events: u64) -> Recording {
    let what = What::Switch { out: None, leaves: Leaves::Runnable, next: Some(TaskIndex(0)) };
    Recording {
        tasks: vec![Task { name: "secret".into(), ..Task::default() }],
        events: vec![Event { at_ns: 0, cpu: 0, what }; 1_000],
        lost_events,
        ..Recording::default()
    }
}

#[test]
fn a_recording_with_holes_is_refused_with_the_option_that_helps() {
    let args = parsed(&[]).expect("options");
    assert!(check(&recorded(0), &args).is_ok());
    assert!(check(&recorded(1), &args).is_ok(), "0.1 % at most");
    let refused = check(&recorded(2), &args).expect_err("more than 0.1 %").to_string();
    assert!(refused.contains("2 of 1002 events were lost (0.2 %)"), "{refused}");
    assert!(refused.contains("--buffer 67MB"), "{refused}");
    assert!(buffer("67MB").is_ok_and(|bytes| bytes > args.buffer), "the advice can be followed");
}

#[test]
fn a_recording_of_nothing_is_refused() {
    let nothing = Recording::default();
    let args = parsed(&[]).expect("options");
    assert!(check(&nothing, &args).is_err());
    let args = parsed(&["--only", "nobody"]).expect("options");
    let refused = check(&nothing, &args).expect_err("nothing ran");
    assert_eq!(refused.to_string(), "--only: no task of nobody ran");
    assert_eq!(exit::code(&refused), exit::BAD_INPUT);
}

#[test]
fn no_name_is_left_in_an_anonymous_recording() {
    let mut recording = recorded(0);
    make_anonymous(&mut recording);
    assert_eq!(recording.tasks[0].name, "t1");
    assert!(!format!("{recording:?}").contains("secret"));
}

#[test]
fn a_workload_and_its_tapes_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let file = folder.path().join("load.toml").display().to_string();
    let args = parsed(&["-o", &file]).expect("options");
    let mut files = Files { args: &args, written: 0 };
    (0..2).for_each(|_| files.write(recorded(0), None).expect("something ran"));
    assert!(read("load.toml").contains("steps = [\"tape\"]"), "{}", read("load.toml"));
    assert!(read("load-2.toml").contains("tapes = \"load-2.tapes\""), "{}", read("load-2.toml"));
    assert!(read("load.toml").contains("tapes = \"load.tapes\""), "{}", read("load.toml"));
    assert!(read("load.tapes").starts_with("task 0 secret"), "{}", read("load.tapes"));
}

#[test]
fn lost_events_show_at_once() {
    let seen = Progress { events: 12, bytes: 3_000_000, lost_events: 0 };
    let said = progress(Duration::from_secs(12), &seen, 200_000_000);
    assert_eq!(said, "recording for 12 s: 12 events, 3.0 MB of 200 MB");
    let seen = Progress { lost_events: 4, ..seen };
    assert!(progress(Duration::from_secs(12), &seen, 1).ends_with(", 4 lost"));
}

#[test]
fn the_time_of_tasks_is_that_between_switches() {
    let task = Some(TaskIndex(0));
    let switch = |at_ns, out, next| {
        let what = What::Switch { out, leaves: Leaves::Runnable, next };
        Event { at_ns, cpu: 0, what }
    };
    let events = vec![switch(10, None, task), switch(30, task, None), switch(50, None, None)];
    let recording = Recording { events, ..Recording::default() };
    assert_eq!(tasks_ns(&recording), 20);
    let cost = Cost { programs_ns: Some(8), runs: 4, ..Cost::default() };
    let slower = slower_percent(&cost, &recording);
    assert!((slower - 100.0 * 6.0 / 14.0).abs() < 1e-9, "{slower}");
}

#[test]
fn a_high_cost_has_advice_and_an_unknown_one_a_reason() {
    let low = Cost {
        programs_ns: Some(20_000_000),
        runs: 20_000,
        own_ns: 10_000_000,
        length_ns: 1_000_000_000,
        cpus: 2,
    };
    assert_eq!(
        cost_line(&low, 2.0, 3.0),
        "cost: 1.50 % of the machine's CPU time (1.00 in the kernel, 0.50 in fairground); the \
         recorded tasks used 2.0 % more of it"
    );
    let advice = "record less with --only";
    assert!(cost_line(&Cost { cpus: 1, ..low }, 2.0, 2.9).contains(advice));
    assert!(cost_line(&low, 10.0, 3.0).contains("10.0 % more of it; tasks"));
    let unknown = cost_line(&Cost { programs_ns: None, ..low }, 2.0, 3.0);
    assert!(unknown.contains("0.50 %") && unknown.contains("CAP_SYS_ADMIN"), "{unknown}");
}
