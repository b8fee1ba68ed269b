// SPDX-License-Identifier: GPL-2.0-only
//! Published findings and the tests that repeat them: a claim is one file of `claims/`.
//!
//! ```text
//! Claim ─ Published (numbers as printed)
//!       └ Test (one backend, one experiment) ─ Expectation (what is compared, and what counts)
//! ```

use serde::{Deserialize, Serialize};

use crate::Backend;

/// One published claim. Its rule is written down before anything is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The file's stem, `s3-latency`.
    #[serde(rename = "name")]
    pub id: String,
    /// The claim in one plain sentence.
    pub about: String,
    /// The publication as a heading; reports have the claims of each together, in its order.
    pub source: String,
    /// Author, title, year, place.
    pub citation: String,
    /// How it was measured: machine, kernel, tool with its command, repeats, metric.
    pub protocol: String,
    /// Numbers as they were printed; none if there is only a chart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// Explanations found after measuring: why a verdict is as it is, or why backends differ. They
    /// have no influence on a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub afterwards: Option<String>,
    /// The tests that repeat it, the most trusted one first.
    #[serde(default, rename = "test")]
    pub tests: Vec<Test>,
}

/// A number as it was printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What it is, in words.
    pub what: String,
    /// Fairground's name of the contestant, if the number belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The number.
    pub value: f64,
    /// Its unit, as printed.
    pub unit: String,
}

/// One test of a claim: an experiment on one backend, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Unique in the claim: `sim`, `vm`, `live_full`.
    pub name: String,
    /// The backend that executes the experiment.
    pub on: Backend,
    /// The published protocol in its full size; runs only on request.
    #[serde(default)]
    pub full: bool,
    /// The experiment's name or file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// The expected results; all must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// Evidence for the mechanism that the source gives; it never decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Expectation>,
    /// Why this backend cannot test it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_testable: Option<String>,
    /// The command that tests it elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// A comparison of two sides, and which results confirm the finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// `measure[.quantile] group`, as reports name it.
    pub measure: String,
    /// The contestant.
    pub of: String,
    /// The cell; in a file only if the experiment has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The machine; in a file only if the experiment has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The contestant to compare with, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The cell to compare with, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_cell: Option<String>,
    /// The machine to compare with, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_machine: Option<String>,
    /// In what form the two sides are compared.
    #[serde(default)]
    pub by: By,
    /// The expected direction.
    pub is: Is,
    /// What `more` and `less` start from, instead of 1 (`ratio`) or 0 (`difference`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than: Option<f64>,
    /// The range that counts as the published size, in the form of `by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Vec<f64>>,
    /// The sentence that the numbers support if the expectation holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

/// How two sides become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// How many times as much; no unit.
    #[default]
    Ratio,
    /// How much more, in the measure's unit.
    Difference,
    /// One side alone, in the measure's unit.
    Value,
}

/// What the number must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// Above the neutral value.
    #[default]
    More,
    /// Below the neutral value.
    Less,
    /// Within `size`.
    Equal,
}

/// Where the numbers of one side come from; `None` where the experiment has only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub measure: &'a str,
    pub contestant: &'a str,
    pub cell: Option<&'a str>,
    pub machine: Option<&'a str>,
}

impl Expectation {
    /// Our side.
    pub fn place(&self) -> Place<'_> {
        Place {
            measure: &self.measure,
            contestant: &self.of,
            cell: self.cell.as_deref(),
            machine: self.machine.as_deref(),
        }
    }

    /// The side that it is compared with: [`Expectation::place`] with the `over…` fields applied;
    /// `None` without any of them.
    pub fn other(&self) -> Option<Place<'_>> {
        let over = [&self.over, &self.over_cell, &self.over_machine];
        let ours = self.place();
        over.iter().any(|named| named.is_some()).then(|| Place {
            measure: ours.measure,
            contestant: self.over.as_deref().unwrap_or(ours.contestant),
            cell: self.over_cell.as_deref().or(ours.cell),
            machine: self.over_machine.as_deref().or(ours.machine),
        })
    }

    /// The neutral value; `None` where the file must give it.
    pub fn neutral(&self) -> Option<f64> {
        self.than.or(match self.by {
            By::Ratio => Some(1.0),
            By::Difference => Some(0.0),
            By::Value => None,
        })
    }

    /// Both ends of the size.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self.size.as_deref() {
            Some(&[low, high]) => Some((low, high)),
            _ => None,
        }
    }
}
