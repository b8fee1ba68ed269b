// SPDX-License-Identifier: GPL-2.0-only
//! The table of the first screen: for each workload and machine the best contestants, their gain,
//! and the last one.

use super::escape::{anchor, text};
use super::markup::sentence;
use crate::leaders::WorkloadLeaders;
use crate::reading::Reading;

/// The table; empty where no headline measure has a direction.
pub fn table(reading: &Reading) -> String {
    let (comparison, lines) = (reading.comparison, &reading.leaders);
    if lines.is_empty() || comparison.contestants.len() < 2 {
        return String::new();
    }
    let both = lines.iter().any(|line| line.simulated.is_some());
    let mut body = String::new();
    for of_load in lines.chunk_by(|a, b| (&a.workload, &a.measure) == (&b.workload, &b.measure)) {
        let first = format!(
            "<th scope=\"rowgroup\" rowspan=\"{}\"><b>{}</b> <small>{}</small></th>",
            of_load.len(),
            text(&of_load[0].workload),
            text(&of_load[0].measure)
        );
        let rows = of_load.iter().enumerate();
        let rows: String =
            rows.map(|(at, it)| row(it, if at == 0 { &first } else { "" }, both)).collect();
        body += &format!("<tbody>{rows}</tbody>");
    }
    let simulator = if both { "<th scope=\"col\">simulator</th>" } else { "" };
    format!(
        "<table class=\"best\"><thead><tr><th scope=\"col\">workload</th><th \
         scope=\"col\">machine</th><th scope=\"col\">best, with all that are not distinguishable \
         from it</th><th scope=\"col\">the first of them, against {}</th><th \
         scope=\"col\">last</th>\
         {simulator}</tr></thead>{body}</table><p class=\"aside small\">A contestant is \
         distinguishable from the best if its median differs by {:.0} % or more and an \
         exact rank test at {:.0} %, corrected for all such comparisons (Holm), confirms it. “Not \
         distinguishable” means that these trials show no difference; it does not mean equal. \
         Brackets are {:.0} % \
         intervals.</p>",
        text(&comparison.baseline),
        100.0 * stats::compare::margin::NOTICEABLE,
        100.0 * stats::rank::holm::ALPHA,
        100.0 * comparison.confidence
    )
}

fn row(line: &WorkloadLeaders, first: &str, both: bool) -> String {
    let last = match &line.last {
        None => String::new(),
        Some((name, far)) => format!("<b class=\"name\">{}</b> {}", text(name), text(far)),
    };
    let simulator = match line.simulator() {
        _ if !both => String::new(),
        None => "<td></td>".into(),
        Some(words) if words.0.is_empty() => "<td class=\"sim\">agrees</td>".into(),
        Some(words) => format!("<td class=\"sim\">{}</td>", sentence(&words)),
    };
    let class = if line.group.tells() { "" } else { " class=\"alike\"" };
    format!(
        "<tr{class}>{first}<th scope=\"row\"><a href=\"#{}\">{}</a></th><td class=\"leaders\" \
         title=\"{}\">{}</td><td class=\"gain\">{}</td><td class=\"last\">{last}</td>{simulator}\
         </tr>",
        anchor(&line.cell),
        text(&line.place),
        text(&line.group.best.join(", ")),
        sentence(&line.group.words()),
        text(&line.gain)
    )
}
