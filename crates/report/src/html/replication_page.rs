// SPDX-License-Identifier: GPL-2.0-only
//! The page of a replication: the summary, a table of all claims, and a card for each.

use model::Backend;
use model::claim::{Expectation, Source};
use stats::decide::replication::{Finding, Reproduction};

use super::escape::text;
use super::expectation_plot;
use super::frame::{command, fact, head};
use crate::replication::{
    Judged, PublishedRow, Replication, Tested, VerdictCounts, columns, consequence, contrary,
    expected, found, kernels, measured_on, published, reasons, rows, sentence,
};

const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/tables.css"),
    include_str!("../../assets/replication.css"),
);

/// Copies commands, and hides claims by verdict; the page is complete without it.
const SCRIPT: &str =
    concat!(include_str!("../../assets/copy.js"), include_str!("../../assets/replication.js"));

const TITLE: &str = "Which published findings hold?";

/// The page.
pub fn page(replication: &Replication) -> String {
    let sections = [answer(replication), sources(replication), rule(), made(replication)];
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}</head>\n<body>\n\
         <a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n{}<main>\n{}</main>\n{}\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        head(TITLE, STYLE),
        header(replication),
        sections.concat(),
        footer(replication),
    )
}

fn header(replication: &Replication) -> String {
    let facts = fact(replication.claims.len(), "claim") + &fact(replication.trials, "trial");
    let link = |source: Source| format!("<a href=\"#{source}\">{source}</a>");
    let has =
        |source: &Source| replication.claims.iter().any(|judged| judged.claim.source == *source);
    let links: String = Source::ALL.into_iter().filter(has).map(link).collect();
    format!(
        "<header class=\"masthead\"><div class=\"inner\"><p class=\"kicker\">Fairground \
         replication</p><h1>{TITLE}</h1><p class=\"question\">What others have published about \
         Linux CPU schedulers, measured again.</p><p class=\"facts\">{facts}</p></div></header>\n\
         <nav class=\"contents\" aria-label=\"Contents\"><div class=\"inner\"><a \
         href=\"#answer\">Answer</a>{links}<a href=\"#rule\">Rule</a><a \
         href=\"#reproduce\">Reproduce</a></div></nav>\n"
    )
}

/// The summary, the number of claims of each verdict, and all claims by backend.
fn answer(replication: &Replication) -> String {
    let counts = VerdictCounts::new(replication);
    let chip = |verdict: &Reproduction| {
        let (words, count) = (verdict.words(), counts.with_verdict(*verdict));
        let class = class(*verdict);
        format!(
            "<button type=\"button\" class=\"chip {class}\" data-verdict=\"{class}\" \
             aria-pressed=\"true\"><b>{count}</b> {words}</button>"
        )
    };
    let known = Reproduction::ALL.iter().filter(|verdict| counts.with_verdict(**verdict) > 0);
    let chips: String = known.map(chip).collect();
    let rows: String = replication.claims.iter().map(row).collect();
    format!(
        "<section id=\"answer\"><h2>Answer</h2><p class=\"lead\">{}</p><div class=\"chips\" \
         role=\"group\" aria-label=\"Shown verdicts\">{chips}</div><div class=\"scroll\"><table \
         class=\"data overview\"><thead><tr><th scope=\"col\">claim</th><th \
         scope=\"col\">originals</th><th scope=\"col\">files</th><th scope=\"col\">sim</th><th \
         scope=\"col\">vm</th><th scope=\"col\">live</th><th scope=\"col\">why</th></tr></thead>\
         <tbody>{rows}</tbody></table></div></section>\n",
        text(&sentence(replication)),
    )
}

fn row(judged: &Judged) -> String {
    let cell = |on: &str, verdict: Option<Reproduction>, more: &str| match verdict {
        Some(verdict) => format!("<td data-on=\"{on}\">{}{more}</td>", badge(verdict)),
        None => "<td class=\"none\">–</td>".into(),
    };
    let on = |backend: Backend| {
        cell(backend.word(), judged.on(backend).map(|tested| tested.verdict), "")
    };
    format!(
        "<tr data-verdict=\"{}\"><th scope=\"row\"><a href=\"#claim-{id}\">{id}</a></th>{}{}{}<td \
         class=\"why\">{}</td></tr>",
        class(judged.verdict),
        cell("originals", judged.originals(), ""),
        cell("files", judged.files(), &disagreement(judged)),
        Backend::EXECUTING.map(on).concat(),
        text(&reasons(judged)),
        id = text(&judged.claim.id),
    )
}

