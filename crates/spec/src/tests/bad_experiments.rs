// SPDX-License-Identifier: GPL-2.0-only
//! Experiments that are refused, with their messages. Options are in the program's
//! `exit_codes.txt`.

use std::fs;

use expect_test::{Expect, expect};

use super::{host, refused};
use crate::{Overrides, SpecError, experiment};

/// A small good experiment; tests break one line of it.
const GOOD: &str = "\
question = \"Why?\"
on = \"vm\"
machine = \"uniprocessor\"
baseline = \"eevdf\"
blocks = 2

[[scheduler]]
name = \"eevdf\"
kernel = \"7\"

[[scheduler]]
name = \"vtime\"
file = \"vtime\"

[[workload]]
name = \"wake_under_hogs\"
hogs = [0, 3]
";

/// Reads an experiment file; the folder's name is cut out of messages.
fn read(text: &str) -> Result<(), SpecError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    fs::write(&file, text).unwrap();
    let result = experiment(&file.display().to_string(), &Overrides::default(), &host());
    let folder = format!("{}/", folder.path().display());
    result.map(|_| ()).map_err(|error| SpecError { file: error.file.replace(&folder, ""), ..error })
}

#[track_caller]
fn bad(old: &str, new: &str, message: Expect) {
    assert!(GOOD.contains(old));
    refused(read(&GOOD.replacen(old, new, 1)), &message);
}

#[test]
fn the_good_one_is_good() {
    assert_eq!(read(GOOD), Ok(()));
}

