// SPDX-License-Identifier: GPL-2.0-only
//! How many contributors agree: counts for tables, and a badge for one question.

use stats::view::consensus::{Consent, Question};

/// How many questions have each consent, among those that several contributors answered.
#[derive(Clone, Copy, Default)]
pub(super) struct ConsentCounts {
    pub(super) asked: usize,
    pub(super) agree: usize,
    pub(super) partly: usize,
    pub(super) disagree: usize,
    pub(super) open: usize,
}

impl ConsentCounts {
    pub(super) fn count<'a>(questions: impl IntoIterator<Item = &'a Question>) -> ConsentCounts {
        let mut counts = ConsentCounts::default();
        for question in questions.into_iter().filter(|question| question.contributors().len() > 1) {
            counts.asked += 1;
            match question.consent() {
                Consent::Agree => counts.agree += 1,
                Consent::Partly => counts.partly += 1,
                Consent::Disagree => counts.disagree += 1,
                Consent::Open => counts.open += 1,
            }
        }
        counts
    }

    /// The counts as fields of a table's line.
    pub(super) fn fields(self) -> String {
        let field = |class: &str, count: usize| match count {
            0 => "<td class=\"n none\">–</td>".to_owned(),
            _ => format!("<td class=\"n\"><span class=\"badge {class}\">{count}</span></td>"),
        };
        field("c-agree", self.agree)
            + &field("c-partly", self.partly)
            + &field("c-disagree", self.disagree)
            + &field("c-open", self.open)
    }
}

/// The heads of [`ConsentCounts::fields`].
pub(super) const HEADS: &str = "<th scope=\"col\" class=\"n\">agree</th><th scope=\"col\" \
                       class=\"n\">partly</th><th scope=\"col\" class=\"n\">disagree</th><th \
                       scope=\"col\" class=\"n\">open</th>";

/// The consent as a coloured word.
pub(super) fn badge(consent: Consent) -> String {
    let class = match consent {
        Consent::Agree => "c-agree",
        Consent::Partly => "c-partly",
        Consent::Disagree => "c-disagree",
        Consent::Open => "c-open",
    };
    format!("<span class=\"badge {class}\">{}</span>", consent.words())
}
