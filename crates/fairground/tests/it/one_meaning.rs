// SPDX-License-Identifier: GPL-2.0-only
//! A workload means the same to every backend: random small workloads are refused alike, and what
//! is accepted is played by the simulator and by real threads, with equal counts.
//!
//! The shape: one or two groups of one to three tasks that repeat one to three times up to four
//! steps (`run_us`, `run_between_us`, `run_until_us`, `frame`, `sleep_us`, `yield`, `timer`, `read_file`, `write_memory`,
//! `write_null`, lock and unlock, loops and spans up to two deep), with or without an `exit`; and perhaps one pair of groups that
//! passes messages or semaphore posts, or of which one joins the other, a group that meets at a
//! barrier, or one that forks templates. Every such workload ends by itself, so how often something happens does not depend
//! on time. Half of the workloads for the first test get one of [`DEFECTS`].

use std::path::PathBuf;

use live::player::{BusyLoop, GroupPlayed, Options, Periodic, PlayError, busy};
use model::play::{Script, Setting};
use model::{
    Contestant, Machine, Outcome, Policy, PolicyClass, Record, SchedulerChoice, Seed, Trial,
    Workload,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

const CPUS: u32 = 1;

/// Steps of one task, which end by themselves and wait for no other task.
fn steps() -> impl Strategy<Value = Vec<Value>> {
    let leaf = prop_oneof![
        (0_u64..30).prop_map(|us| json!({"run_us": us})),
        (0_u64..30).prop_map(|us| json!({"run_between_us": {"least": us / 2, "most": us}})),
        (0_u64..30).prop_map(|us| json!({"run_until_us": us})),
        Just(json!("frame")),
        (0_u64..50).prop_map(|us| json!({"sleep_us": us})),
        Just(json!("yield")),
        Just(json!({"read_file": {"bytes": 100}})),
        written("write_memory"),
        written("write_null"),
        timer(),
    ];
    let step = leaf.prop_recursive(2, 8, 3, |inner| {
        let inner = vec(inner, 1..4);
        prop_oneof![
            (0_u64..4, inner.clone())
                .prop_map(|(count, steps)| json!({"loop": {"count": count, "steps": steps}})),
            (1_u64..1_000, inner)
                .prop_map(|(us, steps)| json!({"within": {"us": us, "steps": steps}})),
        ]
    });
    vec(step, 1..5)
}

fn written(step: &'static str) -> impl Strategy<Value = Value> {
    (1_u64..9_000, 1_u64..5_000)
        .prop_map(move |(bytes, buffer)| json!({step: {"bytes": bytes, "buffer": buffer}}))
}

/// The name decides on the kind, which is that of every use of a timer.
fn timer() -> impl Strategy<Value = Value> {
    (0_u64..4, 0_u64..3).prop_map(|(kind, longer)| {
        let (relative, skip, shared) = (kind == 1, kind == 2, kind == 3);
        let period_us = 50 + 20 * kind + 30 * longer;
        json!({"timer": {"period_us": period_us, "relative": relative, "skip": skip,
            "shared": shared, "name": format!("t{kind}")}})
    })
}

fn group(name: &'static str) -> impl Strategy<Value = Value> {
    let shape = (1_u32..4, 1_u64..4, 0_u64..200, 0_u64..100, any::<bool>(), any::<bool>());
    (shape, steps()).prop_map(
        move |((count, repeat, delay_us, jitter_us, locks, exits), mut steps)| {
            if locks {
                steps.insert(0, json!({"lock": "l"}));
                steps.push(json!({"unlock": "l"}));
            }
            if exits {
                steps.push(json!("exit"));
            }
            json!({"name": name, "count": count, "repeat": repeat, "delay_us": delay_us,
                "jitter_us": jitter_us, "steps": steps})
        },
    )
}

/// Groups that wait for each other, and the channels that they use.
fn meeting() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    let nothing = Just((vec![], vec![])).boxed();
    let messages = (1_u64..4, 1_u64..4, 1_u64..3, any::<bool>());
    let messages = messages.prop_map(|(count, repeat, fan, socket)| {
        let send = json!({"send": {"channel": "c", "bytes": 100, "fan": fan}});
        let receive = json!({"receive": {"channel": "c", "bytes": 100}});
        let groups = vec![
            json!({"name": "sender", "count": count, "repeat": repeat, "steps": [send]}),
            json!({"name": "receiver", "repeat": count * repeat * fan, "steps": [receive]}),
        ];
        (groups, vec![json!({"name": "c", "count": 1, "socket": socket})])
    });
    let posts = (1_u64..4, 1_u64..4).prop_map(|(count, repeat)| {
        let (post, wait) = (json!({"semaphore_post": "s"}), json!({"semaphore_wait": "s"}));
        let groups = vec![
            json!({"name": "poster", "count": count, "repeat": repeat, "steps": [post]}),
            json!({"name": "taker", "repeat": count * repeat, "steps": [wait]}),
        ];
        (groups, vec![])
    });
    let barrier = (1_u64..4, 1_u64..4).prop_map(|(count, repeat)| {
        let steps = json!([{"run_us": 5}, {"barrier": "b"}]);
        let group = json!({"name": "meet", "count": count, "repeat": repeat, "steps": steps});
        (vec![group], vec![])
    });
    let forks = (1_u64..3, 0_u64..3, any::<bool>(), any::<bool>()).prop_map(
        |(repeat, count, execs, exits)| {
            let fork = json!({"fork": {"task": "child", "count": count}});
            let mut steps = vec![json!({"run_us": 10})];
            match (execs, exits) {
                (true, _) => steps.push(json!("exec")),
                (_, true) => steps.push(json!("exit")),
                _ => {}
            }
            let parent = json!({"name": "parent", "repeat": repeat,
                "steps": [fork, "wait_children"]});
            (vec![parent, json!({"name": "child", "template": true, "steps": steps})], vec![])
        },
    );
    let joins = (0_u64..4, 1_u64..4, any::<bool>()).prop_map(|(count, repeat, exits)| {
        let steps = if exits { json!([{"run_us": 5}, "exit"]) } else { json!([{"run_us": 5}]) };
        let groups = vec![
            json!({"name": "joined", "count": count, "repeat": repeat, "steps": steps}),
            json!({"name": "joins", "repeat": 1, "steps": [{"join": "joined"}, {"run_us": 5}]}),
        ];
        (groups, vec![])
    });
    prop_oneof![nothing, messages, posts, barrier, forks, joins]
}

