// SPDX-License-Identifier: GPL-2.0-only
//! Numbers that are not what statistics expect.

use model::{LARGEST_NUMBER, Metric, SMALLEST_NUMBER};
use rusqlite::Connection;
use store::Store;

use crate::common::hogs::{raced, shared};
use crate::common::{Bench, hostile, stderr, stdout};

#[test]
fn a_zero_with_a_sign_leaves_the_store_readable() {
    let with_sign = shared(|shared| {
        let record = &mut shared.sessions[0].1[0];
        let zero = record.measured.metrics.iter_mut().find(|metric| metric.value == Some(0.0));
        zero.expect("a zero").value = Some(-0.0);
    });
    let of_schbench = (Bench::new(), hostile("schbench_negative_zero.json"));
    for (bench, file) in [(with_sign, "a.fairground".to_owned()), of_schbench] {
        bench.run(&["import", &file, "--store", "a.db"]).success();
        let shown = bench.run(&["compare", "a.db"]).success();
        assert!(!stderr(&shown).contains("damaged"), "{}", stderr(&shown));
        bench.run(&["report", "a.db", "-o", "a.html"]).success();
        let said = stdout(&bench.run(&["doctor", "store", "a.db"]).success());
        assert!(said.contains("nothing is wrong with it"), "{said}");
    }
}

/// `a.db` with one record whose hash is of a zero with a sign.
fn damaged() -> Bench {
    let bench = raced(2);
    let record = bench.records("a.db").remove(0);
    let mut measured = record.measured.clone();
    let zero = measured.metrics.iter_mut().find(|metric| metric.value == Some(0.0));
    zero.expect("a zero").value = Some(-0.0);
    let file = Connection::open(bench.path("a.db")).expect("the file");
    file.execute_batch(&format!(
        "DROP TRIGGER records_no_update;
         UPDATE records SET measured_hash = '{}' WHERE trial_id = '{}'",
        measured.hash(),
        record.trial.id()
    ))
    .expect("damage");
    bench
}

#[test]
fn a_damaged_record_is_named_once_and_the_others_count() {
    let bench = damaged();
    let shown = bench.run(&["compare", "a.db"]).success();
    let said = stderr(&shown);
    assert_eq!(said.matches("is damaged: its numbers are not").count(), 1, "{said}");
    assert!(stdout(&shown).contains("fifo"), "{}", stdout(&shown));
    bench.run(&["report", "a.db", "-o", "a.html"]).success();
    let page = std::fs::read_to_string(bench.path("a.html")).expect("a page");
    assert!(page.contains("is damaged: its numbers are not"));
}

#[test]
fn a_check_names_what_is_wrong_and_what_saves_the_rest() {
    let bench = damaged();
    let checked = bench.run(&["doctor", "store", "a.db"]).code(1);
    let said = stdout(&checked);
    assert!(said.contains("its numbers are not the ones") && said.contains("records: 3"), "{said}");
    let said = stderr(&checked);
    assert!(said.contains("`sqlite3 a.db .recover | sqlite3 NEW`"), "{said}");
}

#[test]
fn the_largest_and_smallest_numbers_make_no_nonsense() {
    let bench = raced(6);
    let from = Store::open_readonly(&bench.path("a.db")).expect("a store");
    let session = from.sessions().expect("sessions").remove(0);
    let to = Store::open(&bench.path("b.db")).expect("a store");
    let id = to.begin(&session).expect("a session");
    let edges = [LARGEST_NUMBER, -LARGEST_NUMBER, SMALLEST_NUMBER, 0.0, 1.0];
    for (index, mut record) in bench.records("a.db").into_iter().enumerate() {
        for (place, metric) in record.measured.metrics.iter_mut().enumerate() {
            let value = edges[(index + place) % edges.len()];
            *metric = Metric::number(&metric.name, &metric.group, value);
        }
        to.append(id, &record).expect("appended");
    }
    let shown = bench.run(&["compare", "b.db"]).success();
    let json = bench.run(&["compare", "b.db", "--format", "json"]).success();
    bench.run(&["report", "b.db", "-o", "b.html"]).success();
    for text in [stdout(&shown), stdout(&json)] {
        let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
        assert!(!words.iter().any(|word| ["NaN", "inf"].contains(word)), "{text}");
    }
}

#[test]
fn a_number_beyond_the_range_is_refused_with_its_place() {
    let bench = Bench::new();
    let text = std::fs::read_to_string(hostile("schbench_negative_zero.json")).expect("a file");
    bench.write("huge.json", &text.replace("-0.0", "1e40"));
    let said = stderr(&bench.run(&["import", "huge.json", "--store", "a.db"]).code(2));
    assert!(said.contains("huge.json: ") && said.contains("beyond ±1e30"), "{said}");
    assert!(!bench.path("a.db").exists());
}
