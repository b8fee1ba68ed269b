// SPDX-License-Identifier: GPL-2.0-only
//! The table of the first screen: for each workload and machine the best contestants, their gain,
//! and the last one.

use maud::{Markup, html};

use super::markup::{anchor, heads, name, percent};
use crate::leaders::WorkloadLeaders;
use crate::reading::Reading;

/// The table; empty where no headline measure has a direction.
pub fn table(reading: &Reading) -> Markup {
    let (comparison, lines) = (reading.comparison, &reading.leaders);
    if lines.is_empty() || comparison.contestants.len() < 2 {
        return Markup::default();
    }
    let both = lines.iter().any(|line| line.simulated.is_some());
    let gain = format!("the first of them, against {}", comparison.baseline);
    let mut columns = vec![
        ("", "workload"),
        ("", "machine"),
        ("", "best, with all that are not distinguishable from it"),
        ("", gain.as_str()),
        ("", "last"),
    ];
    columns.extend(both.then_some(("", "simulator")));
    let loads = lines.chunk_by(|a, b| (&a.workload, &a.measure) == (&b.workload, &b.measure));
    html! {
        table class="best" {
            (heads(&columns))
            @for of_load in loads {
                tbody {
                    @for (at, line) in of_load.iter().enumerate() {
                        tr class=[(!line.group.tells()).then_some("alike")] {
                            @if at == 0 {
                                th scope="rowgroup" rowspan=(of_load.len()) {
                                    b { (line.workload) } " " small { (line.measure) }
                                }
                            }
                            (fields(line, both))
                        }
                    }
                }
            }
        }
        p class="aside small" {
            "A contestant is distinguishable from the best if its median differs by more than "
            (percent(stats::compare::verdict::MARGIN_PERCENT / 100.0))
            " and an exact rank test at " (percent(stats::rank::holm::ALPHA))
            ", corrected for all such comparisons (Holm), confirms it; of the baseline \
             the verdicts below decide. “Not distinguishable” means that \
             these trials show no difference; it does not mean equal. Brackets are "
            (percent(comparison.confidence)) " intervals."
        }
    }
}

fn fields(line: &WorkloadLeaders, both: bool) -> Markup {
    html! {
        th scope="row" { a href={ "#" (anchor(&line.cell)) } { (line.place) } }
        td class="leaders" title=(line.group.best.join(", ")) { (line.group.sentence()) }
        td class="gain" { (line.gain) }
        td class="last" {
            @if let Some((last, far)) = &line.last { (name(last)) " " (far) }
        }
        @if both {
            @match line.simulator() {
                None => { td {} }
                Some(words) if words.0.is_empty() => { td class="sim" { "agrees" } }
                Some(words) => { td class="sim" { (words) } }
            }
        }
    }
}
