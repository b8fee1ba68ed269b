// SPDX-License-Identifier: GPL-2.0-only
//! A wake-up graph as rows and links: small groups become one, rare links are left out, and rows
//! stand where links are short.

use std::collections::BTreeMap;

use recording::graph::Graph;

/// The most groups that have a row of their own.
pub const GROUPS_MAX: usize = 30;
/// The most links that are drawn.
pub const LINKS_MAX: usize = 60;

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Timers that wake tasks.
    Timers,
    /// Devices that do.
    Devices,
    /// A group.
    Group,
    /// The number of groups that share the box.
    Others(usize),
}

/// A box of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub kind: Kind,
    pub name: String,
    pub tasks: u32,
    pub cpu_ns: u64,
    /// What it computes on the critical path.
    pub path_ns: u64,
    /// Whether the critical path goes through it.
    pub on_path: bool,
}

/// Wake-ups from a row to another one or to itself, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub from: usize,
    pub to: usize,
    pub wakes: u64,
    /// Those on the critical path.
    pub path_wakes: u64,
}

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// From the top; timers and devices first.
    pub rows: Vec<Row>,
    /// The most wake-ups first.
    pub links: Vec<Link>,
    /// Links that are too rare to be drawn.
    pub hidden: usize,
}

impl Layout {
    /// The layout of a graph.
    pub fn of(graph: &Graph) -> Layout {
        let mut builder = Builder::new(graph);
        builder.sources(graph);
        builder.wake_ups(graph);
        let Builder { rows, links, .. } = builder;
        let mut links: Vec<Link> = links
            .into_iter()
            .map(|((from, to), (wakes, path_wakes))| Link { from, to, wakes, path_wakes })
            .collect();
        // Nothing of the critical path is left out.
        links.sort_by_key(|link| std::cmp::Reverse((link.path_wakes > 0, link.wakes)));
        let hidden = links.len().saturating_sub(LINKS_MAX);
        links.truncate(LINKS_MAX);
        Layout { rows, links, hidden }.ordered()
    }

    /// How many groups share a row.
    pub fn merged(&self) -> usize {
        let many = self.rows.iter().map(|row| match row.kind {
            Kind::Others(many) => many,
            _ => 0,
        });
        many.sum()
    }

    /// The same with groups where links are short; timers and devices stay at the top.
    fn ordered(self) -> Layout {
        let fixed = self.rows.iter().filter(|row| row.kind < Kind::Group).count();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        let mut least = cost(&self.links, &order);
        while let Some((better, its)) = improved(&self.links, &order, fixed, least) {
            (order, least) = (better, its);
        }
        let place = places(&order);
        let rows = order.iter().map(|&row| self.rows[row].clone()).collect();
        let moved = |link: &Link| Link { from: place[link.from], to: place[link.to], ..*link };
        Layout { rows, links: self.links.iter().map(moved).collect(), hidden: self.hidden }
    }
}

/// The place of each row in an order.
fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    for (place, &row) in order.iter().enumerate() {
        places[row] = place;
    }
    places
}

/// How long all links are together; frequent ones count more.
fn cost(links: &[Link], order: &[usize]) -> u64 {
    let place = places(order);
    let moved = links.iter().map(|link| (place[link.from].abs_diff(place[link.to]), link.wakes));
    moved.map(|(span, wakes)| span as u64 * u64::from(wakes.max(1).ilog2() + 1)).sum()
}

/// The best order that moves one row, if it is better than `least`.
fn improved(
    links: &[Link],
    order: &[usize],
    fixed: usize,
    least: u64,
) -> Option<(Vec<usize>, u64)> {
    let places = fixed..order.len();
    let moves = places.clone().flat_map(|from| places.clone().map(move |to| (from, to)));
    let tried = moves.map(|(from, to)| {
        let mut other = order.to_vec();
        let row = other.remove(from);
        other.insert(to, row);
        let its = cost(links, &other);
        (other, its)
    });
    tried.min_by_key(|(_, its)| *its).filter(|(_, its)| *its < least)
}

struct Builder<'a> {
    rows: Vec<Row>,
    /// The row of each group's name.
    row_of: BTreeMap<&'a str, usize>,
    /// Wake-ups, and those on the critical path.
    links: BTreeMap<(usize, usize), (u64, u64)>,
}

