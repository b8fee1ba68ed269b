// SPDX-License-Identifier: GPL-2.0-only
//! Lines of a terminal: width, padding, wrapping and colour.

use stats::Verdict;

/// The widest line.
pub const COLUMNS: usize = 110;

/// Everything that [`Paint`] writes and a terminal obeys.
pub const STYLES: &[&str] = &["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m"];

/// Colours, or none.
#[derive(Clone, Copy)]
pub(crate) struct Paint(pub bool);

impl Paint {
    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.code("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.code("31", text)
    }

    /// Words in the colour of a verdict.
    pub(crate) fn judged(self, verdict: Verdict, words: &str) -> String {
        match verdict {
            Verdict::Better => self.code("32", words),
            Verdict::Worse => self.code("31", words),
            Verdict::More | Verdict::Less => self.code("36", words),
            _ => self.dim(words),
        }
    }
}

/// At most `width` characters on one line. Control characters are replaced, because names and
/// reasons are untrusted.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    if text.chars().count() <= width {
        return clean.collect();
    }
    clean.take(width - 1).chain(['…']).collect()
}

/// Fills up with spaces on the right.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

/// Fills up with spaces on the left.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

/// Breaks a paragraph between words.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    hanging(text, "", indent)
}

/// The same with another indent for the first line.
pub(crate) fn hanging(text: &str, first: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), first.to_owned());
    for word in text.split_whitespace() {
        let word = fit(word, COLUMNS - indent.len());
        if line.chars().count() + 1 + word.chars().count() > COLUMNS && !line.trim().is_empty() {
            lines += &format!("{}\n", line.trim_end());
            line = indent.to_owned();
        }
        line += &format!("{word} ");
    }
    format!("{lines}{}\n", line.trim_end())
}

/// The same lines on a narrower terminal: what is wider is broken between words and goes on
/// indented. Colours stay, and take no room.
pub fn folded(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| folded_line(line, width)).collect()
}

fn folded_line(line: &str, width: usize) -> String {
    let content = line.trim_start_matches(' ');
    // A command that is copied must not hold a line break.
    let is_command = ["fairground ", "sudo "].iter().any(|word| content.starts_with(word));
    if columns(line.trim_end()) <= width || is_command {
        return line.to_owned();
    }
    let indent = (line.len() - content.len() + 2).min(width / 2);
    let (mut text, mut at) = (String::new(), 0);
    for word in content.split_inclusive(' ').collect::<Vec<_>>() {
        if at == 0 {
            at = line.len() - content.len();
            text += &" ".repeat(at);
        } else if word.trim() != "" && at + columns(word.trim_end()) > width {
            text.truncate(text.trim_end_matches(' ').len());
            text += &format!("\n{}", " ".repeat(indent));
            at = indent;
        }
        text += word;
        at += columns(word);
    }
    text
}

/// The columns that a text takes: its characters without the colours.
fn columns(text: &str) -> usize {
    let mut plain = text.to_owned();
    STYLES.iter().for_each(|style| plain = plain.replace(style, ""));
    plain.trim_end_matches('\n').chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_gets_broken_lines() {
        let text = "\
a short line
    eevdf    6/6   463 ms [438, 503]   ↑ +111 %   \x1b[31mworse\x1b[0m
- messaging on one: vtime; last eevdf
  fairground run quick --on sim --blocks 6
";
        let expected = "\
a short line
    eevdf    6/6   463 ms
      [438, 503]   ↑ +111 %
      \x1b[31mworse\x1b[0m
- messaging on one: vtime;
  last eevdf
  fairground run quick --on sim --blocks 6
";
        assert_eq!(folded(text, 28), expected);
        assert_eq!(folded(text, 200), text);
        assert_eq!(folded("", 28), "");
    }
}
