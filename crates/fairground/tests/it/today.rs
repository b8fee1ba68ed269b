// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers of today, with a cargo that builds nothing: what it is asked, what it says, and
//! what is made of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, project, stderr, stdout};

/// Notes each call, fails as the file `fails` says, and else makes the program and the sources.
const CARGO: &str = r#"#!/bin/sh
echo "$*" >> calls
[ -e fails ] && . ./fails
while [ $# -gt 0 ]; do
    case "$1" in
        --root) root=$2 ;;
        --version) version=$2; name=$3 ;;
    esac
    shift
done
message='{"reason":"compiler-artifact","target":{"kind":["lib"]},"fresh":'
for crate in 1 2 3; do echo "${message}false}"; done
echo "${message}true}"
echo '{"reason":"build-finished","success":true}'
source=$CARGO_HOME/registry/src/index/$name-$version
mkdir -p "$root/bin" "$source"
printf '#!/bin/sh\n' > "$root/bin/$name"
chmod 755 "$root/bin/$name"
cp main.bpf.c "$source/main.bpf.c"
echo '.enable_skel("main.bpf.c", "bpf")' > "$source/build.rs"
"#;

/// A bench whose PATH begins with this cargo, and with compilers that find each header.
fn bench() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("bin")).expect("a folder");
    program(&bench, "cargo", CARGO);
    for name in ["gcc", "make", "pkg-config"] {
        program(&bench, name, "#!/bin/sh\n");
    }
    let fifo = fs::read_to_string(project("schedulers/fifo.bpf.c")).expect("a scheduler");
    bench.write("main.bpf.c", &fifo);
    bench
}

fn program(bench: &Bench, name: &str, text: &str) {
    let path = format!("bin/{name}");
    bench.write(&path, text);
    let allowed = fs::Permissions::from_mode(0o755);
    fs::set_permissions(bench.path(&path), allowed).expect("permissions");
}

fn command(bench: &Bench, line: &str) -> std::process::Command {
    let mut command = bench.process(&line.split(' ').collect::<Vec<_>>());
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bench.path("bin").display()));
    command.env("FAIRGROUND_HOME", bench.path("home")).env("CARGO_HOME", bench.path("cargo"));
    command.env("LIBCLANG_PATH", "/nowhere");
    command
}

fn run(bench: &Bench, line: &str) -> assert_cmd::assert::Assert {
    assert_cmd::Command::from_std(command(bench, line)).assert()
}

