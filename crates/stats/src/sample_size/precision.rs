// SPDX-License-Identifier: GPL-2.0-only
//! Declared precision: blocks are added until the intervals of the shifts are narrow enough.
//!
//! The rule looks only at the width of intervals, never at their position: stopping when a result
//! looks good would turn chance into a finding; stopping at a fixed width does not (Anscombe,
//! "Large-sample theory of sequential estimation", Proceedings of the Cambridge Philosophical
//! Society 48, 1952; with few trials it holds approximately, and `make validate-statistics` shows
//! how closely).

use crate::compare::comparison::Comparison;
use crate::compare::verdict::Verdict;
use crate::sample_size::power::BLOCKS_MAX;

/// A step enlarges a plan by at most half: widths shrink with the square root of the blocks, and
/// superfluous blocks are wasted.
const STEP: f64 = 1.5;

/// The decision from the widths of the intervals.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// All intervals are narrow enough; the widest is ± this many percent.
    Enough {
        /// Half of the widest interval, in percent.
        half_width: f64,
    },
    Blocks {
        /// Half of the widest interval, in percent.
        half_width: f64,
        /// Its measure.
        of: String,
        /// The plan's new number of blocks.
        blocks: u32,
    },
    /// The precision cannot be reached.
    Never { why: String },
}

impl Next {
    /// The sentence for the user, after this many blocks with ± `percent` wanted.
    pub fn words(&self, blocks: u32, percent: f64) -> String {
        match self {
            Next::Enough { half_width } => format!(
                "{blocks} blocks: every shift is known to ±{half_width:.2} % ({percent} % wanted)"
            ),
            Next::Blocks { half_width, of, blocks: more } => format!(
                "{blocks} blocks: {of} is known to ±{half_width:.2} % only; going on to {more}"
            ),
            Next::Never { why } => format!("{blocks} blocks, and no more: {why}"),
        }
    }
}

/// What to do after this many blocks.
pub fn next(comparison: &Comparison, blocks: u32, percent: f64) -> Next {
    let Some((half_width, of)) = widest(comparison) else {
        return Next::Never { why: "no shift has an interval in percent".into() };
    };
    if half_width <= percent {
        return Next::Enough { half_width };
    }
    if blocks as usize >= BLOCKS_MAX {
        let why = format!("{of} is known to ±{half_width:.2} % only, {percent} % was wanted");
        return Next::Never { why };
    }
    let ratio = (half_width / percent).powi(2).min(STEP);
    let more = (f64::from(blocks) * ratio).ceil() as u32;
    Next::Blocks { half_width, of, blocks: more.clamp(blocks + 1, BLOCKS_MAX as u32) }
}

/// Half of the widest interval of a shift, among headline measures that judge.
fn widest(comparison: &Comparison) -> Option<(f64, String)> {
    let mut widest: Option<(f64, String)> = None;
    for cell in &comparison.cells {
        for row in cell.headline().filter(|row| row.judges()) {
            for entry in row.entries.iter().filter(|entry| entry.verdict != Verdict::Baseline) {
                let interval = entry.shift.and_then(|shift| shift.percent_interval);
                let Some(interval) = interval else { continue };
                let half = interval.width() / 2.0;
                if widest.as_ref().is_none_or(|(most, _)| half > *most) {
                    let of = format!("{} of {} in {}", row.measure, entry.contestant, cell.name);
                    widest = Some((half, of));
                }
            }
        }
    }
    widest
}
