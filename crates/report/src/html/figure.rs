// SPDX-License-Identifier: GPL-2.0-only
//! Pictures without scripts: an SVG with its numbers as CSV. The scripts only add the buttons that
//! save them.

use maud::{Markup, html};

/// A picture with its title, its description and its numbers.
pub struct Figure<'a> {
    /// The heading; also the name of the saved files.
    pub title: &'a str,
    /// The description for screen readers.
    pub label: &'a str,
    /// Width and height of the drawing.
    pub size: (f64, f64),
    /// The drawing: elements of an SVG.
    pub marks: Markup,
    pub numbers: Numbers,
    pub caption: Markup,
}

/// The numbers of a picture as CSV, a line of names first.
pub enum Numbers {
    /// Next to the picture.
    Here(String),
    /// Packed with those of the charts, at this index.
    Packed(usize),
}

/// Room for the buttons that the scripts add.
pub fn save_buttons() -> Markup {
    html! { p class="save" {} }
}

impl Figure<'_> {
    pub fn html(&self) -> Markup {
        let (width, height) = self.size;
        let (csv, packed) = match &self.numbers {
            Numbers::Here(csv) => (Some(csv), None),
            Numbers::Packed(place) => (None, Some(place)),
        };
        html! {
            figure class="drawn" data-title=(self.title) data-csv=[csv] data-numbers=[packed] {
                h3 { (self.title) }
                svg viewBox=(format!("0 0 {width:.0} {height:.0}")) role="img"
                    aria-label=(self.label) { (self.marks) }
                figcaption { (self.caption) }
                (save_buttons())
            }
        }
    }
}

/// A field of a CSV line, quoted where it has to be, and no formula.
pub fn field(raw: &str) -> String {
    let raw = model::text::cell(raw);
    if raw.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", raw.replace('"', "\"\""))
    } else {
        raw
    }
}

/// A coordinate, to a tenth of a pixel.
pub fn px(place: f64) -> String {
    format!("{place:.1}")
}

pub fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    html! { line class=(class) x1=(px(x1)) y1=(px(y1)) x2=(px(x2)) y2=(px(y2)) {} }
}

/// Words; `anchor` is `start`, `middle` or `end`.
pub fn words(class: &str, (x, y): (f64, f64), anchor: &str, words: &str) -> Markup {
    html! { text class=(class) x=(px(x)) y=(px(y)) text-anchor=(anchor) { (words) } }
}

pub fn point(class: &str, (x, y): (f64, f64), radius: f64, title: &str) -> Markup {
    html! { circle class=(class) cx=(px(x)) cy=(px(y)) r=(radius) { title { (title) } } }
}

/// A name, shortened to at most `most` characters.
pub fn short(name: &str, most: usize) -> String {
    if name.chars().count() > most {
        name.chars().take(most - 1).chain(['…']).collect()
    } else {
        name.into()
    }
}
