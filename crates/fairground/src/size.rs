// SPDX-License-Identifier: GPL-2.0-only
//! Amounts of memory as users write them.

/// Reads `64MB`, `1GB`, `500kB`: 10^6, 10^9 and 10^3 bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.trim_start().to_ascii_lowercase().as_str() {
        "kb" => 1_000_u64,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => 0,
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "write a size: 500kB, 64MB or 2GB".into())
}

/// In words: `1.2 MB`.
pub fn words(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let tenths = bytes / (unit / 10);
    if tenths < 100 {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    } else {
        format!("{} {name}", tenths / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_people_write_them() {
        let sizes = [("64MB", 64_000_000), ("1gb", 1_000_000_000), ("500 kB", 500_000)];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "64", "MB", "0MB", "-1MB", "1.5GB", "64MiB", "99999999999999999999GB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_have_two_or_three_digits() {
        let cases = [
            (12, "12 bytes"),
            (1_250, "1.2 kB"),
            (64_000_000, "64 MB"),
            (999_999, "999 kB"),
            (2_500_000_000, "2.5 GB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(words(bytes), expected);
        }
    }
}
