// SPDX-License-Identifier: GPL-2.0-only
//! Files that people and strangers hand to the program are read by one reader, `spec::files`,
//! which has a limit for each kind and opens neither pipes nor devices. What reads otherwise is
//! listed here with its reason.

use super::{expect_none, files};

/// How files and streams are read without the one reader.
const WAYS: [&str; 8] = [
    "stdin().",
    "fs::read(",
    "read_to_string(",
    "read_to_end(",
    "File::open(",
    "File::options(",
    "OpenOptions::new(",
    "fs::copy(",
];

const KERNEL: &str = "files of the kernel";
const OWN: &str = "files that the program has written itself";
const PIPE: &str = "a pipe of a process of its own, whose other limits are there";
const BUILD: &str = "a build script, or the build of a kernel, which runs Makefiles anyway";
const LIMITED: &str = "limited there";
const MACHINE: &str = "what is installed on this machine";
const TERMINAL: &str = "questions at a terminal";

/// The beginnings of paths, and why what is below them reads by itself.
const OTHER_READERS: &[(&str, &str)] = &[
    ("crates/compile/src/build", BUILD),
    ("crates/compile/src/clang.rs", OWN),
    ("crates/compile/src/guarded.rs", PIPE),
    ("crates/compile/src/native/", OWN),
    ("crates/compile/src/object.rs", OWN),
    ("crates/compile/src/own_files.rs", LIMITED),
    ("crates/fairground/src/advice/ask.rs", TERMINAL),
    ("crates/fairground/src/advice/host.rs", KERNEL),
    ("crates/fairground/src/cmd/recommend/asked.rs", TERMINAL),
    ("crates/fairground/src/execution/live.rs", KERNEL),
    ("crates/fairground/src/execution/objects.rs", OWN),
    ("crates/fleet/src/records_file.rs", OWN),
    ("crates/live/src/group_settings.rs", KERNEL),
    ("crates/live/src/control_groups/", KERNEL),
    ("crates/live/src/facts.rs", KERNEL),
    ("crates/live/src/loader/log.rs", KERNEL),
    ("crates/live/src/player/", KERNEL),
    ("crates/live/src/printed.rs", KERNEL),
    ("crates/live/src/probes/", KERNEL),
    ("crates/live/src/program/", PIPE),
    ("crates/live/src/recorder/", KERNEL),
    ("crates/live/src/trial/preparation.rs", OWN),
    ("crates/live/src/trial/supervisor.rs", PIPE),
    ("crates/process/src/", KERNEL),
    ("crates/sim/src/native/cell.rs", KERNEL),
    ("crates/spec/src/files.rs", "the one reader"),
    ("crates/store/src/exchange/share/seal.rs", LIMITED),
    ("crates/store/src/lock.rs", OWN),
    ("crates/vm/src/channel.rs", LIMITED),
    ("crates/vm/src/control.rs", PIPE),
    ("crates/vm/src/emulator/", OWN),
    ("crates/vm/src/guest/", KERNEL),
    ("crates/vm/src/kernels/", BUILD),
    ("crates/vm/src/saved_boots.rs", OWN),
    ("crates/vm/src/qemu.rs", MACHINE),
    ("crates/vm/src/trials.rs", KERNEL),
];

/// The lines of a source that are no test's.
fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.take_while(|(_, line)| *line != "mod tests {").filter(|(_, line)| {
        let code = line.trim_start();
        !code.starts_with("//") && WAYS.iter().any(|way| code.contains(way))
    })
}

#[test]
fn files_of_others_are_read_by_the_one_reader() {
    let mut complaints = Vec::new();
    let mut unused: Vec<&str> = OTHER_READERS.iter().map(|(path, _)| *path).collect();
    for file in files() {
        let is_test = file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
        if !file.path.starts_with("crates/") || !file.path.contains("/src/") || is_test {
            continue;
        }
        for (number, line) in without_tests(&file.text) {
            match OTHER_READERS.iter().find(|(path, _)| file.path.starts_with(path)) {
                Some((path, _)) => unused.retain(|other| other != path),
                None => complaints.push(format!(
                    "{}:{number}: read by `spec::files`, or list why not: {}",
                    file.path,
                    line.trim()
                )),
            }
        }
    }
    complaints
        .extend(unused.iter().map(|path| format!("{path}: reads nothing by itself any more")));
    expect_none(complaints);
}
