// SPDX-License-Identifier: GPL-2.0-only
//! plotly.js, packed: it is most of a page, and a page should be small enough to be sent by mail.
//! The page's script unpacks it with what every browser has since 2023.

use std::io::Write;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The element that holds the library, the same in every page.
pub fn element() -> &'static str {
    static ELEMENT: LazyLock<String> = LazyLock::new(|| {
        format!("<script type=\"text/plain\" id=\"plotly\">{}</script>", base64(&packed(&source())))
    });
    &ELEMENT
}

/// plotly.js as the crate embeds it, without the element around it, and without the typesetting
/// libraries that come along.
fn source() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let scripts = sources.split_inclusive("</script>");
    let is_plotly = |script: &&str| script.get(..2_000).unwrap_or(script).contains("plotly.js v");
    let script = scripts.into_iter().find(is_plotly).unwrap_or_default().trim();
    let code = script.split_once('>').map_or("", |(_, code)| code);
    code.strip_suffix("</script>").unwrap_or(code).into()
}

/// gzip without a date, so that the same library gives the same bytes.
fn packed(code: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let written = encoder.write_all(code.as_bytes());
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
    fn the_library_is_whole_and_survives() {
        let code = source();
        assert!(code.len() > 3_000_000 && code.contains("plotly.js v"), "{}", code.len());
        let mut unpacked = String::new();
        let packed = packed(&code);
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*packed), &mut unpacked)
            .expect("gzip");
        assert!(unpacked == code && packed.len() < code.len() / 3);
    }
}
