// SPDX-License-Identifier: GPL-2.0-only
//! Questions to the user at a terminal, in plain words; Enter chooses the default.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;

use crate::exit::bad_input;
use crate::planned_experiment::host_cpus;
use spec::assets::{self, Kind};
use spec::care::{self, Care};

/// The care of a user who does not say.
pub const USUAL: &str = "desktop";

/// What matters, by name: as the options say, else as the user answers, else the usual.
pub fn care_names(given: &[String], may_ask: bool) -> Result<Vec<String>> {
    let known = assets::names(Kind::Care);
    if !given.is_empty() {
        let names = given.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() {
            let known = known.join(", ");
            return Err(bad_input(format!("--care: name what matters; known are {known}")));
        }
        return Ok(names);
    }
    if !may_ask {
        return Ok(vec![USUAL.to_owned()]);
    }
    if io::stdin().is_terminal() {
        let read = |name: &String| Ok(care::read(name, Path::new(""), host_cpus())?);
        let known: Vec<Care> = known.iter().map(read).collect::<Result<_>>()?;
        return cares(&mut io::stdin().lock(), &mut io::stderr(), &known);
    }
    Err(bad_input(format!(
        "there is no terminal to ask what matters; write --care NAME ({}), or --workload NAME \
         for a workload of your own",
        known.join(", ")
    )))
}

/// Asks what matters. The answer holds at least one name, the most important first.
pub fn cares(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    known: &[Care],
) -> Result<Vec<String>> {
    let usual = known.iter().position(|care| care.name == USUAL).unwrap_or(0);
    writeln!(output, "What matters to you? One number, or several with the most important first.")?;
    for (at, care) in known.iter().enumerate() {
        writeln!(output, "  {}  {:<9} {}", at + 1, care.name, care.about)?;
    }
    loop {
        write!(output, "Number, or Enter for {}: ", usual + 1)?;
        output.flush()?;
        match chosen(&line(input)?, known, usual) {
            Ok(names) => return Ok(names),
            Err(word) => writeln!(output, "'{word}' is none of 1 … {}.", known.len())?,
        }
    }
}

/// Asks for a yes; Enter is one.
pub fn agrees(input: &mut dyn BufRead, output: &mut dyn Write, question: &str) -> Result<bool> {
    write!(output, "{question} [Y/n] ")?;
    output.flush()?;
    let answer = line(input)?.trim().to_lowercase();
    Ok(answer.is_empty() || answer.starts_with('y'))
}

/// Asks for a yes at the terminal; where there is none nobody agrees.
pub fn agrees_here(question: &str) -> Result<bool> {
    let input = io::stdin();
    Ok(input.is_terminal() && agrees(&mut input.lock(), &mut io::stderr(), question)?)
}

fn line(input: &mut dyn BufRead) -> Result<String> {
    let mut text = String::new();
    if input.read_line(&mut text)? == 0 {
        return Err(bad_input("no answer; use options: --care NAME, and --yes for the rest"));
    }
    Ok(text)
}

/// The cares' names for an answer of numbers or names; the error is the word that is neither.
fn chosen(text: &str, known: &[Care], usual: usize) -> Result<Vec<String>, String> {
    let words = text.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty());
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let place = word.parse().ok().and_then(|number: usize| number.checked_sub(1));
        let by_number = place.and_then(|place| known.get(place));
        let found = by_number.or_else(|| known.iter().find(|care| care.name == word));
        let name = found.ok_or_else(|| word.to_owned())?.name.clone();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        names.extend(known.get(usual).map(|care| care.name.clone()));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Care> {
        let names = assets::names(Kind::Care).into_iter();
        names.map(|name| care::read(&name, Path::new(""), 2).expect("a care")).collect()
    }

    fn answer(typed: &str) -> (Result<Vec<String>>, String) {
        let mut shown = Vec::new();
        let names = cares(&mut typed.as_bytes(), &mut shown, &known());
        (names, String::from_utf8(shown).expect("text"))
    }

    #[test]
    fn enter_is_the_usual_and_numbers_choose() {
        let (names, shown) = answer("\n");
        assert_eq!(names.expect("a choice"), [USUAL]);
        for care in known() {
            assert!(shown.contains(&care.about), "{shown}");
        }
        let first = known()[0].name.clone();
        assert_eq!(answer("1\n").0.expect("a choice"), [first.as_str()]);
        assert_eq!(answer("2, 1 2\n").0.expect("a choice"), [known()[1].name.clone(), first]);
        assert_eq!(answer("games\n").0.expect("a choice"), ["games"]);
    }

    #[test]
    fn what_is_none_is_asked_again_and_silence_is_an_error() {
        let (names, shown) = answer("0\nbattery\n\n");
        assert_eq!(names.expect("a choice"), [USUAL]);
        assert!(shown.contains("'0' is none of 1 … ") && shown.contains("'battery' is none"));
        let error = answer("99\n").0.expect_err("no answer").to_string();
        assert!(error.contains("--care NAME"), "{error}");
    }

    #[test]
    fn enter_agrees() {
        let answer = |typed: &str| agrees(&mut typed.as_bytes(), &mut Vec::new(), "Well?").unwrap();
        assert_eq!(
            [answer("\n"), answer("y\n"), answer("n\n"), answer("what\n")],
            [true, true, false, false]
        );
    }
}
