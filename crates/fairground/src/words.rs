// SPDX-License-Identifier: GPL-2.0-only
//! This process's command line, as a person can paste it into a shell.

/// The command that started this process, with the program's bare name.
pub fn command() -> String {
    let arguments = std::env::args().skip(1).map(|argument| quoted(&argument));
    std::iter::once("fairground".into()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The command that goes on where this one was interrupted.
pub fn resume_command() -> String {
    let command = command();
    let resumes = std::env::args().any(|argument| argument == "--resume");
    if resumes { command } else { command + " --resume" }
}

/// Quotes for a POSIX shell where needed.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.into()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(quoted("--seed=1"), "--seed=1");
        assert_eq!(quoted("rr slice_us=3"), "'rr slice_us=3'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
