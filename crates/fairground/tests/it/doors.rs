// SPDX-License-Identifier: GPL-2.0-only
//! What a stranger's folder, trials and chunks can have this program do: nothing that it does not
//! say, and nothing that it was not asked for.

use crate::common::{Bench, TINY, project, simulated, stderr, stdout};

/// What a plan of `messaging` measures, and what was said.
fn planned(bench: &Bench, arguments: &[&str]) -> (String, String) {
    let all = [&["plan", "--scheduler", "fifo", "--blocks", "1"], arguments].concat();
    let plan = bench.run(&all).success();
    (stdout(&plan), stderr(&plan))
}

/// A bench whose folder has `workloads/NAME.toml`.
fn with_workload(name: &str) -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("workloads")).expect("a folder");
    bench.write(&format!("workloads/{name}.toml"), TINY);
    bench
}

#[test]
fn a_name_means_the_built_in_file_whatever_the_folder_has() {
    let bench = with_workload("messaging");
    let (trials, said) = planned(&bench, &["--workload", "messaging"]);
    assert!(!trials.contains("two hogs and a sleeper"), "{trials}");
    let note = "note: workload messaging is the built-in one; ./workloads/messaging.toml is used \
                with --workload ./workloads/messaging.toml";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    let (trials, said) = planned(&bench, &["--workload", "./workloads/messaging.toml"]);
    assert!(trials.contains("two hogs and a sleeper"), "{trials}");
    assert!(!said.contains("note:"), "{said}");
    // What was built in and lies there unchanged, as in a checkout, means the same.
    let text = std::fs::read_to_string(project("workloads/messaging.toml")).expect("a workload");
    bench.write("workloads/messaging.toml", &text);
    let (_, said) = planned(&bench, &["--workload", "messaging"]);
    assert!(!said.contains("note:"), "{said}");
}

#[test]
fn every_kind_of_name_means_the_built_in_file() {
    let kinds = [
        ("machines/laptop_4.toml", "plan --scheduler fifo --workload frames --machine laptop_4"),
        (
            "machines/counted_16.toml",
            "plan --scheduler fifo --workload frames --machine counted_16",
        ),
        ("experiments/quick.toml", "plan quick"),
        ("cares/desktop.toml", "list cares"),
        ("claims/s2-tail.toml", "list claims"),
        ("schedulers/fifo.bpf.c", "plan --scheduler fifo --workload frames"),
        ("vtime.bpf.c", "plan --scheduler vtime --workload frames"),
    ];
    let claims = std::fs::read_dir(project("claims")).expect("claims").flatten().next();
    let claim = claims.expect("a claim").file_name().into_string().expect("a name");
    for (file, line) in kinds {
        let (bench, file) = (Bench::new(), file.replace("s2-tail.toml", &claim));
        let folder = bench.path(&file);
        std::fs::create_dir_all(folder.parent().expect("a folder")).expect("a folder");
        bench.write(&file, "this is no definition");
        let said = stderr(&bench.line(line).success());
        let note = said.lines().find(|line| line.starts_with("note: ")).unwrap_or_default();
        assert!(note.contains("is the built-in one; ./") && note.contains(&file), "{file}: {said}");
    }
}

#[test]
fn a_name_of_the_folder_alone_says_which_file_it_is() {
    let bench = with_workload("ours");
    let (trials, said) = planned(&bench, &["--workload", "ours"]);
    assert!(trials.contains("two hogs and a sleeper"), "{trials}");
    assert!(said.contains("note: workload ours is ./workloads/ours.toml, a file of this folder"));
}

#[test]
fn a_file_means_its_own_neighbours() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("mine")).expect("a folder");
    bench.write("mine/load.toml", TINY);
    bench.write("load.toml", &TINY.replace("two hogs", "a stranger's hogs"));
    let experiment = "question = 'Which?'\nmachine = 'two_cpus'\n[[scheduler]]\nfile = 'fifo'\n\
        [[workload]]\nname = 'load.toml'\n";
    bench.write("mine/ask.toml", experiment);
    let plan = stdout(&bench.run(&["plan", "mine/ask.toml", "--blocks", "1"]).success());
    assert!(plan.contains("two hogs and a sleeper"), "{plan}");
}

#[test]
fn a_file_is_checked_as_what_it_defines_and_alone() {
    let bench = with_workload("mine");
    bench.write("pair.toml", "cpus = 2\n");
    bench.write("ask.toml", "question = 'Which?'\n[[scheduler]]\nfile = 'fifo'\n[[scheduler]]\nfile = 'rr'\n[[workload]]\nname = 'messaging'\n");
    let files = ["workloads/mine.toml", "pair.toml", "ask.toml"];
    let said = stdout(&bench.run(&[&["check"][..], &files].concat()).success());
    let kinds: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(kinds, ["workload", "machine", "experiment"], "{said}");

    bench.write("bad.toml", "question = 'Which?'\nblock = 3\n");
    bench.write("slow.toml", "[[task]]\nname = 'a'\nnice = 5\nsteps = ['yield']\n");
    let said = stdout(&bench.run(&["check", "bad.toml", "slow.toml", "none.toml"]).code(2));
    let wrong: Vec<&str> = said.lines().filter(|line| line.starts_with("WRONG")).collect();
    assert_eq!(wrong.len(), 3, "{said}");
    assert!(said.contains("unknown field 'block'; did you mean 'blocks'?"), "{said}");
    let policy = "write policy = { class = \"other\", nice = … }";
    assert!(said.contains(policy), "{said}");
}

