// SPDX-License-Identifier: GPL-2.0-only
//! Results as JUnit XML, which services of continuous integration show as tests.
//!
//! There is no standard. These are the elements and attributes that Jenkins and GitLab read:
//! `testsuites`, `testsuite`, `testcase`, and in it `failure` or `skipped`.

use maud::html;
use stats::Verdict;
use stats::decide::gate::Gate;

use crate::terminal::gate_text;
use crate::units;

/// A test as such a service shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it is about: a contestant or a scheduler. Services group tests by it.
    pub class: String,
    /// Unique within its class.
    pub name: String,
    pub result: CaseResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseResult {
    Passed,
    /// Why, in lines.
    Failed(String),
    /// Nothing can be said, and why.
    Skipped(String),
}

/// The whole file: one suite of this name.
pub fn junit(suite: &str, cases: &[Case]) -> String {
    let failed = cases.iter().filter(|case| matches!(case.result, CaseResult::Failed(_))).count();
    let skipped = cases.iter().filter(|case| matches!(case.result, CaseResult::Skipped(_))).count();
    let markup = html! {
        testsuites { "\n"
            testsuite name=(suite) tests=(cases.len()) failures=(failed) errors="0"
                skipped=(skipped) { "\n"
                @for case in cases {
                    testcase classname=(case.class) name=(case.name) {
                        @match &case.result {
                            CaseResult::Passed => {}
                            CaseResult::Failed(why) => {
                                failure message=(first_line(why)) { (why) }
                            }
                            CaseResult::Skipped(why) => { skipped message=(first_line(why)) {} }
                        }
                    }
                    "\n"
                }
            }
            "\n"
        }
        "\n"
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", markup.into_string())
}

/// What a gate says: a test for each number, and for each contestant in a cell that cannot be
/// compared any more.
pub fn gate(gate: &Gate) -> Vec<Case> {
    let of_line = |line: &stats::decide::gate::Line| Case {
        class: line.contestant.clone(),
        name: format!("{}, {}", units::measure(&line.measure), line.cell),
        result: match line.change {
            Verdict::Worse => CaseResult::Failed(gate_text::line(line)),
            Verdict::NotMeasured | Verdict::TooFewTrials => {
                CaseResult::Skipped(gate_text::line(line))
            }
            _ => CaseResult::Passed,
        },
    };
    let broken = gate.broken.iter().map(|broken| Case {
        class: broken.contestant.clone(),
        name: format!("trials end well, {}", broken.cell),
        result: CaseResult::Failed(gate_text::broken(broken)),
    });
    let one_sided = gate.one_sided.iter().map(|place| Case {
        class: "cannot be compared".into(),
        name: place.clone(),
        result: CaseResult::Skipped(place.clone()),
    });
    broken.chain(gate.lines.iter().map(of_line)).chain(one_sided).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_can_read_it() {
        let case = |name: &str, result| Case { class: "mine".into(), name: name.into(), result };
        let cases = [
            case("messaging, seed 1", CaseResult::Passed),
            case("hogs <a & \"b\">", CaseResult::Failed("ejected: stalled\nat mine:4".into())),
            case("nice", CaseResult::Skipped("no perf".into())),
        ];
        let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites>
<testsuite name=\"quick\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">
<testcase classname=\"mine\" name=\"messaging, seed 1\"></testcase>
<testcase classname=\"mine\" name=\"hogs &lt;a &amp; &quot;b&quot;&gt;\">\
<failure message=\"ejected: stalled\">ejected: stalled
at mine:4</failure></testcase>
<testcase classname=\"mine\" name=\"nice\"><skipped message=\"no perf\"></skipped></testcase>
</testsuite>
</testsuites>
";
        assert_eq!(junit("quick", &cases), expected);
    }
}
