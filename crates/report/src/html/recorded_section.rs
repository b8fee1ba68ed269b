// SPDX-License-Identifier: GPL-2.0-only
//! Recorded loads: CPU times and wake-ups.

use recording::graph::{Edge, Graph, GroupUse};

use super::escape::text;
use crate::recorded::{RecordedWorkload, count, share, time};
use crate::units;

/// The most pairs of groups that a table has.
const EDGES_MAX: usize = 200;

/// The recordings that trials played; empty if they played none.
pub fn section(recorded: &[RecordedWorkload]) -> String {
    if recorded.is_empty() {
        return String::new();
    }
    let parts: String = recorded.iter().map(part).collect();
    format!(
        "<section id=\"recorded\"><h2>Recorded load</h2><p class=\"aside\">What the recording \
         shows before any scheduler plays it.</p>{parts}</section>\n"
    )
}

fn part(recorded: &RecordedWorkload) -> String {
    match &recorded.graph {
        Ok(graph) => whole(recorded, graph),
        Err(why) => format!(
            "<h3>{}</h3><p class=\"aside\">What it does is not known: {}.</p>\n",
            text(&recorded.cell),
            text(why)
        ),
    }
}

fn whole(recorded: &RecordedWorkload, graph: &Graph) -> String {
    format!(
        "<h3>{}</h3><p class=\"aside\">{}</p><p>{}</p>{}",
        text(&recorded.cell),
        text(&recorded.about),
        text(&origin(recorded)),
        tables(recorded, graph)
    )
}

fn links(number: usize) -> String {
    units::count(number as u64, "link")
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

fn tables(recorded: &RecordedWorkload, graph: &Graph) -> String {
    let groups: String = graph.groups.iter().map(|group| group_line(group, recorded)).collect();
    let edges: String = graph.edges.iter().take(EDGES_MAX).map(edge_line).collect();
    let rest = graph.edges.len().saturating_sub(EDGES_MAX);
    let rest = if rest > 0 {
        format!("<p class=\"aside small\">{} with fewer wake-ups are left out.</p>", links(rest))
    } else {
        String::new()
    };
    format!(
        "{}{}{rest}\n",
        table(
            "Groups",
            &["group", "tasks", "CPU time", "of all CPUs", "waits for tasks", "timers", "devices"],
            &groups
        ),
        table("Wake-ups", &["waker", "wakes", "times"], &edges)
    )
}

fn table(caption: &str, headings: &[&str], lines: &str) -> String {
    let heads: String = headings
        .iter()
        .map(|heading| {
            let class = if is_name(heading) { "" } else { " class=\"n\"" };
            format!("<th scope=\"col\"{class}>{heading}</th>")
        })
        .collect();
    format!(
        "<div class=\"scroll\"><table class=\"data result\"><caption>{caption}</caption><thead>\
         <tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )
}

fn is_name(heading: &str) -> bool {
    matches!(heading, "group" | "waker" | "wakes")
}

fn group_line(group: &GroupUse, recorded: &RecordedWorkload) -> String {
    let fields = [
        count(group.tasks.into()),
        time(group.cpu_ns),
        share(group.cpu_ns, &recorded.recorded),
        count(group.waits),
        count(group.timers),
        count(group.delays),
    ];
    let fields: String =
        fields.iter().map(|field| format!("<td class=\"n\">{}</td>", text(field))).collect();
    format!("<tr><th scope=\"row\">{}</th>{fields}</tr>", text(&group.name))
}

fn edge_line(edge: &Edge) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td></tr>",
        text(&edge.from),
        text(&edge.to),
        count(edge.wakes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Recorded;

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
        let page = section(&[recorded(Ok(graph(2)))]);
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
        let page = section(&[recorded(Ok(many))]);
        assert!(page.contains("1 link with fewer wake-ups are left out."), "{page}");
        let page = section(&[recorded(Err("the tapes <x> are elsewhere".into()))]);
        assert!(page.contains("is not known: the tapes &lt;x&gt; are elsewhere."), "{page}");
        assert_eq!(section(&[]), "");
    }
}
