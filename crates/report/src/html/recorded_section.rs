// SPDX-License-Identifier: GPL-2.0-only
//! Recorded loads: CPU times and wake-ups.

use maud::{Markup, html};
use recording::graph::{Graph, GroupUse};

use super::markup::heads;
use crate::recorded::{RecordedWorkload, count, share, time};
use crate::units;

/// The most pairs of groups that a table has.
const EDGES_MAX: usize = 200;

/// The recordings that trials played; empty if they played none.
pub fn section(recorded: &[RecordedWorkload]) -> Markup {
    html! {
        @if !recorded.is_empty() {
            section id="recorded" {
                h2 { "Recorded load" }
                p class="aside" { "What the recording shows before any scheduler plays it." }
                @for workload in recorded {
                    h3 { (workload.cell) }
                    @match &workload.graph {
                        Ok(graph) => { (known(workload, graph)) }
                        Err(why) => {
                            p class="aside" { "What it does is not known: " (why) "." }
                        }
                    }
                }
            }
        }
    }
}

fn known(recorded: &RecordedWorkload, graph: &Graph) -> Markup {
    let left_out = graph.edges.len().saturating_sub(EDGES_MAX);
    html! {
        p class="aside" { (recorded.about) }
        p { (origin(recorded)) }
        (groups(recorded, graph))
        (wake_ups(graph))
        @if left_out > 0 {
            p class="aside small" {
                (units::count(left_out as u64, "link")) " with fewer wake-ups are left out."
            }
        }
    }
}

fn origin(recorded: &RecordedWorkload) -> String {
    let recorded = &recorded.recorded;
    let lost = match recorded.lost_events {
        0 => String::new(),
        events => format!("; {} were lost", units::count(events, "event")),
    };
    format!(
        "Recorded by {} on {} for {}{lost}.",
        recorded.source,
        units::count(recorded.cpus.into(), "CPU"),
        time(recorded.length_us.saturating_mul(1000))
    )
}

fn groups(recorded: &RecordedWorkload, graph: &Graph) -> Markup {
    html! {
        div class="scroll" {
            table class="data result" {
                caption { "Groups" }
                (heads(&[
                    ("", "group"),
                    ("n", "tasks"),
                    ("n", "CPU time"),
                    ("n", "of all CPUs"),
                    ("n", "waits for tasks"),
                    ("n", "timers"),
                    ("n", "devices"),
                ]))
                tbody { @for group in &graph.groups { (group_row(group, recorded)) } }
            }
        }
    }
}

fn group_row(group: &GroupUse, recorded: &RecordedWorkload) -> Markup {
    let fields = [
        count(group.tasks.into()),
        time(group.cpu_ns),
        share(group.cpu_ns, &recorded.recorded),
        count(group.waits),
        count(group.timers),
        count(group.delays),
    ];
    html! {
        tr {
            th scope="row" { (group.name) }
            @for field in fields { td class="n" { (field) } }
        }
    }
}

fn wake_ups(graph: &Graph) -> Markup {
    html! {
        div class="scroll" {
            table class="data result" {
                caption { "Wake-ups" }
                (heads(&[("", "waker"), ("", "wakes"), ("n", "times")]))
                tbody {
                    @for edge in graph.edges.iter().take(EDGES_MAX) {
                        tr {
                            th scope="row" { (edge.from) }
                            td { (edge.to) }
                            td class="n" { (count(edge.wakes)) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Recorded;
    use recording::graph::Edge;

    fn recorded(graph: Result<Graph, String>) -> RecordedWorkload {
        let recorded =
            Recorded { source: "a test".into(), cpus: 2, length_us: 1000, ..Recorded::default() };
        RecordedWorkload { cell: "<mine>".into(), about: "About & more.".into(), recorded, graph }
    }

    fn graph(groups: usize) -> Graph {
        let group = |number: usize| GroupUse {
            name: format!("g{number}"),
            tasks: 3,
            cpu_ns: 500_000,
            timers: 4,
            ..GroupUse::default()
        };
        let edge = Edge { from: "g0".into(), to: "g1".into(), wakes: 1234 };
        Graph { groups: (0..groups).map(group).collect(), edges: vec![edge] }
    }

    #[test]
    fn tables_say_what_groups_do_and_who_wakes_whom() {
        let page = section(&[recorded(Ok(graph(2)))]).into_string();
        assert!(page.contains("<h3>&lt;mine&gt;</h3>"), "{page}");
        let numbers = ["3", "500 µs", "25.0 %", "0", "4", "0"];
        let row = numbers.map(|number| format!("<td class=\"n\">{number}</td>")).concat();
        assert!(page.contains(&format!("<th scope=\"row\">g1</th>{row}</tr>")), "{page}");
        let edge = "<td>g1</td><td class=\"n\">1,234</td>";
        assert!(page.contains(edge), "{page}");
        assert!(page.contains("<p class=\"aside\">About &amp; more.</p>"));
        assert!(page.contains("<p>Recorded by a test on 2 CPUs for 1.00 ms.</p>"), "{page}");
        assert!(!page.contains("left out") && !page.contains("not known"), "{page}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut many = graph(2);
        many.edges = vec![many.edges[0].clone(); EDGES_MAX + 1];
        let page = section(&[recorded(Ok(many))]).into_string();
        assert!(page.contains("1 link with fewer wake-ups are left out."), "{page}");
        let page = section(&[recorded(Err("the tapes <x> are elsewhere".into()))]).into_string();
        assert!(page.contains("is not known: the tapes &lt;x&gt; are elsewhere."), "{page}");
        assert_eq!(section(&[]).0, "");
    }
}
