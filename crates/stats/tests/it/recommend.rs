// SPDX-License-Identifier: GPL-2.0-only
//! Synthetic races with a known truth → what is recommended.

use crate::common::{record, with};
use crate::experiments::normal;
use model::{ModelError, Outcome, Record};
use stats::decide::recommend::{
    Advice, Against, Confirmation, Effect, Lost, Reason, Recommendation, Silence, Standing,
    recommend,
};
use stats::{Aim, Options, Watched, compare};

const TRIALS: u32 = 8;

/// Eight values about `middle` that scatter by a percent.
fn about(middle: f64) -> Vec<f64> {
    (0..TRIALS).map(|trial| middle * (1.0 + f64::from((trial * 5) % 8) / 800.0)).collect()
}

/// Trials with a time that decides and a share that must not be lost.
fn trials(name: &str, times: &[f64], shares: &[f64]) -> Vec<Record> {
    let trial = |(block, (&time, &share)): (u32, (&f64, &f64))| {
        with(with(record(name, block), "completion_ns", time), "jain_index", share)
    };
    (0..).zip(times.iter().zip(shares)).map(trial).collect()
}

fn watched(measure: &str, percent: f64, least: f64) -> Watched {
    let (cell, words) = (record("now", 0).trial.workload.cell(), "it".into());
    let measure = measure.parse().expect("a measure");
    Watched { cell, measure, words, percent, least, model_error: None }
}

/// A time that must differ by more than 2 %, and a share of which at most 5 % may be lost.
fn aim() -> Aim {
    Aim {
        name: "soon".into(),
        decides: watched("completion_ns all", 2.0, 0.0),
        keeps: vec![watched("jain_index all", 5.0, 0.0)],
    }
}

fn advised(records: &[Record], aims: &[Aim]) -> Recommendation {
    recommend(records, &compare(records, &Options::against("now")), aims, &["easy".into()])
}

fn now() -> Vec<Record> {
    trials("now", &about(100.0), &about(0.9))
}

fn standing(said: &Recommendation, name: &str) -> Standing {
    said.candidate(name).expect("a candidate").standing
}

fn switch(names: &[&str]) -> Advice {
    Advice::Switch(names.iter().map(ToString::to_string).collect())
}

#[test]
fn a_kernel_confirms_verdicts_and_choice_or_says_what_is_lost() {
    let race = |fast: f64, slow: f64| {
        let fast = trials("fast", &about(fast), &about(0.9));
        let slow = trials("slow", &about(slow), &about(0.9));
        advised(&[now(), fast, slow, trials("same", &about(100.0), &about(0.9))].concat(), &[aim()])
    };
    let predicted = race(50.0, 150.0);
    let same = Confirmation::of(&predicted, &race(60.0, 170.0));
    assert_eq!((same.agreeing(), same.verdicts.len()), (3, 3));
    assert!(same.is_among_best() && same.distinguishes, "{same:?}");
    let turned = Confirmation::of(&predicted, &race(150.0, 50.0));
    assert_eq!((turned.agreeing(), turned.choice.as_str()), (1, "fast"));
    assert_eq!(turned.best, ["slow"]);
    let verdict = |name: &str| turned.verdicts.iter().find(|(own, ..)| own == name).cloned();
    assert_eq!(verdict("fast"), Some(("fast".into(), Against::Better, Against::Worse)));
    let Lost { choice, best, .. } = turned.lost;
    assert!(choice > Some(149.0) && best < Some(52.0), "{turned:?}");
    // Where a kernel sees no difference, the scheduler in use and all others are its best.
    let alike = Confirmation::of(&predicted, &race(100.0, 100.0));
    assert_eq!(alike.best.len(), 4);
    assert!(!alike.distinguishes && alike.is_among_best(), "{alike:?}");
    let keep = Confirmation::of(&race(100.0, 150.0), &race(50.0, 150.0));
    assert_eq!((keep.choice.as_str(), keep.is_among_best()), ("now", false));
}

