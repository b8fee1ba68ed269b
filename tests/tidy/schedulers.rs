// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers answer the same questions, and their index is made of the answers.

use std::fmt::Write as _;

use compile::{Header, Source};

use crate::expect_none;
use crate::project::expect_generated;

#[test]
fn every_header_answers_every_question() {
    let mut complaints = Vec::new();
    for source in compile::builtin() {
        let missing = questions(&source.header).into_iter().filter(|(_, answer)| answer.is_empty());
        complaints.extend(missing.map(|(question, _)| format!("{}: {question}", source.path)));
    }
    expect_none(complaints);
}

fn questions(header: &Header) -> [(&'static str, &str); 11] {
    [
        ("title", &header.title),
        ("Idea", &header.idea),
        ("Good at", &header.good_at),
        ("Bad at", &header.bad_at),
        ("Origin", &header.origin),
        ("Family", header.lineage.as_ref().map_or("", |family| &family.author)),
        ("Queue", &header.queue),
        ("Slice", &header.slice),
        ("Wake-up", &header.wake_up),
        ("Balancing", &header.balancing),
        ("Differs", &header.differs),
    ]
}

#[test]
fn parents_exist_and_are_not_younger() {
    let all = compile::builtin();
    let year = |name: &str| {
        let found = all.iter().find(|source| source.name == name)?;
        Some(found.header.lineage.as_ref()?.year)
    };
    let mut complaints = Vec::new();
    for source in &all {
        let Some(family) = &source.header.lineage else { continue };
        for parent in &family.after {
            if year(parent).is_none_or(|born| born > family.year) {
                complaints.push(format!("{}: after {parent}?", source.path));
            }
        }
    }
    expect_none(complaints);
}

#[test]
fn the_index_of_schedulers_is_the_headers() {
    let all = compile::builtin();
    let tree = report::lineage::text(&fairground::lineage::members());
    let mut index = format!("## The family\n\n```text\n{tree}```\n\n## At a glance\n\n");
    index += "| scheduler | queue | slice | wake-up | balancing |\n|---|---|---|---|---|\n";
    for Source { name, header, .. } in &all {
        let Header { queue, slice, wake_up, balancing, .. } = header;
        writeln!(
            index,
            "| [`{name}`]({name}.bpf.c) | {queue} | {slice} | {wake_up} | {balancing} |"
        )
        .expect("a string takes text");
    }
    all.iter().for_each(|source| index += &chapter(source));
    expect_generated("schedulers/README.md", "schedulers", "tidy", &index);
}

fn chapter(source: &Source) -> String {
    let Source { name, header, .. } = source;
    let knobs: Vec<String> =
        knobs(&source.text).iter().map(|(knob, value)| format!("`{knob}` ({value})")).collect();
    let mut chapter = format!("\n## {name}\n\n{}\n\n{}\n\n", header.title, header.idea);
    for (what, answer) in [
        ("Good at", header.good_at.as_str()),
        ("Bad at", &header.bad_at),
        ("Origin", &header.origin),
        ("Knobs, with their defaults", &knobs.join(", ")),
        ("Differs from its original", &header.differs),
    ] {
        writeln!(chapter, "- **{what}**: {answer}").expect("a string takes text");
    }
    chapter
}

/// The knobs of a scheduler and their defaults: `const volatile u64 slice_us = 4000;`.
fn knobs(text: &str) -> Vec<(&str, &str)> {
    let declared = text.lines().filter_map(|line| line.strip_prefix("const volatile "));
    let values = declared.flat_map(|line| {
        let list = line.split_once(' ').map_or("", |(_, list)| list);
        list.trim_end().trim_end_matches(';').split(',')
    });
    values
        .filter_map(|value| value.split_once('='))
        .map(|(knob, value)| (knob.trim(), value.trim()))
        .collect()
}

#[test]
fn knobs_are_found_one_by_one_and_in_lists() {
    let text =
        "const volatile u64 a = 1;\nstatic int b = 2;\nconst volatile bool c = true, d = no;\n";
    assert_eq!(knobs(text), [("a", "1"), ("c", "true"), ("d", "no")]);
}
