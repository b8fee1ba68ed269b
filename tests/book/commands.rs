// SPDX-License-Identifier: GPL-2.0-only
//! The commands of the pages: those that can run here run, the others are parsed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use testing::or_skip;

use crate::page::{Block, Class, Page, commands, pages};
use crate::{expect_none, is_blessing, root};

/// What `fails` and its absence want of an exit code.
fn is_expected(code: Option<i32>, fails: bool) -> bool {
    code.is_some_and(|code| (code != 0) == fails)
}

#[test]
fn commands_do_what_their_pages_show() {
    let pages = pages();
    let complaints = std::thread::scope(|scope| {
        let played: Vec<_> = pages.iter().map(|page| scope.spawn(move || play(page))).collect();
        played.into_iter().flat_map(|page| page.join().expect("a page was played")).collect()
    });
    expect_none(complaints);
}

/// Plays a page in an empty folder: writes its files, runs its commands.
fn play(page: &Page) -> Vec<String> {
    let blocks = match page.blocks() {
        Ok(blocks) => blocks,
        Err(complaint) => return vec![complaint],
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut complaints = Vec::new();
    let mut blessed = page.text.clone();
    for block in &blocks {
        match block {
            Block::File(name, text) => write(&folder.path().join(name), text),
            Block::Console { class: Class::Parse, .. } | Block::Shell { .. } => {}
            Block::Console { text, .. } if is_python(text) && or_skip(modules()).is_none() => {}
            Block::Console { class, fails, line, text } => {
                let shown = text.join("\n");
                let place = format!("{}:{line}", page.path);
                match run_block(folder.path(), text, *class, *fails) {
                    Ok(output) if output == shown => {}
                    Ok(output) if is_blessing() => blessed = blessed.replacen(&shown, &output, 1),
                    Ok(output) => complaints.push(format!("{place}: its output is now\n{output}")),
                    Err(why) => complaints.push(format!("{place}: {why}")),
                }
            }
        }
    }
    if blessed != page.text {
        write(&root().join(&page.path), &blessed);
    }
    complaints
}

fn is_python(text: &[String]) -> bool {
    text.iter().any(|line| line.starts_with("$ /usr/bin/python3 "))
}

/// Whether Debian's Python has what the pages import.
fn modules() -> Result<(), String> {
    let imported = Command::new("/usr/bin/python3").args(["-c", "import duckdb, pandas"]).output();
    let has_them = imported.is_ok_and(|output| output.status.success());
    has_them.then_some(()).ok_or_else(|| "Python lacks pandas or DuckDB (scripts/setup.sh)".into())
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
    std::fs::write(path, text).expect("written");
}

/// The block as it should be: its commands, each with its output.
fn run_block(folder: &Path, text: &[String], class: Class, fails: bool) -> Result<String, String> {
    let mut lines = Vec::new();
    for command in commands(text) {
        let (code, output) = run(folder, &command.words);
        if !is_expected(code, fails) {
            return Err(format!("`{}` ended with {code:?}:\n{output}", command.words));
        }
        lines.push(format!("$ {}", command.words));
        match class {
            Class::Golden => lines.extend(output.lines().map(str::to_owned)),
            _ => lines.extend(command.output),
        }
    }
    Ok(lines.join("\n"))
}

/// The user's data without the programs that `fairground get` has built on this machine: advice
/// would consider them.
fn data() -> &'static Path {
    static DATA: OnceLock<tempfile::TempDir> = OnceLock::new();
    let linked = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let own = folder.path().join("fairground");
        std::fs::create_dir(&own).expect("a folder");
        let there = process::installed::data_folder().and_then(|data| std::fs::read_dir(data).ok());
        let kept =
            there.into_iter().flatten().flatten().filter(|data| data.file_name() != "programs");
        for data in kept {
            let link = own.join(data.file_name());
            std::os::unix::fs::symlink(data.path(), link).expect("a link");
        }
        folder
    };
    DATA.get_or_init(linked).path()
}

