// SPDX-License-Identifier: GPL-2.0-only
//! What users read: the table of verbs, help, lists, and errors that say what to write instead.

use expect_test::{Expect, expect};

mod common;
use common::{Bench, project, stderr, stdout};

/// The command ends with this code, and says this on standard error.
fn refuses(bench: &Bench, arguments: &[&str], code: i32, said: Expect) {
    let assert = bench.run(arguments).code(code);
    assert_eq!(stdout(&assert), "");
    said.assert_eq(&without_lists(&stderr(&assert)));
}

/// Lists of what there is are cut out: a new file must not need an edit here.
fn without_lists(text: &str) -> String {
    let mut text = text.to_owned();
    for opening in ["among the built-in ones: ", "there are "] {
        if let Some((before, after)) = text.split_once(opening) {
            let rest = after.split_once(';').map_or("", |(_, rest)| rest);
            text = format!("{before}{opening}…;{rest}");
        }
    }
    text
}

#[test]
fn alone_it_shows_its_verbs() {
    let shown = Bench::new().run(&[]).success();
    expect![[r#"
        Compare Linux CPU schedulers under the same rules

          list         Show what there is: schedulers, workloads, machines, experiments, claims, cares, kernels
          check        Verify cheaply that every file parses, compiles and loads
          recommend    Say which scheduler is for you on this machine, or that it makes no difference
          plan         Print an experiment's trials, one JSON object per line, and run nothing
          run          Run an experiment; every trial leaves one record in the store
          trial        Read one JSON trial on stdin, run it, write one JSON record on stdout
          compare      Compare records: a table with intervals, or whether two stores are identical
          gate         Compare an experiment's last run with the one before; exit code 1 if anything is worse
          history      Show an experiment's numbers run after run; exit code 1 if the newest run is worse
          report       Write the report, one HTML file that needs no network
          explain      Say why tasks waited: who ran instead, which decisions made it, which CPUs idled
          fidelity     Run the same trials in the simulator and on a kernel, and show how far they are apart
          soak         Run schedulers under all kinds of stress, and say who was ejected, lost a task or a CPU
          control      Run schedulers' files beside the kernels that they are written after, and show what differs
          replicate    Ask again what others have published, and say what is reproduced and what is not
          calibrate    Measure on a kernel what its work costs, for the simulator
          import       Read shared files, or other programs' results, into the store, to stand beside ours
          share        Make one small sealed file of an experiment's records, for others to import
          gallery      Write a static site from many shared files: who agrees with whom, and who does not
          export       Export records, histograms and traces to other tools' formats
          load         Use a scheduler on this kernel until Ctrl-C
          kernel       List, get and add kernels to boot
          completions  Print a shell's completion script
          man          Print the manual page

        Examples:
          fairground recommend                             which scheduler is for you
          fairground run quick                             race schedulers, simulated and on real kernels
          fairground run quick --scheduler ./mine.bpf.c    add your own to the race

        `fairground VERB --help` says more.
    "#]]
    .assert_eq(&stdout(&shown));
}

#[test]
fn help_has_the_verbs_in_groups() {
    let bench = Bench::new();
    let (short, long) = (bench.run(&["-h"]).success(), bench.run(&["--help"]).success());
    assert_eq!(stdout(&short), stdout(&long));
    let (help, verbs) = (stdout(&long), stdout(&bench.run(&[]).success()));
    assert!(help.contains("Usage: fairground [VERB]\n\nAsk:\n  recommend "), "{help}");
    let (_, rows) = verbs.split_once("Ask:\n").expect("a group");
    let (rows, _) = rows.split_once("\n\n").expect("examples");
    assert!(help.contains(rows), "{help}");
}

#[test]
fn old_verbs_say_their_new_names() {
    let bench = Bench::new();
    for (old, new) in [
        (&["completions", "bash"][..], &["generate", "completions", "bash"][..]),
        (&["man"][..], &["generate", "manual"][..]),
    ] {
        let (was, is) = (bench.run(old).success(), bench.run(new).success());
        assert_eq!(stdout(&was), stdout(&is));
        assert_eq!(stderr(&was), format!("{} is now: {} {}\n", old[0], new[0], new[1]));
    }
    let said = stderr(&bench.run(&["calibrate", "two_cpus"]).code(2));
    assert!(said.starts_with("calibrate is now: kernel calibrate\n"), "{said}");
    let mut kernels = bench.fairground(&["kernel", "list"]);
    let kernels = kernels.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    assert_eq!(stderr(&kernels), "kernel list is now: list kernels\n");
    let help = stdout(&bench.run(&["--help"]).success());
    for old in ["control", "gate", "gallery", "calibrate", "completions", "man", "guest"] {
        assert!(!help.contains(&format!("\n  {old} ")), "{old}: {help}");
    }
}

#[test]
fn run_has_help() {
    let shown = Bench::new().run(&["run", "--help"]).success();
    expect![[r#"
        Run an experiment; every trial leaves one record in the store

        Usage: fairground run [OPTIONS] [EXPERIMENT]

        Arguments:
          [EXPERIMENT]  An experiment's name or file; without it --scheduler and
                        --workload make one up

        Options:
              --on <BACKEND>           Who answers, instead of all that would: sim, vm
                                       or live, or several: sim,vm
              --seed <N>               The only source of chance: order of trials, start
                                       phases [default: 1]
              --scheduler <SCHEDULER>  Add a scheduler: NAME, FILE.bpf.c, 'NAME
                                       knob=value', 'program:scx_lavd ARG', kernel:6.12,
                                       policy:rr:50
              --workload <WORKLOAD>    Take this workload instead of the experiment's:
                                       NAME, FILE, 'NAME parameter=value'
              --machine <MACHINE>      Take this machine instead of the experiment's:
                                       NAME, FILE, or sim:NAME for one that only that
                                       backend has
              --baseline <NAME>        The contestant that the others are compared with
              --blocks <N>             Blocks: one pass over everything, with fresh
                                       boots
              --runs <N>               Runs of each cell inside one boot
              --timeout <SECONDS>      Time limit of a trial, seconds
              --trace[=<CELL>]         Keep an event trace of this cell's trials in the
                                       first block; of every cell's without a value
              --no-probes              Measure without probes, to see what they cost
              --exploratory            Run a plan that may prove nothing, without A/A
                                       trials; the report says so
              --resume                 Run only the trials that the last run of the same
                                       plan has left
              --store <FILE>           Where the records go [default: fairground.db]
              --jobs <N>               Trials at a time [default: as many as CPUs in the
                                       simulator and where only instructions are
                                       counted, else one]
              --offline                Never download a kernel
              --budget <TIME>          Take as many blocks as fit into this time: 90s,
                                       10m, 2h. The first one shows what a block takes;
                                       the number is fixed before any result is looked
                                       at
              --until <PERCENT>        Add blocks until every shift of a headline
                                       measure is known to ± so many percent
              --effect <PERCENT>       Refuse a plan that could not see a difference of
                                       so many percent, as A/A trials show it
              --no-aa                  No A/A trials before real time is measured
          -h, --help                   Print help
    "#]]
    .assert_eq(&stdout(&shown));
}

#[test]
fn lists_show_every_file() {
    let bench = Bench::new();
    for (kind, folder) in ["workloads", "machines", "experiments", "cares"].map(|kind| (kind, kind))
    {
        let list = stdout(&bench.run(&["list", kind]).success());
        let json = stdout(&bench.run(&["list", kind, "--format", "json"]).success());
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        for file in std::fs::read_dir(project(folder)).expect("the project's folder") {
            let name = file.expect("a file").path();
            let name = name.file_stem().expect("a name").to_string_lossy().into_owned();
            assert!(
                list.lines().any(|line| line.starts_with(&format!("{name} "))),
                "{name}: {list}"
            );
            let items = json[kind].as_array().expect("items");
            let item = items.iter().find(|item| item["name"] == name.as_str()).expect("the item");
            assert!(!item["about"].as_str().expect("a sentence").is_empty(), "{name}");
            assert!(!item["backends"].as_array().expect("backends").is_empty(), "{name}");
        }
    }
}

#[test]
fn the_family_tree_has_every_scheduler_below_its_parent() {
    let bench = Bench::new();
    let tree = stdout(&bench.run(&["list", "schedulers", "--family"]).success());
    let row = |name: &str| tree.lines().position(|line| line.contains(&format!(" {name} ")));
    for member in fairground::lineage::members() {
        let own = row(&member.name).unwrap_or_else(|| panic!("{}: {tree}", member.name));
        if let Some(parent) = member.after.first() {
            assert!(row(parent) < Some(own), "{}: {tree}", member.name);
        }
    }
    let json = stdout(&bench.run(&["list", "--family", "--format", "json"]).success());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().expect("members").len(), tree.lines().count());
    let said = stderr(&bench.run(&["list", "machines", "--family"]).code(2));
    assert!(said.contains("list schedulers --family"), "{said}");
}

#[test]
fn the_list_has_all_kinds() {
    let bench = Bench::new();
    let mut list = bench.fairground(&["list", "--format", "json"]);
    let list = list.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    let list: serde_json::Value = serde_json::from_str(&stdout(&list)).expect("JSON");
    let kinds: Vec<&String> = list.as_object().expect("an object").keys().collect();
    assert_eq!(
        kinds,
        ["schedulers", "workloads", "machines", "experiments", "claims", "cares", "kernels"]
    );
    let schedulers = list["schedulers"].as_array().expect("schedulers");
    for name in ["fifo", "vtime", "rr", "kernel", "policy:CLASS"] {
        assert!(schedulers.iter().any(|scheduler| scheduler["name"] == name), "{name}");
    }
}

#[test]
fn without_kernels_it_says_how_to_get_some() {
    let bench = Bench::new();
    let mut list = bench.fairground(&["list", "kernels"]);
    let list = list.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    expect![[r#"
        no kernels yet; `fairground kernel pull` gets them
    "#]]
    .assert_eq(&stdout(&list));
}

#[test]
fn unknown_names_get_near_ones() {
    let bench = Bench::new();
    refuses(
        &bench,
        &["run", "quikc"],
        2,
        expect![[r#"
            fairground: quikc: unknown experiment; did you mean 'quick'? looked in ./experiments/ and among the built-in ones (`fairground list experiments`); a path works too
        "#]],
    );
    refuses(
        &bench,
        &["plan", "quick", "--scheduler", "vtme"],
        2,
        expect![[r#"
            fairground: --scheduler vtme: vtme: no built-in scheduler has this name; there are …; a file needs its .bpf.c
        "#]],
    );
    refuses(
        &bench,
        &["plan", "quick", "--workload", "mesaging"],
        2,
        expect![[r#"
            fairground: --workload mesaging: unknown workload 'mesaging'; did you mean 'messaging'? looked in ./workloads/ and among the built-in ones (`fairground list workloads`); a path works too
        "#]],
    );
    refuses(
        &bench,
        &["plan", "quick", "--machine", "uniprocesor"],
        2,
        expect![[r#"
            fairground: uniprocesor: unknown machine; did you mean 'uniprocessor'? looked in ./machines/ and among the built-in ones (`fairground list machines`); a path works too
        "#]],
    );
    refuses(
        &bench,
        &["run", "quick", "--baseline", "cfs"],
        2,
        expect![[r#"
        fairground: --baseline: unknown scheduler 'cfs'; did you mean 'cfs-6.1'?
    "#]],
    );
    refuses(
        &bench,
        &["rnu", "quick"],
        2,
        expect![[r#"
            error: unrecognized subcommand 'rnu'

            Usage: fairground [VERB]

            For more information, try '--help'.
        "#]],
    );
}

#[test]
fn a_broken_experiment_names_line_and_column() {
    let bench = Bench::new();
    bench.write("a.toml", "question = \"Why?\"\nblocks = \n");
    refuses(
        &bench,
        &["run", "a.toml"],
        2,
        expect![[r#"
        fairground: a.toml:2:10: string values must be quoted, expected literal string
    "#]],
    );
    bench.write("b.toml", "question = \"Why?\"\nblokcs = 3\n");
    refuses(
        &bench,
        &["run", "b.toml"],
        2,
        expect![[r#"
        fairground: b.toml:2:1: unknown field 'blokcs'; did you mean 'blocks'?
    "#]],
    );
    bench.write("c.toml", "question = \"Why?\"\n\n[[scheduler]]\nfile = \"none.bpf.c\"\n\n[[workload]]\nname = \"tiny.toml\"\n");
    refuses(
        &bench,
        &["run", "c.toml"],
        2,
        expect![[r#"
        fairground: c.toml:4:1: none.bpf.c: cannot be read as a scheduler: No such file or directory (os error 2)
    "#]],
    );
}

#[test]
fn a_store_that_is_none_is_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.write("notes.db", &"not a database at all, just a long text. ".repeat(20));
    let arguments =
        ["run", "--on", "live", "--scheduler", "policy:other", "--workload", "tiny.toml"];
    let arguments = [&arguments[..], &["--store", "notes.db"]].concat();
    refuses(
        &bench,
        &arguments,
        2,
        expect![[r#"
        fairground: notes.db: not a Fairground store (file is not a database); choose another file with `--store FILE`
    "#]],
    );
    refuses(
        &bench,
        &["compare", "--store", "none.db"],
        2,
        expect![[r#"
        fairground: none.db: no such store; `fairground run` makes one, `--store FILE` names another
    "#]],
    );
}

#[test]
fn a_trial_must_be_one() {
    let bench = Bench::new();
    let assert = bench.fairground(&["trial"]).write_stdin("{\"schema\": 1}").assert().code(2);
    expect![[r#"
        fairground: standard input: not one trial (missing field `experiment` at line 1 column 13); `fairground plan` prints some
    "#]].assert_eq(&stderr(&assert));
}

#[test]
fn a_plan_is_one_trial_per_line_and_repeats_itself() {
    let bench = Bench::new();
    let arguments =
        ["plan", "--on", "live", "--scheduler", "policy:other", "--scheduler", "policy:batch"];
    let arguments = [&arguments[..], &["--workload", "tiny.toml", "--blocks", "3"]].concat();
    let first = stdout(&bench.run(&arguments).success());
    let trials: Vec<model::Trial> =
        first.lines().map(|line| serde_json::from_str(line).expect("a trial")).collect();
    assert_eq!(trials.len(), 6);
    assert!(trials.iter().all(|trial| trial.workload.name == "tiny"));
    assert_eq!(stdout(&bench.run(&arguments).success()), first);
    let other = [&arguments[..], &["--seed", "2"]].concat();
    assert_ne!(stdout(&bench.run(&other).success()), first);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let bench = Bench::new();
    for (verb, arguments) in [("plan", "quick"), ("list", "--format json")] {
        let program = env!("CARGO_BIN_EXE_fairground");
        let pipe = format!("{program} {verb} {arguments} | head -c 1 >/dev/null");
        let shell = format!("{pipe}; test ${{PIPESTATUS[0]}} -eq 0");
        let mut bash = assert_cmd::Command::new("bash");
        bash.args(["-c", &shell]).current_dir(bench.path("")).assert().success().stderr("");
    }
}

#[test]
fn completions_and_the_manual_know_every_verb() {
    let bench = Bench::new();
    let verbs = stdout(&bench.run(&[]).success());
    let verbs: Vec<&str> = verbs
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty() && *word != "fairground")
        .collect();
    assert!(verbs.len() > 8, "{verbs:?}");
    let manual = stdout(&bench.run(&["generate", "manual"]).success());
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&bench.run(&["generate", "completions", shell]).success());
        for verb in &verbs {
            assert!(script.contains(verb), "{shell}: {verb}");
            assert!(manual.contains(&format!("fairground\\-{verb}(1)")), "{verb}");
        }
    }
    bench.run(&["generate", "manual", "-o", "."]).success();
    assert!(bench.path("fairground-run.1").exists());
}

#[test]
fn the_exec_step_gets_nothing_but_an_end() {
    let assert = Bench::new().run(&["--exit-now"]).success();
    assert_eq!(stdout(&assert) + &stderr(&assert), "");
}

#[test]
fn a_scheduler_that_does_not_compile_stops_everything_with_file_and_line() {
    let bench = Bench::new();
    let file = common::scheduler("no_compile");
    let arguments = ["run", "--scheduler", &file, "--workload", "tiny.toml", "--offline"];
    let said = stderr(&bench.run(&arguments).code(2));
    assert!(said.contains("no_compile.bpf.c:17"), "{said}");
    assert!(said.contains("NO_SUCH_QUEUE"), "{said}");
}
