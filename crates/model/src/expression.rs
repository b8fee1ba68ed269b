// SPDX-License-Identifier: GPL-2.0-only
//! Whole-number expressions: `+ - * / %`, parentheses, and names.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = unary { ("*" | "/" | "%") unary }
//! unary   = "-" unary | number | name | "(" sum ")"
//! ```
//!
//! Division rounds toward zero, as in C, and `%` is its remainder. Nothing wraps: overflow is an
//! error.

use std::collections::BTreeMap;

pub type Names = BTreeMap<String, i64>;

/// How deep parentheses and signs may nest; deeper is an error, not a stack overflow.
const DEPTH_MAX: u32 = 64;

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The byte that it begins at.
    pub at: usize,
    pub message: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The text is no expression.
    Text,
    /// There is no such name.
    Name(String),
    /// With other values of the names there is a result.
    Values,
}

pub fn evaluate(text: &str, names: &Names) -> Result<i64, Mistake> {
    let mut parser = Parser { text, at: 0, depth: 0, names };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(other) => Err(parser.fault(format!("unexpected '{other}'"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    names: &'a Names,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<i64, Mistake> {
        let mut left = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            let at = self.take(sign);
            let right = self.product()?;
            let result =
                if sign == '+' { left.checked_add(right) } else { left.checked_sub(right) };
            left = result.ok_or_else(|| overflow(at, left, sign, right))?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<i64, Mistake> {
        let mut left = self.unary()?;
        while let Some(sign @ ('*' | '/' | '%')) = self.peek() {
            let at = self.take(sign);
            let right = self.unary()?;
            if sign != '*' && right == 0 {
                return Err(fault(at, "division by zero".into(), Kind::Values));
            }
            let result = match sign {
                '*' => left.checked_mul(right),
                '/' => left.checked_div(right),
                _ => left.checked_rem(right),
            };
            left = result.ok_or_else(|| overflow(at, left, sign, right))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.fault("nested too deeply".into()));
        }
        let value = match self.peek() {
            Some('-') => {
                let at = self.take('-');
                let value = self.unary()?;
                value.checked_neg().ok_or_else(|| overflow(at, 0, '-', value))
            }
            Some('(') => self.parenthesis(),
            Some(digit) if digit.is_ascii_digit() => self.number(),
            Some(letter) if letter.is_alphabetic() || letter == '_' => self.name(),
            Some(other) => Err(self.fault(format!("unexpected '{other}'"))),
            None => Err(self.fault("the expression ends too early".into())),
        };
        self.depth -= 1;
        value
    }

    fn parenthesis(&mut self) -> Result<i64, Mistake> {
        let open = self.take('(');
        let value = self.sum()?;
        match self.peek() {
            Some(')') => {
                self.take(')');
                Ok(value)
            }
            _ => Err(fault(open, "this parenthesis is never closed".into(), Kind::Text)),
        }
    }

    fn number(&mut self) -> Result<i64, Mistake> {
        let at = self.at;
        let digits = self.word(|letter| letter.is_ascii_digit() || letter == '_').replace('_', "");
        digits.parse().map_err(|_| fault(at, format!("{digits} is too large"), Kind::Text))
    }

    fn name(&mut self) -> Result<i64, Mistake> {
        let at = self.at;
        let name = self.word(|letter| letter.is_alphanumeric() || letter == '_');
        self.names.get(name).copied().ok_or_else(|| Mistake {
            at,
            message: format!("unknown parameter '{name}'"),
            kind: Kind::Name(name.to_owned()),
        })
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|letter| !belongs(letter)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// The next letter that is not a space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Steps over a letter and says where it was.
    fn take(&mut self, letter: char) -> usize {
        let at = self.at;
        self.at += letter.len_utf8();
        at
    }

    fn fault(&self, message: String) -> Mistake {
        fault(self.at, message, Kind::Text)
    }
}

fn fault(at: usize, message: String, kind: Kind) -> Mistake {
    Mistake { at, message, kind }
}

fn overflow(at: usize, left: i64, sign: char, right: i64) -> Mistake {
    let message = format!("{left} {sign} {right} is too large for a 64-bit number");
    fault(at, message, Kind::Values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        BTreeMap::from([("cpus".into(), 4), ("hogs".into(), 3)])
    }

    fn value(text: &str) -> i64 {
        evaluate(text, &names()).unwrap()
    }

    fn message(text: &str) -> String {
        let fault = evaluate(text, &names()).unwrap_err();
        format!("{}: {}", fault.at, fault.message)
    }

    #[test]
    fn precedence_and_association_are_those_of_c() {
        assert_eq!(value(" 3 * cpus"), 12);
        assert_eq!(value("1 + 2 * 3"), 7);
        assert_eq!(value("(1 + 2) * 3"), 9);
        assert_eq!(value("10 - 3 - 2"), 5);
        assert_eq!(value("100 / 10 / 5"), 2);
        assert_eq!(value("-7 / 2"), -3);
        assert_eq!(value("-7 % 2 + 10 / 3 % 2 * 5"), 4);
        assert_eq!(value("--hogs"), 3);
        assert_eq!(value("1_000"), 1000);
    }

    #[test]
    fn faults_say_where() {
        assert_eq!(message("1 +"), "3: the expression ends too early");
        assert_eq!(message("2 * (3 + 4"), "4: this parenthesis is never closed");
        assert_eq!(message("1 / (hogs - 3)"), "2: division by zero");
        assert_eq!(message("1 % 0"), "2: division by zero");
        assert_eq!(
            message("9223372036854775807 + 1"),
            "20: 9223372036854775807 + 1 is too large for a 64-bit number"
        );
        assert_eq!(message("99999999999999999999"), "0: 99999999999999999999 is too large");
        assert_eq!(message("3 hogs"), "2: unexpected 'h'");
        assert_eq!(message("2 ^ 3"), "2: unexpected '^'");
        assert_eq!(message("1 + hgos"), "4: unknown parameter 'hgos'");
        assert_eq!(message(&"(".repeat(1000)), "64: nested too deeply");
        let kind = |text| evaluate(text, &names()).unwrap_err().kind;
        assert_eq!(kind("hgos"), Kind::Name("hgos".into()));
        assert_eq!([kind("1 +"), kind("1 / 0")], [Kind::Text, Kind::Values]);
    }

    /// An expression as a tree, to compare the text's value with the tree's.
    #[derive(Clone, Debug)]
    enum Tree {
        Number(i64),
        Cpus,
        Pair(Box<Tree>, char, Box<Tree>),
    }

    impl Tree {
        fn text(&self) -> String {
            match self {
                Tree::Number(number) if *number < 0 => format!("({number})"),
                Tree::Number(number) => number.to_string(),
                Tree::Cpus => "cpus".into(),
                Tree::Pair(left, sign, right) => {
                    format!("({} {sign} {})", left.text(), right.text())
                }
            }
        }

        fn value(&self) -> Option<i64> {
            match self {
                Tree::Number(number) => Some(*number),
                Tree::Cpus => Some(4),
                Tree::Pair(left, sign, right) => {
                    let (left, right) = (left.value()?, right.value()?);
                    match sign {
                        '+' => left.checked_add(right),
                        '-' => left.checked_sub(right),
                        '*' => left.checked_mul(right),
                        '%' => left.checked_rem(right),
                        _ => left.checked_div(right),
                    }
                }
            }
        }
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            (-1_000_000_i64..1_000_000).prop_map(Tree::Number),
            (i64::MIN + 1..=i64::MAX).prop_map(Tree::Number),
            Just(Tree::Cpus)
        ];
        leaf.prop_recursive(5, 40, 2, |inner| {
            let sign = prop_oneof![Just('+'), Just('-'), Just('*'), Just('/'), Just('%')];
            (inner.clone(), sign, inner)
                .prop_map(|(left, sign, right)| Tree::Pair(left.into(), sign, right.into()))
        })
    }

    proptest! {
        #[test]
        fn text_means_what_its_tree_means(tree in tree()) {
            prop_assert_eq!(evaluate(&tree.text(), &names()).ok(), tree.value());
        }

        #[test]
        fn no_text_panics(text in "[-+*/%() a-z0-9_é]{0,40}") {
            if let Err(fault) = evaluate(&text, &names()) {
                prop_assert!(text.is_char_boundary(fault.at));
            }
        }
    }
}
