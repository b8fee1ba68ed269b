// SPDX-License-Identifier: GPL-2.0-only
//! The wake-up graph as a picture: a box for each group, filled by its CPU time, and arcs from
//! wakers to the woken. Arcs that go down are on the right of the boxes, those that go up on the
//! left, so that no two arcs have their numbers at the same place.

use super::figure::{short, words};
use super::wakeup_layout::{Kind, Layout, Link, Row};
use crate::recorded::{count, time};

const ROW: f64 = 30.0;
const BOX: f64 = 22.0;
const WIDTH: f64 = 300.0;
const MARGIN: f64 = 12.0;
/// How far from a box's middle arcs leave it and arrive.
const PORT: f64 = 5.0;
/// Room for an arc's number beyond its outermost point.
const NUMBER: f64 = 46.0;
const HEAD: f64 = 7.0;
const NAME_MAX: usize = 24;

/// The picture's size and its elements.
pub struct Drawn {
    pub size: (f64, f64),
    pub marks: String,
}

/// Where the boxes are.
struct Place {
    left: f64,
    rows: usize,
}

/// Draws a layout.
pub fn draw(layout: &Layout) -> Drawn {
    let reach = |down: bool| {
        let spans = layout.links.iter().filter(|link| is_right(link) == down).map(bulge);
        spans.fold(0.0, f64::max)
    };
    let (left, right) = (reach(false), reach(true));
    let side = |reach: f64| if reach > 0.0 { reach + NUMBER } else { MARGIN };
    let place = Place { left: side(left), rows: layout.rows.len() };
    let most_ns = layout.rows.iter().map(|row| row.cpu_ns).max().unwrap_or(0);
    // What matters most is drawn last, over the others; numbers stand over all arcs.
    let links = || layout.links.iter().rev();
    let arcs: String = links().map(|link| arc(link, layout, &place)).collect();
    let numbers: String = links().map(|link| number(link, layout, &place)).collect();
    let rows = layout.rows.iter().enumerate();
    let boxes: String = rows.map(|(at, row)| group(row, at, most_ns, &place)).collect();
    let size = (place.left + WIDTH + side(right), place.height());
    Drawn { size, marks: arcs + &numbers + &boxes }
}

impl Place {
    fn height(&self) -> f64 {
        2.0 * MARGIN + self.rows as f64 * ROW
    }

    /// The middle of a row.
    fn y(&self, row: usize) -> f64 {
        MARGIN + (row as f64 + 0.5) * ROW
    }
}

/// Whether an arc is on the right: it goes down, or back to its own box.
fn is_right(link: &Link) -> bool {
    link.from <= link.to
}

/// How far from the boxes an arc reaches; less than in proportion, so that long ones fit.
fn bulge(link: &Link) -> f64 {
    24.0 + 20.0 * (link.from.abs_diff(link.to) as f64).powf(0.85)
}

/// Frequent wake-ups are thick lines.
fn thickness(wakes: u64) -> f64 {
    1.0 + 0.55 * f64::from(wakes.max(1).ilog10())
}

fn class(link: &Link, layout: &Layout) -> &'static str {
    match (layout.rows[link.from].kind, link.path_wakes) {
        (_, 1..) => "wake critical",
        (Kind::Timers | Kind::Devices, _) => "wake outside",
        _ => "wake",
    }
}

/// Which way an arc goes from the boxes, and the edge that it is at.
fn side(link: &Link, place: &Place) -> (f64, f64) {
    if is_right(link) { (1.0, place.left + WIDTH) } else { (-1.0, place.left) }
}

fn arc(link: &Link, layout: &Layout, place: &Place) -> String {
    let (outwards, edge) = side(link, place);
    // Below the middle when it goes down, so that arcs of one box do not begin where others end.
    let (from, to) = (place.y(link.from) + outwards * PORT, place.y(link.to) - outwards * PORT);
    // A cubic curve reaches three quarters of the way to its handles.
    let handle = edge + outwards * bulge(link) * 4.0 / 3.0;
    let tip = edge + outwards * HEAD;
    format!(
        "<g class=\"{}\"><title>{}</title><path d=\"M{edge:.1} {from:.1}C{handle:.1} {from:.1} \
         {handle:.1} {to:.1} {tip:.1} {to:.1}\" stroke-width=\"{:.2}\"/><path class=\"head\" \
         d=\"M{edge:.1} {to:.1}L{tip:.1} {:.1}V{:.1}Z\"/></g>",
        class(link, layout),
        super::escape::text(&title(link, layout)),
        thickness(link.wakes),
        to - HEAD / 2.0,
        to + HEAD / 2.0,
    )
}

