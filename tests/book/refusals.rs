// SPDX-License-Identifier: GPL-2.0-only
//! Commands that no test can run in full still pass the program's own refusals: `run` as a plan,
//! and `recommend` in the simulator.

use std::path::Path;
use std::process::Command;

use crate::page::{Block, Class, Page, commands, pages};
use crate::{expect_none, root};

/// Options of `run` that `plan` does not have, with the number of values.
const ONLY_OF_RUN: [(&str, usize); 9] = [
    ("--store", 1),
    ("--resume", 0),
    ("--budget", 1),
    ("--jobs", 1),
    ("--fleet", 1),
    ("--yes", 0),
    ("--watch", 0),
    ("--printed", 0),
    ("--format", 1),
];
/// A file that a reader has, and a page does not show.
const WORKLOAD: &str = "about = \"a stand-in\"\nduration_us = 20000\n\
                        headline = [\"longest_wait_ns t\"]\n[[task]]\nname = \"t\"\n\
                        steps = [{ run_us = 100 }, { sleep_us = 100 }]\n";
const MACHINE: &str = "about = \"a stand-in\"\ncpus = 2\n";

#[test]
fn commands_that_are_only_parsed_are_not_refused() {
    let mut complaints = Vec::new();
    for page in pages() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (line, words) in shown(&page, folder.path()) {
            let Some(arguments) = arguments(&words) else { continue };
            stand_in(folder.path(), &arguments);
            let program = Command::new(env!("CARGO_BIN_EXE_fairground"))
                .args(&arguments)
                .current_dir(folder.path())
                .output()
                .expect("the program starts");
            if program.status.code() != Some(0) {
                let said = String::from_utf8_lossy(&program.stderr);
                complaints.push(format!("{}:{line}: `{words}`: {said}", page.path));
            }
        }
    }
    expect_none(complaints);
}

/// The page's parsed commands; the files that it shows are written.
fn shown(page: &Page, folder: &Path) -> Vec<(usize, String)> {
    let mut parsed = Vec::new();
    for block in page.blocks().unwrap_or_default() {
        match block {
            Block::File(name, text) => {
                let path = folder.join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text).expect("written");
            }
            Block::Console { class: Class::Parse, line, text, .. } => {
                parsed.extend(commands(&text).into_iter().map(|command| (line, command.words)));
            }
            _ => {}
        }
    }
    parsed
}

/// The arguments that plan what the command runs; `None` for commands that need what a test lacks:
/// a kernel that somebody has built, root, another machine.
fn arguments(words: &str) -> Option<Vec<String>> {
    let words = words.split(['|', '#']).next()?.strip_prefix("fairground ")?;
    let mut words = crate::commands::split(words).into_iter();
    let verb = words.next()?;
    let given: Vec<String> = words.collect();
    let built = |word: &String| {
        let name = word.strip_prefix("kernel:").unwrap_or("7");
        !name.starts_with(|first: char| first.is_ascii_digit())
    };
    if given.iter().any(|word| word == "live" || built(word)) {
        return None;
    }
    match verb.as_str() {
        "run" => Some([vec!["plan".to_owned()], without_options_of_run(&given)].concat()),
        "recommend" if given.iter().any(|word| word == "sim") => {
            Some([vec![verb], given, vec!["--yes".to_owned()]].concat())
        }
        _ => None,
    }
}

fn without_options_of_run(given: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        match ONLY_OF_RUN.iter().find(|(option, _)| option == word) {
            Some((_, values)) => {
                for _ in 0..*values {
                    words.next();
                }
            }
            None => kept.push(word.clone()),
        }
    }
    kept
}

/// Writes what the command names and the page does not show.
fn stand_in(folder: &Path, arguments: &[String]) {
    for (index, word) in arguments.iter().enumerate() {
        let path = folder.join(word.split(' ').next().unwrap_or_default());
        let text = if word.ends_with(".bpf.c") {
            std::fs::read_to_string(root().join("schedulers/vtime.bpf.c")).expect("a scheduler")
        } else if word.ends_with(".toml") && arguments[index - 1] == "--machine" {
            MACHINE.to_owned()
        } else if word.ends_with(".toml") {
            WORKLOAD.to_owned()
        } else {
            continue;
        };
        if !path.exists() {
            std::fs::write(path, text).expect("written");
        }
    }
}
