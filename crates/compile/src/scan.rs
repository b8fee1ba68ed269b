// SPDX-License-Identifier: GPL-2.0-only
//! What a text asks the preprocessor for: includes with their lines, without those in comments and
//! in `#if 0`.

/// An `#include`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    pub line: u32,
    pub name: String,
    /// Whether the name is in quotation marks, and not in angle brackets.
    pub quoted: bool,
}

pub fn includes(text: &str) -> Vec<Include> {
    code(text).into_iter().filter_map(|(line, code)| include(line, &code)).collect()
}

fn include(line: u32, code: &str) -> Option<Include> {
    const WORDS: [&str; 4] = ["include_next", "include", "import", "__include_macros"];
    let rest = directive(code)?;
    let name = WORDS.iter().find_map(|word| rest.strip_prefix(word))?.trim_start();
    let quoted = name.starts_with('"');
    let end = if quoted { '"' } else { '>' };
    let name = name.strip_prefix(['"', '<'])?.split(end).next()?;
    Some(Include { line, name: name.to_owned(), quoted })
}

/// What follows the `#` of a directive.
fn directive(code: &str) -> Option<&str> {
    let code = code.trim_start();
    code.strip_prefix('#').or_else(|| code.strip_prefix("%:")).map(str::trim_start)
}

/// The first of these words in the code, with its line.
pub fn first_of<'a>(text: &str, words: &[&'a str]) -> Option<(u32, &'a str)> {
    code(text).into_iter().find_map(|(line, code)| {
        let code = directive(&code).map_or(code.clone(), |rest| format!("#{rest}"));
        words.iter().find(|word| code.contains(**word)).map(|word| (line, *word))
    })
}

/// The logical lines of a text with the numbers of their first lines: continued lines joined,
/// comments and `#if 0` left out.
fn code(text: &str) -> Vec<(u32, String)> {
    let (mut lines, mut in_comment) = (Vec::new(), false);
    let mut physical = text.lines().zip(1_u32..);
    while let Some((line, number)) = physical.next() {
        let mut whole = line.to_owned();
        while let Some(start) = continued(&whole) {
            let start = start.to_owned();
            let Some((next, _)) = physical.next() else { break };
            whole = start + next;
        }
        lines.push((number, without_comments(&whole, &mut in_comment)));
    }
    without_if_0(lines)
}

/// The line without the backslash at its end.
fn continued(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix('\\')
}

/// `in_comment`: whether a comment of several lines is open, before and after.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut code = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            let Some((_, after)) = rest.split_once("*/") else { return code };
            (rest, *in_comment) = (after, false);
            code.push(' ');
        }
        let Some(first) = rest.chars().next() else { return code };
        let length = match first {
            '/' if rest.starts_with("//") => return code,
            '/' if rest.starts_with("/*") => {
                (rest, *in_comment) = (&rest[2..], true);
                continue;
            }
            '"' | '\'' => literal(rest, first),
            _ => first.len_utf8(),
        };
        code.push_str(&rest[..length]);
        rest = &rest[length..];
    }
}

/// The length of a literal that ends with its first character, or with the line.
fn literal(text: &str, end: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == end => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn without_if_0(lines: Vec<(u32, String)>) -> Vec<(u32, String)> {
    // How deep in conditions below an `#if 0`; 0 is outside.
    let mut depth = 0_u32;
    let mut kept = Vec::new();
    for (number, code) in lines {
        let word = directive(&code).unwrap_or_default();
        let is_off = word.strip_prefix("if").is_some_and(|condition| condition.trim() == "0");
        depth = match depth {
            0 if is_off => 1,
            0 => 0,
            _ if word.starts_with("if") => depth + 1,
            _ if word.starts_with("endif") => depth - 1,
            1 if word.starts_with("el") => 0,
            _ => depth,
        };
        if depth == 0 {
            kept.push((number, code));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(u32, String)> {
        includes(text).into_iter().map(|include| (include.line, include.name)).collect()
    }

    #[test]
    fn an_include_has_its_line() {
        let text = "#include <a.h>\n  # include \"b.h\" // x\n#import \"c.h\"\n%:include \"d.h\"\n";
        let found = names(text);
        let expected = [(1, "a.h"), (2, "b.h"), (3, "c.h"), (4, "d.h")];
        assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
        assert!(!includes(text)[0].quoted && includes(text)[1].quoted);
    }

    #[test]
    fn comments_and_code_that_is_off_include_nothing() {
        let text = "/*\n#include \"a\"\n*/\n#if 0\n#if X\n#endif\n#include \"b\"\n#else\n\
                    #include \"c\"\n#endif\n// #include \"d\"\nchar *s = \"/*\";\n#include \"e\"\n";
        assert_eq!(names(text), [(9, "c".to_owned()), (13, "e".to_owned())]);
    }

    #[test]
    fn a_continued_line_is_one() {
        assert_eq!(names("#inc\\\nlude /* x */ \"a\"\n"), [(1, "a".to_owned())]);
        assert_eq!(first_of("int x;\n asm(\".inc\\\nbin\");", &[".incbin"]), Some((2, ".incbin")));
        assert_eq!(first_of(" # embed \"a\"", &["#embed"]), Some((1, "#embed")));
        assert_eq!(first_of("// .incbin\n", &[".incbin"]), None);
    }
}