impl<'a> Builder<'a> {
    /// Rows for the groups, those that compute most first; the last row may be many groups'.
    fn new(graph: &'a Graph) -> Builder<'a> {
        let mut ranked: Vec<_> = graph.groups.iter().collect();
        ranked.sort_by_key(|group| std::cmp::Reverse(group.cpu_ns));
        let own = if ranked.len() > GROUPS_MAX { GROUPS_MAX - 1 } else { ranked.len() };
        let (mut rows, mut row_of) = (Vec::new(), BTreeMap::new());
        for (rank, group) in ranked.iter().enumerate() {
            if rank <= own {
                let kind = if rank < own { Kind::Group } else { Kind::Others(ranked.len() - own) };
                rows.push(Row::new(kind, if rank < own { &group.name } else { "others" }));
            }
            let row = rank.min(own);
            row_of.insert(group.name.as_str(), row);
            rows[row].tasks += group.tasks;
            rows[row].cpu_ns = rows[row].cpu_ns.saturating_add(group.cpu_ns);
        }
        for (group, ns) in &graph.path.cpu_ns {
            if let Some(&row) = row_of.get(group.as_str()) {
                rows[row].path_ns = rows[row].path_ns.saturating_add(*ns);
                rows[row].on_path = true;
            }
        }
        Builder { rows, row_of, links: BTreeMap::new() }
    }

    /// Rows for timers and devices, where they wake any group, above the others.
    fn sources(&mut self, graph: &Graph) {
        let has_timers = graph.groups.iter().any(|group| group.timers > 0);
        let has_devices = graph.groups.iter().any(|group| group.delays > 0);
        let kinds = [(has_timers, Kind::Timers, "timers"), (has_devices, Kind::Devices, "devices")];
        let above: Vec<Row> = kinds
            .into_iter()
            .filter(|(is_there, ..)| *is_there)
            .map(|(_, kind, name)| Row::new(kind, name))
            .collect();
        self.row_of.values_mut().for_each(|row| *row += above.len());
        self.rows.splice(0..0, above);
        let (timers, devices) = (0, usize::from(has_timers));
        for group in &graph.groups {
            let row = self.row_of[group.name.as_str()];
            self.add((timers, row), group.timers, 0);
            self.add((devices, row), group.delays, 0);
        }
    }

    fn wake_ups(&mut self, graph: &Graph) {
        for edge in &graph.edges {
            self.add_edge((&edge.from, &edge.to), edge.wakes, 0);
        }
        for edge in &graph.path.edges {
            self.add_edge((&edge.from, &edge.to), 0, edge.wakes);
            for name in [&edge.from, &edge.to] {
                if let Some(&row) = self.row_of.get(name.as_str()) {
                    self.rows[row].on_path = true;
                }
            }
        }
    }

    fn add_edge(&mut self, (from, to): (&str, &str), wakes: u64, path_wakes: u64) {
        if let (Some(&from), Some(&to)) = (self.row_of.get(from), self.row_of.get(to)) {
            self.add((from, to), wakes, path_wakes);
        }
    }

    fn add(&mut self, ends: (usize, usize), wakes: u64, path_wakes: u64) {
        if wakes > 0 || path_wakes > 0 {
            let sums = self.links.entry(ends).or_default();
            *sums = (sums.0.saturating_add(wakes), sums.1.saturating_add(path_wakes));
        }
    }
}

impl Row {
    fn new(kind: Kind, name: &str) -> Row {
        let (tasks, cpu_ns, path_ns) = (0, 0, 0);
        Row { kind, name: name.to_owned(), tasks, cpu_ns, path_ns, on_path: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::graph::{Edge, GroupUse};

    fn graph(groups: usize) -> Graph {
        let group = |number: usize| GroupUse {
            name: format!("g{number}"),
            tasks: 1,
            cpu_ns: 1000 - number as u64,
            ..GroupUse::default()
        };
        Graph { groups: (0..groups).map(group).collect(), ..Graph::default() }
    }

    fn edge(from: usize, to: usize, wakes: u64) -> Edge {
        Edge { from: format!("g{from}"), to: format!("g{to}"), wakes }
    }

    fn names(layout: &Layout) -> Vec<&str> {
        layout.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn the_smallest_groups_share_a_row_and_nothing_is_lost() {
        let mut graph = graph(33);
        graph.edges = vec![edge(31, 32, 5), edge(0, 32, 7), edge(30, 0, 1)];
        let layout = Layout::of(&graph);
        assert_eq!((layout.rows.len(), layout.merged()), (GROUPS_MAX, 4));
        assert_eq!(layout.rows.iter().map(|row| row.tasks).sum::<u32>(), 33);
        let others = layout.rows.iter().position(|row| row.kind == Kind::Others(4)).unwrap();
        let within = layout.links.iter().find(|it| (it.from, it.to) == (others, others));
        assert_eq!(within.map(|link| link.wakes), Some(5));
        assert_eq!(layout.links.iter().map(|link| link.wakes).sum::<u64>(), 13);
        assert_eq!(Layout::of(&self::graph(30)).merged(), 0, "30 fit");
    }

    #[test]
    fn rare_links_are_left_out_but_not_those_of_the_path() {
        let mut graph = graph(12);
        let pairs = (0..12).flat_map(|from| (0..12).map(move |to| (from, to)));
        graph.edges = pairs.map(|(from, to)| edge(from, to, 2)).collect();
        graph.edges[100].wakes = 1;
        graph.path.edges = vec![Edge { wakes: 1, ..graph.edges[100].clone() }];
        let layout = Layout::of(&graph);
        assert_eq!((layout.links.len(), layout.hidden), (LINKS_MAX, 144 - LINKS_MAX));
        assert_eq!((layout.links[0].wakes, layout.links[0].path_wakes), (1, 1));
        assert_eq!(layout.rows.iter().filter(|row| row.on_path).count(), 2);
    }

    #[test]
    fn rows_stand_where_links_are_short_below_timers_and_devices() {
        let mut graph = graph(4);
        graph.groups[2].timers = 9;
        graph.groups[1].delays = 3;
        graph.edges = vec![edge(0, 3, 100), edge(3, 0, 100), edge(3, 1, 50)];
        let layout = Layout::of(&graph);
        assert_eq!(names(&layout)[..2], ["timers", "devices"]);
        let at = |name| names(&layout).iter().position(|it| *it == name).unwrap();
        assert_eq!(at("g0").abs_diff(at("g3")), 1);
        assert_eq!(at("g3").abs_diff(at("g1")), 1);
        let timer = layout.links.iter().find(|link| link.from == 0).unwrap();
        assert_eq!((timer.to, timer.wakes), (at("g2"), 9));
        assert_eq!(Layout::of(&Graph::default()), Layout::default());
    }
}
