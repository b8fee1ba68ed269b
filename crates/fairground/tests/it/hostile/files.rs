// SPDX-License-Identifier: GPL-2.0-only
//! Names that mean something endless, and files that are more than they seem.
//!
//! Answers that schedulers of the simulator forge: each is an outcome with a sentence, takes little
//! memory, and leaves the records beside it as they are.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use model::trial::sha256_hex;

use crate::common::{Bench, hostile, stderr, stdout};

/// Long enough for what is refused at once, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn pipe(bench: &Bench, name: &str) {
    let made = std::process::Command::new("mkfifo").arg(bench.path(name)).status();
    assert!(made.expect("mkfifo runs").success());
}

/// What is said when these arguments are refused.
fn refused(bench: &Bench, arguments: &[&str]) -> String {
    let mut command = bench.fairground(arguments);
    stderr(&command.timeout(PATIENCE).assert().code(2))
}

#[test]
fn pipes_devices_and_folders_are_refused_by_name() {
    let bench = Bench::new();
    for name in ["w.toml", "e.toml", "m.toml", "s.db", "b.fairground", "r.json"] {
        pipe(&bench, name);
    }
    std::os::unix::fs::symlink("/dev/zero", bench.path("z.toml")).expect("a link");
    let rr = ["run", "--on", "sim", "--scheduler", "rr", "--workload"];
    let with = |more: &[&'static str]| [&rr[..], more].concat();
    for (arguments, said) in [
        (with(&["./w.toml"]), "w.toml: is a pipe"),
        (with(&["./z.toml"]), "z.toml: is a device"),
        (with(&["./tiny.toml", "--machine", "./m.toml"]), "m.toml: is a pipe"),
        (with(&["./tiny.toml", "--store", "s.db"]), "s.db: not a Fairground store (it is a pipe"),
        (vec!["run", "./e.toml"], "e.toml: is a pipe"),
        (vec!["compare", "s.db"], "it is a pipe"),
        (vec!["import", "b.fairground"], "is a pipe"),
        (vec!["import", "r.json"], "r.json: is a pipe"),
        (vec!["import", "/dev/zero"], "/dev/zero: is a device"),
        (vec!["import", "/"], "is a folder"),
    ] {
        let words = refused(&bench, &arguments);
        assert!(words.contains(said), "{arguments:?}: {words}");
    }
}

#[test]
fn standard_input_is_limited_and_must_be_text() {
    let bench = Bench::new();
    let endless = std::fs::File::open("/dev/zero").expect("a device");
    let output = bench.process(&["trial"]).stdin(endless).output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has more than 16 MiB"));
    let bytes = bench.fairground(&["trial"]).write_stdin(&b"\xff\xfe"[..]).assert().code(2);
    assert!(stderr(&bytes).contains("is not UTF-8 text"), "{}", stderr(&bytes));
    let folder = std::fs::File::open(bench.path("")).expect("a folder");
    let output = bench.process(&["trial"]).stdin(folder).output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
}

/// A sealed file that unpacks to `[[],[],…]`, as a definition.
fn bomb(lists: usize) -> Vec<u8> {
    let inner = format!("[{}[]]", "[],".repeat(lists));
    let id = &sha256_hex(inner.as_bytes())[..16];
    let about = r#"{"about":{"by":"","note":"","fairground":"0","left_out":[]}}"#;
    let body = format!("{about}\n{{\"definition\":{{\"id\":\"{id}\",\"is\":{inner}}}}}\n");
    let (sha256, bytes) = (sha256_hex(body.as_bytes()), body.len());
    let seal = format!(r#"{{"fairground_share":1,"sha256":"{sha256}","bytes":{bytes}}}"#);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    write!(encoder, "{seal}\n{body}").expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let bench = Bench::new();
    let packed = bomb(10_000_000);
    assert!(packed.len() < 100_000, "{} bytes", packed.len());
    std::fs::write(bench.path("bomb.fairground"), packed).expect("written");
    let said = refused(&bench, &["import", "bomb.fairground"]);
    assert!(said.contains("would unpack to") && said.contains("nothing was imported"), "{said}");
}

#[test]
fn depth_is_limited() {
    let bench = Bench::new();
    let deep = 100_000;
    let json = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    bench.write("deep.json", &format!("{{\"tasks\": {json}}}"));
    bench.write("deep.toml", &format!("about = \"x\"\nparameters = {json}\n"));
    bench.write("hyperfine.json", &format!("{{\"results\": {json}}}"));
    let rr = ["run", "--on", "sim", "--scheduler", "rr", "--workload"];
    for file in ["./deep.json", "./deep.toml"] {
        refused(&bench, &[&rr[..], &[file]].concat());
    }
    refused(&bench, &["import", "hyperfine.json", "--as", "hyperfine"]);
    refused(&bench, &["import", "deep.toml", "--as", "stress-ng"]);
    let mut trial = bench.fairground(&["trial"]);
    trial.write_stdin(json).timeout(PATIENCE).assert().code(2);
}

#[test]
fn a_plan_that_is_too_large_is_refused_with_what_to_write() {
    let bench = Bench::new();
    let rr = ["plan", "--on", "sim", "--scheduler", "rr", "--workload", "./tiny.toml"];
    let said =
        refused(&bench, &[&rr[..], &["--blocks", "10000", "--trials-per-boot", "10000"]].concat());
    assert!(said.contains("a plan of ") && said.contains("write fewer blocks"), "{said}");
}

#[test]
fn trials_of_strangers_obey_the_rules_of_files() {
    let bench = Bench::new();
    let plan =
        ["plan", "--on", "sim", "--scheduler", "rr", "--workload", "./tiny.toml", "--blocks", "1"];
    let trial = stdout(&bench.run(&plan).success());
    for (from, to, said) in [
        (r#""count":2,"#, r#""count":2147483648,"#, "2147483648 tasks are too many"),
        (r#""duration_us":50000"#, r#""duration_us":99999999999999"#, "out of range"),
        (r#""run_us":1000"#, r#""run_us":0"#, "repeats steps that take no time"),
        (r#""cpus":1,"#, r#""cpus":4000000000,"#, "4000000000 CPUs are too many"),
        (r#""timeout_ms":60000"#, r#""timeout_ms":0"#, "0 is out of range for timeout_ms"),
    ] {
        let changed = trial.replacen(from, to, 1);
        assert_ne!(changed, trial, "{from}");
        let mut command = bench.fairground(&["trial"]);
        let refused = command.write_stdin(changed.clone()).timeout(PATIENCE).assert().code(2);
        let words = stderr(&refused);
        assert!(words.contains("standard input: trial 1: its ") && words.contains(said), "{words}");
        bench.write("chunk", &changed);
        let words = self::refused(&bench, &["trial", "--chunk", "chunk"]);
        assert!(words.contains("chunk: trial 1: its ") && words.contains(said), "{words}");
    }
}

#[test]
fn what_a_stranger_adds_to_a_store_is_refused_before_it_is_used() {
    let bench = Bench::new();
    let run = ["run", "--on", "sim", "--scheduler", "rr", "--workload", "./tiny.toml", "--blocks"];
    let run = [&run[..], &["1", "--exploratory", "--store", "a.db"]].concat();
    bench.run(&run).success();
    let whole = std::fs::read(bench.path("a.db")).expect("a store");
    let endless = "ALTER TABLE records RENAME TO r0; CREATE VIEW records AS
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT r0.* FROM r0, n";
    let trigger = "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM metrics; END";
    for (sql, said) in [(endless, "its table 'r0' is none"), (trigger, "its trigger 't' is none")] {
        std::fs::write(bench.path("a.db"), &whole).expect("a store");
        let file = rusqlite::Connection::open(bench.path("a.db")).expect("the file");
        file.execute_batch(sql).expect("changed");
        drop(file);
        for line in ["compare a.db", "report a.db -o r.html", "share --store a.db -o s.fairground"]
        {
            let words = refused(&bench, &line.split(' ').collect::<Vec<_>>());
            assert!(words.contains(said), "{line}: {words}");
        }
        for arguments in [&["doctor", "store", "a.db"][..], &["export", "csv", "--store", "a.db"]] {
            assert!(refused(&bench, arguments).contains(said), "{arguments:?}");
        }
        assert!(refused(&bench, &run).contains(said));
    }
}

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
