// SPDX-License-Identifier: GPL-2.0-only
//! Text from strangers, made harmless.

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

/// For JSON inside a script element: no `<` is left that could close the element or open a comment.
pub fn json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
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
        let value: serde_json::Value = serde_json::to_value(nasty).unwrap();
        let script = json(&value.to_string());
        assert!(!script.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&script).unwrap(), value);
    }

    #[test]
    fn anchors_differ_where_names_do() {
        assert_ne!(anchor("a b"), anchor("a-b"));
        assert!(anchor("wake hogs=24").starts_with("wake-hogs-24-"));
    }
}
