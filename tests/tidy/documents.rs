// SPDX-License-Identifier: GPL-2.0-only
//! Documents stay true: links lead somewhere, generated parts equal what generates them.

use std::fmt::Write as _;

use model::metric::{Direction, MEASURES, Unit};
use model::series::SERIES;

use crate::{File, expect_none, files, root};

const BLESS: &str = "FAIRGROUND_BLESS=1 cargo test --release --test tidy";

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".md"])) {
        let folder = root().join(&file.path).parent().expect("a file has a folder").to_owned();
        for (number, line) in file.lines() {
            for link in links(line) {
                if !folder.join(link).exists() {
                    complaints.push(format!("{}:{number}: {link} does not exist", file.path));
                }
            }
        }
    }
    expect_none(complaints);
}

/// Expected output of tests is no document.
fn is_document(file: &File) -> bool {
    file.is(&[".md"]) && !file.path.contains("/golden/")
}

/// The targets of a line's Markdown links that are files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', '#', ' ']).next()?;
        (!target.is_empty() && !target.contains("://")).then_some(target)
    })
}

#[test]
fn documents_have_one_title() {
    let titles = |file: &File| {
        let mut in_code = false;
        let mut titles = 0;
        for line in file.text.lines() {
            in_code ^= line.starts_with("```");
            titles += usize::from(!in_code && line.starts_with("# "));
        }
        titles
    };
    let wrong = files().into_iter().filter(|file| is_document(file) && titles(file) != 1);
    expect_none(wrong.map(|file| format!("{}: one `# ` title, no more", file.path)).collect());
}

#[test]
fn the_method_lists_every_measure_and_series() {
    let mut table = String::from("| measure | unit | better | definition |\n|---|---|---|---|\n");
    for measure in MEASURES {
        let unit = match measure.unit {
            Unit::Nanoseconds => "ns",
            Unit::Count => "count",
            Unit::PerSecond => "1/s",
            Unit::Ratio => "0 … 1",
        };
        let better = match measure.direction {
            Direction::Lower => "lower",
            Direction::Higher => "higher",
            Direction::Neutral => "–",
        };
        let shape = if measure.distribution { " (distribution)" } else { "" };
        writeln!(
            table,
            "| `{}`{shape} | {unit} | {better} | {} |",
            measure.name, measure.definition
        )
        .expect("a string takes text");
    }
    expect_generated("METHOD.md", "measures", &table);
    list_series();
}

/// In the same test: two that wrote the same document would be in each other's way.
fn list_series() {
    let mut table = String::from("| series | unit | definition |\n|---|---|---|\n");
    for series in &SERIES {
        let unit = match series.unit {
            Unit::Nanoseconds => "ns",
            Unit::Count => "count",
            Unit::PerSecond => "1/s",
            Unit::Ratio => "0 … 1",
        };
        writeln!(table, "| `{}` | {unit} | {} |", series.name, series.definition)
            .expect("a string takes text");
    }
    expect_generated("METHOD.md", "series", &table);
}

/// The part of a document between `<!-- generated: NAME -->` and `<!-- end -->` must equal
/// `expected`.
pub fn expect_generated(document: &str, name: &str, expected: &str) {
    let path = root().join(document);
    let text = std::fs::read_to_string(&path).expect("the document exists");
    let opening = format!("<!-- generated: {name}; {BLESS} -->\n");
    let (head, rest) = text.split_once(&opening).expect("the document has the opening mark");
    let (part, tail) = rest.split_once("<!-- end -->").expect("the document has the closing mark");
    if std::env::var_os("FAIRGROUND_BLESS").is_some() {
        std::fs::write(&path, format!("{head}{opening}{expected}<!-- end -->{tail}"))
            .expect("the document can be written");
    } else {
        assert_eq!(part, expected, "{document} is out of date: {BLESS}");
    }
}
