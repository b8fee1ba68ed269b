// SPDX-License-Identifier: GPL-2.0-only
//! Escaping of untrusted text.

/// For text between tags and for quoted attributes.
pub fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A name as an element's identity: letters, digits and hyphens, and a hash against collisions.
pub fn anchor(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let hash = &model::trial::sha256_hex(name.as_bytes())[..6];
    format!("{}-{hash}", plain.take(40).collect::<String>().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes() {
        let nasty = "</script><img src=x onerror='a(\"&\")'>\u{1b}[2J";
        let safe = text(nasty);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{1b}']), "{safe}");
    }

    #[test]
    fn anchors_differ_where_names_do() {
        assert_ne!(anchor("a b"), anchor("a-b"));
        assert!(anchor("wake hogs=24").starts_with("wake-hogs-24-"));
    }
}
