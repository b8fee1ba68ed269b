// SPDX-License-Identifier: GPL-2.0-only
//! Claims as Markdown, for a document in the folder of their files.

use std::fmt::Write;

use model::Backend;
use model::claim::Source;
use stats::decide::replication::Reproduction;

use super::judged::{Judged, OTHERS_ASKED, Replication, Tested};
use super::phrases::{absence, found_in, kernels, published, reasons};
use super::published_numbers::{columns, rows};
use super::verdict_counts::sentence;
use crate::markdown::clean;

/// A whole document: the summary, its origin, a table for each source, and the commands for tests
/// that were not run here.
pub fn markdown(replication: &Replication) -> String {
    let mut text = String::from("# Which published findings hold?\n\n");
    let _ = writeln!(text, "{}\n", sentence(replication));
    let _ = writeln!(
        text,
        "Made on {} from {} trials. Kernels: {}. The rule of each claim is in its file, was \
         written\nbefore anything was measured, and is explained in \
         [the book](../docs/src/method/claims.md#how-a-claim-is-judged).\n",
        replication.generated,
        replication.trials,
        clean(&kernels(&replication.kernels)),
    );
    let _ = writeln!(text, "```sh\n{}\n```", replication.commands.join("\n"));
    for source in Source::ALL {
        let has_source = |judged: &&Judged| judged.claim.source == source;
        let claims: Vec<&Judged> = replication.claims.iter().filter(has_source).collect();
        if !claims.is_empty() {
            let _ = write!(text, "\n## {source}: {}\n\n{}", source.title(), table(&claims));
        }
    }
    text + &beside(replication) + &afterwards(replication) + &untested(replication)
}

/// Measured and published numbers, a table for each test that has some.
fn beside(replication: &Replication) -> String {
    let mut text = String::new();
    for judged in &replication.claims {
        for tested in judged.tests.iter().filter(|tested| !rows(tested).is_empty()) {
            let name = format!("{} on {}", judged.claim.id, tested.test.on.word());
            let _ = write!(text, "\n**{}**: {}\n\n", clean(&name), clean(&judged.claim.protocol));
            text += &beside_table(tested);
        }
    }
    if text.is_empty() { text } else { format!("\n## Compared with the published numbers\n{text}") }
}

fn beside_table(tested: &Tested) -> String {
    let columns: String = columns(tested).iter().map(|it| format!(" {} |", clean(it))).collect();
    let line = "---|".repeat(self::columns(tested).len());
    let mut text = format!("| cell | measure |{columns}\n|---|---|{line}\n");
    for row in rows(tested) {
        let numbers: String = row.numbers.iter().map(|it| format!(" {} |", clean(it))).collect();
        let _ = writeln!(text, "| {} | {} |{numbers}", clean(&row.cell), clean(&row.measure));
    }
    text
}

/// Explanations found after measuring.
fn afterwards(replication: &Replication) -> String {
    let known = replication.claims.iter().filter_map(|judged| {
        let words = judged.claim.afterwards.as_ref()?;
        Some(format!("- **{}** ({}): {}\n", judged.claim.id, judged.verdict.words(), clean(words)))
    });
    let text: String = known.collect();
    let heading = "\n## What explains it\n\nWritten after measuring; no verdict depends on it.\n\n";
    if text.is_empty() { text } else { format!("{heading}{text}") }
}

fn table(claims: &[&Judged]) -> String {
    let backends = Backend::EXECUTING.map(Backend::word).join(" | ");
    let rules = "|---".repeat(Backend::EXECUTING.len());
    let mut text = format!(
        "| claim | published | measured | originals | files | {backends} | why |\n\
         |---|---|---|---|---{rules}|---|\n",
    );
    for judged in claims {
        let claim = &judged.claim;
        let on = |backend| judged.on(backend).map_or("–", |tested| tested.verdict.words());
        let [originals, files] = verdicts(judged);
        let _ = writeln!(
            text,
            "| [{id}]({id}.toml): {} | {} | {} | {} | {} | {} | {} |",
            clean(&claim.about),
            clean(&published(&claim.published)),
            measured(judged),
            originals,
            files,
            Backend::EXECUTING.map(on).join(" | "),
            clean(&reasons(judged)),
            id = claim.id,
        );
    }
    text
}

/// The verdicts on originals and on our files; that of the claim is bold.
fn verdicts(judged: &Judged) -> [String; 2] {
    let by_originals = judged.speaks_for_originals();
    [(judged.originals(), by_originals), (judged.files(), !by_originals)].map(
        |(verdict, speaks)| match verdict.map(Reproduction::words) {
            None => "–".into(),
            Some(words) if speaks => format!("**{words}**"),
            Some(words) => words.into(),
        },
    )
}

/// Every number of the test that decides the claim.
fn measured(judged: &Judged) -> String {
    let Some(speaker) = judged.speaker() else { return "–".into() };
    let pairs = speaker.test.expect.iter().zip(&speaker.expect);
    let lines: Vec<String> =
        pairs.map(|(one, finding)| clean(&found_in(&speaker.test, one, finding))).collect();
    format!("{}: {}", clean(&speaker.test.name), lines.join("; "))
}

/// Requested tests that were not run, the reason, and the command. Tests that the user did not
/// request are not listed.
fn untested(replication: &Replication) -> String {
    let mut text = String::new();
    for judged in &replication.claims {
        let tests = judged.tests.iter().filter(|one| one.verdict == Reproduction::Untested);
        for tested in tests.filter(|one| !OTHERS_ASKED.contains(&absence(one).as_str())) {
            let Tested { test, command, .. } = tested;
            let why = absence(tested);
            let command = command.as_ref().map(|it| format!("; `{it}`")).unwrap_or_default();
            let _ =
                writeln!(text, "- {} ({}): {}{command}", judged.claim.id, test.name, clean(&why));
        }
    }
    if text.is_empty() { text } else { format!("\n## Not tested here\n\n{text}") }
}
