// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers' headers answer the same questions.

use compile::Header;

use crate::expect_none;

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
