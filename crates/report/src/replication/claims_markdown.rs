// SPDX-License-Identifier: GPL-2.0-only
//! Claims as Markdown, for a document in the folder of their files.

use std::fmt::Write;

use stats::decide::replication::Reproduction;

use super::phrases::{absence, found, kernels, published};
use super::{Judged, Replication, Tested, sentence};
use crate::markdown::clean;
use crate::table::{Align, Field, Table};

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
    let _ = writeln!(text, "```sh\n{}\n```", replication.command);
    for claims in replication.claims.chunk_by(|one, next| one.claim.source == next.claim.source) {
        let _ = write!(text, "\n## {}\n\n{}", clean(&claims[0].claim.source), table(claims));
    }
    text + &afterwards(replication) + &untested(replication)
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

fn table(claims: &[Judged]) -> String {
    let headings = ["claim", "published", "measured", "verdict"];
    let mut table = Table::new(&headings.map(|heading| (heading, Align::Left)));
    for judged in claims {
        let Judged { claim, verdict, .. } = judged;
        table.add([
            Field::markdown(format!("[{id}]({id}.toml): {}", clean(&claim.about), id = claim.id)),
            published(&claim.published).into(),
            measured(judged).into(),
            verdict.words().to_owned().into(),
        ]);
    }
    table.markdown()
}

/// The number that decides the claim: of its first test with data.
fn measured(judged: &Judged) -> String {
    let Some(speaker) = judged.tests.iter().find(|tested| tested.verdict.has_data()) else {
        return "–".into();
    };
    let mut pairs = speaker.test.expect.iter().zip(&speaker.expect);
    let decides = pairs.find(|(_, finding)| finding.verdict == speaker.verdict);
    let found = decides.map(|(demand, finding)| found(&speaker.test, demand, finding));
    format!("{}: {}", speaker.test.name, found.unwrap_or_default())
}

/// Requested tests that were not run, the reason, and the command. Tests that the user did not
/// request are not listed.
fn untested(replication: &Replication) -> String {
    let mut text = String::new();
    for judged in &replication.claims {
        let is_listed =
            |tested: &&Tested| tested.verdict == Reproduction::Untested && !tested.is_unwanted;
        for tested in judged.tests.iter().filter(is_listed) {
            let command = tested.command.iter().map(|command| format!("; `{command}`"));
            let (id, name, why) = (&judged.claim.id, &tested.test.name, clean(&absence(tested)));
            let _ = writeln!(text, "- {id} ({name}): {why}{}", command.collect::<String>());
        }
    }
    if text.is_empty() { text } else { format!("\n## Not tested here\n\n{text}") }
}
