// SPDX-License-Identifier: GPL-2.0-only
//! The frame of every page: the head with its content security policy, facts, and commands to copy;
//! and markup that several sections share. Templates escape all text; only the page's own style
//! sheet, scripts and drawings are [`PreEscaped`].

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use stats::{Comparison, Verdict};

use crate::sentence::{Part, Sentence};
use crate::units;

/// The page may use only what it contains; nothing may be fetched or sent.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// A whole page. Control characters, which text from records may have, are replaced.
pub fn document(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) " · Fairground" }
                style { (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    let strange = |c: char| c.is_control() && c != '\n' && c != '\t';
    page.into_string().replace(strange, "\u{fffd}")
}

/// More contestants than this have their columns on wide paper.
const UPRIGHT_COLUMNS: usize = 7;

/// Whether tables of all contestants need wide paper.
pub fn is_wide(comparison: &Comparison) -> bool {
    comparison.contestants.len() > UPRIGHT_COLUMNS
}

/// A fact of the masthead, `2 cells`; `noun` is in the singular.
pub fn fact(count: usize, noun: &str) -> Markup {
    html! { span { b { (count) } " " (units::plural(count as u64, noun)) } }
}

pub fn command(words: &str) -> Markup {
    html! {
        div class="command" {
            pre { code { (words) } }
            button type="button" class="copy" { "Copy" }
        }
    }
}

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
    fn nothing_escapes() {
        let nasty = "</script><img src=x onerror='a(\"&\")'>\u{1b}[2J";
        let page = document(nasty, "", &html! { p title=(nasty) { (nasty) } });
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        assert!(!page.contains("\"&\"") && !page.contains("</script>"), "{page}");
    }

    #[test]
    fn anchors_differ_where_names_do() {
        assert_ne!(anchor("a b"), anchor("a-b"));
        assert!(anchor("wake hogs=24").starts_with("wake-hogs-24-"));
    }
}
