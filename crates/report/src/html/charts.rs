// SPDX-License-Identifier: GPL-2.0-only
//! The frames of the charts that the scripts draw, with what each shows.

use super::data::Detail;

/// A chart's name, its title, and the sentence below it; the scripts say more where it depends on
/// the chosen cell.
const FIGURES: [(&str, &str, &str); 7] = [
    (
        "runs",
        "Every run",
        "Each point is one run; the box spans the middle half of the runs, its line is the median. \
         Nothing is left out.",
    ),
    (
        "curve",
        "Latency by percentile",
        "The horizontal axis stretches the tail: each step to the right is ten times rarer. Lines \
         pool all runs and end where the samples do; bands span the lowest and the highest single \
         run.",
    ),
    (
        "histogram",
        "Distribution",
        "Samples of all runs, in bins of equal ratio; both axes are logarithmic, so that a single \
         late wake-up stays visible.",
    ),
    ("shift", "Shift by quantile", ""),
    (
        "ramp",
        "Under growing load",
        "Medians over runs; bands are their 95 % intervals. A diamond is a knee with its interval, \
         where a headline measure has one; below they are said in words.",
    ),
    (
        "switches",
        "Context switches",
        "Medians over runs of switches away from tasks that blocked (voluntary) and from tasks \
         that could have run on (involuntary).",
    ),
    (
        "share",
        "Who got the CPU",
        "Medians over runs of each task group's part of the machine's CPU time.",
    ),
];

/// The section; `knees` are said below the charts.
pub fn section(detail: &Detail, knees: &str) -> String {
    let figure = |(id, title, caption): &(&str, &str, &str)| {
        format!(
            "<figure id=\"figure-{id}\" hidden><h3>{title}</h3><div class=\"chart\" \
             id=\"chart-{id}\" role=\"img\" aria-label=\"{title}\"></div>\
             <figcaption>{caption}</figcaption></figure>\n"
        )
    };
    let figures: String = FIGURES.iter().map(figure).collect();
    format!(
        "<section id=\"pictures\"><h2>Pictures</h2><noscript><p>The charts need JavaScript; every \
         number in them is in the tables.</p></noscript><div class=\"controls\" id=\"controls\">\
         <label>Cell <select id=\"pick-cell\"></select></label>\
         <label>Measure <select id=\"pick-measure\"></select></label>\
         <div class=\"chips\" id=\"chips\" role=\"group\" aria-label=\"Shown \
         contestants\"></div></div>\
         <p id=\"measure-definition\" class=\"definition\"></p><p class=\"aside\">{}</p>\
         <div class=\"figures\">{figures}</div>{knees}</section>\n",
        detail.cut
    )
}
