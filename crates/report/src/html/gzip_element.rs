// SPDX-License-Identifier: GPL-2.0-only
//! Large data is compressed in the page, so that it is small enough for mail. The script unpacks it
//! with `DecompressionStream`, which every browser has since 2023.
//!
//! plotly.js, compressed: the largest part of a page.

use std::io::Write;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, PreEscaped, html};

/// An element with a compressed text, encoded so that the text cannot end the element.
pub fn element(id: &str, text: &str) -> Markup {
    let packed = base64(&gzip(text));
    html! { script type="application/gzip" id=(id) { (PreEscaped(packed)) } }
}

/// gzip without a date, so that the same text gives the same bytes.
fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let written = encoder.write_all(text.as_bytes());
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// The element that holds the library, the same in every page.
pub fn plotly() -> &'static Markup {
    static ELEMENT: LazyLock<Markup> = LazyLock::new(|| element("plotly", &plotly_source()));
    &ELEMENT
}

/// plotly.js as the crate embeds it, without the element around it, and without the typesetting
/// libraries.
fn plotly_source() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let scripts = sources.split_inclusive("</script>");
    let is_plotly = |script: &&str| script.get(..2_000).unwrap_or(script).contains("plotly.js v");
    let script = scripts.into_iter().find(is_plotly).unwrap_or_default().trim();
    let code = script.split_once('>').map_or("", |(_, code)| code);
    code.strip_suffix("</script>").unwrap_or(code).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let known = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, text) in known.iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), *text);
        }
    }

    #[test]
    fn a_text_survives_and_cannot_leave_its_element() {
        let nasty = "</script><img src=x onerror='a(\"&\")'>\u{1b}[2J ".repeat(99);
        let mut unpacked = String::new();
        let packed = gzip(&nasty);
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*packed), &mut unpacked)
            .expect("gzip");
        assert!(unpacked == nasty && packed.len() < nasty.len() / 3);
        assert_eq!(element("data", &nasty).into_string().matches('<').count(), 2);
    }

    #[test]
    fn the_library_is_whole() {
        let code = plotly_source();
        assert!(code.len() > 3_000_000 && code.contains("plotly.js v"), "{}", code.len());
        assert!(plotly().0.len() < code.len() / 2);
    }
}
