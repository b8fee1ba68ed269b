// SPDX-License-Identifier: GPL-2.0-only
//! Advice as text: the answer in the first line, then why, the numbers, and how to switch.

use std::collections::BTreeMap;

use expect_test::expect;
use model::metric::{Direction, Unit};
use model::{Backend, ModelError};
use report::advice_markdown::{AdviceCell, tables};
use report::html::{self, About, page};
use report::terminal::recommendation_text::{RecommendationContext, recommendation};
use stats::compare::evidence::Evidence;
use stats::decide::recommend::{Advice, Candidate, Effect, Judged, Reason, Silence, Standing};
use stats::decide::recommend::{Against, Confirmation, Distance, Lost, MeasureDistances};
use stats::{Aim, Interval, Options, PValue, Recommendation, Shift, Watched, compare};

fn watched(cell: &str, measure: &str, words: &str, least: f64) -> Watched {
    let measure = measure.parse().expect("a measure");
    let (cell, words) = (cell.into(), words.into());
    Watched { cell, measure, words, percent: 5.0, least, model_error: None }
}

fn aim() -> Aim {
    let late = "how late a program gets the CPU";
    Aim {
        name: "desktop".into(),
        decides: watched("hogs", "wakeup_latency_ns.p99 waker", late, 500_000.0),
        keeps: vec![
            watched("build jobs=4", "completion_ns all", "how long a build takes", 0.0),
            watched("hogs", "jain_index hog", "how evenly hogs are served", 0.0),
        ],
    }
}

/// A gain of this many percent of `now`, ± a tenth of it.
fn judged(finding: Effect, unit: Unit, now: f64, percent: f64) -> Judged {
    let direction = if unit == Unit::Nanoseconds { Direction::Lower } else { Direction::Higher };
    let sign = if direction == Direction::Lower { -1.0 } else { 1.0 };
    let about = |value: f64| {
        let ends = [value * 0.9, value * 1.1 + 0.1];
        Interval { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) }
    };
    let value = now * percent / 100.0;
    let (interval, percent_interval) = (Some(about(value)), Some(about(percent)));
    let gain = Shift {
        value,
        interval,
        percent: Some(percent),
        percent_interval,
        matched_pairs: None,
        least_pair: None,
    };
    let evidence = Evidence { by_ranks: 0.0001, by_pairs: None };
    let p = Some(PValue { raw: 0.0001, adjusted: 0.0004, comparisons: 4, units: 12, evidence });
    let median = Some(now + sign * value);
    Judged {
        finding,
        unit,
        direction,
        median,
        now: Some(now),
        gain: Some(gain),
        p,
        trials: 12,
        missing: None,
    }
}

fn candidate(name: &str, standing: Standing, findings: [(Effect, f64); 3]) -> Candidate {
    let [decides, build, even] = findings;
    let without_p = |judged: Judged| Judged { p: None, ..judged };
    Candidate {
        name: name.into(),
        standing,
        decides: vec![judged(decides.0, Unit::Nanoseconds, 8e6, decides.1)],
        keeps: vec![vec![
            without_p(judged(build.0, Unit::Nanoseconds, 2e9, build.1)),
            without_p(judged(even.0, Unit::Ratio, 0.9, even.1)),
        ]],
        failures: Vec::new(),
    }
}

fn advised(advice: Advice, candidates: Vec<Candidate>) -> Recommendation {
    let (now, aims, failures) = ("eevdf".into(), vec![aim()], vec![("hung: why".into(), 1)]);
    Recommendation { now, advice, aims, candidates, comparisons: 4, failures }
}

fn told(advice: Advice, candidates: Vec<Candidate>) -> String {
    let lines = vec!["  sudo load bfs".into(), "Ctrl-C goes back.".into()];
    let setting = RecommendationContext {
        notes: Vec::new(),
        measured: vec!["12 rounds on this kernel.".into(), "That is all.".into()],
        switch: BTreeMap::from([("bfs".into(), lines)]),
        commands: vec![("The full report".into(), "fairground report recommend".into())],
    };
    recommendation(&advised(advice, candidates), &setting)
}

fn bfs() -> Candidate {
    let findings = [(Effect::Better, 87.0), (Effect::Open, -3.0), (Effect::Alike, 0.1)];
    candidate("bfs", Standing::Good, findings)
}

fn dear() -> Candidate {
    let findings = [(Effect::Better, 95.0), (Effect::Worse, -40.0), (Effect::Unknown, 0.0)];
    candidate("dear", Standing::Costly, findings)
}