fn workload() -> impl Strategy<Value = Value> {
    let protocol = prop_oneof![Just("none"), Just("inherit")];
    (vec(group("a"), 1..2), vec(group("b"), 0..2), meeting(), protocol).prop_map(
        |(first, second, (groups, channels), protocol)| {
            let tasks: Vec<Value> = first.into_iter().chain(second).chain(groups).collect();
            let locks = tasks.iter().any(|task| task["steps"][0] == json!({"lock": "l"}));
            let mutex = locks.then(|| json!({"name": "l", "protocol": protocol}));
            let mutexes: Vec<Value> = mutex.into_iter().collect();
            json!({"name": "w", "channel": channels, "mutex": mutexes, "task": tasks})
        },
    )
}

/// What makes a workload unplayable: a field of its first group, or steps before its own.
fn defects() -> Vec<(&'static str, &'static str, Value)> {
    let timer = |name: &str| json!({"timer": {"period_us": 70, "name": name}});
    let nine: Vec<Value> = (0..9).map(|number| timer(&format!("n{number}"))).collect();
    let skipping = json!({"timer": {"period_us": 70, "name": "x", "skip": true}});
    vec![
        ("no rounds", "repeat", json!(0)),
        ("no steps", "steps", json!([])),
        ("no end", ENDLESS, Value::Null),
        ("a foreign CPU", "affinity", json!([0, CPUS])),
        (
            "an impossible deadline",
            "policy",
            json!({"class": "deadline", "runtime_us": 9, "period_us": 5}),
        ),
        ("nine timers", FIRST, json!(nine)),
        ("a step to a foreign CPU", FIRST, json!([{"affinity": [CPUS]}])),
        ("a step to no CPU", FIRST, json!([{"affinity": []}])),
        ("the lab's priority", FIRST, json!([{"policy": {"class": "fifo", "priority": 99}}])),
        ("a nice value too high", FIRST, json!([{"nice": 20}])),
        ("an unknown template", FIRST, json!([{"fork": {"task": "nobody"}}])),
        ("a fork of itself", FIRST, json!([{"fork": {"task": "a"}}])),
        ("an unknown channel", FIRST, json!([{"receive": {"channel": "none", "bytes": 1}}])),
        ("exec without a fork", FIRST, json!(["exec"])),
        ("a timer without a period", FIRST, json!([{"timer": {"period_us": 0}}])),
        ("two timers of one name", FIRST, json!([timer("x"), skipping])),
        ("an empty loop", FIRST, json!([{"loop": {"count": 1, "steps": []}}])),
        (
            "a shared timer without a name",
            FIRST,
            json!([{"timer": {"period_us": 70, "shared": true}}]),
        ),
        ("a buffer without room", FIRST, json!([{"write_memory": {"bytes": 5, "buffer": 0}}])),
        ("a range without times", FIRST, json!([{"run_between_us": {"least": 2, "most": 1}}])),
        ("a time out of range", FIRST, json!([{"run_us": 86_400_000_001_u64}])),
    ]
}

