// SPDX-License-Identifier: GPL-2.0-only
//! What a compiler complains about: whose fault it is, where, and why.

use std::io;
use std::path::Path;
use std::process::Output;

use crate::guarded;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The file that it is about, as the compiler names it; empty when it is about none.
    pub file: String,
    pub line: Option<u32>,
    /// The message, and the compiler's notes on the lines below.
    pub message: String,
    /// Nothing is wrong: somebody asked for the end.
    pub interrupted: bool,
    /// The text asks for a file that it may not have, whichever machine it is compiled for.
    pub refused: bool,
}

impl Complaint {
    pub fn about_nothing(message: String) -> Complaint {
        Complaint { message, ..Complaint::default() }
    }

    /// A compiler that was not run to its end.
    pub fn not_run(clang: &Path, error: &io::Error) -> Complaint {
        let name = clang.display();
        match error.kind() {
            io::ErrorKind::Interrupted => {
                Complaint { interrupted: true, ..Complaint::about_nothing("interrupted".into()) }
            }
            io::ErrorKind::TimedOut => {
                Complaint::about_nothing(format!("{name} {}", guarded::too_long()))
            }
            _ => Complaint::about_nothing(format!("{name} does not run: {error}")),
        }
    }

    /// A compiler that ended with an error, or was ended.
    pub fn failed(clang: &Path, output: &Output) -> Complaint {
        match guarded::stopped_by(output) {
            Some(why) => Complaint::about_nothing(format!("{} {why}", clang.display())),
            None => about_files(complaint(&String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// The number of lines of clang's messages that are kept.
const KEPT_LINES: usize = 12;

/// Reads clang's diagnostics: the first error gives file and line; the other lines follow it. Where
/// a header that is not the scheduler's has the error, its line that includes it is the place.
fn complaint(stderr: &str) -> Complaint {
    let errors: Vec<&str> = stderr.lines().filter(|line| is_diagnostic(line)).collect();
    let Some(first) = errors.first() else {
        return Complaint::about_nothing(format!("clang: {}", stderr.trim()));
    };
    let (place, message) = first.split_once("error: ").unwrap_or(("", first));
    if place.trim_end() == "fatal" || message.starts_with("error in backend") {
        return in_backend(stderr, message);
    }
    let (mut file, mut line) =
        file_and_line(place.trim_end_matches(['f', 'a', 't', 'l', ' ', ':']));
    let mut message = message.to_owned();
    if is_header_of_ours(&file) {
        let before = stderr.lines().take_while(|other| other != first);
        let chain = before.skip_while(|line| !line.starts_with(INCLUDED)).filter_map(|line| {
            let (file, line) =
                file_and_line(line.strip_prefix(INCLUDED)?.trim_end_matches([',', ':']));
            (!is_header_of_ours(&file)).then_some((file, line))
        });
        if let Some(user) = chain.last() {
            message = format!("in {file}: {message}");
            (file, line) = user;
        }
    }
    for further in errors.iter().skip(1).take(KEPT_LINES) {
        message.push_str(&format!("\n{further}"));
    }
    let is_unknown = |name: &&&str| errors.iter().any(|error| error.contains(&format!("'{name}'")));
    if let Some(name) = MACROS.iter().find(is_unknown) {
        message.push_str(&format!("\n{name} is a macro of scx: #include <scx/common.bpf.h>"));
    }
    Complaint {
        file,
        line,
        refused: message.contains("' file not found"),
        message,
        interrupted: false,
    }
}

/// The lines with warnings, except those about headers of ours and what we put before the text.
pub fn warnings(said: &str) -> Vec<String> {
    let is_own = |line: &&str| !is_header_of_ours(line) && !line.starts_with("<stdin>:");
    let lines = said.lines().filter(|line| line.contains(": warning: "));
    lines.filter(is_own).map(str::to_owned).collect()
}

/// Macros of scx's headers that a scheduler begins with.
const MACROS: [&str; 4] =
    ["BPF_STRUCT_OPS", "BPF_STRUCT_OPS_SLEEPABLE", "SCX_OPS_DEFINE", "UEI_DEFINE"];

const INCLUDED: &str = "In file included from ";

/// `file:line:column` or `file:line`.
fn file_and_line(place: &str) -> (String, Option<u32>) {
    let mut rest = place;
    let mut line = None;
    while let Some((before, number)) = rest.rsplit_once(':')
        && let Ok(number) = number.parse()
    {
        (rest, line) = (before, Some(number));
    }
    (rest.to_owned(), line)
}

/// How messages name our headers.
pub const OURS: &str = "Fairground's ";

fn is_header_of_ours(file: &str) -> bool {
    file.starts_with(OURS)
}

/// What clang cannot translate after it has read a text without an error.
fn in_backend(stderr: &str, message: &str) -> Complaint {
    let function =
        stderr.lines().find_map(|line| line.split_once("function '@")?.1.split('\'').next());
    let place = function.map(|name| format!(" {name}()")).unwrap_or_default();
    let why = message.trim_start_matches("error in backend: ");
    Complaint::about_nothing(format!(
        "clang reads the text and cannot translate{place} for this processor: {why}"
    ))
}

/// Says what to write instead where the compiler was kept from a file, which a macro has named.
fn about_files(mut complaint: Complaint) -> Complaint {
    if complaint.message.contains("Permission denied") {
        complaint.refused = true;
        complaint.message += ": it lies outside the scheduler's folder; copy it there";
    }
    complaint
}

/// A line with an error of its own; notes, warnings and the count at the end are not.
fn is_diagnostic(line: &str) -> bool {
    line.contains("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_decides_the_place() {
        let said = "In file included from ./a.bpf.c:3:\n\
                    ./a.bpf.c:17:2: warning: unused variable 'x' [-Wunused-variable]\n\
                    ./a.bpf.c:21:9: error: use of undeclared identifier 'wieght'\n\
                    ./a.bpf.c:30:1: error: expected '}'\n\
                    1 warning and 2 errors generated.\n";
        let found = complaint(said);
        assert_eq!((found.file.as_str(), found.line), ("./a.bpf.c", Some(21)));
        assert!(found.message.starts_with("use of undeclared identifier 'wieght'\n"));
        assert!(found.message.contains("a.bpf.c:30:1"), "{}", found.message);
    }

    #[test]
    fn each_kind_of_error_has_its_place_and_its_words() {
        for (said, file, line, words) in [
            (
                "a.bpf.c:5:5: error: redefinition of 'BPF_STRUCT_OPS' as different kind\n\
                 a.bpf.c:7:21: error: use of undeclared identifier 'p'\n",
                "a.bpf.c",
                Some(5),
                "\nBPF_STRUCT_OPS is a macro of scx: #include <scx/common.bpf.h>",
            ),
            (
                "x/alt.bpf.c:4:10: fatal error: 'nothing.h' file not found\n",
                "x/alt.bpf.c",
                Some(4),
                "'nothing.h' file not found",
            ),
            ("error: unable to create target: 'bpf'\n", "", None, "unable to create target: 'bpf'"),
            // An error in a header of ours is about the line that includes it.
            (
                "In file included from x/a.bpf.c:3:\n\
                 In file included from Fairground's scx/common.bpf.h:10:\n\
                 Fairground's scx/compat.bpf.h:374:3: error: incomplete type\n",
                "x/a.bpf.c",
                Some(3),
                "in Fairground's scx/compat.bpf.h: incomplete type",
            ),
            // An error behind the text becomes a sentence.
            (
                "fatal error: error in backend: Cannot select: intrinsic %llvm.x\n\
                 1. Running pass 'X' on function '@mine_enqueue'\n",
                "",
                None,
                "clang reads the text and cannot translate mine_enqueue() for this processor: \
                 Cannot select: intrinsic %llvm.x",
            ),
        ] {
            let found = complaint(said);
            assert_eq!((found.file.as_str(), found.line), (file, line), "{said}");
            assert!(found.message.ends_with(words), "{said}: {}", found.message);
        }
    }
}
