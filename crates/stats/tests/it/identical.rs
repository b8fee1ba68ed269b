// SPDX-License-Identifier: GPL-2.0-only
//! Equal measurements, byte for byte.

use crate::common::{histogram, trials};
use model::Outcome;
use stats::{Difference, identical};

#[test]
fn the_same_trials_with_the_same_numbers_are_identical() {
    let records = trials("a", &[1.0, 2.0, 3.0]);
    let mut elsewhere = records.clone();
    elsewhere.reverse();
    elsewhere[0].provenance.wall_ms = 99;
    let identity = identical(&records, &elsewhere);
    assert!(identity.is_identical());
    assert_eq!(identity.same, 3);
}

#[test]
fn nothing_is_not_identical_with_nothing() {
    assert!(!identical(&[], &[]).is_identical());
}

#[test]
fn a_differing_number_is_named_with_both_values() {
    let records = trials("a", &[1.0, 2.0]);
    let mut other = records.clone();
    other[1].measured.metrics[0].value = Some(2.5);
    other[1].measured.histograms.push(histogram("run_delay_ns", "all", 1..4));
    let identity = identical(&records, &other);
    assert_eq!((identity.same, identity.differences.len()), (1, 1));
    let found = &identity.differences[0];
    assert_eq!(found.trial, records[1].trial.id());
    assert_eq!(found.label, "a in messaging, boot 1");
    let Difference::Measured(lines) = &found.difference else { panic!("{found:?}") };
    assert_eq!(lines[0], "completion_ns all: 2 / 2.5");
    assert!(lines[1].starts_with("run_delay_ns all: absent / 3 samples, 1 … 3"), "{lines:?}");
}

#[test]
fn another_guest_is_named_before_the_numbers() {
    let mut first = trials("a", &[1.0]);
    let mut second = trials("a", &[2.0]);
    for (records, image) in [(&mut first, "abc"), (&mut second, "def")] {
        records[0].provenance.kernel_facts.insert("guest_image".into(), image.into());
    }
    let identity = identical(&first, &second);
    let Difference::Measured(lines) = &identity.differences[0].difference else {
        panic!("{identity:?}")
    };
    assert_eq!(lines[0], "guest_image: abc / def");
    assert_eq!(lines[1], "completion_ns all: 1 / 2");
}

#[test]
fn missing_trials_and_other_outcomes_are_differences() {
    let records = trials("a", &[1.0, 2.0]);
    let mut other = records.clone();
    other[0].outcome = Outcome::Timeout { reason: "slow".into() };
    let kinds =
        |a, b| identical(a, b).differences.into_iter().map(|d| d.difference).collect::<Vec<_>>();
    assert_eq!(kinds(&records[..], &other[..]), [Difference::Outcome("ok / timeout".into())]);
    assert_eq!(kinds(&records[..1], &records[..]), [Difference::OnlyInSecond]);
    assert_eq!(kinds(&records[..], &records[..1]), [Difference::OnlyInFirst]);
}

#[test]
fn a_trial_that_is_repeated_on_one_side_must_agree_with_itself() {
    let records = trials("a", &[1.0]);
    let mut twice = [records.clone(), records.clone()].concat();
    assert!(identical(&records, &twice).is_identical());
    twice[1].measured.metrics[0].value = Some(9.0);
    assert!(!identical(&records, &twice).is_identical());
}
