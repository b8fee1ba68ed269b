// SPDX-License-Identifier: GPL-2.0-only
//! `mplayer -benchmark -hardframedrop`: `BENCHMARKn: disp: 237 (23.7 fps)  drop: 3 (1%)  total: 240
//! (24.0 fps)`.
//!
//! A frame that is dropped is a missed deadline. The percentage is not used, because it is rounded
//! down to 0 if few are dropped.

use super::{Reported, only};

/// See the module.
pub fn parse(stdout: &str, stderr: &str) -> Result<Reported, String> {
    let lines = || stdout.split(['\r', '\n']).chain(stderr.split(['\r', '\n'])).map(str::trim);
    let counts = lines().filter_map(|line| line.strip_prefix("BENCHMARKn:"));
    let counts = only(counts, "line `BENCHMARKn:` (add -benchmark -hardframedrop)")?;
    let [shown, dropped, total] = ["disp:", "drop:", "total:"].map(|name| count(counts, name));
    let (shown, dropped, total) = (shown?, dropped?, total?);
    if total == 0 || shown + dropped != total {
        return Err(format!("{shown} shown and {dropped} dropped are not {total} frames"));
    }
    let version = lines().find_map(|line| line.strip_prefix("MPlayer ")?.split(' ').next());
    Ok(Reported {
        deadlines: Some((total, dropped)),
        version: version.map(str::to_owned),
        ..Reported::default()
    })
}

fn count(counts: &str, name: &str) -> Result<u64, String> {
    let after = counts.split(name).nth(1).and_then(|rest| rest.split_whitespace().next());
    let word = after.ok_or_else(|| format!("`{name}` is missing"))?;
    word.parse().map_err(|_| format!("`{name} {word}` is not a count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_outputs_are_understood() {
        let idle = parse(include_str!("recorded/mplayer.txt"), "").unwrap();
        let (all, dropped) = idle.deadlines.unwrap();
        assert!(all > 40 && dropped <= 2, "{dropped} of {all}");
        assert!(idle.version.is_some());
        let busy = parse(include_str!("recorded/mplayer_busy.txt"), "").unwrap();
        let (all, dropped) = busy.deadlines.unwrap();
        assert!(dropped > 0 && dropped < all, "{dropped} of {all}");
    }

    #[test]
    fn anything_else_is_refused() {
        assert!(parse("", "").is_err());
        let line = "BENCHMARKn: disp: 234 (23.56 fps)  drop: 3 (1%)  total: 237 (23.86 fps)";
        assert_eq!(parse(line, "").unwrap().deadlines, Some((237, 3)));
        assert!(parse(&line.replace("237", "240"), "").unwrap_err().contains("not 240 frames"));
        assert!(parse(&line.replace("drop:", "lost:"), "").is_err());
    }
}
