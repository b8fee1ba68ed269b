// SPDX-License-Identifier: GPL-2.0-only
//! plotly.js, compressed: the largest part of a page.

use std::sync::LazyLock;

use maud::Markup;

use super::gzip_element;

/// The element that holds the library, the same in every page.
pub fn element() -> &'static Markup {
    static ELEMENT: LazyLock<Markup> = LazyLock::new(|| gzip_element::element("plotly", &source()));
    &ELEMENT
}

/// plotly.js as the crate embeds it, without the element around it, and without the typesetting
/// libraries.
fn source() -> String {
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
    fn the_library_is_whole() {
        let code = source();
        assert!(code.len() > 3_000_000 && code.contains("plotly.js v"), "{}", code.len());
        assert!(element().0.len() < code.len() / 2);
    }
}