/// The exit code, and what the page shows.
fn run(folder: &Path, words: &str) -> (Option<i32>, String) {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_fairground"));
    let mut path = own.parent().expect("a program has a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    // Behind a pipe the order of both outputs is chance, so a page shows standard output alone.
    let words = unhurried(words);
    let shown = if words.contains(" | ") {
        format!("{{ {words}; }} 2>/dev/null")
    } else {
        format!("{{ {words}; }} 2>&1")
    };
    let mut shell = Command::new("sh");
    // Commits have the same hashes everywhere.
    for who in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{who}_NAME"), "author");
        shell.env(format!("GIT_{who}_EMAIL"), "author@localhost");
        shell.env(format!("GIT_{who}_DATE"), "2026-01-31T12:00:00Z");
    }
    shell.env("PATH", path).env("XDG_DATA_HOME", data());
    let output = shell.args(["-c", &shown]).current_dir(folder).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| !is_progress(line)).map(str::trim_end);
    (output.status.code(), lines.collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

/// A busy host needs more time than `recommend` takes by itself, and an answer without the last
/// step has fewer lines.
fn unhurried(words: &str) -> String {
    match words.contains("--on sim") {
        true => words.replace("fairground recommend ", "fairground recommend --budget 1h "),
        false => words.to_owned(),
    }
}

/// How long it takes depends on the host.
fn is_progress(line: &str) -> bool {
    line.starts_with("this takes about ")
}

#[test]
fn every_command_has_words_that_exist() {
    let mut complaints = Vec::new();
    for page in pages() {
        let blocks = page.blocks().unwrap_or_default();
        for block in &blocks {
            let (line, words) = match block {
                Block::Console { line, text, .. } => (
                    line,
                    commands(text)
                        .into_iter()
                        .map(|command| command.words)
                        .collect::<Vec<String>>(),
                ),
                Block::Shell { line, text } => (line, text.clone()),
                Block::File(..) => continue,
            };
            let wrong = words.iter().filter_map(|words| wrong_words(words).err());
            complaints.extend(wrong.map(|why| format!("{}:{line}: {why}", page.path)));
        }
    }
    expect_none(complaints);
}

/// Whether the program's command line, or a target of the Makefile, takes these words.
fn wrong_words(command: &str) -> Result<(), String> {
    let words = split(command);
    let program = |name: &str| words.iter().position(|word| word.rsplit('/').next() == Some(name));
    if let Some(at) = program("fairground").filter(|at| *at <= 1) {
        let arguments =
            words[at..].iter().take_while(|word| !["|", ">", "&&"].contains(&word.as_str()));
        let parsed = fairground::cmd::command().try_get_matches_from(arguments);
        return parsed.map(drop).or_else(|error| match error.exit_code() {
            0 => Ok(()),
            _ => Err(format!("`{command}`: {error}")),
        });
    }
    if words.first().is_some_and(|word| word == "make") {
        let makefile = std::fs::read_to_string(root().join("Makefile")).expect("the Makefile");
        let targets = words[1..].iter().filter(|word| !word.contains('='));
        let mut unknown = targets.filter(|target| !makefile.contains(&format!("\n{target}:")));
        return unknown.next().map_or(Ok(()), |target| Err(format!("`make {target}`: no target")));
    }
    Ok(())
}

/// A shell's words, quotes taken off, up to a comment.
pub fn split(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (None, '#') if words.last().is_some_and(String::is_empty) => break,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is a word").push(character),
        }
    }
    words.retain(|word| !word.is_empty() && word != "\\");
    words
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    assert_eq!(split("a \"b c\"  'd e' # f"), ["a", "b c", "d e"]);
    assert!(wrong_words("sudo fairground run quick --on live").is_ok());
    assert!(wrong_words("fairground run quick --in live").is_err());
    assert!(wrong_words("make rice").is_err());
}
