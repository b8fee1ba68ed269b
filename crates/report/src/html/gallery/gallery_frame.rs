// SPDX-License-Identifier: GPL-2.0-only
//! The frame of every page of the gallery.

use super::super::escape::text;
use super::super::frame::head;
use super::collection::Gallery;

const STYLE: &str = concat!(
    include_str!("../../../assets/page.css"),
    include_str!("../../../assets/tables.css"),
    include_str!("../../../assets/gallery.css"),
);

/// The frame of a page; `links` lead to its sections.
pub(super) struct GalleryFrame<'a> {
    pub(super) kicker: &'a str,
    pub(super) title: &'a str,
    pub(super) question: &'a str,
    pub(super) facts: Vec<String>,
    pub(super) links: Vec<(String, &'a str)>,
}

impl GalleryFrame<'_> {
    /// The whole page around its sections.
    pub(super) fn around(&self, body: &str, gallery: &Gallery) -> String {
        let link = |(to, name): &(String, &str)| format!("<a href=\"{to}\">{name}</a>");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}</head>\n<body>\n\
             <a class=\"skip\" href=\"#first\">Skip to the content</a>\n\
             <header class=\"masthead\"><div class=\"inner\"><p class=\"kicker\">{}</p>\
             <h1>{}</h1><p class=\"question\">{}</p><p class=\"facts\">{}</p></div></header>\n\
             <nav class=\"contents\" aria-label=\"Contents\"><div class=\"inner\">{}</div></nav>\n\
             <main id=\"first\">\n{body}</main>\n\
             <footer><p>{}</p><p>Made with Fairground (GPL-2.0) from files that others have \
             shared. A seal shows that a file is as it was made, not who made it. This page \
             fetches nothing and sends nothing.</p></footer>\n</body>\n</html>\n",
            head(self.title, STYLE),
            self.kicker,
            text(self.title),
            text(self.question),
            self.facts.concat(),
            self.links.iter().map(link).collect::<String>(),
            text(&gallery.generated)
        )
    }
}
