// SPDX-License-Identifier: GPL-2.0-only
//! Throughput against tail latency, a picture for each machine, with the Pareto front.

use maud::{Markup, html};
use model::Record;
use stats::Comparison;
use stats::view::trade_off::{Point, RatioSpread, TradeOff, trade_offs};

use super::figure::{Figure, Numbers, field, line, point, short, words};
use super::markup::{joined, name};

/// Of the drawing, and of its frame: left, top, right, bottom.
const SIZE: (f64, f64) = (400.0, 330.0);
const FRAME: [f64; 4] = [52.0, 26.0, 388.0, 290.0];

const TICKS_MAX: usize = 7;

/// The size of a letter of a label.
const LETTER: (f64, f64) = (6.0, 11.0);
/// Between the labels of a line.
const GAP: f64 = 5.0;

/// The section; empty where no machine has both kinds of measures.
pub fn body(comparison: &Comparison, records: &[Record]) -> Markup {
    let pictures = trade_offs(records, comparison);
    if pictures.is_empty() {
        return Markup::default();
    }
    html! {
        p class="aside" {
            "Ratios to " (name(&comparison.baseline)) ": to the right is more throughput, \
             downwards less tail latency. Each ratio is the geometric mean over the machine’s \
             headline measures of that kind, taken in each block; points are medians over \
             blocks, thin lines span all blocks. The line joins the Pareto front: contestants \
             that no other beats in both. All workloads have the same weight, so this is an \
             overview, not a ranking."
        }
        div class="figures" {
            @for picture in &pictures { (figure(picture, &comparison.baseline)) }
        }
    }
}

fn figure(picture: &TradeOff, baseline: &str) -> Markup {
    let title = format!("{} ({})", picture.machine, picture.backend.word());
    let scales = [RatioAxis::across(picture), RatioAxis::down(picture)];
    let places: Vec<(f64, f64)> =
        picture.points.iter().map(|point| place(point, &scales)).collect();
    let on_front = picture.points.iter().filter(|point| point.on_front);
    let names: Vec<&str> = on_front.map(|point| point.contestant.as_str()).collect();
    Figure {
        title: &title,
        label: &format!(
            "Throughput against tail latency on {title}. On the Pareto front: {}",
            names.join(", ")
        ),
        size: SIZE,
        marks: html! {
            (grid(&scales, baseline))
            (front(picture, &places))
            @for point in &picture.points { (spread(point, &scales)) }
            (points(picture, &places))
            (labels(picture, &places))
        },
        numbers: Numbers::Here(csv(picture)),
        caption: caption(picture),
    }
    .html()
}

/// An axis of ratios, logarithmic.
struct RatioAxis {
    low: f64,
    high: f64,
    ends: (f64, f64),
}

impl RatioAxis {
    fn across(picture: &TradeOff) -> RatioAxis {
        RatioAxis::new(picture, |point| point.throughput, (FRAME[0], FRAME[2]))
    }

    fn down(picture: &TradeOff) -> RatioAxis {
        RatioAxis::new(picture, |point| point.latency, (FRAME[3], FRAME[1]))
    }

    /// A range with all medians and some margin; spreads may leave the frame.
    fn new(picture: &TradeOff, spread: fn(&Point) -> RatioSpread, ends: (f64, f64)) -> RatioAxis {
        let ratios: Vec<f64> = picture.points.iter().map(|point| spread(point).ratio).collect();
        let low = ratios.iter().copied().fold(1.0, f64::min);
        let high = ratios.iter().copied().fold(1.0, f64::max);
        let air = (0.1 * (high / low).ln()).max(0.02).exp();
        RatioAxis { low: low / air, high: high * air, ends }
    }

    fn at(&self, ratio: f64) -> f64 {
        let part = (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.ends.0 + (self.ends.1 - self.ends.0) * part
    }

    /// Round ratios, not too many.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = |steps: &[f64]| -> Vec<f64> {
            let ticks = decades
                .clone()
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect()
        };
        const STEPS: [&[f64]; 4] = [
            &[1.0],
            &[1.0, 2.0, 5.0],
            &[0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0],
            &[0.9, 0.92, 0.94, 0.96, 0.98, 1.0, 1.02, 1.04, 1.06, 1.08, 1.1],
        ];
        let enough = |steps: &&[f64]| all(steps).len() >= 3;
        let ticks = all(STEPS.into_iter().find(enough).unwrap_or(STEPS[3]));
        // So few that their words do not touch; 1 stays among them.
        let step = ticks.len().div_ceil(TICKS_MAX);
        let unity = ticks.iter().position(|tick| (tick - 1.0).abs() < 1e-9).unwrap_or(0);
        ticks.into_iter().skip(unity % step).step_by(step).collect()
    }
}