#[test]
fn a_switch_has_everything() {
    let broken = Candidate {
        failures: vec![("timeout: 30 s".into(), 12)],
        ..candidate("broken", Standing::Failed, [(Effect::Unknown, 0.0); 3])
    };
    let alike = [(Effect::Better, 86.0), (Effect::Alike, 0.5), (Effect::Alike, 0.0)];
    let muqss = candidate("muqss", Standing::Good, alike);
    let advice = Advice::Switch(vec!["bfs".into(), "muqss".into()]);
    expect![[r#"
        Use bfs instead of eevdf.
          better        how late a program gets the CPU: 1.04 ms with bfs, 8.00 ms now (−87.0 % [−95.8, −78.3])
          as good       muqss: no difference from bfs that matters
          how sure      p < 0.001 after correction for 4 comparisons; 12 trials of each. If all candidates were
                        equal, one would be called better in at most 5 % of such races.
          it costs      how long a build takes, perhaps: 2.06 s with bfs, 2.00 s now (+3.0 % [+2.7, +3.2]). These
                        trials do not exclude more than 5 %
          it keeps      how evenly hogs are served (+0.1 % [+0.1, +0.2])
          measured      12 rounds on this kernel. That is all.

        Evidence
          desktop, decides: wakeup latency p99 · waker, lower is better
            in hogs; what matters is more than 5 % and 500 µs
            eevdf                 8.00 ms  used now
            bfs                   1.04 ms  −87.0 % [−95.8, −78.3]       p < 0.001 better
            muqss                 1.12 ms  −86.0 % [−94.7, −77.4]       p < 0.001 better
            dear                   400 µs  −95.0 % [−105, −85.5]        p < 0.001 better
            broken                8.00 ms  0.0 % [−0.1, 0.0]            p < 0.001 out, see below
          desktop, must not get worse: completion, lower is better
            in build jobs=4; what matters is more than 5 %
            eevdf                  2.00 s  used now
            bfs                    2.06 s  +3.0 % [+2.7, +3.2]                    open
            muqss                  1.99 s  −0.5 % [−0.7, −0.5]                    equivalent
            dear                   2.80 s  +40.0 % [+36.0, +43.9]                 worse
            broken                 2.00 s  0.0 % [−0.1, 0.0]                      out, see below
          desktop, must not get worse: jain index · hog, higher is better
            in hogs; what matters is more than 5 %
            eevdf                   0.900  used now
            bfs                     0.901  +0.1 % [+0.1, +0.2]                    equivalent
            muqss                   0.900  0.0 % [0.0, +0.1]                      equivalent
            dear                    0.900  0.0 % [0.0, +0.1]                      not known
            broken                  0.900  0.0 % [0.0, +0.1]                      out, see below
          ! eevdf: 1 × hung: why
          ! broken: 12 × timeout: 30 s

        How to switch to bfs
            sudo load bfs
          Ctrl-C goes back.

        The full report:
          fairground report recommend
    "#]].assert_eq(&told(advice, vec![bfs(), muqss, dear(), broken]));
}

#[test]
fn who_stays_is_told_why() {
    expect![[r#"
        Keep eevdf: others are better, but worse in what must not get worse.
          better        how late a program gets the CPU: 400 µs with dear, 8.00 ms now (−95.0 % [−105, −85.5])
          it costs      how long a build takes: 2.80 s with dear, 2.00 s now (+40.0 % [+36.0, +43.9]). That is too
                        much: more than 5 %
          it costs      how evenly hogs are served: not known
    "#]].assert_eq(&first_part(Advice::Keep(Reason::TooCostly), vec![dear()]));
    let open = [(Effect::Open, 0.9), (Effect::Alike, 0.5), (Effect::Alike, 0.0)];
    let alike = vec![candidate("cfs", Standing::Alike, open)];
    expect![[r#"
        Keep eevdf: no candidate makes a measurable difference.
          seen          a difference of 0.3 % would have been seen in how late a program gets the CPU (the widest
                        interval); there may be smaller differences
    "#]].assert_eq(&first_part(Advice::Keep(Reason::NoDifference), alike.clone()));
    expect![[r#"
        Keep eevdf: the other candidate is not better.
          seen          a difference of 0.3 % would have been seen in how late a program gets the CPU (the widest
                        interval); there may be smaller differences
    "#]].assert_eq(&first_part(Advice::Keep(Reason::NobodyBetter), alike));
    let slight = [(Effect::Slight, 3.0), (Effect::Alike, 0.5), (Effect::Alike, 0.0)];
    let slight = vec![candidate("cfs", Standing::Slight, slight)];
    expect![[r#"
        Keep eevdf: others are better, but by less than matters.
          a bit better  how late a program gets the CPU: 7.76 ms with cfs, 8.00 ms now (−3.0 % [−3.4, −2.7])
    "#]].assert_eq(&first_part(Advice::Keep(Reason::TooLittle), slight));
    let doubtful = [(Effect::Doubtful, 7.0), (Effect::Doubtful, -6.0), (Effect::Alike, 0.0)];
    let doubtful = ["cfs", "tt"].map(|name| candidate(name, Standing::Doubtful, doubtful));
    expect![[r#"
        Keep eevdf, or ask a kernel: others may be better, but by less than the simulator's error.
          within error  how late a program gets the CPU: 7.44 ms with cfs, 8.00 ms now (−7.0 % [−7.8, −6.3])
          so are        tt: see their numbers below
    "#]].assert_eq(&first_part(Advice::Keep(Reason::Doubtful), doubtful.into()));
}

#[test]
fn evidence_names_the_simulators_error() {
    let mut aim = aim();
    aim.decides.model_error = Some(ModelError::Value(900_000.0));
    aim.keeps[0].model_error = Some(ModelError::Percent(11.0));
    let findings = [(Effect::Better, 50.0), (Effect::Doubtful, -6.0), (Effect::Alike, 0.0)];
    let cfs = vec![candidate("cfs", Standing::Good, findings)];
    let switch = Advice::Switch(vec!["cfs".into()]);
    let advised = Recommendation { aims: vec![aim], ..advised(switch, cfs) };
    let text = recommendation(&advised, &RecommendationContext::default());
    let about = text.lines().filter(|line| line.contains("error")).map(str::trim);
    let about: Vec<&str> = about.collect();
    expect![[r#"
        simulator's error is 11 %
        in hogs; what matters is more than 5 % and 500 µs; the simulator's error is 900 µs
        in build jobs=4; what matters is more than 5 %; the simulator's error is 11 %
        cfs                    2.12 s  +6.0 % [+5.4, +6.5]                    within error"#]]
    .assert_eq(&about.join("\n"));
}

#[test]
fn silence_is_told_too() {
    let few = Advice::Silent(Silence::TooFewTrials(4, 7));
    expect![[r#"
        No recommendation: 4 trials of each candidate prove nothing; with this many candidates 7 are needed. Give it
        more time.
    "#]].assert_eq(&first_part(few, Vec::new()));
    expect![[r#"
        No recommendation: there are no numbers to judge by.
    "#]]
    .assert_eq(&first_part(Advice::Silent(Silence::NothingMeasured), Vec::new()));
}

#[test]
fn no_line_is_too_wide() {
    let advice = Advice::Switch(vec!["bfs".into()]);
    let text = told(advice, vec![bfs(), dear()]);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(report::terminal::COLUMNS), "{text}");
}

/// The text before the numbers.
fn first_part(advice: Advice, candidates: Vec<Candidate>) -> String {
    let text = told(advice, candidates);
    text.split("  measured").next().unwrap_or_default().to_owned()
}

#[test]
fn what_a_kernel_confirms_is_a_table_with_sums() {
    let verdicts = vec![
        ("bmq".to_owned(), Against::Better, Against::Worse),
        ("tt".into(), Against::AsGood, Against::AsGood),
        ("cfs".into(), Against::Doubtful, Against::AsGood),
    ];
    let lost = Lost { choice: Some(0.11), best: Some(0.0), unit: Unit::Ratio };
    let (choice, best) = ("bmq".to_owned(), vec!["tt".to_owned(), "cfs".into()]);
    let distance = |percent: f64| Distance { percent: Some(percent), value: percent * 1e6 };
    let of = |measure, least, candidates: &[f64]| MeasureDistances {
        watched: watched("game", measure, "its frames", least),
        unit: Unit::Nanoseconds,
        candidates: candidates.iter().map(|percent| distance(*percent)).collect(),
    };
    let distances = vec![
        of("completion_ns all", 0.0, &[3.0, 12.34, 1.0]),
        of("run_delay_ns.p99 all", 1e6, &[]),
    ];
    let games = Confirmation { verdicts, choice, best, distinguishes: true, lost, distances };
    let cells = [("games", Some(games)), ("audio", None)];
    let cells = cells.map(|(care, confirmation)| AdviceCell {
        care: care.into(),
        cpus: 4,
        blocks: 12,
        confirmation,
    });
    expect![[r#"
        | care | CPUs | blocks | verdicts that agree | the simulator's choice | the kernel's best | among them | with the choice | with the best |
        |---|---:|---:|---:|---|---|---|---:|---:|
        | games | 4 | 12 | 1 of 2 | bmq | tt, cfs | no | 0.110 | 0 |
        | audio | 4 | – | not measured | | | | | |

        1 of 2 cells were measured. 1 of 2 verdicts agree (50.0 %). In 1 more the simulator gives none, because the difference is within its error. Where the kernel distinguishes any candidate, the simulator's choice is among the kernel's best in 0 of 1 cells.

        Verdicts that differ:

        | care | CPUs | candidate | simulator | kernel |
        |---|---:|---|---|---|
        | games | 4 | bmq | better | worse |

        How far the simulator's differences are:

        | care | measure | differences | four of five are within |
        |---|---|---:|---:|
        | games | its frames | 3 | 13 % |
        | games | its frames | 0 | – |
    "#]].assert_eq(&tables(&cells));
}

#[test]
fn only_those_with_the_same_value_are_said_to_have_it() {
    let none = Interval { low: 0.0, high: 0.0 };
    let same = |name: &str| {
        let mut same = candidate(name, Standing::Alike, [(Effect::Alike, 0.0); 3]);
        let gain = same.decides[0].gain.as_mut().expect("a gain");
        (gain.interval, gain.percent_interval) = (Some(none), Some(none));
        same
    };
    let worse = candidate("worse", Standing::Worse, [(Effect::Worse, -60.0); 3]);
    let seen = |candidates| {
        let told = told(Advice::Keep(Reason::NobodyBetter), candidates);
        let line = told.lines().find(|line| line.contains("seen"));
        line.unwrap_or_default().trim().to_owned()
    };
    let words = "seen          how late a program gets the CPU:";
    assert_eq!(
        seen(vec![same("o1"), worse.clone()]),
        format!("{words} o1 has the same value as eevdf")
    );
    let both = format!("{words} o1, ule have the same value as eevdf");
    assert_eq!(seen(vec![same("o1"), same("ule"), worse.clone()]), both);
    assert_eq!(seen(vec![same("o1"), same("ule")]), format!("{words} all have the same value"));
    assert_eq!(seen(vec![worse]), "");
}

#[test]
fn the_page_opens_with_what_the_terminal_says() {
    let advice = Advice::Switch(vec!["bfs".into()]);
    let records = testing::synthetic::experiment();
    let comparison = compare(&records, &Options { resamples: 50, ..Options::against("eevdf-7") });
    let it = advised(advice.clone(), vec![bfs(), dear()]);
    let about = About { advice: vec![it], ..About::default() };
    let page = page(&comparison, &records, &about);
    let first = page.find("<section id=\"recommendation\"").expect("the section");
    assert!(!page[..first].contains("<section"), "it is the first one");
    let end = first + page[first..].find("</section>").expect("its end");
    let plain = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&amp;", "&").replace("&quot;", "\"");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let section = plain(&page[first..end]);
    let text = told(advice, vec![bfs(), dear()]);
    let answer = text.lines().next().expect("a line");
    assert!(section.contains(answer), "{section}");
    // What stands below a label, wrapped, up to what only the terminal has.
    let reasons = text.split("  measured").next().expect("reasons");
    for sentence in
        ["1.04 ms with bfs, 8.00 ms now", "p < 0.001 after correction for 4 comparisons"]
    {
        assert!(plain(reasons).contains(sentence) && section.contains(sentence), "{section}");
    }
    for number in ["deadline miss", "wakeup latency p99 · waker", "−87.0 % [−95.8, −78.3]"] {
        assert_eq!(plain(&text).contains(number), section.contains(number), "{number}");
    }
    let without = html::page(&comparison, &records, &About::default());
    assert!(!without.contains("<section id=\"recommendation\""));
}

#[test]
fn the_first_words_of_a_prediction_say_that_it_is_one() {
    let opening = |backend| {
        let mut records = testing::synthetic::experiment();
        records.iter_mut().for_each(|record| record.trial.backend = backend);
        let options = Options { resamples: 50, ..Options::against("eevdf-7") };
        let comparison = compare(&records, &options);
        let advice = vec![advised(Advice::Switch(vec!["bfs".into()]), vec![bfs()])];
        let page = page(&comparison, &records, &About { advice, ..About::default() });
        let section = page.split("<section id=\"recommendation\"").nth(1).expect("the section");
        section.split("<strong>").next().expect("what is above the answer").to_owned()
    };
    let prediction = "All numbers come from the simulator; no real kernel was measured.";
    assert!(opening(Backend::Sim).contains(prediction));
    assert!(!opening(Backend::Vm).contains(prediction));
}
