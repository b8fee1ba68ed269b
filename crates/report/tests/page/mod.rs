// SPDX-License-Identifier: GPL-2.0-only
//! A page of records, and its parts, for tests.

// Every test program uses its part of this.
#![allow(dead_code)]

use model::Record;
use report::html::{About, page};
use stats::{Options, compare};

/// The page of these records, with a title that tries to break out of it.
pub fn page_of(records: &[Record]) -> String {
    let comparison = compare(records, &Options { resamples: 200, ..Options::against("eevdf-7") });
    let about = About {
        title: "Race </title><script>alert(1)</script>".into(),
        question: "Is \"it\" <b>safe</b>?".into(),
        commands: vec!["fairground run 'x' && echo <done>".into()],
        generated: "now".into(),
        ..About::default()
    };
    page(&comparison, records, &about)
}

/// The page without plotly, which is packed.
pub fn own_part(page: &str) -> String {
    let start = page.find("<script type=\"text/plain\" id=\"plotly\">").expect("it is embedded");
    let end = start + page[start..].find("</script>").expect("its element ends");
    assert!(end - start > 1_000_000, "plotly is whole");
    format!("{}{}", &page[..start], &page[end..])
}

/// What the scripts are handed.
pub fn data(page: &str) -> serde_json::Value {
    let opening = "<script type=\"application/json\" id=\"data\">";
    let start = page.find(opening).expect("the data are embedded") + opening.len();
    let json = &page[start..start + page[start..].find("</script>").expect("the data end")];
    serde_json::from_str(json).expect("the data are JSON")
}

/// A section of the page by its identity.
pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    &page[start..start + page[start..].find("</section>").expect("its end")]
}
