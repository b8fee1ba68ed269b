// SPDX-License-Identifier: GPL-2.0-only
//! From findings to the verdict of a test, and from tests to that of a claim.

use model::Backend;

use super::{Finding, Reproduction};

/// The result of a test: the worst of its expectations.
pub fn of_test(findings: &[Finding]) -> Reproduction {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Reproduction::Untested)
}

/// A claim has the verdict of its first test with data; without any it is "no data" if a test was
/// measured, else "not tested".
pub fn of_claim(tests: &[Reproduction]) -> Reproduction {
    let with_data = tests.iter().copied().find(|verdict| verdict.has_data());
    with_data.or(tests.iter().copied().max()).unwrap_or(Reproduction::Untested)
}

/// Whether two backends that ran the same experiment disagree: one finds the published direction,
/// the other its opposite. Different experiments are not compared, because a smaller form may have
/// another result.
pub fn disagree(tests: &[(Backend, Option<&str>, Reproduction)]) -> bool {
    let found = |verdict: Reproduction| {
        matches!(verdict, Reproduction::Reproduced | Reproduction::DirectionOnly)
    };
    tests.iter().any(|&(one, question, verdict)| {
        found(verdict)
            && tests.iter().any(|&(other, asked, opposite)| {
                one != other && question == asked && opposite == Reproduction::Contradicted
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reproduction::*;

    #[test]
    fn the_first_test_with_data_speaks_for_the_claim() {
        assert_eq!(of_claim(&[Untested, NoData, DirectionOnly, Contradicted]), DirectionOnly);
        assert_eq!(of_claim(&[Untested, NoData]), NoData);
        assert_eq!(of_claim(&[Untested]), Untested);
        assert_eq!(of_claim(&[]), Untested);
    }

    #[test]
    fn backends_disagree_about_the_sign_only() {
        let (sim, vm) = (Backend::Sim, Backend::Vm);
        let small = |on, verdict| (on, Some("small"), verdict);
        assert!(disagree(&[small(sim, Contradicted), small(vm, DirectionOnly)]));
        assert!(!disagree(&[small(sim, NotReproduced), small(vm, Reproduced)]));
        assert!(!disagree(&[small(sim, Contradicted), small(sim, Reproduced)]), "one backend");
        let large = (sim, Some("large"), Contradicted);
        assert!(!disagree(&[large, small(vm, Reproduced)]), "two experiments");
    }
}