fn calls(bench: &Bench) -> usize {
    fs::read_to_string(bench.path("calls")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_program_is_built_once_and_kept_with_its_source() {
    let bench = bench();
    let built = run(&bench, "get scx_bpfland@1.1.2").success();
    let told = stderr(&built);
    assert!(told.contains("scx_bpfland@1.1.2 is built; "), "{told}");
    let row = |line: &&str| line.starts_with("scx_bpfland ") && line.contains(" 1.1.2 ");
    assert!(stdout(&built).lines().any(|line| row(&line)), "{}", stdout(&built));
    let again = run(&bench, "get scx_bpfland@1.1.2").success();
    assert_eq!(stderr(&again), "scx_bpfland@1.1.2 is built already\n");
    assert_eq!(calls(&bench), 1);
    run(&bench, "get bpfland@1.1.3").success();
    let both = "run --on sim --workload ./tiny.toml --exploratory --blocks 1 --scheduler \
                scx_bpfland@1.1.2 --scheduler scx_bpfland@1.1.3";
    let said = run(&bench, both).success();
    assert!(
        stderr(&said).contains("its program has in version 1.1.4; left out"),
        "{}",
        stderr(&said)
    );
    let out = stdout(&said);
    assert!(out.contains("scx_bpfland@1.1.2 ") && out.contains("scx_bpfland@1.1.3 "), "{out}");
    // The version of the side file has to have what that sets.
    run(&bench, "get bpfland@1.1.4").success();
    let refused = stderr(&run(&bench, &both.replace("1.1.3", "1.1.4")).code(2));
    assert!(refused.contains("scx_bpfland.toml"), "{refused}");
    // What is gone is built again.
    fs::remove_file(bench.path("home/programs/bin/scx_bpfland@1.1.2")).expect("it was there");
    run(&bench, "get bpfland@1.1.2").success();
    assert_eq!(calls(&bench), 4);
}

#[test]
fn what_cargo_lacks_and_what_does_not_compile_is_a_sentence() {
    let bench = bench();
    let fails = |text: &str| bench.write("fails", &format!("{text}\nexit 101\n"));
    let said = |line: &str, code: i32| stderr(&run(&bench, line).code(code));
    fails("echo 'error: could not find `scx_bpfland` in registry `x` with version `=9.9.9`' >&2");
    let none = said("get scx_bpfland@9.9.9", 2);
    assert!(none.contains("there is no version 9.9.9 of scx_bpfland; write scx_bpfland@1."));
    fails("printf 'error: no config\\n\\nCaused by:\\n  [7] Could not connect to server\\n' >&2");
    let network = said("get scx_bpfland", 3);
    assert!(network.contains("no config: [7] Could not connect to server; without"), "{network}");
    let offline = said("get scx_bpfland --offline", 3);
    assert!(offline.contains("is not among what cargo has downloaded; run it without --offline"));
    assert!(offline.contains("(no config: [7] Could not connect to server)"), "{offline}");
    let remedy = process::packages::install("libelf-dev");
    let build = "error: failed to run custom build command for";
    for (text, code, words) in [
        (
            "error[E0308]: mismatched types\nerror: could not compile".to_owned(),
            2,
            "scx_bpfland@1.1.4 does not compile: error[E0308]: mismatched types; all of it is in ",
        ),
        (
            format!("{build} `libbpf-sys v1`\n  x.c:1: fatal error: gelf.h: No such file"),
            2,
            &format!(
                "libbpf-sys v1: x.c:1: fatal error: gelf.h: No such file; to get it: {remedy}; "
            ),
        ),
        (
            format!(
                "{build} `scx_utils v1`\n thread panicked at b.rs:1:\n Unable to find libclang"
            ),
            2,
            "scx_utils v1: Unable to find libclang; to get it: ",
        ),
        ("error: x (signal: 9, SIGKILL: kill)".into(), 3, "write --jobs 1"),
    ] {
        let failed = "echo '{\"reason\":\"build-finished\",\"success\":false}'";
        fails(&format!("{failed}\ncat >&2 <<'END'\n{text}\nEND"));
        let told = said("get scx_bpfland", code);
        assert!(told.contains(words), "{words}: {told}");
    }
    fails("echo 'error: x: No space left on device' >&2");
    assert!(said("get scx_bpfland", 3).contains("the disk is full: make room"));
    assert!(said("get scx_bpflnd", 2).contains("did you mean 'scx_bpfland'?"));
    let newest = said("get scx_bpfland@newest", 2);
    assert!(newest.contains("a version has three numbers; write scx_bpfland@"), "{newest}");
    fs::remove_file(bench.path("fails")).expect("it was there");
    run(&bench, "get scx_bpfland").success();
}

#[test]
fn who_asks_for_an_example_of_the_kernel_is_told_where_it_is() {
    let bench = bench();
    let said = |name: &str| {
        let line = format!("run --on sim --scheduler {name} --workload messaging");
        stderr(&run(&bench, &line).code(2))
    };
    let told = said("scx_flatcg");
    assert!(told.contains("`fairground kernel examples` brings the kernel's own"), "{told}");
    assert!(!said("flatcg").contains("examples"));
}

#[test]
fn one_message_names_every_package_that_is_missing() {
    let bench = bench();
    let folder = bench.path("few");
    fs::create_dir(&folder).expect("a folder");
    symlink(vm::installed::find("sh").expect("a shell"), folder.join("sh")).expect("a link");
    let mut get = command(&bench, "get scx_rustland");
    get.env("PATH", &folder).env_remove("BPF_CLANG");
    let said = stderr(&assert_cmd::Command::from_std(get).assert().code(3));
    let names = "building scx_rustland needs cargo, gcc, make, pkg-config, clang; to get them: ";
    let remedy = process::packages::install("cargo gcc make pkg-config clang");
    assert!(said.contains(&format!("{names}{remedy}")), "{said}");
    assert_eq!(calls(&bench), 0);
}

#[test]
fn ctrl_c_ends_cargo_and_the_same_command_continues() {
    let bench = bench();
    bench.write("fails", "[ -e waited ] || { touch waited; exec sleep 60; }\n");
    let mut get = command(&bench, "get scx_flash");
    let child: Child = get.stderr(std::process::Stdio::piped()).spawn().expect("a process");
    while !bench.path("waited").exists() {
        sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let ended = child.wait_with_output().expect("an end");
    assert_eq!(ended.status.code(), Some(130));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("interrupted; the same command continues where it stopped"), "{said}");
    let told = stderr(&run(&bench, "get scx_flash").success());
    assert!(told.contains("scx_flash@1.1.4 is built; "), "{told}");
}

/// A care with a file and the schedulers of today.
const CARE: &str = r#"about = "a test"
schedulers = ["fifo", "today"]

[[workload]]
name = "./tiny.toml"

[decides]
workload = "./tiny.toml"
measure = "jain_index hog"
words = "how even it is"
percent = 10
"#;

#[test]
fn recommend_considers_what_is_here_and_says_what_is_not() {
    let bench = bench();
    bench.write("mine.toml", CARE);
    bench.write("tiny.toml", &format!("headline = [\"jain_index hog\"]\n{}", crate::common::TINY));
    let line = "recommend --on sim --machine uniprocessor --care ./mine.toml";
    let nobody = run(&bench, line).success();
    let told = stderr(&nobody);
    let left = |more: usize| format!("left out: {} schedulers", spec::today::names().len() - more);
    assert!(told.contains(&format!("{} of today that were not built here; ", left(0))), "{told}");
    assert!(!stdout(&nobody).contains("scx_flash"), "{}", stdout(&nobody));
    // A later version has none of the side file's knobs to lack.
    run(&bench, "get scx_flash@9.9.9").success();
    let one = run(&bench, line).success();
    assert!(stdout(&one).contains("scx_flash"), "{}{}", stdout(&one), stderr(&one));
    assert!(stderr(&one).contains(&left(1)), "{}", stderr(&one));
}

#[test]
fn load_hands_over_to_scx_loader_where_that_is() {
    let bench = bench();
    run(&bench, "get scx_flash@9.9.9").success();
    let alone = stderr(&run(&bench, "load program:scx_flash").code(2));
    assert!(alone.contains("which loads itself: start it by `sudo /"), "{alone}");
    program(&bench, "scxctl", "#!/bin/sh\n");
    let said = stderr(&run(&bench, "load -- program:scx_flash --slice-us 500").code(2));
    let lines = [
        "scx_loader is here, too, and starts the one that is installed:",
        "/programs/bin/scx_flash@9.9.9 /usr/local/bin/scx_flash",
        "  scxctl start --sched flash --args=--slice-us,500",
        "With every boot: default_sched = \"scx_flash\" in /etc/scx_loader/config.toml",
    ];
    for line in lines {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn check_takes_a_name_of_today_and_runs_its_file() {
    let bench = bench();
    let absent = stdout(&run(&bench, "check scx_flash").code(2));
    assert!(absent.contains("it was not built here; `fairground get scx_flash` builds it"));
    run(&bench, "get scx_flash@9.9.9").success();
    let said = stdout(&run(&bench, "check scx_flash").success());
    assert!(said.contains("scx_flash  "), "{said}");
    assert!(said.contains("simulator  scx_flash@9.9.9  runs"), "{said}");
}