#[test]
fn files() {
    bad("question = \"Why?\"", "", expect![[r#"x.toml: the question is missing; begin with question = "…": one sentence"#]]);
    bad("on = \"vm\"", "on = \"vmm\"", expect!["x.toml:2:6: unknown value 'vmm'; did you mean 'vm' or 'sim'?"]);
    bad("kernel = \"7\"", "kernel = \"7\"\nautogroup = true", expect!["x.toml:10:1: unknown field 'autogroup'; write it above the first [table]: what follows one belongs to it"]);
    bad("blocks = 2", "blokcs = 2", expect!["x.toml:5:1: unknown field 'blokcs'; did you mean 'blocks'?"]);
    bad("blocks = 2", "blocks = 0", expect!["x.toml:5:1: blocks = 0 is out of range; write 1 … 10000"]);
    bad("blocks = 2", "timeout_s = 100000", expect!["x.toml:5:1: timeout_s = 100000 is out of range; write 1 … 86400"]);
    bad("machine = \"uniprocessor\"", "machine = \"uniprocesor\"",
        expect!["x.toml:3:1: unknown machine 'uniprocesor'; did you mean 'uniprocessor'? looked in ./machines/ and among the built-in ones (`fairground list machines`); a path works too; if it was deleted: `fairground check` names every file that mentions it"]);
    bad("machine = \"uniprocessor\"", "machine = \"here\"\nmachines = [\"here\"]", expect!["x.toml:4:1: both 'machine' and 'machines'; write one of them"]);
    bad("machine = \"uniprocessor\"", "machines = []", expect!["x.toml:3:1: no machines; name at least one"]);
    bad("machine = \"uniprocessor\"", "machines = [\"here\", \"here\"]", expect!["x.toml:3:21: a second machine 'here'; give each its own name"]);
    bad("baseline = \"eevdf\"", "baseline = \"evdf\"", expect!["x.toml:4:1: unknown scheduler 'evdf'; did you mean 'eevdf'?"]);
    bad("blocks = 2", "trace = [\"wake_under_hogs hogs=5\"]",
        expect!["x.toml:5:10: unknown cell 'wake_under_hogs hogs=5'; known are 'wake_under_hogs duration_ms=400 hogs=0', 'wake_under_hogs duration_ms=400 hogs=3'"]);
}

#[test]
fn schedulers() {
    bad("kernel = \"7\"", "", expect![[r#"x.toml:7:1: 'eevdf' does not say what it is; add file = "eevdf" for a scheduler's file, or kernel = "7" for a kernel's own"#]]);
    bad("file = \"vtime\"", "file = \"vtme\"",
        expect!["x.toml:13:1: there is no scheduler 'vtme'; built in are fifo, rr, vtime; if it was deleted: `fairground check` names every file that mentions it"]);
    bad("file = \"vtime\"", "file = \"vtime\"\nprogram = [\"scx_lavd\"]",
        expect!["x.toml:11:1: more than one kind of scheduler; write one of file, program and policy, or none for the kernel's own"]);
    bad("file = \"vtime\"", "program = []", expect![[r#"x.toml:13:1: an empty command; write ["scx_bpfland"], with its arguments"#]]);
    bad("file = \"vtime\"", "policy = { class = \"rr\", priority = 100 }", expect!["x.toml:13:1: 'rr' needs a priority from 1 to 98; write e.g. priority = 50; 98 wins"]);
    bad("kernel = \"7\"", "kernel = \"7\"\nknobs = { slice_us = 5 }", expect![[r#"x.toml:10:1: knobs without a file; knobs are set in a file's scheduler: add file = "…""#]]);
    bad("file = \"vtime\"", "file = \"vtime\"\nknobs = { slice_us = \"5\" }", expect![[r#"x.toml:14:11: slice_us = "5": slice_us is a number (u64); the default is 20000"#]]);
    bad("name = \"vtime\"", "name = \"eevdf\"", expect!["x.toml:11:1: a second scheduler 'eevdf'; give each its own name"]);
    bad("file = \"vtime\"", "file = \"vtime\"\nknobs = { slice = 5 }", expect!["x.toml:14:11: vtime has no knob 'slice'; did you mean 'slice_us'?"]);
    bad("file = \"vtime\"", "file = \"vtime\"\nknobs = { slice_us = -5 }", expect!["x.toml:14:11: slice_us = -5 is out of range: u64 holds 0 … 18446744073709551615; the default is 20000"]);
    bad("file = \"vtime\"", "file = \"vtime\"\nknobs = { slice_us = true }", expect!["x.toml:14:11: slice_us = true: slice_us is a number (u64); the default is 20000"]);
    bad("name = \"vtime\"\nfile = \"vtime\"", "name = \"a\"\nfile = \"vtime\"\n\n[[scheduler]]\nname = \"b\"\nfile = \"vtime\"\nknobs = { slice_us = 20000 }", expect!["x.toml:15:1: this is the scheduler 'a' again; name each scheduler once"]);
    bad("name = \"vtime\"\nfile = \"vtime\"", "name = \"again\"\nkernel = \"7\"", expect!["x.toml:11:1: this is the scheduler 'eevdf' again; name each scheduler once"]);
    bad("name = \"vtime\"\nfile = \"vtime\"", "", expect![[r#"x.toml:11:1: an empty scheduler; write kernel = "6.12", file = "vtime", program = […] or policy = {…}"#]]);
}

#[test]
fn workloads() {
    bad("name = \"wake_under_hogs\"", "name = \"wake_under_hog\"",
        expect!["x.toml:15:1: unknown workload 'wake_under_hog'; did you mean 'wake_under_hogs' or 'wake_under_hogs_apart'? looked in ./workloads/ and among the built-in ones (`fairground list workloads`); a path works too; if it was deleted: `fairground check` names every file that mentions it"]);
    bad("name = \"wake_under_hogs\"", "", expect![[r#"x.toml:15:1: the workload has no name; add name = "…""#]]);
    bad("hogs = [0, 3]", "hgos = 3", expect!["x.toml:15:1: unknown parameter 'hgos' of 'wake_under_hogs'; its parameters are 'duration_ms', 'hogs'"]);
    bad("hogs = [0, 3]", "hogs = \"3\"", expect!["x.toml:17:1: 'hogs' must be a whole number or a list of them; write e.g. 3 or [0, 3, 32]"]);
    bad("hogs = [0, 3]", "hogs = []", expect!["x.toml:17:1: 'hogs' must be a whole number or a list of them; write e.g. 3 or [0, 3, 32]"]);
    bad("hogs = [0, 3]", "hogs = [3, 3]", expect!["x.toml:15:1: a second cell 'wake_under_hogs duration_ms=400 hogs=3'; name each workload with each set of values once"]);
    bad("hogs = [0, 3]", "hogs = -1",
        expect!["<built-in>/workloads/wake_under_hogs.toml:42:9: '= hogs * cpus' is -1 with cpus=1, duration_ms=400, hogs=-1 (wake_under_hogs hogs=-1); write a whole number from 0 to 4294967295"]);
    bad("hogs = [0, 3]", "machines = [\"two_cpus\"]", expect!["x.toml:15:1: 'wake_under_hogs' is for 'two_cpus', no machine of this experiment; name some of: uniprocessor"]);
    bad("hogs = [0, 3]", "machines = \"uniprocessor\"", expect![[r#"x.toml:17:1: 'machines' must be a list of names; write machines = ["uniprocessor"]"#]]);
    bad("[[workload]]\nname = \"wake_under_hogs\"\nhogs = [0, 3]\n", "", expect![[r#"x.toml: no workload; add a [[workload]] with name = "…", or --workload NAME"#]]);
}

#[test]
fn backends_that_do_not_exist_or_cannot_do_it() {
    bad("on = \"vm\"", "on = [\"vm\", \"xen\"]", expect!["x.toml:2:13: unknown value 'xen'; known are 'sim', 'vm', 'live', 'imported'"]);
    bad("on = \"vm\"", "on = [\"vm\", \"vm\"]", expect!["x.toml:2:6: each backend must stand there once, and at least one"]);
}
