// SPDX-License-Identifier: GPL-2.0-only
//! Side files: what they set, and what is refused with file and line.

use std::path::Path;

use model::{Knob, KnobValue, Member, SchedulerChoice, Start, ValueKind, ValueType};

use super::{Host, host, list};
use crate::{Overrides, SpecError, adhoc};

fn ty(name: &str, size: usize, kind: ValueKind) -> ValueType {
    ValueType { name: name.into(), size, kind }
}

fn number() -> ValueType {
    ty("u32", 4, ValueKind::Unsigned)
}

/// The knobs of the scheduler that the side files belong to.
fn knobs(_: &str) -> Result<Vec<Knob>, String> {
    let knob = |name: &str, ty: ValueType| Knob {
        name: name.into(),
        default: vec![0; ty.size],
        ty,
        is_constant: !name.contains('.'),
    };
    let list = ValueKind::List { of: Box::new(number()), length: 4 };
    let names = [("A_FLAG".to_owned(), 1), ("B_FLAG".to_owned(), 2)].into();
    let flags = ValueKind::Named { is_signed: false, names };
    let cpu = Member { name: "cpu_id".into(), offset: 0, ty: number() };
    Ok(vec![
        knob("slice_ns", number()),
        knob("smt", ty("bool", 1, ValueKind::Bool)),
        knob("capacity", ty("u32[4]", 16, list)),
        knob("ops.flags", ty("u64", 8, flags)),
        knob("maps.pairs", number()),
        knob("inner_maps.queues", ty("bool", 1, ValueKind::Bool)),
        knob("programs.on_exec", ty("bool", 1, ValueKind::Bool)),
        knob("start.enable_cpu", ty("struct cpu_arg", 4, ValueKind::Members(vec![cpu]))),
    ])
}

/// The contestant `mine.bpf.c`, with this side file and these words behind its name.
fn contestant(side_file: &str, words: &str) -> Result<SchedulerChoice, SpecError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.bpf.c");
    std::fs::write(folder.path().join("mine.toml"), side_file).unwrap();
    let resolve = |file: &str, _: &Path| Ok(("mine".to_owned(), file.to_owned()));
    let host = Host { resolve: &resolve, knobs: &knobs, ..host() };
    let schedulers = list(&[format!("{} {words}", file.display()).trim_end()]);
    let over = Overrides { workloads: list(&["messaging"]), schedulers, ..Overrides::default() };
    Ok(adhoc(&over, &host)?.experiment.contestants[0].scheduler.clone())
}

const GOOD: &str = r#"
version = "1.1.4"

[knobs]
slice_ns = 1000
smt = "= smt"
capacity = "= capacity"

[ops]
flags = "A_FLAG | B_FLAG if node"

[maps]
pairs = 8

[inner_maps]
queues = true

[programs]
on_exec = true

[[start]]
program = "enable_cpu"
args = { cpu_id = "= cpu" }
for = "cpus"

[[refuse]]
if = "= node"
why = "it needs pairs"
"#;

#[test]
fn a_side_file_sets_and_a_knob_overrides() {
    let choice = contestant(GOOD, "slice_ns=7 capacity=[1,2]").unwrap();
    let values = choice.values();
    assert_eq!(values["slice_ns"], KnobValue::Int(7));
    assert_eq!(values["capacity"].to_string(), "[1,2]");
    assert_eq!(values["smt"], KnobValue::Text("= smt".into()));
    assert_eq!(values["maps.pairs"], KnobValue::Int(8));
    assert_eq!(values["inner_maps.queues"], KnobValue::Bool(true));
    assert_eq!(values["programs.on_exec"], KnobValue::Bool(true));
    assert_eq!(values["ops.flags"].to_string(), "A_FLAG|B_FLAG if node");
    let starts = Start::of(&values).unwrap();
    assert_eq!(starts[0].program, "enable_cpu");
    let SchedulerChoice::File { knobs, settings, .. } = choice else { panic!("a file") };
    assert_eq!((knobs.len(), settings.len()), (2, 9));
}

#[test]
fn a_formula_needs_no_value_before_the_machine_is_known() {
    let text = GOOD.replacen("\"= capacity\"", "\"= cpu % (cpus / 2) - 1\"", 1);
    let text = text.replacen('8', "\"= cpus / 2\"", 1);
    let values = contestant(&text, "").unwrap().values();
    assert_eq!(values["capacity"].to_string(), "=cpu % (cpus / 2) - 1");
    assert_eq!(values["maps.pairs"].to_string(), "=cpus / 2");
}

