// SPDX-License-Identifier: GPL-2.0-only
//! What a plan can prove is known before it runs: refusals, A/A trials, precision, budgets.

use store::Store;

use crate::common::{Bench, stderr, stdout};

/// Two hogs on whatever is there; what they get is looked at first.
const HOGS: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
about = "hogs for a moment"
duration_us = 50000
headline = ["iterations_per_second hog"]

[[task]]
name = "hog"
count = 2
steps = [{ run_us = 500 }]
"#;

/// Sleepers whose phases come from the seed, so that runs differ.
const SLEEPERS: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
about = "hogs and sleepers"
duration_us = 200000
headline = ["wakeup_latency_ns.p50 sleeper"]

[[task]]
name = "hog"
count = 3
steps = [{ run_us = 700 }]

[[task]]
name = "sleeper"
count = 4
steps = [{ run_us = 130 }, { sleep_us = 1700 }]
"#;

const LIVE: [&str; 7] =
    ["run", "--on", "live", "--scheduler", "policy:other", "--scheduler", "policy:batch"];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("hogs.toml", HOGS);
    // For so long that no short budget has room for it.
    bench.write("long.toml", &HOGS.replace("duration_us = 50000", "duration_us = 10000000"));
    bench.write("sleepers.toml", SLEEPERS);
    bench
}

fn live<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&LIVE[..], more].concat()
}

fn sessions(bench: &Bench) -> Vec<store::Session> {
    Store::open_readonly(&bench.path("fairground.db")).unwrap().sessions().unwrap()
}

#[test]
fn a_plan_that_cannot_answer_is_refused_before_anything_runs() {
    let bench = bench();
    let few = live(&["--workload", "hogs.toml", "--blocks", "5"]);
    let said = stderr(&bench.run(&few).code(2));
    assert!(said.contains("--blocks 6") && said.contains("--exploratory"), "{said}");
    assert!(!bench.path("fairground.db").exists());
    // Where nothing is compared, nothing can be too few; nor where numbers are exact.
    let alone = ["run", "--on", "live", "--scheduler", "policy:other", "--blocks", "1"];
    bench.run(&[&alone[..], &["--workload", "hogs.toml"]].concat()).success();
    let exact = ["run", "--scheduler", "fifo", "--scheduler", "rr", "--blocks", "1"];
    let run = bench.run(&[&exact[..], &["--workload", "hogs.toml"]].concat()).success();
    assert!(stderr(&run).contains("none is claimed"), "{}", stderr(&run));
}

#[test]
fn what_was_run_all_the_same_is_stamped() {
    let bench = bench();
    let few = live(&["--workload", "hogs.toml", "--blocks", "1", "--exploratory"]);
    let run = bench.run(&few).success();
    assert!(stdout(&run).contains("note: Exploratory"), "{}", stdout(&run));
    assert_eq!(sessions(&bench).len(), 1, "no A/A trials");
    bench.run(&["report", "-o", "r.html"]).success();
    let page = std::fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(page.contains("Fairground report · adhoc · exploratory"));
}

#[test]
fn equals_are_measured_before_real_time_is() {
    let bench = bench();
    let whole = live(&["--workload", "hogs.toml", "--blocks", "6"]);
    let run = bench.run(&whole).success();
    let said = stderr(&run);
    assert!(said.contains("A/A: 8 trials of"), "{said}");
    assert!(said.contains("the smallest difference that 6 replicates show"), "{said}");
    assert!(stdout(&run).contains("noise floor ±"), "{}", stdout(&run));
    let names = |bench: &Bench| -> Vec<String> {
        sessions(bench).into_iter().map(|session| session.experiment.name).collect()
    };
    assert_eq!(names(&bench), ["adhoc-aa", "adhoc"]);
    let scatter = &sessions(&bench)[1].experiment.design.scatter;
    assert_eq!((scatter.len(), scatter[0].trials), (1, 8), "{scatter:?}");
    assert!(scatter[0].deviation > 0.0);
    bench.run(&["report", "-o", "r.html"]).success();
    let page = std::fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(page.contains("(A/A, 8 trials)") && page.contains("class=\"noise\""));
    // A machine is believed for a day; a difference that its noise hides is refused.
    let again = live(&["--workload", "hogs.toml", "--blocks", "6", "--effect", "0.000001%"]);
    let said = stderr(&bench.run(&again).code(2));
    assert!(said.contains("cannot be seen"), "{said}");
    assert_eq!(names(&bench), ["adhoc-aa", "adhoc"], "nothing ran again");
}

#[test]
fn blocks_are_added_until_the_shift_is_known() {
    let bench = bench();
    let race = ["run", "--scheduler", "fifo", "--scheduler", "vtime", "--workload"];
    let wanted = [&race[..], &["sleepers.toml", "--until", "0.2%"]].concat();
    let run = bench.run(&wanted).success();
    let said = stderr(&run);
    assert!(said.contains("every shift is known to ±"), "{said}");
    assert!(said.contains("going on to"), "six blocks are too few for this test: {said}");
    let all = sessions(&bench);
    let (first, last) = (&all[0], &all[all.len() - 1]);
    assert_eq!(first.experiment.blocks, 6);
    assert_eq!(last.campaign, Some(first.id));
    let blocks = last.experiment.blocks;
    assert_eq!(bench.records("fairground.db").len(), 2 * blocks as usize, "none ran twice");
    assert!(stdout(&run).contains("known to ±0.2 %, or"), "{}", stdout(&run));
    // The same question again adds the same blocks.
    let again = [&wanted[..], &["--store", "b.db"]].concat();
    assert_eq!(stdout(&bench.run(&again).success()), stdout(&run));
    let identical = ["compare", "--identical", "fairground.db", "b.db"];
    bench.run(&identical).success();
}

#[test]
fn a_budget_fixes_the_blocks_before_any_result() {
    let bench = bench();
    let race = ["run", "--scheduler", "fifo", "--scheduler", "vtime", "--workload"];
    let run = bench.run(&[&race[..], &["sleepers.toml", "--budget", "2m"]].concat()).success();
    let said = stderr(&run);
    assert!(said.contains("a block takes"), "{said}");
    let all = sessions(&bench);
    assert_eq!((all[0].experiment.blocks, all.len()), (1, 2));
    let blocks = all[1].experiment.blocks;
    assert!((6..=100).contains(&blocks), "{blocks}");
    assert_eq!(bench.records("fairground.db").len(), 2 * blocks as usize);
    assert!(stdout(&run).contains("as fit into 2 min 0 s"), "{}", stdout(&run));
}

#[test]
fn a_budget_without_room_is_refused_before_anything_runs() {
    let bench = bench();
    let long = live(&["--workload", "long.toml", "--budget", "60s"]);
    let said = stderr(&bench.run(&long).code(2));
    assert!(said.contains("6 blocks are needed") && said.contains("--budget 121s"), "{said}");
    assert!(!bench.path("fairground.db").exists());
    let nonsense = live(&["--workload", "long.toml", "--budget", "soon"]);
    let said = stderr(&bench.run(&nonsense).code(2));
    assert!(said.contains("90s, 10m or 2h"), "{said}");
    let both = live(&["--workload", "long.toml", "--budget", "9m", "--blocks", "7"]);
    bench.run(&both).code(2);
}