/// The steps go before the group's own.
const FIRST: &str = "first steps";
/// No group ends.
const ENDLESS: &str = "endless";

fn break_it(workload: &mut Value, (_, what, value): &(&str, &str, Value)) {
    let tasks = workload["task"].as_array_mut().expect("tasks");
    match *what {
        FIRST => {
            let own = tasks[0]["steps"].as_array_mut().expect("steps");
            own.splice(0..0, value.as_array().expect("steps").iter().cloned());
        }
        ENDLESS => {
            for task in tasks {
                task["repeat"] = Value::Null;
                task["steps"].as_array_mut().expect("steps").retain(|step| step != "exit");
            }
        }
        field => tasks[0][field] = value.clone(),
    }
}

fn parse(workload: &Value) -> Workload {
    serde_json::from_value(workload.clone()).expect("a workload")
}

/// A trial of the simulator. Its tasks are real-time ones, which need no sched_ext scheduler.
fn trial(workload: Workload) -> Trial {
    let policy = Policy { class: PolicyClass::Fifo, priority: 10, ..Policy::default() };
    let scheduler = SchedulerChoice::Policy { policy };
    Trial {
        contestant: Contestant::new("fifo", scheduler).into(),
        workload: workload.into(),
        machine: Machine { cpus: CPUS, hz: 1_000, ..Machine::default() }.into(),
        ..Trial::default()
    }
}

fn simulate(workload: Workload) -> Record {
    sim::run_ops(&trial(workload), None, sim::TaskLayout::compact())
}

fn play_live(workload: &Workload) -> Result<Vec<GroupPlayed>, PlayError> {
    let mut nothing = || true;
    let options = Options {
        setting: Setting { policy: Policy::default(), seed: Seed(1), cpus: CPUS },
        folder: None,
        busy: BusyLoop::timed(busy::calibrate() / 8),
        control_groups: None,
        probes: None,
        on_interrupt: &mut || {},
        periodic: Periodic::new(0, 0, &mut nothing),
    };
    live::player::play(workload, options).map(|played| played.groups)
}

fn check_file(workload: &Value) -> Result<(), String> {
    let mut file = serde_json::to_value(parse(workload)).expect("JSON");
    file.as_object_mut().expect("a table").remove("name");
    let text = toml::to_string(&file).map_err(|error| error.to_string())?;
    let asset = spec::assets::Asset {
        label: "w.toml".into(),
        stem: "w".into(),
        base: PathBuf::new(),
        text,
    };
    let resolved = spec::workload::resolve(&asset, &Default::default(), CPUS);
    resolved.map(|_| ()).map_err(|error| error.to_string())
}

