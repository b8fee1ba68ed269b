// SPDX-License-Identifier: GPL-2.0-only
//! `fairground replicate`: claims of one's own, in the simulator, of which the truth is known.

use expect_test::expect;

use crate::common::{Bench, project, stderr, stdout};

/// Four claims about turns, and their experiment.
const FILES: [&str; 5] = ["turns", "true", "size", "false", "alike"];

fn text(name: &str) -> String {
    let file = project("crates/fairground/tests/claims").join(format!("{name}.toml"));
    std::fs::read_to_string(file).expect("a claim")
}

fn bench() -> Bench {
    let bench = Bench::new();
    FILES.iter().for_each(|name| bench.write(&format!("{name}.toml"), &text(name)));
    let rr = std::fs::read_to_string(project("schedulers/rr.bpf.c")).expect("a scheduler");
    bench.write("twin.bpf.c", &format!("{rr}\n// The same by another text.\n"));
    bench
}

fn replicate<'a>(claims: &[&'a str]) -> Vec<&'a str> {
    let options = ["--store", "claims.db", "--seed", "3"];
    [&["replicate"], claims, &options].concat()
}

#[test]
fn verdicts_are_those_of_the_truth() {
    let bench = bench();
    let claims = ["./true.toml", "./size.toml", "./false.toml", "./alike.toml"];
    let ran =
        bench.run(&[&replicate(&claims)[..], &["--markdown", "README.md"]].concat()).success();
    expect![[r#"
        true: reproduced
          short turns switch more
          published: switches: short 8 times
          sim: reproduced
            involuntary switches · hog: short 2.60 × long [2.60, 2.80], 6 and 6 trials: as published (more: 2 × to 12
              ×)
            because the sleeper sleeps as often: voluntary switches · sleeper: short +4 against long [4, 4], 6 and 6
              trials
          live: not tested
            it needs a second machine
            to test it: fairground replicate true.toml --on live

        size: direction only
          a hundred times
          published: switches: short 8 times
          sim: direction only
            involuntary switches · hog: short 2.60 × long [2.60, 2.80], 6 and 6 trials: same direction, another size
              (more: 100 × to 200 ×)

        false: contradicted
          short turns switch less
          published: switches: short 8 times
          sim: contradicted
            involuntary switches · hog: short 2.60 × long [2.60, 2.80], 6 and 6 trials: the opposite (less)

        alike: not reproduced
          a twin switches more
          published: switches: short 8 times
          sim: not reproduced
            involuntary switches · hog: twin 1.00 × long [1.00, 1.00], 6 and 6 trials: the interval holds 1 × (more)

        1 of 4 claims reproduced, 1 in direction only, 1 not reproduced, 1 contradicted.
    "#]].assert_eq(&stdout(&ran));
    let told = stderr(&ran);
    assert!(told.starts_with("4 claims, 1 session, 18 trials\n"), "{told}");
    assert_eq!(bench.records("claims.db").len(), 18, "the experiment runs once for all claims");
    document(&bench);
}

fn document(bench: &Bench) {
    let text = std::fs::read_to_string(bench.path("README.md")).expect("the document");
    for line in [
        "1 of 4 claims reproduced, 1 in direction only, 1 not reproduced, 1 contradicted.",
        "Kernels: the simulator alone. The rule of each claim is in its file",
        "## S4\n\n| claim |",
        "| [false](false.toml): short turns switch less | switches: short 8 times | sim: \
         involuntary switches · hog: short 2.60 × long \\[2.60, 2.80\\], 6 and 6 trials | \
         contradicted |",
        "- true (live): it needs a second machine; `fairground replicate true.toml --on live`",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn what_was_run_is_not_run_again() {
    let bench = bench();
    bench.run(&replicate(&["./false.toml"])).success();
    let again = bench.run(&[&replicate(&["./true.toml"])[..], &["--resume"]].concat()).success();
    assert!(stderr(&again).contains("18 trials, 18 already in the store"), "{}", stderr(&again));
    assert_eq!(bench.records("claims.db").len(), 18);
    assert!(stdout(&again).contains("true: reproduced"), "{}", stdout(&again));
}

#[test]
fn a_claim_without_numbers_is_no_data_and_says_why() {
    let bench = bench();
    let missing = text("false")
        .replace("short turns switch less", "nobody is late")
        .replace("involuntary_switches hog", "deadline_miss_ratio hog");
    bench.write("missing.toml", &missing);
    let ran = bench.run(&replicate(&["./missing.toml", "./true.toml"])).code(1);
    expect![[r#"
        missing: no data
          nobody is late
          published: switches: short 8 times
          sim: no data
            deadline miss ratio · hog: short has no number: no trial has such a number (less)"#]]
    .assert_eq(stdout(&ran).split("\n\n").next().unwrap_or_default());
    let few = bench.run(&[&replicate(&["./true.toml"])[..], &["--blocks", "2"]].concat()).code(1);
    let said = stdout(&few);
    assert!(said.contains("2 and 2 independent trials are too few for an interval"), "{said}");
}

#[test]
fn what_is_not_asked_says_how_to_ask() {
    let bench = bench();
    let ran = bench.run(&replicate(&["./true.toml:live"])).success();
    expect![[r#"
        true: not tested
          short turns switch more
          published: switches: short 8 times
          sim: not tested
            another test was asked for
            to test it: fairground replicate ./true.toml:sim
          live: not tested
            it needs a second machine
            to test it: fairground replicate true.toml --on live

        0 of 1 claim reproduced, 1 not tested here.
    "#]]
    .assert_eq(&stdout(&ran));
    assert!(!bench.path("claims.db").exists(), "nothing ran");
    let ran = bench.run(&replicate(&["./true.toml", "--on", "vm"])).success();
    assert!(stdout(&ran).contains("to test it: fairground replicate ./true.toml:sim"));
}

/// In a folder without kernels those of originals are named, and nothing runs.
#[test]
fn originals_need_kernels_that_somebody_has_built() {
    let bench = bench();
    let asked = replicate(&["s3-latency:originals"]);
    let home = bench.path("home");
    let ran = bench.fairground(&asked).env("FAIRGROUND_HOME", home).assert().success();
    let (claims, needs) = (stdout(&ran), "needs kernels base-5.10, muqss: fairground kernel build");
    assert!(claims.contains(needs), "{claims}");
    assert!(!bench.path("claims.db").exists(), "nothing ran");
}

#[test]
fn a_quick_look_has_no_more_runs_than_an_interval_needs() {
    let bench = bench();
    bench.write("turns.toml", &text("turns").replace("blocks = 6", "blocks = 20"));
    bench.run(&[&replicate(&["./true.toml"])[..], &["--quick"]].concat()).success();
    assert_eq!(bench.records("claims.db").len(), 18);
}

#[test]
fn wrong_input_is_refused_before_anything_runs() {
    let bench = bench();
    bench.write("wrong.toml", &text("alike").replace("twin\"", "shrot\""));
    for (arguments, said) in [
        (
            &["./true.toml:sum"][..],
            "./true.toml:sum: the claim has no such test; did you mean './true.toml:sim'?",
        ),
        (
            &["./size.toml", "./wrong.toml"],
            "./wrong.toml:20:1: unknown contestant 'shrot'; did you mean 'short'?",
        ),
        (&["./true.toml", "--blocks", "0"], "0 is not in 1..=4294967295"),
    ] {
        let refused = stderr(&bench.run(&replicate(arguments)).code(2));
        assert!(refused.contains(said), "{refused}");
    }
    assert!(!bench.path("claims.db").exists());
}

/// Every claim of the project can be tested without its published size, or says why not, and its
/// name is its file's.
#[test]
fn the_projects_claims_have_a_test_or_a_reason() {
    let Ok(folder) = std::fs::read_dir(project("claims")) else { return };
    for file in folder.flatten().map(|file| file.path()) {
        if file.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let claim = fairground::claims::read(&file.display().to_string());
        let claim = claim.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(claim.id.as_str()), file.file_stem().and_then(|stem| stem.to_str()));
        let source = claim.source.split(':').next().unwrap_or_default();
        let named = claim.id.to_uppercase().starts_with(&format!("{source}-"));
        assert!(named, "{}: its name begins with its source, {}", claim.id, claim.source);
        let tested = claim.tests.iter().any(|test| !test.full || test.not_testable.is_some());
        assert!(tested, "{}: neither a test that is not full, nor a reason", claim.id);
    }
}