fn disagreement(judged: &Judged) -> String {
    let who = [
        (judged.disagree, "backends disagree"),
        (!judged.contraries.is_empty(), "original and file disagree"),
    ];
    let badge = |words| format!(" <span class=\"badge disagree\">{words}</span>");
    who.into_iter().filter(|(disagree, _)| *disagree).map(|(_, words)| badge(words)).collect()
}

fn sources(replication: &Replication) -> String {
    let section = |source: Source| {
        let claims = replication.claims.iter().filter(|judged| judged.claim.source == source);
        let cards: String = claims.map(card).collect();
        let heading = format!("<h2><small>{source}</small> {}</h2>", text(source.title()));
        if cards.is_empty() {
            String::new()
        } else {
            format!("<section id=\"{source}\">{heading}{cards}</section>\n")
        }
    };
    Source::ALL.map(section).concat()
}

fn card(judged: &Judged) -> String {
    let claim = &judged.claim;
    let id = text(&claim.id);
    let tests: String = judged.tests.iter().map(test).collect();
    let contraries: String = judged
        .contraries
        .iter()
        .map(|one| format!("<p class=\"published\">{}</p>", text(&contrary(judged, *one))))
        .collect();
    let again = command(&format!("fairground replicate {}", claim.id));
    format!(
        "<article class=\"claim\" id=\"claim-{id}\" data-verdict=\"{}\"><header><h3>{id}</h3>{}{}\
         </header><p class=\"summary\">{}</p><p class=\"cite\">{}</p><p class=\"published\"><b>\
         Published</b> {}</p><details class=\"protocol\"><summary>How it was measured \
         there</summary><p>{}</p></details>{tests}{contraries}{}<details><summary>Ask it \
         again</summary>{again}</details></article>\n",
        class(judged.verdict),
        badge(judged.verdict),
        disagreement(judged),
        text(&claim.about),
        text(&claim.citation),
        text(&published(&claim.published)),
        text(&claim.protocol),
        claim.afterwards.as_deref().map(afterwards).unwrap_or_default(),
    )
}

fn afterwards(words: &str) -> String {
    format!(
        "<aside class=\"explanation\"><h4>What explains it <small>written after measuring; no \
         verdict depends on it</small></h4><p>{}</p></aside>",
        text(words)
    )
}

/// Measured numbers next to the published ones.
fn beside(tested: &Tested) -> String {
    let rows = rows(tested);
    if rows.is_empty() {
        return String::new();
    }
    let head: String = columns(tested)
        .iter()
        .map(|name| format!("<th scope=\"col\">{}</th>", text(name)))
        .collect();
    let body: String = rows.iter().map(beside_row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"data\"><thead><tr><th scope=\"col\">cell</th><th \
         scope=\"col\">measure</th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
}

fn beside_row(row: &PublishedRow) -> String {
    let numbers: String =
        row.numbers.iter().map(|number| format!("<td>{}</td>", text(number))).collect();
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td>{numbers}</tr>",
        text(&row.cell),
        text(&row.measure)
    )
}

fn test(tested: &Tested) -> String {
    let pairs = tested.test.expect.iter().zip(&tested.expect);
    let expectations: String =
        pairs.map(|(expected, finding)| expectation(expected, finding)).collect();
    let pairs = tested.test.because.iter().zip(&tested.because);
    let evidence: String = pairs.map(|(expected, finding)| because(expected, finding)).collect();
    let evidence = if evidence.is_empty() {
        evidence
    } else {
        format!("<h4>The published reason</h4><ul class=\"evidence\">{evidence}</ul>")
    };
    let why = tested.why.as_ref().map(|why| format!("<p>{}</p>", text(why)));
    let to_test =
        tested.command.as_ref().map(|shown| format!("<p>To test it:</p>{}", command(shown)));
    let looks: String = tested
        .looks
        .iter()
        .map(|(what, shown)| format!("<p>{what}:</p>{}", command(shown)))
        .collect();
    let looks = if looks.is_empty() {
        looks
    } else {
        format!("<details><summary>Look closer</summary>{looks}</details>")
    };
    let (name, on) = (text(&tested.test.name), tested.test.on.word());
    let place = if name == on { name } else { format!("{name} ({on})") };
    format!(
        "<section class=\"test\"><h4>{place} {} <small>{}</small></h4>{expectations}{}{}{}\
         {evidence}{looks}</section>",
        badge(tested.verdict),
        text(&source_of(tested)),
        beside(tested),
        why.unwrap_or_default(),
        to_test.unwrap_or_default(),
    )
}