/// Counts of events in a group that do not depend on time.
#[derive(Debug, PartialEq)]
struct Counts {
    tasks: u64,
    rounds: u64,
    releases: u64,
    jobs: u64,
    spans: u64,
    frames: u64,
    /// Tasks that ended by themselves; `None`: their processes were replaced before.
    ended: Option<u64>,
}

fn of_live(group: &GroupPlayed) -> Counts {
    Counts {
        tasks: group.tasks,
        rounds: group.rounds,
        releases: group.timer_lateness.count,
        jobs: group.response_time.count,
        spans: group.span.count,
        frames: group.frame_time.count,
        ended: (!group.execs).then_some(group.turnaround.count),
    }
}

fn of_record(record: &Record, group: &GroupPlayed) -> Counts {
    let measured = &record.measured;
    let value = |name: &str| measured.value(name, &group.name).unwrap_or(0.0);
    let samples =
        |name: &str| measured.histogram(name, &group.name).map_or(0, |histogram| histogram.count);
    // A record has rates; the simulator's time comes from a share of it, which is exact enough.
    let run_s = match value("cpu_share") {
        0.0 => 0.0,
        share => value("cpu_time_ns") / share / f64::from(CPUS) / 1e9,
    };
    Counts {
        tasks: value("tasks") as u64,
        rounds: (value("iterations_per_second") * run_s).round() as u64,
        releases: samples("timer_lateness_ns"),
        jobs: samples("response_time_ns"),
        spans: samples("span_ns"),
        frames: samples("frame_time_ns"),
        ended: (!group.execs).then(|| samples("turnaround_ns")),
    }
}

fn refusal_of_live(workload: &Workload) -> String {
    match play_live(workload) {
        Err(PlayError::Failed(why)) => why,
        other => panic!("live plays what cannot be played: {other:?}"),
    }
}

fn refusal_of_sim(workload: &Workload) -> String {
    match simulate(workload.clone()).outcome {
        Outcome::Unsupported { reason } => reason,
        other => panic!("the simulator plays what cannot be played: {other:?}"),
    }
}

fn script(workload: &Workload) -> Result<Script, String> {
    let setting = Setting::for_trial(&trial(workload.clone()));
    Script::new(workload, setting).map_err(|refusal| refusal.to_string())
}

#[test]
fn every_defect_is_refused_alike() {
    let plain = json!({"name": "w", "task": [{"name": "a", "repeat": 1, "steps": ["yield"]}]});
    assert_eq!(check_file(&plain), Ok(()));
    for defect in defects() {
        let (what, mut broken) = (defect.0, plain.clone());
        break_it(&mut broken, &defect);
        let workload = parse(&broken);
        let refusal = script(&workload).expect_err(what);
        assert_eq!(refusal_of_sim(&workload), refusal, "{what}");
        assert_eq!(refusal_of_live(&workload), refusal, "{what}");
        let file = check_file(&broken).expect_err(what);
        assert!(file.starts_with("w.toml:"), "{what}: {file}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_is_refused_is_refused_by_all(
        mut text in workload(),
        defect in proptest::option::of(proptest::sample::select(defects())),
    ) {
        if let Some(defect) = &defect {
            break_it(&mut text, defect);
        }
        let workload = parse(&text);
        match script(&workload) {
            Ok(_) => {
                prop_assert!(defect.is_none());
                prop_assert_eq!(simulate(workload.clone()).outcome, Outcome::Ok);
                prop_assert!(play_live(&workload).is_ok());
            }
            Err(refusal) => {
                prop_assert!(defect.is_some(), "{}", refusal);
                prop_assert_eq!(&refusal_of_sim(&workload), &refusal);
                prop_assert_eq!(&refusal_of_live(&workload), &refusal);
                prop_assert!(check_file(&text).is_err(), "{}", refusal);
            }
        }
    }

    #[test]
    fn both_players_count_the_same(text in workload()) {
        let workload = parse(&text);
        let record = simulate(workload.clone());
        prop_assert_eq!(&record.outcome, &Outcome::Ok);
        let played = play_live(&workload).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for group in &played {
            prop_assert_eq!(of_record(&record, group), of_live(group), "{}", group.name);
        }
    }
}
