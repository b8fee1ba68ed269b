// SPDX-License-Identifier: GPL-2.0-only
//! Good and bad claims. `UPDATE_EXPECT=1 cargo test` rewrites the expected messages.

use std::fs;

use expect_test::{Expect, expect};

use super::read;
use crate::spec::SpecError;

/// A small good claim; tests break one line of it.
const GOOD: &str = r#"about = "vtime lets a sleeper wait less than fifo does"
source = "S3"
citation = "somebody, 2021"
protocol = "a picture"

[[published]]
what = "wait"
of = "fifo"
value = 4.5
unit = "ms"

[[test]]
name = "sim"
on = "sim"
experiment = "x.toml"

[[test.expect]]
measure = "wakeup_latency_ns.p50 fair_waker"
of = "vtime"
cell = "wake_under_hogs hogs=3"
over = "fifo"
by = "ratio"
is = "less"
size = [0.01, 0.9]

[[test]]
name = "vm"
on = "vm"
not_testable = "it needs two machines"
command = "fairground replicate it --on live"
"#;

const EXPERIMENT: &str = r#"question = "Why?"
on = ["sim", "vm"]

[[scheduler]]
name = "vtime"
file = "vtime"

[[scheduler]]
name = "fifo"
file = "fifo"

[[scheduler]]
kernel = "6.1"

[[workload]]
name = "wake_under_hogs"
hogs = [0, 3]
"#;

/// Reads a claim's file beside its experiment's; the folder's name is cut out of messages.
fn from(text: &str) -> Result<model::Claim, SpecError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), EXPERIMENT).unwrap();
    let file = folder.path().join("claim.toml");
    fs::write(&file, text).unwrap();
    let cut = format!("{}/", folder.path().display());
    read(&file.display().to_string())
        .map_err(|error| SpecError { file: error.file.replace(&cut, ""), ..error })
}

#[track_caller]
fn bad(old: &str, new: &str, message: Expect) {
    assert!(GOOD.contains(old), "{old}");
    match from(&GOOD.replacen(old, new, 1)) {
        Ok(_) => panic!("this claim must be refused"),
        Err(error) => message.assert_eq(&error.to_string()),
    }
}

#[test]
fn a_good_claim_names_its_cell_and_machine_in_full() {
    let claim = from(GOOD).unwrap();
    assert_eq!((claim.id.as_str(), claim.tests.len()), ("claim", 2));
    let expected = &claim.tests[0].expect[0];
    assert_eq!(expected.cell.as_deref(), Some("wake_under_hogs duration_ms=400 hogs=3"));
    assert_eq!(expected.machine.as_deref(), Some("uniprocessor"));
    assert_eq!(expected.ends(), Some((0.01, 0.9)));
}

#[test]
fn claims() {
    bad("source = \"S3\"", "source = \"S9\"", expect![[r#""#]]);
    bad("protocol = \"a picture\"\n", "", expect![[r#""#]]);
    bad("about = \"vtime lets a sleeper wait less than fifo does\"", "about = \" \"", expect![[r#""#]]);
    bad("value = 4.5", "valeu = 4.5", expect![[r#""#]]);
    bad("source = \"S3\"", "source = \"S3\"\nname = \"it\"", expect![[r#""#]]);
    let (head, _) = GOOD.split_once("[[test]]").unwrap();
    assert_eq!(
        from(head).unwrap_err().to_string(),
        "claim.toml: nothing tests the claim; add a [[test]] with name, on and experiment, or not_testable"
    );
}

#[test]
fn tests() {
    bad("name = \"vm\"", "name = \"sim\"", expect![[r#""#]]);
    bad("name = \"vm\"", "name = \"a vm\"", expect![[r#""#]]);
    bad("on = \"sim\"", "on = \"simulator\"", expect![[r#""#]]);
    bad("not_testable = ", "experiment = \"x.toml\"\nnot_testable = ", expect![[r#""#]]);
    bad("not_testable = \"it needs two machines\"\n", "", expect![[r#""#]]);
    bad("not_testable = \"it needs two machines\"", "not_testable = \"\"", expect![[r#""#]]);
    bad("experiment = \"x.toml\"", "not_testable = \"no\"", expect![[r#""#]]);
    bad("experiment = \"x.toml\"", "experiment = \"x.toml\"\ncommand = \"do it\"", expect![[r#""#]]);
    bad("\n[[test.expect]]\n", "\n[[test.because]]\n", expect![[r#""#]]);
}

/// The list of experiments is cut out: a new file must not need an edit here.
#[test]
fn unknown_experiments() {
    let error = from(&GOOD.replacen("x.toml", "feild", 1)).unwrap_err().to_string();
    let start = "claim.toml:15:1: unknown experiment 'feild'; did you mean 'field'? looked in ./experiments/";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn expectations() {
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency.p50 fair_waker", expect![[r#""#]]);
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency_ns fair_waker", expect![[r#""#]]);
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency_ns.p55 fair_waker", expect![[r#""#]]);
    bad("wakeup_latency_ns.p50 fair_waker", "completion_ns.p50 all", expect![[r#""#]]);
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency_ns.p50 waker", expect![[r#""#]]);
    bad("of = \"vtime\"", "of = \"vtiem\"", expect![[r#""#]]);
    bad("of = \"vtime\"", "of = \"cfs-6.1\"", expect![[r#""#]]);
    bad("over = \"fifo\"", "over = \"rr\"", expect![[r#""#]]);
    bad("over = \"fifo\"\n", "", expect![[r#""#]]);
    bad("over = \"fifo\"", "over = \"vtime\"", expect![[r#""#]]);
    bad("cell = \"wake_under_hogs hogs=3\"\n", "", expect![[r#""#]]);
    bad("cell = \"wake_under_hogs hogs=3\"", "cell = \"wake_under_hogs hogs=4\"", expect![[r#""#]]);
    bad("cell = \"wake_under_hogs hogs=3\"", "cell = \"wake_under_hogs\"", expect![[r#""#]]);
    bad("is = \"less\"", "machine = \"laptop_4\"\nis = \"less\"", expect![[r#""#]]);
    bad("over = \"fifo\"", "over_measure = \"completion_ns all\"\nover_cell = \"wake_under_hogs hogs=0\"\nover_machine = \"big\"", expect![[r#""#]]);
    bad("over = \"fifo\"", "over_measure = \"cpu_share fair_waker\"", expect![[r#""#]]);
}

#[test]
fn rules() {
    bad("size = [0.01, 0.9]", "size = []", expect![[r#""#]]);
    bad("size = [0.01, 0.9]", "size = [0.9]", expect![[r#""#]]);
    bad("size = [0.01, 0.9]", "size = [0.9, 0.01]", expect![[r#""#]]);
    bad("size = [0.01, 0.9]", "size = [1.1, 4.0]", expect![[r#""#]]);
    bad("size = [0.01, 0.9]", "size = [-1, 0.9]", expect![[r#""#]]);
    bad("size = [0.01, 0.9]", "size = [0.01, nan]", expect![[r#""#]]);
    bad("is = \"less\"", "is = \"lower\"", expect![[r#""#]]);
    bad("by = \"ratio\"", "by = \"value\"", expect![[r#""#]]);
    bad("over = \"fifo\"\nby = \"ratio\"", "by = \"value\"", expect![[r#""#]]);
    bad("is = \"less\"", "is = \"equal\"\nthan = 3", expect![[r#""#]]);
    bad("is = \"less\"\nsize = [0.01, 0.9]", "is = \"equal\"", expect![[r#""#]]);
    bad("is = \"less\"", "is = \"less\"\nthan = inf", expect![[r#""#]]);
}