/// The experiment, its trials and its kernels.
fn source_of(tested: &Tested) -> String {
    match (&tested.test.experiment, tested.trials) {
        (Some(experiment), trials) if trials > 0 => {
            format!("{experiment}, {trials} trials, {}", kernels(&tested.kernels))
        }
        _ => String::new(),
    }
}

fn expectation(demand: &Expectation, finding: &Finding) -> String {
    let against: String =
        finding.against.iter().map(|objection| format!("<li>{}</li>", text(objection))).collect();
    let against = if against.is_empty() {
        against
    } else {
        format!("<ul class=\"objections\">{against}</ul>")
    };
    format!(
        "<div class=\"expectation {}\"><p>{}<small>{}; expected: {}. In {}.</small></p>{}{against}\
         </div>",
        class(finding.verdict),
        text(&found(demand, finding)),
        text(&consequence(demand, finding)),
        text(&expected(demand)),
        text(&measured_on(demand)),
        expectation_plot::picture(demand, finding),
    )
}

fn because(demand: &Expectation, finding: &Finding) -> String {
    let word = match finding.verdict {
        Reproduction::Reproduced | Reproduction::DirectionOnly => "holds",
        Reproduction::Contradicted => "does not hold",
        _ => "not shown",
    };
    format!(
        "<li class=\"{}\">{}: <b>{word}</b> <small>{}</small></li>",
        class(finding.verdict),
        text(demand.says.as_deref().unwrap_or_default()),
        text(&found(demand, finding)),
    )
}

fn rule() -> String {
    "<section id=\"rule\"><h2>Rule</h2><ul class=\"plain\"><li>The number is the Hodges–Lehmann \
     shift of the independent trials (of their logarithms for a ratio), with its exact 95 % \
     rank-sum interval. Simulated trials differ by their seeds only.</li><li><b>Reproduced</b>: \
     the \
     interval lies on the published side, and the number lies in the range that the claim's file \
     gives; for “equal”, the interval lies in that range.</li><li><b>Direction only</b>: the \
     published side, outside that range.</li><li><b>Contradicted</b>: the interval lies on the \
     opposite side.</li><li><b>Not reproduced</b>: the trials do not decide.</li><li>A test has \
     the verdict of \
     its worst expectation, a claim that of its first test with data; tests of originals, the \
     patched kernels themselves, come before those of our files. The rules were written \
     before measuring.</li></ul><p class=\"aside\">In the pictures the band is the published \
     range, the vertical line is no difference, the bar \
     is the interval.</p></section>\n"
        .into()
}

fn made(replication: &Replication) -> String {
    let commands: String = replication.commands.iter().map(|shell| command(shell)).collect();
    format!(
        "<section id=\"reproduce\"><h2>Reproduce it</h2><p class=\"aside\">Kernels: {}.</p>\
         {commands}</section>\n",
        text(&kernels(&replication.kernels))
    )
}

fn footer(replication: &Replication) -> String {
    format!(
        "<footer><p>{}</p><p>Made with Fairground (GPL-2.0). This page fetches nothing and sends \
         nothing.</p></footer>\n",
        text(&replication.generated)
    )
}

fn badge(verdict: Reproduction) -> String {
    format!("<span class=\"badge {}\">{}</span>", class(verdict), verdict.words())
}

fn class(verdict: Reproduction) -> &'static str {
    match verdict {
        Reproduction::Reproduced => "r-yes",
        Reproduction::DirectionOnly => "r-direction",
        Reproduction::NotReproduced => "r-open",
        Reproduction::Untested => "r-untested",
        Reproduction::NoData => "r-none",
        Reproduction::Contradicted => "r-no",
    }
}
