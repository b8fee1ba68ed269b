// SPDX-License-Identifier: GPL-2.0-only
//! An interval drawn against the published size: a band, a line where both sides are alike, a bar.

use maud::{Markup, html};
use model::claim::{By, Expectation};
use stats::decide::replication::Finding;

use super::figure::px;
use crate::replication::{amount, expected, found};

/// The picture's width and height, in its own units.
const SIZE: (f64, f64) = (320.0, 44.0);
/// Room on both sides.
const MARGIN: f64 = 14.0;
/// The largest distance of the far end of a size, as a multiple of the rest of the drawing.
const FARTHER: f64 = 3.0;
/// The middle of the bar.
const MIDDLE: f64 = 14.0;

/// The picture; empty where there is no number.
pub fn picture(expectation: &Expectation, finding: &Finding) -> Markup {
    let Some(estimate) = finding.estimate else { return Markup::default() };
    let Some(scale) = ExpectationScale::new(expectation, finding) else {
        return Markup::default();
    };
    let label = format!("{}; expected: {}", found(expectation, finding), expected(expectation));
    let band = expectation.ends().map(|(low, high)| (scale.at(low), scale.at(high)));
    let (low, high) = (scale.at(estimate.interval.low), scale.at(estimate.interval.high));
    html! {
        svg class="range" viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(label) {
            @if let Some((from, to)) = band {
                rect class="band" x=(px(from)) y="2" width=(px((to - from).max(2.0))) height="24" {}
            }
            @if let Some(x) = expectation.neutral().map(|neutral| px(scale.at(neutral))) {
                line class="alike" x1=(x) x2=(x) y1="0" y2="28" {}
            }
            line class="bar" x1=(px(low)) x2=(px(high)) y1=(MIDDLE) y2=(MIDDLE) {}
            circle cx=(px(scale.at(estimate.value))) cy=(MIDDLE) r="4.5" {}
            @for (x, value) in labelled(expectation, &scale) {
                text x=(px(x)) y="41" text-anchor=(anchor(x)) { (amount(expectation, value)) }
            }
        }
    }
}

/// The ends of the size and the neutral value with their places, unless they hide each other.
fn labelled(expectation: &Expectation, scale: &ExpectationScale) -> Vec<(f64, f64)> {
    let ends = expectation.ends().map(|(low, high)| [low, high]);
    let marks = expectation.neutral().into_iter().chain(ends.into_iter().flatten());
    let mut labelled: Vec<(f64, f64)> = Vec::new();
    for value in marks.filter(|value| scale.holds(*value)) {
        let x = scale.at(value);
        if labelled.iter().all(|(other, _)| (other - x).abs() > 58.0) {
            labelled.push((x, value));
        }
    }
    labelled
}

fn anchor(x: f64) -> &'static str {
    match x {
        x if x < 40.0 => "start",
        x if x > SIZE.0 - 40.0 => "end",
        _ => "middle",
    }
}

/// From a number to a place in the picture; ratios are drawn by their logarithms.
struct ExpectationScale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl ExpectationScale {
    /// The estimate, the neutral value and the near end of the size are drawn; the far end only if
    /// it is not much farther. `None` without finite values.
    fn new(expectation: &Expectation, finding: &Finding) -> Option<ExpectationScale> {
        let estimate = finding.estimate?;
        let logarithmic = expectation.by == By::Ratio;
        let ends = expectation.ends().map(|(low, high)| [low, high]);
        let measured = [estimate.value, estimate.interval.low, estimate.interval.high];
        let scaled = |value: f64| if logarithmic { value.ln() } else { value };
        let distance = |end: &f64| (scaled(*end) - scaled(estimate.value)).abs();
        let mut ends: Vec<f64> = ends.into_iter().flatten().collect();
        ends.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
        let near = ends.first().copied();
        let marks = measured.into_iter().chain(expectation.neutral()).chain(near);
        let marks: Vec<f64> = marks.map(scaled).filter(|mark| mark.is_finite()).collect();
        let low = marks.iter().copied().reduce(f64::min)?;
        let high = marks.iter().copied().reduce(f64::max)?;
        let room = FARTHER * (high - low);
        let far = ends.last().copied().map_or(low, scaled).clamp(low - room, high + room);
        Some(ExpectationScale { low: low.min(far), high: high.max(far), logarithmic })
    }

    fn holds(&self, value: f64) -> bool {
        let value = if self.logarithmic { value.ln() } else { value };
        (self.low..=self.high).contains(&value)
    }

    /// Values beyond the drawn range are at the picture's edge.
    fn at(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.ln() } else { value };
        let span = self.high - self.low;
        let part = if span > 0.0 { (value - self.low) / span } else { 0.5 };
        let place = MARGIN + part * (SIZE.0 - 2.0 * MARGIN);
        place.clamp(0.0, SIZE.0)
    }
}
