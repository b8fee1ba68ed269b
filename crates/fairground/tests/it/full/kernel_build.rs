// SPDX-License-Identifier: GPL-2.0-only
//! `fairground kernel build`: a base and an original are built, boot, and differ; mistakes are named
//! before anything is unpacked.
//!
//! The kernels of this test have no debugging information and no network, which halves the time to
//! compile them; so they have no probes either. Sources and objects stay in the target folder: a
//! second run compiles nothing.

use std::path::{Path, PathBuf};

use crate::common::{Bench, guest, project, stderr, stdout};
use testing::need;

/// What the probes need, switched off.
const SMALL: &str = "CONFIG_DEBUG_INFO=n
CONFIG_DEBUG_INFO_BTF=n
CONFIG_BPF_SYSCALL=n
CONFIG_NET=n
";

/// The kernels of this test, which are kept.
fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("built-kernels")
}

/// Where downloaded patches may be; the author's address is asked for others.
fn downloads() -> PathBuf {
    let named = std::env::var_os("FAIRGROUND_DOWNLOADS").map(PathBuf::from);
    named.unwrap_or_else(|| project("../shared/patches"))
}

/// The standard error of a build and whether it succeeded.
fn build(bench: &Bench, definition: &str, name: &str) -> (bool, String) {
    let downloads = downloads().display().to_string();
    let words = ["kernel", "build", definition, "--config", "small.config", "--name", name];
    let mut command = bench.fairground(&[&words[..], &["--downloads", &downloads]].concat());
    let ended = command.env("FAIRGROUND_HOME", home()).assert();
    (ended.get_output().status.success(), stderr(&ended))
}

#[test]
fn a_base_and_an_original_are_built_and_boot() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["flex", "bison", "bc", "pahole", "patch", "xz"]));
    let bench = Bench::new();
    bench.write("small.config", SMALL);
    let (is_built, said) = build(&bench, "base-5.10", "small-base");
    assert!(is_built, "{said}");
    let (is_built, said) = build(&bench, "cacule", "small-cacule");
    if !is_built && said.contains("name a folder that holds the file") {
        return testing::skip(format!(
            "CacULE's patch is not here, and there is no network: {said}"
        ));
    }
    assert!(is_built, "{said}");
    let race = ["run", "--on", "vm", "--machine", "uniprocessor", "--workload", "tiny.toml"];
    let kernels = ["--scheduler", "kernel:small-base", "--scheduler", "kernel:small-cacule"];
    let rest = ["--blocks", "1", "--no-probes", "--offline", "--exploratory"];
    let mut command = bench.fairground(&[&race[..], &kernels, &rest].concat());
    command.env("FAIRGROUND_HOME", home()).assert().success();
    let records = bench.records("fairground.db");
    assert_eq!(records.len(), 2);
    for record in &records {
        assert!(record.outcome.is_ok(), "{}", record.outcome.reason());
        let facts = &record.provenance.kernel_facts;
        let is_patched = record.trial.contestant.name.ends_with("cacule");
        assert_eq!(facts.contains_key("patches"), is_patched, "{facts:?}");
        assert!(facts["compiler"].contains("gcc") && facts["source"].len() == 64, "{facts:?}");
    }
    let image = |at: usize| &records[at].provenance.kernel_sha256;
    assert_ne!(image(0), image(1));
}

/// The message of a build that ends before it begins.
fn refusal(bench: &Bench, arguments: &[&str]) -> String {
    let arguments = [&["kernel", "build"], arguments].concat();
    let mut command = bench.fairground(&arguments);
    let refused = command.env("FAIRGROUND_HOME", bench.path("home")).assert().code(2);
    stderr(&refused).trim_end().to_owned()
}

#[test]
fn mistakes_are_named_before_anything_is_unpacked() {
    testing::beyond_cargo_test!("takes minutes");
    let bench = Bench::new();
    bench.write("bad.config", "CONFIG_HZ_250=y\nHZ=250\n");
    for (arguments, said) in [
        (&["bas-6.12"][..], "did you mean 'base-6.12'"),
        (
            &["base-6.1", "--name", "base-6.12"],
            "--name base-6.12: this is the name of a definition",
        ),
        (&["--tree", "."], "a kernel of your own needs a name: add --name mine"),
        (&["--base", "base-6.12", "--patch", "no.patch", "--name", "mine"], "no.patch"),
        (
            &["base-6.12", "--config", "bad.config", "--name", "mine"],
            "bad.config:2: 'HZ=250' is no line",
        ),
        (&["--tree", ".", "--name", "mine"], "no kernel/sched/core.c"),
    ] {
        let message = refusal(&bench, arguments);
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
    assert!(!bench.path("home/kernel-builds").exists(), "nothing was unpacked");
}

/// A source of two files in place of Debian's, which no `make` can build.
fn small_source(bench: &Bench) -> PathBuf {
    let package = bench.path("home/kernel-builds/linux-source-6.12_6.12.1-1");
    for (name, text) in [("a.c", "one\n"), ("b.c", "safe\n"), ("sched/core.c", "")] {
        let path = package.join("src/kernel").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }
    let content = "0".repeat(64);
    let facts = format!(r#"{{"source": "linux-source-6.12_6.12.1-1", "content": "{content}"}}"#);
    std::fs::write(package.join("source.json"), facts).expect("it can be written");
    package.join("src/kernel")
}

#[test]
fn a_base_is_built_of_what_was_unpacked() {
    testing::beyond_cargo_test!("needs what builds a kernel");
    need!(guest(&["flex", "bison", "bc", "pahole", "patch", "xz"]));
    const FIRST: &str = "diff --git a/kernel/a.c b/kernel/a.c\n--- a/kernel/a.c\n\
                         +++ b/kernel/a.c\n@@ -1 +1 @@\n-one\n+two\n";
    for second in [
        "--- a/kernel/b.c\n+++ b/kernel/b.c\n@@ -1 +1 @@\n-safe\n+changed\n",
        "diff --git a/kernel/b.c b/kernel/c.c\nsimilarity index 100%\n\
         rename from kernel/b.c\nrename to kernel/c.c\n",
    ] {
        let bench = Bench::new();
        let kernel = small_source(&bench);
        bench.write("mine.patch", &format!("{FIRST}{second}"));
        refusal(&bench, &["--base", "base-6.12", "--patch", "mine.patch", "--name", "mine"]);
        let text = |name: &str| std::fs::read_to_string(kernel.join(name)).ok();
        assert_eq!(text("a.c").as_deref(), Some("two\n"));
        assert_ne!(text("b.c").as_deref(), Some("safe\n"));
        refusal(&bench, &["base-6.12"]);
        assert_eq!((text("a.c").as_deref(), text("c.c")), (Some("one\n"), None));
        assert_eq!(text("b.c").as_deref(), Some("safe\n"));
        std::fs::write(kernel.join("b.c"), "changed by somebody\n").expect("it can be written");
        let arguments = ["kernel", "build", "base-6.12"];
        let mut command = bench.fairground(&arguments);
        let said = stderr(&command.env("FAIRGROUND_HOME", bench.path("home")).assert().code(3));
        assert!(said.contains("not as it was unpacked: kernel/b.c; remove "), "{said}");
    }
}

#[test]
fn every_definition_is_listed_with_its_file() {
    testing::beyond_cargo_test!("takes minutes");
    let listed = stdout(&Bench::new().run(&["kernel", "build"]).success());
    for name in vm::kernels::build::definition::names() {
        assert!(listed.lines().any(|line| line.starts_with(&name)), "{name}: {listed}");
    }
}
