// SPDX-License-Identifier: GPL-2.0-only
//! Good and bad claims. `UPDATE_EXPECT=1 cargo test` rewrites the expected messages.

use std::fs;

use expect_test::{Expect, expect};

use super::read;
use spec::SpecError;

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

/// Reads a claim's file beside its experiments'; the folder's name is cut out of messages.
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
    bad("protocol = \"a picture\"\n", "", expect!["claim.toml:1:1: the field 'protocol' is missing; add a line 'protocol = …'"]);
    bad("value = 4.5", "valeu = 4.5", expect!["claim.toml:9:1: unknown field 'valeu'; did you mean 'value'?"]);
    bad("source = \"S3\"", "source = \"S3\"\nname = \"it\"", expect!["claim.toml:3:1: unexpected field 'name'; delete the line: the file's name is the name, 'claim'"]);
    let (head, _) = GOOD.split_once("[[test]]").unwrap();
    assert_eq!(
        from(head).unwrap_err().to_string(),
        "claim.toml: nothing tests the claim; add a [[test]] with name, on and experiment, or not_testable"
    );
}

#[test]
fn tests() {
    bad("name = \"vm\"", "name = \"sim\"", expect!["claim.toml:27:1: a second test 'sim'; give each its own name"]);
    bad("on = \"sim\"", "on = \"simulator\"", expect!["claim.toml:14:6: unknown value 'simulator'; did you mean 'sim'?"]);
    bad("not_testable = \"it needs two machines\"\n", "", expect![[r#"claim.toml:27:1: the test has no experiment; add experiment = "…", or not_testable = "the reason""#]]);
    bad("experiment = \"x.toml\"", "not_testable = \"no\"", expect![[r#"claim.toml:17:8: expectations of a test that cannot run; delete them, or write experiment = "…" instead of not_testable"#]]);
    bad("\n[[test.expect]]\n", "\n[[test.because]]\n", expect!["claim.toml:15:1: the test expects nothing; add a [[test.expect]]"]);
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
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency.p50 fair_waker", expect!["claim.toml:18:1: unknown measure 'wakeup_latency'; did you mean 'wakeup_latency_ns'?"]);
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency_ns fair_waker", expect!["claim.toml:18:1: 'wakeup_latency_ns' is a distribution; write which number of it, e.g. wakeup_latency_ns.p99 fair_waker"]);
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency_ns.p55 fair_waker", expect!["claim.toml:18:1: 'wakeup_latency_ns.p55 fair_waker': `p55` is no statistic; write p50, p90, p99, p999 or max"]);
    bad("wakeup_latency_ns.p50 fair_waker", "completion_ns.p50 all", expect!["claim.toml:18:1: 'completion_ns' is one number; write completion_ns all"]);
    bad("wakeup_latency_ns.p50 fair_waker", "wakeup_latency_ns.p50 waker", expect!["claim.toml:18:1: unknown group 'waker'; did you mean 'rt_waker' or 'fair_waker'?"]);
    bad("of = \"vtime\"", "of = \"vtiem\"", expect!["claim.toml:19:1: unknown contestant 'vtiem'; did you mean 'vtime'?"]);
    bad("of = \"vtime\"", "of = \"cfs-6.1\"", expect!["claim.toml:19:1: cfs-6.1 is a kernel's own scheduler, which the simulator does not have; name another contestant, or write another backend in the test's on"]);
    bad("over = \"fifo\"", "over = \"rr\"", expect!["claim.toml:21:1: unknown contestant 'rr'; known are 'vtime', 'fifo', 'cfs-6.1'"]);
    bad("over = \"fifo\"\n", "", expect![[r#"claim.toml:19:1: there is nothing to compare it with; add over = "…", over_cell or over_machine; or by = "value" and than"#]]);
    bad("cell = \"wake_under_hogs hogs=3\"\n", "", expect![[r#"claim.toml:17:1: no cell is named, and the experiment has 2; add cell = "…": 'wake_under_hogs duration_ms=400 hogs=0', 'wake_under_hogs duration_ms=400 hogs=3'"#]]);
    bad("cell = \"wake_under_hogs hogs=3\"", "cell = \"wake_under_hogs hogs=4\"", expect!["claim.toml:20:1: unknown cell 'wake_under_hogs hogs=4'; known are 'wake_under_hogs duration_ms=400 hogs=0', 'wake_under_hogs duration_ms=400 hogs=3'"]);
    bad("cell = \"wake_under_hogs hogs=3\"", "cell = \"wake_under_hogs\"", expect!["claim.toml:20:1: 'wake_under_hogs' means 2 cells; name one: 'wake_under_hogs duration_ms=400 hogs=0', 'wake_under_hogs duration_ms=400 hogs=3'"]);
    bad("is = \"less\"", "machine = \"laptop_4\"\nis = \"less\"", expect!["claim.toml:23:1: unknown machine 'laptop_4'; the only one is 'uniprocessor'"]);
}

#[test]
fn rules() {
    bad("size = [0.01, 0.9]", "size = []", expect!["claim.toml:24:1: size is not two numbers in ascending order; write e.g. [1.05, 4.0]; inf has no end"]);
    bad("size = [0.01, 0.9]", "size = [0.9, 0.01]", expect!["claim.toml:24:1: size is not two numbers in ascending order; write e.g. [1.05, 4.0]; inf has no end"]);
    bad("is = \"less\"", "is = \"lower\"", expect!["claim.toml:23:6: unknown value 'lower'; known are 'more', 'less', 'equal'"]);
    bad("by = \"ratio\"", "by = \"value\"", expect![[r#"claim.toml:22:1: by = "value" looks at one side alone; delete over and its like, or write by = "ratio" or "difference""#]]);
    bad("over = \"fifo\"\nby = \"ratio\"", "by = \"value\"", expect!["claim.toml:22:1: 'more' and 'less' need a number to compare with; add than = …, in the measure's unit"]);
    bad("is = \"less\"\nsize = [0.01, 0.9]", "is = \"equal\"", expect!["claim.toml:23:1: 'equal' needs a size; add size = [0.98, 1.02]: from where to where both count as equal"]);
}

#[test]
fn numbers_beside() {
    let beside = |text: &str| format!("[[test.beside]]\n{text}[[test.expect]]");
    let bad = |text: &str, expected: expect_test::Expect| bad("[[test.expect]]", &beside(text), expected);
    bad("measure = \"completion all\"\n", expect!["claim.toml:18:1: unknown measure 'completion'; did you mean 'completion_ns'?"]);
    bad("measure = \"completion_ns all\"\n", expect![[r#"claim.toml:17:1: no cell is named, and the experiment has 2; add cell = "…": 'wake_under_hogs duration_ms=400 hogs=0', 'wake_under_hogs duration_ms=400 hogs=3'"#]]);
}