#[test]
fn a_clear_winner_is_recommended() {
    let fast = trials("fast", &about(50.0), &about(0.9));
    let slow = trials("slow", &about(150.0), &about(0.9));
    let said = advised(&[now(), fast, slow].concat(), &[aim()]);
    assert_eq!(said.advice, switch(&["fast"]));
    assert_eq!(
        (standing(&said, "fast"), standing(&said, "slow")),
        (Standing::Good, Standing::Worse)
    );
    let judged = &said.candidates[0].decides[0];
    let gain = judged.gain.expect("a gain");
    assert!((gain.percent.expect("percent") - 50.0).abs() < 1.0, "{gain:?}");
    assert!(gain.interval.expect("an interval").low > 0.0, "better is above 0");
    assert_eq!((said.comparisons, judged.p.expect("p").comparisons), (2, 2));
    assert_eq!(said.candidates[0].keeps[0][0].finding, Effect::Alike);
}

#[test]
fn who_pays_with_what_must_not_be_paid_with_is_not() {
    let dear = trials("dear", &about(50.0), &about(0.7));
    let said = advised(&[now(), dear.clone()].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Keep(Reason::TooCostly));
    assert_eq!(said.candidates[0].keeps[0][0].finding, Effect::Worse);
    // The second best, which loses nothing, is then the best.
    let honest = trials("honest", &about(80.0), &about(0.89));
    let said = advised(&[now(), dear, honest].concat(), &[aim()]);
    assert_eq!(said.advice, switch(&["honest"]));
    assert_eq!(standing(&said, "dear"), Standing::Costly);
}

#[test]
fn a_price_below_what_matters_is_none_and_an_open_one_is_told() {
    let lenient = Aim { keeps: vec![watched("jain_index all", 5.0, 0.3)], ..aim() };
    let dear = trials("dear", &about(50.0), &about(0.7));
    assert_eq!(advised(&[now(), dear].concat(), &[lenient]).advice, switch(&["dear"]));
    let noisy: Vec<f64> = (0..TRIALS).map(|trial| if trial % 2 == 0 { 0.5 } else { 1.2 }).collect();
    let said = advised(&[now(), trials("noisy", &about(50.0), &noisy)].concat(), &[aim()]);
    assert_eq!(said.advice, switch(&["noisy"]));
    assert_eq!(said.candidates[0].keeps[0][0].finding, Effect::Open);
}

#[test]
fn equal_choices_are_all_named_those_first_that_need_nothing_to_be_loaded() {
    let names = ["one", "easy", "other"];
    let fast = names.map(|name| trials(name, &about(50.0), &about(0.9))).concat();
    let behind = trials("behind", &about(70.0), &about(0.9));
    let near = trials("near", &about(50.9), &about(0.9));
    let said = advised(&[now(), fast, behind, near].concat(), &[aim()]);
    let Advice::Switch(best) = &said.advice else { panic!("{:?}", said.advice) };
    assert_eq!(best[0], "easy");
    // 1 % of what is used now behind the best is less than matters; 20 % are not.
    assert_eq!(best.len(), 4, "{best:?}");
    assert!(!best.contains(&"behind".into()));
    let order: Vec<&String> =
        said.candidates.iter().map(|candidate| &candidate.name).take(4).collect();
    assert_eq!(order, best.iter().collect::<Vec<_>>());
}

#[test]
fn where_nobody_is_told_apart_it_makes_no_difference() {
    // The same times, but not in the same blocks: else the difference would be known exactly.
    let mut times = about(100.0);
    times.rotate_left(1);
    let alike = trials("alike", &times, &about(0.9));
    let said = advised(&[now(), alike].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Keep(Reason::NoDifference));
    let Some(stats::decide::recommend::Width::Percent(width)) = said.resolution(0) else {
        panic!()
    };
    assert!(width > 0.0 && width < 3.0, "{width}");
}

#[test]
fn where_all_others_are_worse_or_hardly_better_it_stays() {
    let slow = trials("slow", &about(150.0), &about(0.9));
    let said = advised(&[now(), slow].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Keep(Reason::NobodyBetter));
    let hardly = trials("hardly", &about(98.3), &about(0.9));
    let said = advised(&[now(), hardly].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Keep(Reason::TooLittle));
    assert_eq!(said.candidates[0].decides[0].finding, Effect::Slight);
}

