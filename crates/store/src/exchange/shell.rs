// SPDX-License-Identifier: GPL-2.0-only
//! Command lines as text for a POSIX shell, and whether an untrusted one is safe to paste.

/// Quotes an argument for a POSIX shell where it needs quotes.
pub fn quoted(argument: &str) -> String {
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.into()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Whether a character means nothing to a POSIX shell.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character)
}

/// Whether a command is safe to paste: a call of this program with plain or quoted words.
pub fn is_plain_command(command: &str) -> bool {
    let Some(rest) = command.strip_prefix("fairground") else { return false };
    if !rest.is_empty() && !rest.starts_with(' ') {
        // Another program, or a path to one.
        return false;
    }
    let (mut quoted, mut characters) = (false, rest.chars());
    while let Some(character) = characters.next() {
        match character {
            '\'' => quoted = !quoted,
            '\\' if !quoted && characters.next() == Some('\'') => {}
            ' ' => {}
            c if c.is_control() => return false,
            c if !quoted && !is_plain(c) => return false,
            _ => {}
        }
    }
    !quoted
}

#[cfg(test)]
mod tests {
    use super::{is_plain_command, quoted};

    #[test]
    fn commands_that_do_more_are_seen() {
        assert!(is_plain_command("fairground run --scheduler 'rr slice_us=3' --store a.db"));
        assert!(is_plain_command(&format!("fairground {}", quoted("it's; rm"))));
        for bad in [
            "rm -rf /",
            "fairground run; rm x",
            "fairground run `x`",
            "fairground run 'a' | sh",
            "fairground run 'a",
            "fairground $(x)",
            "fairground run\nrm x",
            "fairground-evil run",
            "fairground/../../tmp/evil.sh",
            "/tmp/fairground run",
            "fairground'x' run",
        ] {
            assert!(!is_plain_command(bad), "{bad}");
        }
    }

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(quoted("--seed=1"), "--seed=1");
        assert_eq!(quoted("rr slice_us=3"), "'rr slice_us=3'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
