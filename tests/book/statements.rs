// SPDX-License-Identifier: GPL-2.0-only
//! What pages state has a source: an output is tested or has a date, and a share of figures stands
//! in a block that a command prints.

use std::collections::BTreeSet;

use crate::page::{Page, pages};
use crate::{expect_none, files, root};

/// A line of a page, and where it stands.
struct Line<'a> {
    number: usize,
    text: &'a str,
    /// Between `<!-- generated: … -->`, or another mark that names a command, and its end.
    is_marked: bool,
    is_code: bool,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let (mut is_marked, mut is_code) = (false, false);
    let mut lines = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let is_fence = text.starts_with("```");
        if let Some(mark) = text.strip_prefix("<!-- ") {
            is_marked = !mark.starts_with("end");
        }
        is_code ^= is_fence;
        lines.push(Line { number: index + 1, text, is_marked, is_code: is_code || is_fence });
    }
    lines
}

fn is_date(word: &str) -> bool {
    let shape = word.trim_matches(|character: char| !character.is_ascii_digit());
    let digits = |part: &str| part.chars().all(|character| character.is_ascii_digit());
    let parts: Vec<&str> = shape.split('-').collect();
    matches!(parts[..], [year, month, day]
        if year.len() == 4 && month.len() == 2 && day.len() == 2
            && digits(year) && digits(month) && digits(day))
}

/// The output of a command is compared by a test, or the line above it gives its date.
#[test]
fn outputs_are_tested_or_dated() {
    let mut complaints = Vec::new();
    for page in pages() {
        let mut above = "";
        for line in lines(&page.text) {
            let is_output = line.text == "```text" && !line.is_marked;
            if is_output && !above.split_whitespace().any(is_date) {
                complaints.push(format!(
                    "{}:{}: make it `console golden`, or give the date of the example above it",
                    page.path, line.number
                ));
            }
            if !line.text.is_empty() {
                above = line.text;
            }
        }
    }
    expect_none(complaints);
}

/// `90.1 % of 949 figures`: a share of a counted number. A promise, `at least 95 % of 200`, is
/// what a test demands, and no result.
fn is_share_of_a_count(line: &str) -> bool {
    line.match_indices(" % of ").any(|(at, sign)| {
        let before = line[..at].split_whitespace().rev();
        let mut before = before.map(|word| word.trim_matches(|it: char| "(*".contains(it)));
        let share = before.next().is_some_and(|word| word.parse::<f64>().is_ok());
        let promised = matches!(before.next(), Some("least" | "most"));
        let count =
            line[at + sign.len()..].starts_with(|character: char| character.is_ascii_digit());
        share && count && !promised
    })
}

fn documents() -> Vec<Page> {
    let read = |path: &str| {
        let text = std::fs::read_to_string(root().join(path)).expect("the document exists");
        Page { path: path.to_owned(), text }
    };
    let others = ["METHOD.md", "GLOSSARY.md", "ARCHITECTURE.md", "claims/README.md"].map(read);
    pages().into_iter().chain(others).collect()
}

#[test]
fn shares_of_figures_are_printed_by_a_command() {
    let mut complaints = Vec::new();
    for page in documents() {
        let prose = lines(&page.text).into_iter().filter(|line| !line.is_code && !line.is_marked);
        complaints.extend(prose.filter(|line| is_share_of_a_count(line.text)).map(|line| {
            format!("{}:{}: put it between marks that name the command", page.path, line.number)
        }));
    }
    expect_none(complaints);
}

#[test]
fn a_share_of_a_count_is_recognised() {
    assert!(is_share_of_a_count("on two CPUs, 51 % of 978 figures are within"));
    assert!(is_share_of_a_count("88.5 % of 1,006"));
    assert!(!is_share_of_a_count("the gate finds at least 95 % of 200"));
    assert!(!is_share_of_a_count("5 % of such races"));
}

/// The long options of all verbs, and those that only the top level has.
fn known_options() -> BTreeSet<String> {
    fn collect(command: &clap::Command, known: &mut BTreeSet<String>) {
        let arguments = command.get_arguments();
        known.extend(arguments.filter_map(|argument| argument.get_long()).map(str::to_owned));
        for below in command.get_subcommands() {
            collect(below, known);
        }
    }
    let mut known = BTreeSet::from(["help".to_owned(), "version".to_owned()]);
    collect(&fairground::cmd::command(), &mut known);
    known
}

