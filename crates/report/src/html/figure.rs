// SPDX-License-Identifier: GPL-2.0-only
//! Pictures without scripts: an SVG with its numbers as CSV. The scripts only add the buttons that
//! save them.

use super::escape::text;

/// A picture with its title, its description and its numbers.
pub struct Figure<'a> {
    /// The heading; also the name of the saved files.
    pub title: &'a str,
    /// The description for screen readers.
    pub label: &'a str,
    /// Width and height of the drawing.
    pub size: (f64, f64),
    /// The drawing: elements of an SVG.
    pub marks: &'a str,
    /// Where its numbers are.
    pub numbers: Numbers<'a>,
    /// A sentence below, as markup.
    pub caption: &'a str,
}

/// The numbers of a picture as CSV, a line of names first.
pub enum Numbers<'a> {
    /// Next to the picture.
    Here(&'a str),
    /// Packed with those of the charts, at this index.
    Packed(usize),
}

impl Numbers<'_> {
    fn attribute(&self) -> String {
        match self {
            Numbers::Here(csv) => format!("data-csv=\"{}\"", text(csv)),
            Numbers::Packed(place) => format!("data-numbers=\"{place}\""),
        }
    }
}

/// Room for the buttons that the scripts add.
pub const SAVE: &str = "<p class=\"save\"></p>";

impl Figure<'_> {
    /// The markup.
    pub fn html(&self) -> String {
        let (width, height) = self.size;
        format!(
            "<figure class=\"drawn\" data-title=\"{0}\" {1}><h3>{0}</h3><svg \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{2}\">{3}</svg>\
             <figcaption>{4}</figcaption>{SAVE}</figure>\n",
            text(self.title),
            self.numbers.attribute(),
            text(self.label),
            self.marks,
            self.caption
        )
    }
}

/// A field of a CSV line, quoted where it has to be.
pub fn field(raw: &str) -> String {
    if raw.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", raw.replace('"', "\"\""))
    } else {
        raw.into()
    }
}

/// A line with a class of the style sheet.
pub fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    format!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>")
}

/// Words; `anchor` is `start`, `middle` or `end`.
pub fn words(class: &str, (x, y): (f64, f64), anchor: &str, words: &str) -> String {
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        text(words)
    )
}

/// A point with a tooltip.
pub fn point(class: &str, (x, y): (f64, f64), radius: f64, title: &str) -> String {
    format!(
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}</title>\
         </circle>",
        text(title)
    )
}

/// A name, shortened to at most `most` characters.
pub fn short(name: &str, most: usize) -> String {
    if name.chars().count() > most {
        name.chars().take(most - 1).chain(['…']).collect()
    } else {
        name.into()
    }
}