/// The number of wake-ups, beyond the outermost point of its arc.
fn number(link: &Link, layout: &Layout, place: &Place) -> String {
    let (outwards, edge) = side(link, place);
    let middle = (place.y(link.from) + place.y(link.to)) / 2.0;
    let at = (edge + outwards * (bulge(link) + 3.0), middle + 3.5);
    let anchor = if is_right(link) { "start" } else { "end" };
    let words = words("tick", at, anchor, &count(link.wakes));
    format!("<g class=\"{}\">{words}</g>", class(link, layout))
}

fn title(link: &Link, layout: &Layout) -> String {
    let (from, to) = (&layout.rows[link.from].name, &layout.rows[link.to].name);
    let path = match link.path_wakes {
        0 => String::new(),
        wakes => format!("; {} of them on the critical path", count(wakes)),
    };
    format!("{from} → {to}: {} wake-ups{path}", count(link.wakes))
}

fn group(row: &Row, at: usize, most_ns: u64, place: &Place) -> String {
    let (x, y) = (place.left, place.y(at) - BOX / 2.0);
    let filled = WIDTH * row.cpu_ns as f64 / most_ns.max(1) as f64;
    let class = match row.kind {
        Kind::Timers | Kind::Devices => "source",
        _ if row.on_path => "group critical",
        _ => "group",
    };
    let name = match row.kind {
        Kind::Others(many) => format!("{} ({many} groups)", row.name),
        _ => row.name.clone(),
    };
    let (used, base) = (used(row), place.y(at) + 4.0);
    let fill = format!(
        "<rect class=\"used\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{filled:.1}\" height=\"{BOX}\" \
         rx=\"3\"/>"
    );
    format!(
        "<g class=\"{class}\"><title>{}</title><rect class=\"back\" x=\"{x:.1}\" y=\"{y:.1}\" \
         width=\"{WIDTH}\" height=\"{BOX}\" rx=\"3\"/>{}<rect class=\"rim\" x=\"{x:.1}\" \
         y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{BOX}\" rx=\"3\"/>{}{}</g>",
        super::escape::text(&described(row, &name)),
        if row.cpu_ns > 0 { fill } else { String::new() },
        words("label", (x + 8.0, base), "start", &short(&name, NAME_MAX)),
        words("tick", (x + WIDTH - 8.0, base), "end", &used),
    )
}

/// What a box says on its right.
fn used(row: &Row) -> String {
    match (row.kind, row.tasks) {
        (Kind::Timers | Kind::Devices, _) => String::new(),
        (_, 1) => time(row.cpu_ns),
        (_, tasks) => format!("{tasks} tasks · {}", time(row.cpu_ns)),
    }
}

fn described(row: &Row, name: &str) -> String {
    let path = match (row.on_path, row.path_ns) {
        (false, _) => String::new(),
        (true, ns) => format!("; {} on the critical path", time(ns)),
    };
    match row.kind {
        Kind::Timers | Kind::Devices => format!("{name} wake tasks"),
        _ => format!("{name}: {} CPU time{path}", time(row.cpu_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, cpu_ns: u64, on_path: bool) -> Row {
        let (kind, path_ns) = (Kind::Group, cpu_ns / 2);
        Row { kind, name: name.into(), tasks: 1, cpu_ns, path_ns, on_path }
    }

    fn link(from: usize, to: usize, wakes: u64, path_wakes: u64) -> Link {
        Link { from, to, wakes, path_wakes }
    }

    #[test]
    fn boxes_are_filled_by_cpu_time_and_the_critical_path_is_marked() {
        let rows = vec![row("<game>", 4_000_000, true), row("audio", 1_000_000, false)];
        let links = vec![link(0, 1, 1500, 1), link(1, 0, 7, 0), link(1, 1, 3, 0)];
        let Drawn { size, marks } = draw(&Layout { rows, links, hidden: 0 });
        assert!(marks.contains("width=\"300.0\"") && marks.contains("width=\"75.0\""), "{marks}");
        assert_eq!(marks.matches("class=\"group critical\"").count(), 1);
        assert_eq!(marks.matches("class=\"wake critical\"").count(), 2, "an arc and its number");
        assert_eq!(marks.matches("class=\"head\"").count(), 3, "each arc has an end");
        let title = "&lt;game&gt; → audio: 1,500 wake-ups; 1 of them on the critical path";
        assert!(marks.contains(title), "{marks}");
        assert!(size.0 > WIDTH && size.1 > 2.0 * ROW, "{size:?}");
    }

    #[test]
    fn no_two_numbers_are_at_one_place() {
        let rows: Vec<Row> = (0..30).map(|_| row("g", 1, false)).collect();
        let pairs = (0..30).flat_map(|from| (0..30).map(move |to| link(from, to, 1, 0)));
        let marks = draw(&Layout { rows, links: pairs.collect(), hidden: 0 }).marks;
        let numbers = marks.split("<text class=\"tick\" ").skip(1);
        let places: Vec<&str> = numbers.filter_map(|it| it.split(" text-anchor").next()).collect();
        let mut once = places.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!((places.len(), once.len()), (930, 930));
    }
}