/// `--name` in a text, as far as it is a name.
fn options(text: &str) -> impl Iterator<Item = &str> {
    text.split("--").skip(1).filter_map(|rest| {
        let end =
            rest.find(|it: char| !(it.is_ascii_lowercase() || it == '-')).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('-');
        (name.len() > 1 && rest.starts_with(|it: char| it.is_ascii_lowercase())).then_some(name)
    })
}

/// What follows `fairground VERB` in a line of code, up to the end of the text or command.
fn printed_commands(line: &str) -> impl Iterator<Item = &str> {
    line.split("fairground ").skip(1).map(|rest| {
        let end = rest.find(['`', '"', '\'', '|', ';', ')', '(']).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// A hint such as "fairground recommend --care games" names a verb and options of that verb.
#[test]
fn printed_commands_name_options_that_exist() {
    let program = fairground::cmd::command();
    let mut complaints = Vec::new();
    let sources = files().into_iter().filter(|file| {
        file.path.starts_with("crates/") && file.path.contains("/src/") && file.is(&[".rs"])
    });
    for file in sources {
        for (number, line) in file.lines() {
            for printed in printed_commands(line) {
                let mut words = printed.split_whitespace();
                let Some(mut command) = words.next().and_then(|verb| program.find_subcommand(verb))
                else {
                    continue;
                };
                if let Some(below) = words.next().and_then(|word| command.find_subcommand(word)) {
                    command = below;
                }
                let has = |name: &str| {
                    ["help", "version"].contains(&name)
                        || command.get_arguments().any(|known| known.get_long() == Some(name))
                };
                // What follows ` -- ` belongs to the user's own command.
                let own = printed.split(" -- ").next().unwrap_or_default();
                complaints.extend(options(own).filter(|name| !has(name)).map(|name| {
                    let verb = command.get_name();
                    format!("{}:{number}: `{verb}` has no --{name}", file.path)
                }));
            }
        }
    }
    expect_none(complaints);
}

/// An option that a sentence or a help text names, such as `--tapes`.
#[test]
fn sentences_name_options_that_exist() {
    let known = known_options();
    let mut complaints = Vec::new();
    for page in documents() {
        let is_help = page.path.ends_with("reference/verbs.md");
        for line in lines(&page.text).into_iter().filter(|line| is_help || !line.is_code) {
            // An option alone between backticks is ours; behind a name it is that command's.
            let quoted = line.text.split('`').skip(1).step_by(2);
            let alone = quoted.filter(|quoted| quoted.starts_with("--"));
            let named = if is_help && !line.text.starts_with("<!--") {
                vec![line.text]
            } else {
                alone.collect::<Vec<_>>()
            };
            let missing = named.iter().flat_map(|text| options(text));
            complaints.extend(
                missing
                    .filter(|name| !known.contains(*name))
                    .map(|name| format!("{}:{}: no verb has --{name}", page.path, line.number)),
            );
        }
    }
    expect_none(complaints);
}

/// The simulator's error that a care names is the one that was found.
#[test]
fn cares_name_the_errors_of_the_page_on_advice() {
    let page = std::fs::read_to_string(root().join("docs/src/method/advice.md")).expect("a page");
    let rows: Vec<Vec<&str>> =
        page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let mut complaints = Vec::new();
    for name in spec::assets::builtin_names(spec::assets::Kind::Care) {
        let care = spec::care::read(&name, &root(), 1).expect("a care");
        for criterion in std::iter::once(&care.decides).chain(&care.keeps) {
            let unit = criterion.measure.unit_and_direction().0;
            let own = criterion.model_error.map(|error| report::units::model_error(error, unit));
            let mut found = rows.iter().filter_map(|row| match row[..] {
                ["", care, words, _, error, ""] if care == name && words == criterion.words => {
                    Some(error)
                }
                _ => None,
            });
            if own.is_none() || found.next() != own.as_deref() {
                let words = &criterion.words;
                complaints.push(format!("cares/{name}.toml: {words}: the page has another error"));
            }
        }
    }
    expect_none(complaints);
}
