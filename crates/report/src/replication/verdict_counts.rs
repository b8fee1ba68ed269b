// SPDX-License-Identifier: GPL-2.0-only
//! The number of claims with each verdict, as one sentence.

use stats::decide::replication::Reproduction;

use super::judged::Replication;
use crate::units;

/// The number of claims with each verdict, in the order of [`Reproduction::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts([usize; Reproduction::ALL.len()]);

impl VerdictCounts {
    pub fn new(replication: &Replication) -> VerdictCounts {
        let count_of =
            |verdict| replication.claims.iter().filter(|one| one.verdict == verdict).count();
        VerdictCounts(Reproduction::ALL.map(count_of))
    }

    /// The number of claims with this verdict.
    pub fn with_verdict(&self, verdict: Reproduction) -> usize {
        let at = Reproduction::ALL.iter().position(|one| *one == verdict);
        at.map_or(0, |at| self.0[at])
    }

    pub fn all(&self) -> usize {
        self.0.iter().sum()
    }
}

/// `17 of 31 claims reproduced, 6 in direction only, 2 contradicted, 6 cannot be tested here.`
pub fn sentence(replication: &Replication) -> String {
    let counts = VerdictCounts::new(replication);
    let words = [
        (Reproduction::DirectionOnly, "in direction only"),
        (Reproduction::NotReproduced, "not reproduced"),
        (Reproduction::Contradicted, "contradicted"),
        (Reproduction::NoData, "without data"),
        (Reproduction::Untested, "not tested here"),
    ];
    let parts = words.iter().map(|(verdict, words)| (counts.with_verdict(*verdict), words));
    let parts =
        parts.filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
    let (all, reproduced) = (counts.all(), counts.with_verdict(Reproduction::Reproduced));
    let noun = units::plural(all as u64, "claim");
    let first = format!("{reproduced} of {all} {noun} reproduced");
    let text = std::iter::once(first).chain(parts).collect::<Vec<_>>().join(", ");
    let disagree = replication.claims.iter().filter(|judged| judged.disagree).count();
    let backends = match disagree {
        0 => String::new(),
        several => format!(" Backends disagree about {several}."),
    };
    format!("{text}.{backends}")
}