#[test]
fn what_shadows_a_name_is_checked_too() {
    testing::beyond_cargo_test!("compiles every scheduler");
    let bench = with_workload("messaging");
    bench.write("workloads/messaging.toml", "duration_us = 'long'\n");
    let said = stdout(&bench.run(&["check", "--no-boot"]).code(2));
    let wrong: Vec<&str> = said.lines().filter(|line| line.starts_with("WRONG")).collect();
    let [line] = wrong[..] else { panic!("{said}") };
    assert!(line.contains(" ./workloads/messaging.toml:1:15: unexpected string"), "{line}");
}

/// A trial of a program that leaves a file, on a backend.
fn program(bench: &Bench, backend: &str) -> String {
    let text = "[program]\ncommand = ['sh', '-c', 'echo ran > ran']\nparser = 'none'\n";
    bench.write("program.toml", text);
    let plan = ["plan", "--on", "vm", "--scheduler", "policy:other", "--blocks", "1"];
    let plan = [&plan[..], &["--workload", "./program.toml", "--machine", "two_cpus"]].concat();
    let text = stdout(&bench.run(&plan).success());
    text.replace("\"backend\":\"vm\"", &format!("\"backend\":\"{backend}\""))
}

#[test]
fn programs_of_trials_run_only_when_they_are_trusted() {
    let bench = Bench::new();
    for backend in ["live", "vm"] {
        let trial = program(&bench, backend);
        bench.write("chunk.trials.jsonl", &trial);
        let said = bench.run(&["trial", "--chunk", "chunk.trials.jsonl", "--out", "r"]).code(2);
        let said = stderr(&said);
        let words = "would run the program `sh -c echo ran > ran`, with your rights; if you trust \
                     it, add --trusted";
        assert!(said.contains("chunk.trials.jsonl: trial ") && said.contains(words), "{said}");
        for arguments in [&["trial"][..], &["trial", "--on", "live"]] {
            let refused = bench.fairground(arguments).write_stdin(&*trial).assert().code(2);
            assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
        }
    }
    let scheduler = "plan --on vm --blocks 1 --workload frames --machine two_cpus --scheduler";
    let words: Vec<&str> = scheduler.split(' ').chain(["program:scx_evil --now"]).collect();
    let trial = stdout(&bench.run(&words).success());
    let refused = bench.fairground(&["trial"]).write_stdin(trial).assert().code(2);
    assert!(stderr(&refused).contains("run the program `scx_evil --now`"));
    assert!(!bench.path("ran").exists() && !bench.path("r").exists());
}

#[test]
fn this_kernel_is_used_only_when_it_is_asked_for() {
    let bench = Bench::new();
    let plan = [&["plan"], &simulated("./tiny.toml", "fifo", "1")[..]].concat();
    let plan = stdout(&bench.run(&plan).success());
    let trial = plan.lines().next().expect("a trial").replace("\"sim\"", "\"live\"");
    let refused = bench.fairground(&["trial"]).write_stdin(&*trial).assert().code(2);
    let words = "would load its scheduler into this machine's kernel, with your rights";
    assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
    bench.fairground(&["trial", "--on", "sim"]).write_stdin(trial).assert().success();
}

#[test]
fn the_plan_of_ones_own_programs_says_how_to_run_it() {
    let bench = Bench::new();
    program(&bench, "vm");
    let line = "plan --on vm --scheduler policy:other --blocks 1 --workload ./program.toml \
                --machine two_cpus --chunks 1 -o parts";
    let said = stderr(&bench.line(line).success());
    assert!(said.contains("--out chunk-0.records.jsonl --trusted\n"), "{said}");
}

/// A folder of chunks whose `campaign.json` was changed, and what `import` says of it.
fn changed(change: impl Fn(&str) -> String) -> (Bench, String) {
    let bench = Bench::new();
    let plan = simulated("./tiny.toml", "fifo", "1");
    bench.run(&[&["plan", "--chunks", "1", "-o", "parts"], &plan[..]].concat()).success();
    let path = bench.path("parts/campaign.json");
    let text = std::fs::read_to_string(&path).expect("a campaign");
    let new = change(&text);
    assert_ne!(new, text);
    std::fs::write(&path, new).expect("written");
    let chunk = ["trial", "--chunk", "parts/chunk-0.trials.jsonl"];
    bench.run(&[&chunk[..], &["--out", "parts/chunk-0.records.jsonl"]].concat()).success();
    let said = stderr(&bench.run(&["import", "parts", "--store", "far.db"]).code(2));
    (bench, said)
}

#[test]
fn a_folder_of_chunks_obeys_the_rules_of_shared_files() {
    let date = |text: &str| {
        let at = text.find("\"started_unix_s\": ").expect("a date") + 18;
        let end = at + text[at..].find(',').expect("an end");
        format!("{}{}{}", &text[..at], u64::MAX, &text[end..])
    };
    type Change<'a> = &'a dyn Fn(&str) -> String;
    let rows: [(Change<'_>, &str); 5] = [
        (&|text| text.replace("Idea:", "Ideas:"), " is not what its SHA-256 says"),
        (&date, "its date is too large"),
        (
            &|text| text.replace("\"name\": \"adhoc\"", "\"name\": \"other\""),
            "is of another experiment than its session",
        ),
        (
            &|text| text.replace("\"name\": \"adhoc\"", "\"name\": \"ad\\u001b[31mhoc\""),
            "its experiment's name has control characters",
        ),
        (
            &|text| {
                text.replace("\"command\": \"fairground", "\"command\": \"rm -rf /; fairground")
            },
            "its command is no call of this program",
        ),
    ];
    for (change, words) in rows {
        let (bench, said) = changed(change);
        assert!(said.contains("parts/campaign.json: ") && said.contains(words), "{said}");
        assert!(!bench.path("far.db").exists(), "{words}: nothing is kept");
    }
}
