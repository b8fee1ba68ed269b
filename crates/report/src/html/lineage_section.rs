// SPDX-License-Identifier: GPL-2.0-only
//! The lineage as a picture: a column for each year with a first release, a row for each
//! scheduler, in the order of the tree.

use std::collections::BTreeSet;

use model::{Record, SchedulerChoice};

use super::escape::text;
use crate::lineage::{Branch, Member, tree};

const ROW: usize = 30;
const MARGIN: usize = 24;
/// For the last column's names and authors.
const NAMES: usize = 330;
const COLUMN: usize = 46;

/// The tree, with the compared schedulers in bold; empty unless two of them are in it.
pub fn section(members: &[Member], records: &[Record]) -> String {
    let present: BTreeSet<&str> = records.iter().filter_map(file_of).collect();
    if members.iter().filter(|member| present.contains(member.name.as_str())).count() < 2 {
        return String::new();
    }
    format!(
        "<section id=\"lineage\"><h2>Lineage</h2><p class=\"aside\">Which scheduler descends from \
         which in ideas or code. Bold schedulers take part here; a dashed line \
         is a further parent.</p>\
         <div class=\"scroll\">{}</div></section>\n",
        picture(&tree(members), &present)
    )
}

fn file_of(record: &Record) -> Option<&str> {
    match &record.trial.contestant.scheduler {
        SchedulerChoice::File { file, .. } => Some(file),
        _ => None,
    }
}

fn picture(tree: &[Branch], present: &BTreeSet<&str>) -> String {
    let years: BTreeSet<u16> = tree.iter().map(|branch| branch.member.year).collect();
    let column = |year: u16| years.range(..year).count();
    let places: Vec<(usize, usize)> = (tree.iter().enumerate())
        .map(|(row, branch)| (MARGIN + column(branch.member.year) * COLUMN, MARGIN + row * ROW))
        .collect();
    let (width, height) =
        (2 * MARGIN + years.len() * COLUMN + NAMES, 2 * MARGIN + (tree.len() - 1) * ROW);
    let lines: String = (0..tree.len()).map(|row| edges(tree, row, &places)).collect();
    let nodes: String = (tree.iter().zip(&places))
        .map(|(branch, place)| node(branch.member, *place, present))
        .collect();
    format!(
        "<svg class=\"lineage\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"The lineage of the schedulers\">\
         {lines}{nodes}</svg>"
    )
}

/// Lines from the parents to a row: down and to the right for the first parent, curves for the
/// others.
fn edges(tree: &[Branch], row: usize, places: &[(usize, usize)]) -> String {
    let (x, y) = places[row];
    let first = tree[row].parent.map(|parent| {
        let (from_x, from_y) = places[parent];
        format!("<path d=\"M{from_x} {from_y}V{y}H{x}\"/>")
    });
    let others = tree[row].also_after(tree).map(|parent| {
        let (from_x, from_y) = places[parent];
        format!(
            "<path class=\"further\" d=\"M{from_x} {from_y}C{from_x} {y} {from_x} {y} {x} {y}\"/>"
        )
    });
    first.into_iter().chain(others).collect()
}

fn node(member: &Member, (x, y): (usize, usize), present: &BTreeSet<&str>) -> String {
    let class = if present.contains(member.name.as_str()) { "compared" } else { "" };
    format!(
        "<g class=\"{class}\"><circle cx=\"{x}\" cy=\"{y}\" r=\"5\"/>\
         <text x=\"{}\" y=\"{}\"><tspan class=\"name\">{}</tspan> {} <tspan class=\"author\">{}\
         </tspan></text></g>",
        x + 11,
        y + 5,
        text(&member.name),
        member.year,
        text(&member.author)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_in_the_picture_once_and_those_present_are_marked() {
        let member = |name: &str, year, after: &[&str]| Member {
            name: name.into(),
            year,
            author: "<A & B>".into(),
            after: after.iter().map(|&name| name.into()).collect(),
            queue: String::new(),
        };
        let family = [member("a", 1, &[]), member("b", 2, &["a"]), member("c", 3, &["b", "a"])];
        let picture = picture(&tree(&family), &BTreeSet::from(["b"]));
        assert_eq!(picture.matches("<circle").count(), 3);
        assert_eq!(picture.matches("class=\"compared\"").count(), 1);
        assert_eq!(picture.matches("<path d").count(), 2);
        assert_eq!(picture.matches("class=\"further\"").count(), 1);
        assert!(picture.contains("&lt;A &amp; B&gt;"), "{picture}");
    }
}
