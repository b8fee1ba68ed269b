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
    /// Whether it stands below a condition, besides the guard of a whole header.
    pub conditional: bool,
}

pub fn includes(text: &str) -> Vec<Include> {
    let lines = code(text);
    let guard = u32::from(is_guarded(&lines));
    let (mut depth, mut found) = (0_u32, Vec::new());
    for (line, code) in lines {
        let word = directive(&code).unwrap_or_default();
        if word.starts_with("if") {
            depth += 1;
        } else if word.starts_with("endif") {
            depth = depth.saturating_sub(1);
        }
        found.extend(include(line, &code, depth > guard));
    }
    found
}

/// Whether a header begins with `#ifndef X` and `#define X`.
fn is_guarded(lines: &[(u32, String)]) -> bool {
    let mut code = lines.iter().filter(|(_, code)| !code.trim().is_empty());
    let mut word = |name| {
        let rest = directive(&code.next()?.1)?.strip_prefix(name)?.trim();
        Some(rest.split_whitespace().next().unwrap_or_default().to_owned())
    };
    word("ifndef").is_some_and(|name| word("define") == Some(name))
}

/// The functions that a text declares as the kernel's, or defines to be inlined.
pub fn declared_functions(text: &str) -> Vec<String> {
    let all: String = code(text).into_iter().map(|(_, code)| code + "\n").collect();
    let mut found = Vec::new();
    for (at, _) in all.match_indices("__ksym") {
        let start = all[..at].rfind([';', '}', '#']).map_or(0, |start| start + 1);
        found.extend(all[start..at].split('(').map(last_word));
    }
    for (at, _) in all.match_indices("inline ") {
        found.extend(all[at..].split('(').next().map(last_word));
    }
    found.retain(|name| !name.is_empty());
    found
}

/// The functions that a text defines, without those that a macro names or contains.
pub fn defined_functions(text: &str) -> Vec<String> {
    let lines = code(text).into_iter().map(|(_, code)| code + "\n");
    let all: String = lines.filter(|line| !line.trim_start().starts_with('#')).collect();
    let mut found = Vec::new();
    let (mut depth, mut begin) = (0_u32, 0);
    for (at, byte) in all.bytes().enumerate() {
        match byte {
            b'{' if depth == 0 && all[begin..at].trim_end().ends_with(')') => {
                found.extend(without_attributes(&all[begin..at]).split('(').next().map(last_word));
                depth = 1;
            }
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(byte, b'}' | b';') {
            begin = at + 1;
        }
    }
    found.retain(|name| !name.is_empty() && !name.contains(|c: char| c.is_ascii_uppercase()));
    found
}

fn without_attributes(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(start) = text.find("__attribute__") {
        let end = text[start..].find("))").map_or(text.len(), |end| start + end + 2);
        text.replace_range(start..end, "");
    }
    text
}

fn last_word(text: &str) -> String {
    let text = text.trim_end();
    text[text.rfind(|c| !is_of_word(c)).map_or(0, |start| start + 1)..].to_owned()
}

pub fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The text with another word in the place of each of these words.
pub fn with_words(text: &str, words: &[(&str, &str)]) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        let end = rest[start..].find(|c| !is_of_word(c)).map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        changed.push_str(&rest[..start]);
        changed.push_str(words.iter().find(|(old, _)| *old == word).map_or(word, |(_, new)| new));
        rest = &rest[end..];
    }
    changed + rest
}

/// Whether a call of this function, without arguments, is used as a value somewhere in a text.
pub fn has_value_of(text: &str, function: &str) -> bool {
    let all: String = code(text).into_iter().map(|(_, code)| code + "\n").collect();
    let before = |at: usize| all[..at].trim_end().chars().next_back();
    let mut calls = all.match_indices(function).map(|(at, _)| before(at));
    calls.any(|before| before.is_some_and(|c| !";{})".contains(c) && !c.is_alphanumeric()))
}

fn include(line: u32, code: &str, conditional: bool) -> Option<Include> {
    const WORDS: [&str; 4] = ["include_next", "include", "import", "__include_macros"];
    let rest = directive(code)?;
    let name = WORDS.iter().find_map(|word| rest.strip_prefix(word))?.trim_start();
    let quoted = name.starts_with('"');
    let end = if quoted { '"' } else { '>' };
    let name = name.strip_prefix(['"', '<'])?.split(end).next()?;
    Some(Include { line, name: name.to_owned(), quoted, conditional })
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
    fn conditions_are_told_from_a_header_s_guard() {
        let text = "// x\n#ifndef A\n#define A 1\n#include \"a\"\n#ifdef B\n#include \"b\"\n\
                    #endif\n#include \"c\"\n#endif\n";
        let conditional = |text| -> Vec<bool> {
            includes(text).into_iter().map(|include| include.conditional).collect()
        };
        assert_eq!(conditional(text), [false, true, false]);
        assert_eq!(conditional("#ifndef A\n#include \"a\"\n#endif\n"), [true]);
    }

    #[test]
    fn declarations_of_kfuncs_are_found() {
        let text = "extern void a(u64 (*f)(int)) __ksym;\n\
                    int b(struct t *p,\n\tint c) __weak __ksym;\n// void d(void) __ksym;\n";
        assert!(["a", "b"].iter().all(|name| declared_functions(text).contains(&(*name).into())));
        assert!(!declared_functions(text).contains(&"d".into()));
        assert!(declared_functions("static inline bool e(u64 x)\n{").contains(&"e".into()));
        assert_eq!(with_words("a(ab, a)", &[("a", "b")]), "b(ab, b)");
        let text = "#define x(a) (a)\nstruct s { int i; };\nstatic u64 f(u64 a)\n{ if (a) { } }\n\
                    void BPF_OPS(g, int a) { h(); }\n";
        assert_eq!(defined_functions(text), ["f"]);
        let macros =
            "u64 now;\n#define clock() now\n#define OPS(a) \\\n\tvoid ENABLE(a) \\\n\t{ }\n";
        assert_eq!(defined_functions(macros), Vec::<String>::new());
        let unused = "static __attribute__((unused)) bool take(u64 dsq)\n{ }\n";
        assert_eq!(defined_functions(unused), ["take"]);
    }

    #[test]
    fn a_value_is_told_from_a_statement() {
        assert!(has_value_of("x += f();", "f(") && has_value_of("if (f() > 1)", "f("));
        assert!(!has_value_of("{ f(); f(); }", "f(") && !has_value_of("if (x)\n\tf();", "f("));
    }

    #[test]
    fn a_continued_line_is_one() {
        assert_eq!(names("#inc\\\nlude /* x */ \"a\"\n"), [(1, "a".to_owned())]);
        assert_eq!(first_of("int x;\n asm(\".inc\\\nbin\");", &[".incbin"]), Some((2, ".incbin")));
        assert_eq!(first_of(" # embed \"a\"", &["#embed"]), Some((1, "#embed")));
        assert_eq!(first_of("// .incbin\n", &[".incbin"]), None);
    }
}
