// SPDX-License-Identifier: GPL-2.0-only
//! The verbs as users meet them: the table, help, completions and the manual page.

use expect_test::expect;

use crate::common::{Bench, stdout};

#[test]
fn alone_it_shows_its_verbs() {
    let shown = Bench::new().run(&[]).success();
    expect![[r#"
        Compare Linux CPU schedulers under the same rules

        Ask:
          recommend  Say which scheduler suits you on this machine, or that it makes no difference
          run        Run an experiment; every trial leaves one record in the store
          load       Use a scheduler on this kernel until Ctrl-C
          record     Record what the tasks of this machine do, as a workload that replays it
        Read:
          list       Show what there is: schedulers, workloads, machines, experiments, claims, cares, kernels
          compare    Compare records: a table with intervals, or whether two stores are identical
          report     Write the report, one HTML file that needs no network; of a folder of shared files, a site
          explain    Say why tasks waited: what ran instead, which decisions made it, which CPUs idled
          history    Show an experiment's numbers session after session; exit code 1 if the newest is worse
          bisect     Find the commit of a git tree that made a scheduler worse, by an experiment's gate
        Exchange:
          import     Read shared files, chunks' records, or other programs' results, into the store
          share      Make one small sealed file of an experiment's records, for others to import
          export     Export records, histograms and traces to other tools' formats
        Trust:
          check      Verify cheaply that every file parses, compiles and loads
          doctor     Say what this machine can do, and which commands get what is missing; check a store
          fidelity   Show how far the simulator is from a kernel, or schedulers' files from their counterparts
          soak       Run schedulers under all kinds of stress: which are ejected, which lose a task or a CPU
          replicate  Repeat published experiments, and say which findings are reproduced
        Plumbing:
          plan       Print an experiment's trials, or cut them into chunks for other machines; run nothing
          trial      Run one JSON trial from stdin, or a chunk of trials; write a JSON record for each
          get        Build schedulers that people use today: scx_lavd, scx_bpfland, …; list them
          kernel     Get, build and add kernels to boot, and the emulator that several virtual CPUs need

        Examples:
          fairground recommend                             which scheduler suits you
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
fn completions_and_the_manual_know_every_verb() {
    let bench = Bench::new();
    let verbs = stdout(&bench.run(&[]).success());
    let verbs: Vec<&str> = verbs
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty() && *word != "fairground")
        .collect();
    assert!(verbs.len() > 8, "{verbs:?}");
    let manual = stdout(&bench.run(&["doctor", "manual"]).success());
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&bench.run(&["doctor", "completions", shell]).success());
        for verb in &verbs {
            assert!(script.contains(verb), "{shell}: {verb}");
            assert!(manual.contains(&format!("fairground\\-{verb}(1)")), "{verb}");
        }
    }
    bench.run(&["doctor", "manual", "-o", "."]).success();
    assert!(bench.path("fairground-run.1").exists());
}