#[test]
fn a_difference_below_the_simulators_error_says_nothing() {
    let with_error = |percent| {
        let error = |watched: Watched| Watched {
            model_error: Some(ModelError::Percent(percent)),
            ..watched
        };
        let aim = aim();
        Aim {
            decides: error(aim.decides),
            keeps: aim.keeps.into_iter().map(error).collect(),
            ..aim
        }
    };
    let records = [
        now(),
        trials("fast", &about(92.0), &about(0.9)),
        trials("slow", &about(108.0), &about(0.9)),
    ]
    .concat();
    assert_eq!(advised(&records, &[aim()]).advice, switch(&["fast"]));
    assert_eq!(advised(&records, &[with_error(5.0)]).advice, switch(&["fast"]));
    let said = advised(&records, &[with_error(11.0)]);
    assert_eq!(said.advice, Advice::Keep(Reason::Doubtful));
    let both = ["fast", "slow"].map(|name| standing(&said, name));
    assert_eq!(both, [Standing::Doubtful, Standing::Alike]);
    assert!(said.candidates.iter().all(|it| it.decides[0].finding == Effect::Doubtful));
    // Nobody knows whether a loss below the error is one, so it does not rule a candidate out.
    let dear = [now(), trials("dear", &about(50.0), &about(0.82))].concat();
    assert_eq!(advised(&dear, &[aim()]).advice, Advice::Keep(Reason::TooCostly));
    let said = advised(&dear, &[with_error(11.0)]);
    assert_eq!(said.advice, switch(&["dear"]));
    assert_eq!(said.candidates[0].keeps[0][0].finding, Effect::Doubtful);
    // Those within the error of the best are as good.
    let near = [trials("one", &about(50.0), &about(0.9)), trials("two", &about(58.0), &about(0.9))];
    let said = advised(&[now(), near.concat()].concat(), &[with_error(11.0)]);
    assert_eq!(said.advice, switch(&["one", "two"]));
}

#[test]
fn the_error_is_what_four_of_five_differences_are_within() {
    let race = |times: [f64; 5]| {
        let others = times.iter().enumerate();
        let others = others.map(|(at, time)| trials(&at.to_string(), &about(*time), &about(0.9)));
        advised(&[now(), others.collect::<Vec<_>>().concat()].concat(), &[aim()])
    };
    let predicted = race([50.0, 80.0, 90.0, 150.0, 100.0]);
    let found = Confirmation::of(&predicted, &race([50.5, 84.1, 94.7, 160.0, 200.0]));
    let [time, share] = found.distances.as_slice() else { panic!("{found:?}") };
    assert_eq!(time.candidates.len(), 5);
    // 1.0, 5.1, 5.2, 6.7 and 100 % apart.
    assert_eq!(time.error(), Some(ModelError::Percent(6.7)));
    assert_eq!(share.error(), Some(ModelError::Percent(0.0)));
    // In the measure's unit where a threshold is, and where there are no ratios.
    let mut in_unit = time.clone();
    in_unit.watched.least = 1.0;
    assert_eq!(in_unit.error(), Some(ModelError::Value(11.0)));
    in_unit.watched.least = 0.0;
    in_unit.candidates[0].percent = None;
    assert_eq!(in_unit.error(), Some(ModelError::Value(11.0)));
    in_unit.candidates.clear();
    assert_eq!(in_unit.error(), None);
}

#[test]
fn too_few_trials_say_nothing() {
    let few = |records: Vec<Record>| records.into_iter().take(5).collect::<Vec<_>>();
    let fast = trials("fast", &about(50.0), &about(0.9));
    let said = advised(&[few(now()), few(fast)].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Silent(Silence::TooFewTrials(5, 6)));
    assert_eq!(standing(&said, "fast"), Standing::Unknown);
}

