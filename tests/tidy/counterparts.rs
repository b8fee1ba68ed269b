// SPDX-License-Identifier: GPL-2.0-only
//! Readers who know the original find its functions: each function of a scheduler written after a
//! patch or a kernel's source names its counterpart there.

use compile::Source;

use crate::expect_none;

/// Words of an `Origin:` that name a source.
const SOURCES: &[&str] = &["Linux", "FreeBSD", "Project C", "BFS", "MuQSS", "patches"];

/// What a comment says: `` (`counterpart`) ``, or that there is none, and why.
const NAMES: [&str; 2] = ["(`", "No counterpart"];

#[test]
fn functions_name_their_counterparts() {
    let after_a_source = compile::builtin()
        .into_iter()
        .filter(|source| SOURCES.iter().any(|word| source.header.origin.contains(word)));
    expect_none(after_a_source.flat_map(|source| complaints(&source)).collect());
}

fn complaints(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let functions = (0..lines.len()).filter(|at| is_definition(&lines[*at..]));
    functions
        .filter(|at| !NAMES.iter().any(|name| comment_above(&lines, *at).contains(name)))
        .map(|at| {
            format!(
                "{}:{}: name its counterpart in the original, (`name`), or say \"No counterpart\" \
                 and why",
                source.path,
                at + 1
            )
        })
        .collect()
}

/// Whether a function's body begins after this line, that of its name. Callbacks need no name:
/// their place is in the ops table.
fn is_definition(lines: &[&str]) -> bool {
    let [first, rest @ ..] = lines else { return false };
    if !first.starts_with("static ") || !first.contains('(') || first.contains('=') {
        return false;
    }
    let end = std::iter::once(first).chain(rest).find(|line| line.ends_with([')', ';']));
    end.is_some_and(|line| line.ends_with(')'))
}

/// The comment that ends just above a line, its lines joined.
fn comment_above(lines: &[&str], at: usize) -> String {
    let above = lines[..at].iter().rev();
    let mut comment: Vec<&str> = Vec::new();
    for line in above {
        if comment.is_empty() && !line.ends_with("*/") {
            break;
        }
        comment.push(line);
        if line.starts_with("/*") {
            break;
        }
    }
    let words = |line: &&str| line.trim_matches([' ', '*', '/']).to_owned();
    comment.iter().rev().map(words).collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_and_definitions_are_found() {
    let text = "/* One.\n * Two (`x`). */\nstatic int f(int a,\n\t     int b)\n{\n}\n\n\
                static int g(void);\n";
    let lines: Vec<&str> = text.lines().collect();
    assert!(is_definition(&lines[2..]));
    assert!(!is_definition(&lines[7..]));
    assert_eq!(comment_above(&lines, 2), "One. Two (`x`).");
    assert_eq!(comment_above(&lines, 7), "");
}
