// SPDX-License-Identifier: GPL-2.0-only
//! A page of records, and its parts, for tests.

use std::sync::LazyLock;

use model::Record;
use report::html::{About, page};
use stats::{Options, compare};
use testing::synthetic;

/// The page of the synthetic experiment, which many tests read and which takes a while.
pub fn usual_page() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(|| page_of(&synthetic::experiment()));
    &PAGE
}

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
    let start =
        page.find("<script type=\"application/gzip\" id=\"plotly\">").expect("it is embedded");
    let end = start + page[start..].find("</script>").expect("its element ends");
    assert!(end - start > 1_000_000, "plotly is whole");
    format!("{}{}", &page[..start], &page[end..])
}

pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    &page[start..start + page[start..].find("</section>").expect("its end")]
}