#[test]
fn so_many_candidates_need_more_trials() {
    let six = |records: Vec<Record>| records.into_iter().take(6).collect::<Vec<_>>();
    let many = (0..30).map(|at| six(trials(&format!("c{at}"), &about(50.0), &about(0.9))));
    let records: Vec<Record> = six(now()).into_iter().chain(many.flatten()).collect();
    let said = advised(&records, &[aim()]);
    assert_eq!(said.advice, Advice::Silent(Silence::TooFewTrials(6, 7)));
}

#[test]
fn who_does_not_end_all_trials_well_is_out_and_if_all_are_so_is_the_answer() {
    let mut broken = trials("broken", &about(10.0), &about(0.9));
    broken[3].outcome = Outcome::Timeout { reason: "30 s\nand more".into() };
    let slow = trials("slow", &about(150.0), &about(0.9));
    let said = advised(&[now(), broken.clone(), slow].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Keep(Reason::NobodyBetter));
    assert_eq!(said.candidate("broken").unwrap().failures, [("timeout: 30 s".into(), 1)]);
    let said = advised(&[now(), broken.clone()].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Silent(Silence::NothingMeasured));
    let mut gone = now();
    gone.iter_mut().for_each(|record| record.outcome = Outcome::Hung { reason: String::new() });
    gone.iter_mut().for_each(|record| record.measured = Default::default());
    let said = advised(&[gone, trials("fine", &about(50.0), &about(0.9))].concat(), &[aim()]);
    assert_eq!(said.advice, Advice::Silent(Silence::NothingMeasured));
    assert_eq!(said.failures, [("hung".into(), TRIALS as usize)]);
}

#[test]
fn an_unknown_price_is_not_paid() {
    let mut fast = trials("fast", &about(50.0), &about(0.9));
    fast.iter_mut().for_each(|record| record.measured.metrics.retain(|m| m.name != "jain_index"));
    let said = advised(&[now(), fast].concat(), &[aim()]);
    assert_eq!(standing(&said, "fast"), Standing::Unknown);
    assert_eq!(said.advice, Advice::Silent(Silence::NothingMeasured));
}

#[test]
fn of_two_aims_the_first_decides_among_those_who_lose_in_neither() {
    let second = Aim {
        name: "even".into(),
        decides: watched("jain_index all", 2.0, 0.0),
        keeps: Vec::new(),
    };
    let first = Aim { keeps: Vec::new(), ..aim() };
    let fast = trials("fast", &about(50.0), &about(0.9));
    let even = trials("even", &about(100.0), &about(0.99));
    let torn = trials("torn", &about(40.0), &about(0.5));
    let records = [now(), fast, even, torn].concat();
    let said = advised(&records, &[first.clone(), second.clone()]);
    assert_eq!(said.advice, switch(&["fast"]));
    assert_eq!(standing(&said, "torn"), Standing::Costly);
    assert_eq!(said.comparisons, 6, "one family for both aims");
    assert_eq!(advised(&records, &[second, first]).advice, switch(&["even"]));
}

#[test]
fn among_equals_somebody_is_recommended_in_at_most_one_of_twenty_races() {
    const RACES: u32 = 400;
    let even = Aim {
        name: "even".into(),
        decides: watched("jain_index all", 1.0, 0.0),
        keeps: Vec::new(),
    };
    let aims = [Aim { keeps: Vec::new(), ..aim() }, even];
    let (mut seed, mut switches) = (model::Seed(7), 0);
    for _ in 0..RACES {
        let mut number = || 100.0 * (0.1 * normal(&mut seed)).exp();
        let mut values = || (0..TRIALS).map(|_| number()).collect::<Vec<_>>();
        let mut race = Vec::new();
        for name in ["now", "a", "b", "c", "d", "e"] {
            race.extend(trials(name, &values(), &values()));
        }
        let options = Options { resamples: 300, ..Options::against("now") };
        let said = recommend(&race, &compare(&race, &options), &aims, &[]);
        switches += u32::from(matches!(said.advice, Advice::Switch(_)));
    }
    println!("{switches} of {RACES} races between equals recommend a switch");
    assert!(f64::from(switches) <= 0.05 * f64::from(RACES), "{switches}");
}
