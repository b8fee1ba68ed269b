// SPDX-License-Identifier: GPL-2.0-only
//! The first screen: the answer in sentences, the best contestants under each workload, then every
//! headline measure against the baseline at once.

use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use super::escape::{anchor, text};
use super::markup::{class, sentence};
use crate::answer::{answer, standings};
use crate::headlines::WorkloadHeadline;
use crate::reading::Reading;
use crate::{agreement, cells, units};

/// A larger table of all headline measures is folded.
const FIELDS_OPEN: usize = 120;

pub fn section(reading: &Reading, agreement: Option<&Agreement>) -> String {
    let comparison = reading.comparison;
    let sentences = answer(reading);
    let mut sentences = sentences.iter().map(sentence);
    let first = sentences.next().unwrap_or_default();
    let rest: String = sentences.map(|it| format!("<li>{it}</li>")).collect();
    let rest = if rest.is_empty() { rest } else { format!("<ul class=\"plain\">{rest}</ul>") };
    let agreed = agreement.map_or_else(Vec::new, |it| agreement::in_short(comparison, it));
    let agreed: Vec<String> = agreed.iter().map(sentence).collect();
    let agreed = if agreed.is_empty() {
        String::new()
    } else {
        format!("<p>{} <a href=\"#agreement\">More</a></p>", agreed.join(" "))
    };
    let warnings: String =
        comparison.notes.iter().map(|note| format!("<li>{}</li>", text(note))).collect();
    let warnings = if warnings.is_empty() {
        warnings
    } else {
        format!("<ul class=\"notes\" aria-label=\"Read this first\">{warnings}</ul>")
    };
    format!(
        "<section id=\"answer\"><h2>The answer</h2><p class=\"lead\">{first}</p>{}{agreed}\
         {}{warnings}{}</section>\n",
        rest,
        super::leaders_table::table(reading),
        matrix(reading)
    )
}

/// Headline measures as rows, contestants as columns, shifts against the baseline in the fields.
fn matrix(reading: &Reading) -> String {
    let comparison = reading.comparison;
    let mut headlines = reading.headlines.clone();
    headlines.iter_mut().for_each(|headline| headline.rows.retain(|(_, row)| row.is_measured()));
    headlines.retain(|headline| !headline.rows.is_empty());
    if headlines.is_empty() || comparison.contestants.len() < 2 {
        return String::new();
    }
    let fields = headlines.iter().map(|headline| headline.rows.len()).sum::<usize>();
    let open = if fields * comparison.contestants.len() > FIELDS_OPEN { "" } else { " open" };
    let rows: String = headlines.iter().map(|headline| workload_rows(reading, headline)).collect();
    let others = comparison.contestants.iter().skip(1);
    let heads: String =
        others.map(|name| format!("<th scope=\"col\"><span>{}</span></th>", text(name))).collect();
    let wide = if super::frame::is_wide(comparison) { " wide" } else { "" };
    let columns = comparison.contestants.len();
    format!(
        "<details class=\"all{wide}\"{open}><summary>Every headline measure against {}</summary>\
         <figure class=\"matrix\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"All \
         headline measures\"><table class=\"columns\" style=\"--columns: {columns}\"><thead>\
         <tr><th scope=\"col\">measure</th><th \
         scope=\"col\" \
         class=\"base\"><span>{}</span></th>{heads}</tr></thead>{rows}<tfoot>{}</tfoot>\
         </table></div>\
         <figcaption>The column of the baseline holds its medians; the others hold the shift \
         against <b class=\"name\">{}</b>, in percent of that median. A negative shift is a \
         smaller value; whether that is better is said \
         in the table of the cell. The interval is in the tooltip and in the tables below. \
         {LEGEND}</figcaption></figure></details>",
        text(&comparison.baseline),
        text(&comparison.baseline),
        tally(comparison),
        text(&comparison.baseline),
    )
}

const LEGEND: &str = "<span class=\"key v-better\">better</span> <span class=\"key \
v-worse\">worse</span> \
     <span class=\"key v-more\">differs; neither direction is better</span> <span class=\"key \
     v-none\">≈ equivalent: 95 % interval within 1 %</span> <span class=\"key v-none\">~ not \
     distinguishable: the trials do not show a difference</span> <span \
     class=\"key v-none\">= exactly equal</span> <span class=\"key v-none\">· too few \
     trials</span>. \
     A claim (better, worse, differs) needs a 95 % interval that \
     excludes zero and a p value below 5 %, corrected for all contestants and settings.";

