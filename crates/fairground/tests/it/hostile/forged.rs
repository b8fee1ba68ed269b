// SPDX-License-Identifier: GPL-2.0-only
//! Answers that schedulers of the simulator forge: each is an outcome with a sentence, takes little
//! memory, and leaves the records beside it as they are.

use std::process::Command;

use crate::common::{Bench, hostile, stderr};

const RUN: [&str; 12] = [
    "run",
    "--on",
    "sim",
    "--workload",
    "messaging groups=1 loops=5",
    "--machine",
    "two_cpus",
    "--blocks",
    "1",
    "--exploratory",
    "--scheduler",
    "fifo",
];

/// A scheduler that claims to have measured and printed this.
fn forge(bench: &Bench, measured: &str, printed: &str) {
    let text = std::fs::read_to_string(hostile("forge.bpf.c")).expect("a scheduler");
    let text = text.replacen("@MEASURED@ and @PRINTED@", "The forgeries", 1);
    bench.write("forge.bpf.c", &text.replace("@MEASURED@", measured).replace("@PRINTED@", printed));
}

const NOTHING: &str = r#"say("\"metrics\":[],\"histograms\":[]");"#;

/// What is forged, and what is said of it.
fn forgeries() -> Vec<(String, &'static str, &'static str)> {
    let histogram = |rest: &str| {
        let rest = rest.replace('"', "\\\"");
        format!(
            "say(\"\\\"metrics\\\":[],\\\"histograms\\\":[{{\\\"name\\\":\\\"wakeup_latency_ns\\\",\
             \\\"group\\\":\\\"all\\\",{rest}}}]\");"
        )
    };
    let overflowing =
        histogram(r#""count":5,"min":9,"max":1,"buckets":[[7,18446744073709551615],[3,2]]"#);
    let large = histogram(
        r#""count":18446744073709551615,"min":0,"max":18446744073709551615,"buckets":[[0,18446744073709551615]]"#,
    );
    let metric = |name: &str| {
        format!(
            r#"say("\"metrics\":[{{\"name\":\"");{name}say("\",\"group\":\"all\",\"value\":3.0}}],\"histograms\":[]");"#
        )
    };
    let many = r#"say("\"metrics\":[{\"name\":\"a\",\"group\":\"a\",\"value\":1}");
        repeat(",{\"name\":\"a\",\"group\":\"a\",\"value\":1}", 900ULL << 20);
        say("],\"histograms\":[]");"#;
    let printed = r#"say("\""); repeat("A", 900ULL << 20); say("\"");"#;
    let line = r#"say("\""); repeat("A", 5 << 20); say("\"");"#;
    vec![
        (overflowing, "", "the distribution wakeup_latency_ns of all is not whole"),
        (large, "", "the distribution wakeup_latency_ns of all is not whole"),
        (metric(r#"repeat("A", 5 << 20);"#), "", "its measure's name is too long"),
        (metric(r#"say("\\u001b[2J");"#), "", "its measure's name has control characters"),
        (NOTHING.into(), line, "a text of it has"),
        (many.into(), "", "an answer of more than 13 MiB"),
        (NOTHING.into(), printed, "an answer of more than 13 MiB"),
    ]
}

#[test]
fn a_forged_answer_is_a_failed_trial_and_nothing_else() {
    let bench = Bench::new();
    let both = |store: &str, forged: &[&str]| {
        let rest = ["--scheduler", "vtime", "--store", store];
        let mut command = Command::new("sh");
        // More than this would be killed on a small machine.
        command.args(["-c", "ulimit -v 4194304; exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_fairground")).args(RUN).args(forged).args(rest);
        command.current_dir(bench.path("")).output().expect("a shell")
    };
    assert_eq!(both("alone.db", &[]).status.code(), Some(0));
    let alone = bench.records("alone.db");
    for (number, (measured, printed, said)) in forgeries().into_iter().enumerate() {
        forge(&bench, &measured, printed);
        let store = format!("{number}.db");
        let output = both(&store, &["--scheduler", "./forge.bpf.c"]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}: {words}");
        let records = bench.records(&store);
        for honest in &alone {
            let name = &honest.trial.contestant.name;
            let beside = records.iter().find(|record| record.trial.contestant.name == *name);
            assert_eq!(beside.map(|record| &record.measured), Some(&honest.measured), "{name}");
        }
        let forged = records.iter().find(|record| record.trial.contestant.name == "forge");
        let outcome = &forged.expect("a record of the forger").outcome;
        assert_eq!(outcome.word(), "failed", "{said}: {outcome:?}");
        assert!(outcome.reason().contains(said), "{said}: {}", outcome.reason());
        bench.run(&["share", "--store", &store, "-o", &format!("{number}.fairground")]).success();
        let checked = bench.run(&["doctor", "store", &store]).success();
        assert!(!stderr(&checked).contains("damaged"), "{}", stderr(&checked));
    }
}