#[test]
fn another_file_of_the_same_name_is_no_side_file() {
    for text in ["question = \"Which?\"\n", "[[task]]\nname = \"a\"\n"] {
        let values = contestant(text, "").unwrap().values();
        assert_eq!(values, [("slice_ns".to_owned(), KnobValue::Int(20_000_000))].into(), "{text}");
    }
}

/// What is said of the good file with a part replaced, without the file's name.
fn said(old: &str, new: &str) -> String {
    let text = GOOD.replacen(old, new, 1);
    assert_ne!(text, GOOD);
    let error = contestant(&text, "").expect_err(new).to_string();
    error.split_once("mine.toml:").map(|(_, rest)| rest.to_owned()).unwrap_or(error)
}

#[test]
fn what_is_wrong_is_refused_at_its_line() {
    for (old, new, expected) in [
        ("slice_ns", "slice_n", "5:1: mine has no knob 'slice_n'; did you mean 'slice_ns'?"),
        ("1000", "true", "5:1: slice_ns = true: slice_ns is a number (u32); the default is 0"),
        (
            "1000",
            "1.5",
            "5:12: this is no value for a knob; write a whole number, true, false, text, \
                         a list or a table",
        ),
        (
            "1000",
            "5_000_000_000",
            "5:1: slice_ns = 5000000000 is out of range: u32 holds 0 … \
                                   4294967295; the default is 0",
        ),
        (
            "\"= capacity\"",
            "[1, 2, 3, 4, 5]",
            "7:1: capacity has room for 4 values (u32[4]), and \
                                               these are 5; the default is 4 values",
        ),
        (
            "\"= capacity\"",
            "\"= speed\"",
            "7:1: capacity = =speed: the machine has no 'speed'; there \
            are cpus, capacity, llc, node, smt, fastest, slowest, mask, sibling; the default is 4 \
            values",
        ),
        (
            "A_FLAG |",
            "C_FLAG |",
            "10:1: ops.flags = \"C_FLAG | B_FLAG if node\": 'C_FLAG' is none of \
                                  A_FLAG, B_FLAG; the default is 0",
        ),
        ("pairs", "pair", "13:1: mine has no knob 'maps.pair'; did you mean 'maps.pairs'?"),
        ("8", "0", "13:1: maps.pairs = 0: no kernel makes an empty map; the default is 0"),
        (
            "enable_cpu",
            "enable",
            "21:1: mine has no program 'enable' of the type syscall; did you \
                                  mean 'enable_cpu'?",
        ),
        ("cpu_id", "cpu", "21:1: there is no start.enable_cpu.cpu: struct cpu_arg has cpu_id"),
        (
            "for = \"cpus\"",
            "for = \"cores\"",
            "21:3: start: unknown variant `cores`, expected one of \
            `cpus`, `smt`, `llc`, `node`; write program = \"NAME\", args = {…}, and for = \"cpus\" if \
            it is for each",
        ),
        ("[maps]", "[map]", "12:2: unknown field 'map'; did you mean 'maps' or 'inner_maps'?"),
    ] {
        assert_eq!(said(old, new), expected);
    }
    let word = contestant(GOOD, "smt=2").unwrap_err().to_string();
    assert!(
        word.ends_with("smt=2: smt = 2 is out of range: bool holds 0 … 1; the default is false")
    );
}

#[test]
fn wrong_formulas_inner_maps_and_refusals_are_told() {
    for (old, new, expected) in [
        (
            "queues =",
            "queue =",
            "16:1: mine has no knob 'inner_maps.queue'; did you mean 'inner_maps.queues'?",
        ),
        (
            "\"= capacity\"",
            "\"= cpu * 2 +\"",
            "7:1: capacity = =cpu * 2 +: the expression ends too early; the default is 4 values",
        ),
        (
            "8",
            "\"= cores / 2\"",
            "13:1: maps.pairs = =cores / 2: unknown parameter 'cores'; a formula knows cpus; the \
             default is 0",
        ),
        (
            "\"= node\"",
            "\"= nodes\"",
            "26:3: refuse: if = =nodes: the machine has no 'nodes'; there are cpus, capacity, \
             llc, node, smt, fastest, slowest, mask, sibling; write if = \"= cpus % 2\", or \
             another condition, and why = \"…\"",
        ),
        (
            "\"= node\"",
            "\"= cpus % 2\"",
            "command line: mine does not run on uniprocessor: it needs pairs (CPUs: 1); choose \
             another --machine, or leave the scheduler out",
        ),
    ] {
        assert_eq!(said(old, new), expected);
    }
}

