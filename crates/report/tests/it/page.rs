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

/// What the scripts are handed, unpacked as they do it.
pub fn data(page: &str) -> serde_json::Value {
    let opening = "<script type=\"application/gzip\" id=\"data\">";
    let start = page.find(opening).expect("the data are embedded") + opening.len();
    let packed = &page[start..start + page[start..].find("</script>").expect("the data end")];
    let packed = bytes(packed);
    serde_json::from_reader(flate2::read::GzDecoder::new(&*packed)).expect("the data are JSON")
}

fn bytes(base64: &str) -> Vec<u8> {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for letter in base64.trim_end_matches('=').chars() {
        bits = bits << 6 | letters.find(letter).expect("a letter of base64") as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    &page[start..start + page[start..].find("</section>").expect("its end")]
}
