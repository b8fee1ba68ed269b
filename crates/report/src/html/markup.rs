// SPDX-License-Identifier: GPL-2.0-only
//! Markup that several sections share. Templates escape all text; only the page's own style sheet,
//! scripts and drawings are [`PreEscaped`].

use maud::{Markup, PreEscaped, Render, html};
use stats::Verdict;

use crate::sentence::{Part, Sentence};

/// A space at which lines do not break.
pub const NO_BREAK: PreEscaped<&str> = PreEscaped("&nbsp;");

/// Names, terms and numbers are set apart.
impl Render for Sentence {
    fn render(&self) -> Markup {
        html! {
            @for part in &self.0 {
                @match part {
                    Part::Text(words) => { (words) }
                    Part::Name(name) => { (self::name(name)) }
                    Part::Term(term) => { i { (term) } }
                    Part::Strong(words) => { strong { (words) } }
                }
            }
        }
    }
}

pub fn name(name: &str) -> Markup {
    html! { b class="name" { (name) } }
}

/// All of them in one line.
pub fn joined<T: Render>(items: impl IntoIterator<Item = T>, separator: &str) -> Markup {
    html! {
        @for (at, item) in items.into_iter().enumerate() {
            @if at > 0 { (separator) }
            (item)
        }
    }
}

/// `95 %`.
pub fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// The head of a table; columns of class `n` hold numbers.
pub fn heads(columns: &[(&str, &str)]) -> Markup {
    html! { thead { tr { (head_cells(columns)) } } }
}

pub fn head_cells(columns: &[(&str, &str)]) -> Markup {
    html! {
        @for (class, name) in columns {
            th scope="col" class=[(!class.is_empty()).then_some(class)] { (name) }
        }
    }
}

/// A term with its explanation, for a list of facts.
pub fn fact_item(name: impl Render, fact: impl Render) -> Markup {
    html! { dt { (name) } dd { (fact) } }
}

pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Baseline => "v-base",
        Verdict::Better => "v-better",
        Verdict::Worse => "v-worse",
        Verdict::More | Verdict::Less | Verdict::Differs => "v-more",
        _ => "v-none",
    }
}

/// A name as an element's identity: letters, digits and hyphens, and a hash against collisions.
pub fn anchor(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let hash = &model::trial::sha256_hex(name.as_bytes())[..6];
    format!("{}-{hash}", plain.take(40).collect::<String>().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_differ_where_names_do() {
        assert_ne!(anchor("a b"), anchor("a-b"));
        assert!(anchor("wake hogs=24").starts_with("wake-hogs-24-"));
    }
}