/// `0.5 ×`, `20 ×`.
fn ratio_words(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 10.0 => format!("{ratio:.0}×"),
        ratio => {
            let digits = format!("{ratio:.3}");
            format!("{}×", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

fn place(point: &Point, [across, down]: &[RatioAxis; 2]) -> (f64, f64) {
    (across.at(point.throughput.ratio), down.at(point.latency.ratio))
}

fn grid([across, down]: &[RatioAxis; 2], baseline: &str) -> Markup {
    let [left, top, right, bottom] = FRAME;
    let class = |tick: f64| if (tick - 1.0).abs() < 1e-9 { "grid unity" } else { "grid" };
    let baseline = short(baseline, 14);
    let below = format!("throughput, {baseline} = 1; more is better →");
    let above = format!("↓ tail latency, {baseline} = 1; less is better");
    html! {
        @for tick in across.ticks() {
            @let x = across.at(tick);
            (line(class(tick), (x, top), (x, bottom)))
            (words("tick", (x, bottom + 15.0), "middle", &ratio_words(tick)))
        }
        @for tick in down.ticks() {
            @let y = down.at(tick);
            (line(class(tick), (left, y), (right, y)))
            (words("tick", (left - 5.0, y + 4.0), "end", &ratio_words(tick)))
        }
        (line("axis", (left, bottom), (right, bottom)))
        (line("axis", (left, top), (left, bottom)))
        (words("axis-title", (right, bottom + 32.0), "end", &below))
        (words("axis-title", (0.0, top - 12.0), "start", &above))
    }
}

/// Steps from one contestant of the front to the next.
fn front(picture: &TradeOff, places: &[(f64, f64)]) -> Markup {
    let on_front = picture.points.iter().zip(places).filter(|(point, _)| point.on_front);
    let mut places: Vec<(f64, f64)> = on_front.map(|(_, place)| *place).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    html! {
        @for pair in places.windows(2) {
            @let corner = (pair[1].0, pair[0].1);
            (line("front", pair[0], corner))
            (line("front", corner, pair[1]))
        }
    }
}

fn spread(point: &Point, scales: &[RatioAxis; 2]) -> Markup {
    let (x, y) = place(point, scales);
    let [across, down] = scales;
    let Point { throughput, latency, .. } = point;
    html! {
        (line("spread", (across.at(throughput.low), y), (across.at(throughput.high), y)))
        (line("spread", (x, down.at(latency.low)), (x, down.at(latency.high))))
    }
}

fn points(picture: &TradeOff, places: &[(f64, f64)]) -> Markup {
    let spread = |spread: RatioSpread| {
        format!("{:.3} [{:.3}, {:.3}]", spread.ratio, spread.low, spread.high)
    };
    let title = |point: &Point| {
        let (throughput, latency) = (spread(point.throughput), spread(point.latency));
        format!("{}: throughput {throughput}, tail latency {latency}", point.contestant)
    };
    html! {
        @for (contestant, &place) in picture.points.iter().zip(places) {
            @let class = if contestant.on_front { "dot" } else { "dot dominated" };
            (point(class, place, 4.5, &title(contestant)))
        }
    }
}

/// A box that text or a point covers: left, top, right, bottom.
type Covered = [f64; 4];

fn overlap(a: &Covered, b: &Covered) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// Names next to their points, each at the first free place; distant ones with a line to the point.
fn labels(picture: &TradeOff, places: &[(f64, f64)]) -> Markup {
    let dot = |&(x, y): &(f64, f64)| [x - 5.0, y - 5.0, x + 5.0, y + 5.0];
    let mut covered: Vec<Covered> = places.iter().map(dot).collect();
    let mut labels = Vec::new();
    for (point, &(x, y)) in picture.points.iter().zip(places) {
        let name = short(&point.contestant, 16);
        let width = LETTER.0 * name.chars().count() as f64;
        let candidates = candidates((x, y), width);
        let within = |place: &Covered| {
            place[0] >= FRAME[0] && place[2] <= SIZE.0 && place[1] >= 0.0 && place[3] <= FRAME[3]
        };
        let free =
            |place: &&Covered| within(place) && !covered.iter().any(|other| overlap(place, other));
        let place = *candidates.iter().find(free).unwrap_or(&candidates[0]);
        covered.push([place[0] - GAP, place[1], place[2] + GAP, place[3]]);
        let middle = (place[1] + place[3]) / 2.0;
        let near = if place[0] > x { place[0] } else { place[2].min(x) };
        if (middle - y).abs() > 1.5 * LETTER.1 || (near - x).abs() > 20.0 {
            labels.push(line("thread", (x, y), (near, middle)));
        }
        let class = if point.on_front { "contestant" } else { "contestant dominated" };
        labels.push(words(class, (place[0], place[3] - 2.0), "start", &name));
    }
    joined(labels, "")
}

/// Boxes for a label around a point, the nearest first.
fn candidates((x, y): (f64, f64), width: f64) -> Vec<Covered> {
    let height = LETTER.1;
    let sides = |distance: f64| {
        let down = [0.0, -1.0, 1.0].map(|step| step * distance);
        let beside = down.into_iter().flat_map(move |dy| {
            [x + 8.0 + distance.max(8.0) - 8.0, x - 8.0 - width].map(|left| (left, y + dy))
        });
        beside
            .chain([(x - width / 2.0, y - 12.0 - distance), (x - width / 2.0, y + 12.0 + distance)])
    };
    let rings = (0..14).map(|ring| 12.0 * f64::from(ring));
    let places = rings.flat_map(sides);
    let covered = |(left, middle): (f64, f64)| {
        [left, middle - height / 2.0, left + width, middle + height / 2.0]
    };
    places.map(covered).collect()
}

fn caption(picture: &TradeOff) -> Markup {
    html! {
        @if !picture.left_out.is_empty() {
            "Not shown, because numbers are missing: "
            (joined(picture.left_out.iter().map(|contestant| name(contestant)), ", ")) ". "
        }
        details {
            summary {
                (picture.throughput.len()) " measures of throughput, " (picture.latency.len())
                " of tail latency"
            }
            @for cells in [&picture.throughput, &picture.latency] {
                ul { @for cell in cells { li { (cell) } } }
            }
        }
    }
}

fn csv(picture: &TradeOff) -> String {
    let mut csv = String::from(
        "contestant,throughput_ratio,throughput_low,throughput_high,latency_ratio,latency_low,\
         latency_high,on_front\n",
    );
    for point in &picture.points {
        let (t, l) = (point.throughput, point.latency);
        let numbers = [t.ratio, t.low, t.high, l.ratio, l.low, l.high];
        let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:.5}")).collect();
        csv += &format!("{},{},{}\n", field(&point.contestant), numbers.join(","), point.on_front);
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(throughput: f64, latency: f64) -> Point {
        let spread = |ratio: f64| RatioSpread { ratio, low: ratio * 0.9, high: ratio * 1.1 };
        Point {
            contestant: "<long name>".into(),
            throughput: spread(throughput),
            latency: spread(latency),
            on_front: true,
        }
    }

    #[test]
    fn everything_is_inside_and_named_harmlessly() {
        let picture = TradeOff {
            machine: "m".into(),
            backend: model::Backend::Sim,
            throughput: Vec::new(),
            latency: Vec::new(),
            points: vec![at(1.0, 1.0), at(1.0, 1.0), at(1.001, 0.001), at(0.2, 300.0)],
            left_out: vec!["none".into()],
        };
        let html = figure(&picture, "base").into_string();
        assert_eq!(html.matches("<circle").count(), 4);
        assert!(!html.contains("<long") && !html.contains("NaN"), "{html}");
        for scale in [RatioAxis::across(&picture), RatioAxis::down(&picture)] {
            assert!((2..=TICKS_MAX).contains(&scale.ticks().len()), "{:?}", scale.ticks());
        }
    }

    #[test]
    fn labels_find_places_of_their_own() {
        let apart = candidates((100.0, 100.0), 30.0);
        assert!(!overlap(&apart[0], &[95.0, 95.0, 105.0, 105.0]));
        assert!(apart.len() > 50);
    }
}
