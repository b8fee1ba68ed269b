// SPDX-License-Identifier: GPL-2.0-only
//! The frame of every page: the head with its content security policy, facts, and commands to copy.

use stats::Comparison;

use super::escape::text;
use crate::units;

/// The page may use only what it contains; nothing may be fetched or sent.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// The content of `<head>`; `style` is the style sheet.
pub(super) fn head(title: &str, style: &str) -> String {
    format!(
        "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{} · Fairground</title>\n<style>\n{style}</style>\n",
        text(title)
    )
}

/// More contestants than this have their columns on wide paper.
const UPRIGHT_COLUMNS: usize = 7;

/// Whether tables of all contestants need wide paper.
pub(super) fn is_wide(comparison: &Comparison) -> bool {
    comparison.contestants.len() > UPRIGHT_COLUMNS
}

/// A fact of the masthead: `<span><b>2</b> cells</span>`; `noun` is in the singular.
pub(super) fn fact(count: usize, noun: &str) -> String {
    labelled_fact(count, &units::plural(count as u64, noun))
}

/// The same with words that have no plural: `<span><b>2</b> disputed</span>`.
pub(super) fn labelled_fact(count: usize, label: &str) -> String {
    format!("<span><b>{count}</b> {label}</span>")
}

/// A command to be copied.
pub(super) fn command(words: &str) -> String {
    format!(
        "<div class=\"command\"><pre><code>{}</code></pre><button type=\"button\" \
         class=\"copy\">Copy</button></div>",
        text(words)
    )
}
