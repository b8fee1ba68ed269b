// SPDX-License-Identifier: GPL-2.0-only
//! Markup that several sections share: sentences with marked names, verdicts as classes.

use stats::Verdict;

use super::escape::text;
use crate::sentence::{Part, Sentence};

/// A sentence as markup; names, terms and numbers are set apart.
pub(super) fn sentence(sentence: &Sentence) -> String {
    let part = |part: &Part| match part {
        Part::Text(words) => text(words),
        Part::Name(name) => format!("<b class=\"name\">{}</b>", text(name)),
        Part::Term(term) => format!("<i>{}</i>", text(term)),
        Part::Strong(words) => format!("<strong>{}</strong>", text(words)),
    };
    sentence.0.iter().map(part).collect()
}

/// The verdict as a class of the style sheet.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Baseline => "v-base",
        Verdict::Better => "v-better",
        Verdict::Worse => "v-worse",
        Verdict::More | Verdict::Less | Verdict::Differs => "v-more",
        _ => "v-none",
    }
}