/// The rows of one workload: a heading and one row per setting, or a single row.
fn workload_rows(reading: &Reading, headline: &WorkloadHeadline) -> String {
    let comparison = reading.comparison;
    let mut title = format!(
        "<b>{}</b> {}",
        text(headline.workload),
        text(&units::measure(&headline.rows[0].1.measure))
    );
    if reading.has_several_places {
        title += &format!(" <small>{}</small>", text(&headline.place));
    }
    let both = reading.has_several_backends;
    if let [(cell, row)] = headline.rows.as_slice()
        && !both
    {
        title = title.replacen("</b>", &format!(" {}</b>", text(&setting(cell))), 1);
        let row = matrix_row(comparison, cell, row, &title, "single");
        return format!("<tbody>{row}</tbody>");
    }
    let columns = comparison.contestants.len() + 1;
    let row = |(cell, row): &(&Cell, &Row)| {
        let backend = if both { cell.backend.word() } else { "" };
        let title = format!("{} <small>{backend}</small>", text(&setting(cell)));
        matrix_row(comparison, cell, row, &title, "setting")
    };
    let rows: String = headline.rows.iter().map(row).collect();
    format!(
        "<tbody><tr class=\"cell\"><th colspan=\"{columns}\" \
         scope=\"rowgroup\">{title}</th></tr>{rows}\
         </tbody>"
    )
}

/// `hogs=24`; empty without parameters.
fn setting(cell: &Cell) -> String {
    let parameters = cell.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    parameters.collect::<Vec<_>>().join(" ")
}

fn matrix_row(comparison: &Comparison, cell: &Cell, row: &Row, title: &str, class: &str) -> String {
    let fields: String = row
        .entries
        .iter()
        .map(|entry| {
            if cells::is_elsewhere(comparison, cell, &entry.contestant) {
                format!("<td class=\"v-none\"><small>{}</small></td>", cells::not_here(cell))
            } else {
                field(cell, row, entry)
            }
        })
        .collect();
    let anchor = anchor(&cell.label());
    format!(
        "<tr class=\"{class}\"><th scope=\"row\"><a href=\"#{anchor}\">{title}</a></th>{fields}\
         </tr>"
    )
}

fn field(cell: &Cell, row: &Row, entry: &Entry) -> String {
    let median = entry.median.map(|median| units::number(median, row.unit));
    let (shift, interval) = entry.shift.map(|it| units::shift(&it, row.unit)).unzip();
    let words = match entry.verdict {
        Verdict::Baseline => median.clone().unwrap_or_else(|| "–".into()),
        Verdict::NotMeasured => "–".into(),
        Verdict::TooFewTrials => "·".into(),
        Verdict::Equal => "=".into(),
        Verdict::Equivalent => "≈".into(),
        Verdict::NotDistinguishable => "~".into(),
        _ => shift.clone().unwrap_or_default(),
    };
    let details = [
        Some(format!("{}: {}", entry.contestant, entry.verdict.words())),
        median,
        shift,
        interval,
        bad_outcomes(cell, entry),
    ];
    let details = details.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mark = if bad_outcomes(cell, entry).is_some() { "<sup>!</sup>" } else { "" };
    let class = class(entry.verdict);
    format!("<td class=\"{class}\" title=\"{}\">{}{mark}</td>", text(&details), text(&words))
}

/// How many of the entry's trials did not end well.
fn bad_outcomes(cell: &Cell, entry: &Entry) -> Option<String> {
    let ours = cell.outcomes.iter().filter(|count| count.contestant == entry.contestant);
    let bad: usize = ours.filter(|count| count.outcome != "ok").map(|count| count.trials).sum();
    (bad > 0).then(|| format!("{} did not end well", units::count(bad as u64, "trial")))
}

fn tally(comparison: &Comparison) -> String {
    let field = |standing: crate::answer::Standing| {
        format!(
            "<td title=\"better, worse\"><span class=\"t-better\">{}</span> / <span \
             class=\"t-worse\">{}\
             </span></td>",
            standing.better, standing.worse
        )
    };
    let fields: String = standings(comparison).into_iter().map(field).collect();
    format!("<tr><th scope=\"row\">better / worse</th><td></td>{fields}</tr>")
}
