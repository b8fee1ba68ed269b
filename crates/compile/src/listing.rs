// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's assembler must not do, looked for in what the compiler hands to its
//! assembler: there all escapes, macros of C and operands are replaced.

/// Directives that read files, and those that can put the name of such a one together. Without the
/// latter the name of a directive stands in the listing in one piece.
const FORBIDDEN: &[(&str, &str)] = &[
    (".incbin", "a scheduler reads no files with .incbin: write the bytes into an array"),
    (".include", "a scheduler reads no files with .include: write the instructions themselves"),
    (".macro", "a scheduler's assembler has no .macro: write the instructions themselves"),
    (".irp", "a scheduler's assembler has no .irp: write the instructions themselves"),
];

/// Refuses a listing in which one of these words stands, wherever: a text that looks like a string
/// or a comment here may be none.
///
/// # Errors
/// The message says what to write instead.
pub fn check(listing: &str) -> Result<(), String> {
    let listing = listing.to_ascii_lowercase();
    let found = FORBIDDEN.iter().find(|(word, _)| listing.contains(word));
    found.map_or(Ok(()), |(_, message)| Err((*message).to_owned()))
}

/// Whether a listing may hold instructions whose result depends on the host: it names one, or has
/// assembler of the scheduler's own, which may write its bytes. Barriers of the compiler are empty.
pub fn may_ask_host(listing: &str) -> bool {
    let mut is_own = false;
    listing.lines().map(str::trim).any(|line| {
        match line {
            "#APP" => is_own = true,
            "#NO_APP" => is_own = false,
            _ => {}
        }
        let is_instruction = !line.is_empty() && !line.starts_with('#');
        is_own && is_instruction || ["rdrand", "rdseed", "rdpid"].iter().any(|i| line.contains(i))
    })
}

/// Whether a text may hold assembler, or instructions that describe the host. Its tokens count, and
/// those that it could put together of others.
pub fn may_assemble(text: &str) -> bool {
    const SIGNS: &[&str] = &["asm", "ia32", "##", "%:%:", "\\u", "\\U", "\\N", "bpf_experimental"];
    let joined = joined(text);
    SIGNS.iter().any(|sign| joined.contains(sign))
}

/// The text with its continued lines joined, comments included: nobody can hide from a search that
/// knows no comments.
fn joined(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.trim_end().strip_suffix('\\') {
            Some(start) => whole.push_str(start),
            None => whole.push_str(line),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_found_in_any_spelling_of_letters() {
        for listing in ["\t.INCBIN \"x\"", "a: .Include \"x\"", ".macro m", ".irpc a, b"] {
            assert!(check(listing).is_err(), "{listing}");
        }
        assert_eq!(check("\t.section .rodata\n\t.rept 3\n"), Ok(()));
    }

    #[test]
    fn empty_assembler_asks_no_host() {
        let listing =
            |own: &str| format!("f:\n\tmovl %edi, %eax\n\t#APP\n{own}\t#NO_APP\n\tretq\n");
        assert!(!may_ask_host(&listing("")));
        assert!(!may_ask_host(&listing("\t# a comment\n\n")));
        assert!(may_ask_host(&listing("\t.byte 15, 199, 240\n")));
        assert!(may_ask_host("f:\n\trdrandq %rax\n\tretq\n"));
    }

    #[test]
    fn assembler_is_suspected_where_it_can_be() {
        for text in ["a\\\nsm(\"\");", "a\\  \nsm(\"\");", "C(a, sm) // a##b", "__asm__(\"\")"] {
            assert!(may_assemble(text), "{text}");
        }
        assert!(!may_assemble("#define A 1\nint x = A;\n"));
    }
}
