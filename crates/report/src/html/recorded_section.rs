// SPDX-License-Identifier: GPL-2.0-only
//! Recorded loads: CPU times, wake-ups and the critical path, as pictures and as tables.

use recording::graph::{Edge, Graph, GroupUse};

use super::escape::text;
use super::figure::{Figure, Numbers, field};
use super::wakeup_layout::Layout;
use super::wakeup_picture::{Drawn, draw};
use crate::recorded::{RecordedWorkload, count, path, share, time};
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
            "<h3>{}</h3><p class=\"aside\">Its wake-up graph is not drawn: {}.</p>\n",
            text(&recorded.cell),
            text(why)
        ),
    }
}

fn whole(recorded: &RecordedWorkload, graph: &Graph) -> String {
    let layout = Layout::of(graph);
    let Drawn { size, marks } = draw(&layout);
    let (numbers, caption) = (csv(graph), caption(&layout));
    let figure = Figure {
        title: &recorded.cell,
        label: &format!(
            "Wake-up graph of {}: {} and {}; the tables below have the same numbers",
            recorded.cell,
            units::count(graph.groups.len() as u64, "group"),
            units::count(graph.edges.len() as u64, "link"),
        ),
        size,
        marks: &marks,
        numbers: Numbers::Here(&numbers),
        caption: &caption,
    };
    format!(
        "<div style=\"--width: {:.0}px\">{}</div><p class=\"aside\">{}</p><p>{} {}</p>{}",
        size.0,
        figure.html(),
        text(&recorded.about),
        text(&origin(recorded)),
        text(&path(graph)),
        tables(recorded, graph)
    )
}

/// How to read the picture, and what is not in it.
fn caption(layout: &Layout) -> String {
    let mut sentences = vec![
        "A box is a group of like tasks, filled by its CPU time. An arc goes from a waker to the \
         woken, downwards on the right and upwards on the left, with the number of wake-ups; \
         dotted ones come from timers and devices. The critical path has the accent’s colour."
            .to_owned(),
    ];
    if layout.merged() > 0 {
        sentences.push(format!(
            "The {} groups that compute least are one box, “others”.",
            layout.merged()
        ));
    }
    if layout.hidden > 0 {
        sentences.push(format!("{} with fewer wake-ups are not drawn.", links(layout.hidden)));
    }
    text(&sentences.join(" "))
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

fn csv(graph: &Graph) -> String {
    let line =
        |(from, to, wakes): (&str, &str, u64)| format!("{},{},{wakes}\n", field(from), field(to));
    let timers = graph.groups.iter().map(|group| ("timers", group.name.as_str(), group.timers));
    let devices = graph.groups.iter().map(|group| ("devices", group.name.as_str(), group.delays));
    let outside = timers.chain(devices).filter(|(.., wakes)| *wakes > 0);
    let edges = graph.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.wakes));
    format!("waker,woken,wake_ups\n{}", outside.chain(edges).map(line).collect::<String>())
}

/// The same without a picture.
fn tables(recorded: &RecordedWorkload, graph: &Graph) -> String {
    let groups: String =
        graph.groups.iter().map(|group| group_line(group, recorded, graph)).collect();
    let edges: String = graph.edges.iter().take(EDGES_MAX).map(edge_line).collect();
    let rest = graph.edges.len().saturating_sub(EDGES_MAX);
    let rest = if rest > 0 {
        format!("<p class=\"aside small\">{} with fewer wake-ups are left out.</p>", links(rest))
    } else {
        String::new()
    };
    format!(
        "<details class=\"more\"><summary>The same as tables</summary>{}{}{rest}</details>\n",
        table(
            "Groups",
            &[
                "group",
                "tasks",
                "CPU time",
                "of all CPUs",
                "on the critical path",
                "waits for tasks",
                "timers",
                "devices"
            ],
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

fn group_line(group: &GroupUse, recorded: &RecordedWorkload, graph: &Graph) -> String {
    let on_path = graph.path.cpu_ns.iter().find(|(name, _)| *name == group.name);
    let fields = [
        count(group.tasks.into()),
        time(group.cpu_ns),
        share(group.cpu_ns, &recorded.recorded),
        on_path.map_or_else(|| "–".into(), |(_, ns)| time(*ns)),
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
    use recording::graph::Path;

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
        let path = Path { cpu_ns: vec![("g1".into(), 7000)], ..Path::default() };
        Graph { groups: (0..groups).map(group).collect(), edges: vec![edge], path }
    }

    #[test]
    fn a_picture_has_a_description_its_numbers_and_the_same_as_tables() {
        let page = section(&[recorded(Ok(graph(2)))]);
        assert_eq!(page.matches("<svg").count(), 1);
        assert!(page.contains("aria-label=\"Wake-up graph of &lt;mine&gt;: 2 groups and 1 link;"));
        let numbers = ["3", "500 µs", "25.0 %", "7.00 µs", "0", "4", "0"];
        let row = numbers.map(|number| format!("<td class=\"n\">{number}</td>")).concat();
        assert!(page.contains(&format!("<th scope=\"row\">g1</th>{row}</tr>")), "{page}");
        assert!(page.contains("<td>g1</td><td class=\"n\">1,234</td>"), "{page}");
        assert!(page.contains("timers,g0,4\ntimers,g1,4\ng0,g1,1234\n"), "{page}");
        assert!(page.contains("<p class=\"aside\">About &amp; more.</p>"));
        assert!(page.contains("<p>Recorded by a test on 2 CPUs for 1.00 ms. With a CPU"), "{page}");
        assert!(!page.contains("others") && !page.contains("not drawn"), "{page}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let page = section(&[recorded(Ok(graph(40)))]);
        assert!(page.contains("The 11 groups that compute least are one box, “others”."), "{page}");
        let page = section(&[recorded(Err("the tapes <x> are elsewhere".into()))]);
        assert!(page.contains("is not drawn: the tapes &lt;x&gt; are elsewhere."), "{page}");
        assert!(!page.contains("<svg"));
        assert_eq!(section(&[]), "");
    }
}
