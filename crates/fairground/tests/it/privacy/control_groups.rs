// SPDX-License-Identifier: GPL-2.0-only
//! What is shared of control groups.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::common::Bench;

/// A path of names would otherwise look like a folder, and two groups become one.
#[test]
fn control_groups_keep_their_tree_and_lose_their_names() {
    let bench = Bench::new();
    let text = "duration_us = 100000\n[[group]]\nname = \"alice/player\"\n\
                [[group]]\nname = \"alice/fifo\"\n[[task]]\nname = \"t\"\n\
                group = \"alice/fifo\"\nsteps = [{ run_us = 100 }, { group = \"alice\" }]\n";
    bench.write("w.toml", text);
    let run = ["run", "--on", "sim", "--workload", "./w.toml", "--scheduler", "fifo"];
    bench.run(&[&run[..], &["--scheduler", "vtime", "--blocks", "6"]].concat()).success();
    bench.run(&["share", "adhoc", "-o", "groups.fairground"]).success();
    let packed = std::fs::read(bench.path("groups.fairground")).expect("a file");
    let mut shared = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut shared).expect("gzip of text");
    assert!(!shared.contains("alice") && !shared.contains("player"), "{shared}");
    for part in
        [r#"{"name":"c1/c2"}"#, r#"{"name":"c1/c3"}"#, r#""group":"c1/c3""#, r#"{"group":"c1"}"#]
    {
        assert!(shared.contains(part), "{part}: {shared}");
    }
    let other = Bench::new();
    std::fs::copy(bench.path("groups.fairground"), other.path("theirs")).expect("a copy");
    other.run(&["import", "theirs"]).success();
}