#[test]
fn what_another_version_lacks_is_left_out_part_by_part() {
    let side = r#"{"capacity": [1], "gone": 1, "start": [
        {"program": "enable_cpu", "args": {"cpu_id": 1, "gone": 2}}, {"program": "gone"},
        {"map": "gone"}]}"#;
    let mut values: model::Knobs = serde_json::from_str(side).unwrap();
    let taken = crate::knobs::take_unknown(&mut values, &knobs("").unwrap());
    assert_eq!(taken, ["start.enable_cpu.gone", "start.gone", "value.gone"]);
    assert_eq!(values["start"].to_string(), "[{args={cpu_id=1},program=enable_cpu}]");
}

#[test]
fn a_scheduler_of_today_in_its_authors_tree_has_its_side_file() {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("scx_bpfland/src/bpf");
    std::fs::create_dir_all(&sources).unwrap();
    std::fs::write(sources.join("main.bpf.c"), "").unwrap();
    let version = |path: &Path| crate::settings::of_crate(path).unwrap().map(|side| side.version);
    let known = crate::settings::of_today("scx_bpfland").unwrap().map(|side| side.version);
    assert!(known.is_some());
    assert_eq!(version(&folder.path().join("scx_bpfland")), known);
    assert_eq!(version(&sources), known);
    assert_eq!(version(&sources.join("main.bpf.c")), known);
    assert_eq!(version(folder.path()), None);
    let chaos = folder.path().join("scx_chaos");
    std::fs::create_dir(&chaos).unwrap();
    assert!(version(&chaos).is_some());
}

#[test]
fn what_every_user_space_sets_is_set_without_a_side_file() {
    let knobs = |_: &str| {
        let knob = |name: &str, default: &[u8], is_constant| Knob {
            name: name.into(),
            default: default.to_vec(),
            ty: ty("T", default.len(), ValueKind::Unsigned),
            is_constant,
        };
        Ok(vec![
            knob("nr_cpus", &[1, 0, 0, 0], true),
            knob("nr_cpu_ids", &[8, 0, 0, 0], true),
            knob("nr_possible_cpus", &[1, 0, 0, 0], false),
            knob("all_cpus", &[0; 16], true),
            knob("slice_ns", &[0; 8], true),
            knob("cgrp_slice_ns", &[7, 0, 0, 0, 0, 0, 0, 0], true),
        ])
    };
    let values = crate::settings::without_side_file("mine", "", &Host { knobs: &knobs, ..host() });
    let text = |text: &str| KnobValue::Text(text.into());
    let expected = [
        ("nr_cpus".to_owned(), text("= cpus")),
        ("all_cpus".to_owned(), text("= mask")),
        ("slice_ns".to_owned(), KnobValue::Int(20_000_000)),
    ];
    assert_eq!(values, expected.into());
}

#[test]
fn a_program_gets_the_arguments_that_it_needs() {
    let command =
        |text: &str| match crate::contestant::from_option(text, &host()).unwrap().scheduler {
            SchedulerChoice::Program { command, .. } => command.join(" "),
            other => panic!("{other:?}"),
        };
    let layers = r#"[{"name": "all", "matches": [[]], "kind": {"Open": {"slice_us": 20000, "weight": 100}}}]"#;
    assert_eq!(command("scx_layered"), format!("scx_layered {layers}"));
    assert_eq!(command("program:scx_layered layers.json"), "scx_layered layers.json");
    assert_eq!(command("scx_bpfland"), "scx_bpfland");
    let error = contestant("arguments = [\"-x\"]\n", "").unwrap_err().to_string();
    let expected = "a scheduler's file is no program and takes no arguments; set its [knobs]";
    assert!(error.ends_with(&format!("mine.toml:1:1: {expected}")), "{error}");
}
