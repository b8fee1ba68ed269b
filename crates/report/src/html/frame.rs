// SPDX-License-Identifier: GPL-2.0-only
//! The frame of every page: the head with its content security policy, facts, and commands to copy.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use stats::Comparison;

use crate::units;

/// The page may use only what it contains; nothing may be fetched or sent.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// A whole page. Control characters, which text from records may have, are replaced.
pub(super) fn document(title: &str, style: &str, body: &Markup) -> String {
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
pub(super) fn is_wide(comparison: &Comparison) -> bool {
    comparison.contestants.len() > UPRIGHT_COLUMNS
}

/// A fact of the masthead, `2 cells`; `noun` is in the singular.
pub(super) fn fact(count: usize, noun: &str) -> Markup {
    html! { span { b { (count) } " " (units::plural(count as u64, noun)) } }
}

pub(super) fn command(words: &str) -> Markup {
    html! {
        div class="command" {
            pre { code { (words) } }
            button type="button" class="copy" { "Copy" }
        }
    }
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
}
