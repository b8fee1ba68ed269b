// SPDX-License-Identifier: GPL-2.0-only
//! Plain English, as CONTRIBUTING.md asks for it: words that prose does not use, each with its
//! replacement. A list cannot check everything.

use crate::{File, expect_none, files};

/// Words that prose does not use anywhere, each with its replacement.
const REFUSED: &[(&str, &str)] = &[
    ("hangs on", "depends on"),
    ("is dear", "is expensive"),
    ("are dear", "are expensive"),
    ("needs not", "does not have to"),
    ("whoever", "a noun: `the task that`"),
    ("had to go", "was preempted"),
    ("who yields", "a task that yields"),
    ("who sleeps", "a task that sleeps"),
];

/// Words that documents and definitions do not use either.
const REFUSED_IN_DOCUMENTS: &[(&str, &str)] = &[
    ("of which", "a new sentence"),
    ("so many", "a number, or `the number of`"),
    ("as far as", "`if` or `up to`"),
    ("who runs", "a task that runs"),
    ("who waits", "a task that waits"),
    ("who computes", "a task that computes"),
    ("somebody who", "a user who, a task that"),
    ("beside", "next to, compared with"),
    ("the loads", "the workloads"),
];

/// A noun that the glossary replaces, in its certain uses: directly after a determiner.
struct Noun {
    /// The refused word.
    word: &'static str,
    /// The glossary's word.
    instead: &'static str,
    /// Words that form a legitimate compound with it: `run queue`, `load average`.
    compounds: &'static [&'static str],
}

const NOUNS: &[Noun] = &[
    Noun {
        word: "run",
        instead: "trial, session",
        compounds: &[
            "queue", "queue's", "queues", "time", "times", "delay", "delays", "step", "steps",
        ],
    },
    Noun {
        word: "load",
        instead: "workload",
        compounds: &[
            "average",
            "averages",
            "address",
            "balancing",
            "balancer",
            "weight",
            "file",
            "of",
        ],
    },
];

/// Words before a noun in the singular or the plural.
const DETERMINERS: &[&str] = &["the", "no", "its"];
/// Words before a noun in the singular.
const ONE: &[&str] = &[
    "a", "one", "this", "each", "every", "per", "another", "single", "whole", "first", "last",
    "next", "previous", "same",
];
/// Words before a noun in the plural; a number is one too.
const SEVERAL: &[&str] = &["of", "two", "three", "six", "ten", "several", "these", "equal"];

/// Documents and definitions: their prose is read without the code.
fn is_document(file: &File) -> bool {
    let folders = ["docs/", "cares/", "workloads/", "machines/", "experiments/"];
    let root = !file.path.contains('/') && file.is(&[".md", "Makefile"]);
    (root && file.path != "GLOSSARY.md") || folders.iter().any(|it| file.path.starts_with(it))
}

/// A line's prose: comments and messages of code, comments of definitions, all of a document.
fn prose<'a>(file: &File, line: &'a str) -> Vec<&'a str> {
    let text = line.trim_start();
    if file.is(&[".md"]) {
        return vec![line];
    }
    if file.is(&[".toml", ".yml", ".sh", "Makefile"]) {
        return text.strip_prefix('#').into_iter().collect();
    }
    if file.is(&[".c", ".h"]) {
        return vec![text].into_iter().filter(|text| text.starts_with(['/', '*'])).collect();
    }
    if !file.is(&[".rs"]) {
        return Vec::new();
    }
    match text.strip_prefix("//") {
        Some(comment) => vec![comment],
        None => line.split('"').skip(1).step_by(2).collect(),
    }
}

/// Recorded output and published texts keep their words; this list names the words itself.
fn is_quoted(file: &File) -> bool {
    let kept = ["/golden/", "/recorded/", "claims/", "tests/tidy/words.rs", "GLOSSARY.md"];
    kept.iter().any(|part| file.path.contains(part))
}

#[test]
fn prose_is_plain_english() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| !is_quoted(file)) {
        // Output of programs, and what is generated from elsewhere, is checked where it is written.
        let (mut generated, mut in_code) = (false, false);
        for (number, line) in file.lines() {
            generated |= line.starts_with("<!-- generated:");
            generated &= !line.starts_with("<!-- end -->");
            in_code ^= file.is(&[".md"]) && line.starts_with("```");
            if generated || in_code {
                continue;
            }
            let extra = if is_document(file) { REFUSED_IN_DOCUMENTS } else { &[] };
            for text in prose(file, line) {
                let wrong = REFUSED.iter().chain(extra).filter(|(words, _)| holds(text, words));
                complaints.extend(wrong.map(|(words, instead)| {
                    format!("{}:{number}: `{words}`: write {instead}", file.path)
                }));
                let nouns = NOUNS.iter().filter(|noun| uses(text, noun));
                complaints.extend(nouns.map(|Noun { word, instead, .. }| {
                    format!("{}:{number}: the noun `{word}`: write {instead}", file.path)
                }));
            }
        }
    }
    expect_none(complaints);
}

/// Whether a text holds these words, as words.
fn holds(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        let joins = |it: char| it.is_alphanumeric() || "_/`".contains(it);
        !before.is_some_and(|it| joins(it) || it == '.') && !after.is_some_and(joins)
    })
}

/// Whether a text certainly uses this noun.
fn uses(text: &str, noun: &Noun) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(2).enumerate().any(|(at, pair)| {
        let (before, word) = (pair[0].trim_start_matches(['(', '“', '*']), pair[1]);
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')', '?', '!', '”', '*']);
        let follows = words.get(at + 2).filter(|_| bare == word);
        let is_compound = follows.is_some_and(|next| {
            noun.compounds.contains(&next.trim_end_matches(['.', ',', ';', ':', ')']))
        });
        let is_plural = bare.strip_suffix('s') == Some(noun.word);
        let number = before.parse::<u32>().is_ok();
        let list = if is_plural { SEVERAL } else { ONE };
        let follows_determiner = DETERMINERS.contains(&before) || list.contains(&before);
        (bare == noun.word || is_plural)
            && !is_compound
            && (follows_determiner || (is_plural && number))
    }) || text.contains(&format!("{}(s)", noun.word))
}

#[test]
fn nouns_are_found_after_determiners() {
    let [run, load] = [&NOUNS[0], &NOUNS[1]];
    assert!(uses("The last run.", run) && uses("2 runs lie far off", run) && uses("run(s)", run));
    assert!(!uses("the run queue, a run time", run) && !uses("tasks that run", run));
    assert!(!uses("the `run` step", run) && !uses("it runs", run));
    assert!(uses("under a load", load) && !uses("the CPU load", load));
    assert!(!uses("the load average", load) && !uses("it loads the object", load));
}

#[test]
fn words_are_found_as_words() {
    assert!(holds("Whoever yields", "whoever"));
    assert!(!holds("besides", "beside"));
    assert!(!holds("report::beside_it", "beside"));
}
