// SPDX-License-Identifier: GPL-2.0-only
use process::packages::install;

use super::*;

fn run(command: &[&str], before_stop: Duration) -> Finished {
    let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    let mut running = Running::hold(&command, &Policy::default(), None).unwrap();
    running.release();
    let patience = Instant::now() + before_stop;
    while !running.poll() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
    }
    running.finish()
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn output_and_exit_code_are_kept() {
    let finished = run(&["sh", "-c", "echo out; echo err >&2; exit 3"], LONG);
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((finished.code, finished.stopped), (3, false));
}

#[test]
fn much_output_does_not_block() {
    let finished = run(&["sh", "-c", "head -c 3000000 /dev/zero"], LONG);
    assert_eq!((finished.stdout.len(), finished.code), (3_000_000, 0));
}

#[test]
fn a_deaf_program_is_killed_with_its_children() {
    let script = "trap '' INT; sleep 100 & echo $!; while true; do sleep 100; done";
    let finished = run(&["sh", "-c", script], Duration::from_millis(100));
    assert_eq!((finished.code, finished.stopped), (-libc::SIGKILL, true));
    let child: libc::pid_t = finished.stdout.trim().parse().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[test]
fn a_missing_program_names_its_package() {
    assert!(find("no-such-program-here").is_none());
    assert!(find("/etc/passwd").is_none());
    let program = Program {
        command: vec!["hackbench-of-the-future".into()],
        parser: "none".into(),
        package: "rt-tests".into(),
        ..Program::default()
    };
    assert_eq!(version("no-such-program-here"), None);
    assert_eq!(version("false"), None);
    assert!(missing(&program).unwrap().contains(&install("rt-tests")));
    assert!(Running::hold(&program.command, &Policy::default(), None).is_err());
    let needs = [("sh", ""), ("cc-of-the-future", "gcc")];
    let needs = needs.map(|(name, package)| (name.to_owned(), package.to_owned())).into();
    let program = Program { command: vec!["sh".into()], needs, ..program };
    assert!(missing(&program).unwrap().contains("`cc-of-the-future`"));
    assert!(missing(&program).unwrap().contains(&install("gcc")));
}

#[test]
fn a_program_works_in_the_folder_that_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["sh", "-c", "pwd; : > made"].map(str::to_owned);
    let place = Some(folder.path());
    let mut running = Running::hold(&command, &Policy::default(), place).unwrap();
    running.release();
    while !running.poll() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let said = running.finish().stdout;
    assert_eq!(Path::new(said.trim()), folder.path().canonicalize().unwrap());
    assert!(folder.path().join("made").exists());
}
