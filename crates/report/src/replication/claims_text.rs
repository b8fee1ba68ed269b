// SPDX-License-Identifier: GPL-2.0-only
//! Claims on a terminal: each with the published and the measured result, the summary last.

use stats::decide::replication::Reproduction;

use super::phrases::published;
use super::{Judged, Replication, Tested, sentence, test_lines, test_name};
use crate::terminal::layout::{Paint, hanging, wrapped};

pub fn text(replication: &Replication, colour: bool) -> String {
    let paint = Paint(colour);
    let mut text: String = replication.claims.iter().map(|judged| claim(judged, paint)).collect();
    text += &paint.bold(wrapped(&sentence(replication), "").trim_end());
    text + "\n"
}

fn claim(judged: &Judged, paint: Paint) -> String {
    let (id, verdict) = (paint.bold(&judged.claim.id), painted(judged.verdict, paint));
    let disagree = if judged.disagree { ", backends disagree" } else { "" };
    let mut text = format!("{id}: {verdict}{disagree}\n");
    text += &hanging(&judged.claim.about, "  ", "  ");
    text += &hanging(&format!("published: {}", published(&judged.claim.published)), "  ", "    ");
    text.extend(judged.tests.iter().map(|tested| test(tested, paint)));
    if let Some(words) = &judged.claim.afterwards {
        text += &hanging(&format!("said afterwards: {words}"), "  ", "    ");
    }
    text + "\n"
}

fn test(tested: &Tested, paint: Paint) -> String {
    let head = format!("  {}: {}\n", test_name(tested), painted(tested.verdict, paint));
    let lines = test_lines(tested);
    head + &lines.iter().map(|line| hanging(line, "    ", "      ")).collect::<String>()
}

fn painted(verdict: Reproduction, paint: Paint) -> String {
    let words = verdict.words();
    match verdict {
        Reproduction::Reproduced => paint.green(words),
        Reproduction::Contradicted | Reproduction::NoData => paint.red(words),
        Reproduction::Untested => paint.dim(words),
        Reproduction::DirectionOnly | Reproduction::NotReproduced => paint.bold(words),
    }
}
