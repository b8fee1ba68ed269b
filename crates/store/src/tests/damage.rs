// SPDX-License-Identifier: GPL-2.0-only
//! What is damaged is named and set aside, and makes nothing else unreadable.
//!
//! A full disk: what was stored stays, and what does not fit leaves no trace.

use std::path::{Path, PathBuf};

use model::Metric;
use rusqlite::Connection;

use super::sample::{self, all, filled, stored};
use crate::{Origin, SchedulerSource, Session, Store, StoreError};

fn damage(path: &Path, sql: &str) {
    Connection::open(path).and_then(|file| file.execute_batch(sql)).expect("damage");
}

/// A store with records 1 to 4; a number of one was changed, and one is no JSON.
fn damaged() -> (tempfile::TempDir, PathBuf) {
    let (folder, path) = stored(4);
    damage(
        &path,
        "DROP TRIGGER metrics_no_update; DROP TRIGGER records_no_update;
         UPDATE metrics SET value = 1 WHERE record = 2 AND name = 'completion_ns';
         UPDATE records SET trial = 'no trial' WHERE record = 4",
    );
    (folder, path)
}

#[test]
fn damaged_records_are_named_and_the_others_are_read() {
    let (_folder, path) = damaged();
    let read = Store::open_readonly(&path).and_then(|store| store.read(&all())).expect("read");
    assert_eq!(read.records, [sample::record(0), sample::record(2)]);
    let ids: Vec<i64> = read.damaged.iter().map(|damage| damage.id).collect();
    assert_eq!(ids, [2, 4]);
    let words = read.damaged[0].to_string();
    assert!(words.contains("record 2 (trial ") && words.contains("not the ones"), "{words}");
}

#[test]
fn a_damaged_session_hides_no_other() {
    let (_folder, path) = stored(1);
    filled(&path, 1);
    damage(
        &path,
        "DROP TRIGGER sessions_no_update;
         UPDATE sessions SET experiment_json = 'x' WHERE session = 1",
    );
    let store = Store::open_readonly(&path).expect("the store");
    let (whole, damaged) = store.read_sessions().expect("sessions");
    assert_eq!((whole.len(), damaged.len(), damaged[0].id), (1, 1, 1));
}

#[test]
fn a_check_names_damage_and_changes_nothing() {
    let (_folder, path) = damaged();
    let bytes = std::fs::read(&path).expect("bytes");
    let checked = crate::check(&path).expect("a look");
    assert_eq!((checked.records, checked.sessions), (2, 1));
    let [changed, no_json] = checked.damage.as_slice() else { panic!("{checked:?}") };
    assert!(changed.contains("record 2 ") && no_json.contains("record 4 "), "{checked:?}");
    assert_eq!(std::fs::read(&path).expect("bytes"), bytes);
}

#[test]
fn numbers_that_cannot_be_kept_are_missing_and_zero_has_no_sign() {
    let (_folder, path) = stored(0);
    let bad = [-0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, 5e-324];
    let mut record = sample::record(0);
    record.measured.metrics = bad.map(|value| Metric::number("x", "all", value)).into();
    record.measured.series[0].values[0] = -0.0;
    record.measured.series[1].values[0] = f64::NAN;
    let store = Store::open(&path).expect("the store");
    store.append(1, &record).expect("a record");
    let read = store.read(&all()).expect("read");
    assert!(read.damaged.is_empty(), "{:?}", read.damaged);
    let measured = &read.records[0].measured;
    let values: Vec<Option<f64>> = measured.metrics.iter().map(|metric| metric.value).collect();
    assert_eq!(values, [Some(0.0), None, None, None, None, None]);
    assert!(measured.metrics[1..].iter().all(|metric| metric.missing.is_some()));
    assert!(measured.series[1].missing.is_some());
}

#[test]
fn a_trial_has_one_record_in_a_campaign() {
    let (_folder, path) = stored(2);
    let store = Store::open(&path).expect("the store");
    store.append(1, &sample::record(1)).expect("again");
    let resumed = Session { campaign: Some(1), ..sample::session() };
    let second = store.begin(&resumed).expect("a session");
    store.append(second, &sample::record(1)).expect("again");
    assert_eq!(store.records(&all()).expect("records").len(), 2);
    let other = store.begin(&sample::session()).expect("a session");
    store.append(other, &sample::record(1)).expect("another campaign's");
    assert_eq!(store.records(&all()).expect("records").len(), 3);
}

#[test]
fn a_store_that_is_deleted_is_noticed_at_the_next_record() {
    let (_folder, path) = stored(1);
    let store = Store::open(&path).expect("the store");
    std::fs::remove_file(&path).expect("deleted");
    let error = store.append(1, &sample::record(1)).expect_err("noticed");
    assert!(matches!(error, StoreError::Gone { .. }), "{error}");
    filled(&path, 1);
    let error = store.append(1, &sample::record(1)).expect_err("another file");
    assert!(matches!(error, StoreError::Gone { .. }), "{error}");
}

#[test]
fn messages_about_damage_have_no_sql_in_them() {
    let (_folder, path) = stored(3);
    damage(&path, "DROP TABLE metrics");
    let read = Store::open_readonly(&path).and_then(|store| store.read(&all()));
    let said = match read {
        Ok(read) => format!("{:?}", read.damaged),
        Err(error) => error.to_string(),
    };
    assert!(!said.contains("no such table") && !said.contains("SELECT"), "{said}");
    let damage = crate::check(&path).expect("a look").damage;
    assert_eq!(damage, ["cannot find all of its tables and indices"]);
}

#[test]
fn what_a_stranger_added_is_refused_by_name_before_it_is_used() {
    let endless = "ALTER TABLE records RENAME TO r0;
         CREATE VIEW records AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
             SELECT r0.* FROM r0, n";
    let foreign = "PRAGMA writable_schema = 1;
         INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
             VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING fts5(x)')";
    let changed = "PRAGMA writable_schema = 1;
         UPDATE sqlite_schema SET sql = replace(sql, 'append-only', 'x')
             WHERE name = 'metrics_no_delete'";
    for (sql, what) in [
        (endless, "table 'r0'"),
        ("CREATE VIEW mine AS SELECT 1", "view 'mine'"),
        ("CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM metrics; END", "trigger 't'"),
        ("CREATE TABLE lost_and_found (x)", "table 'lost_and_found'"),
        ("CREATE INDEX slow ON metrics (name)", "index 'slow'"),
        (foreign, "table 'v'"),
        (changed, "trigger 'metrics_no_delete'"),
        ("CREATE VIEW \"a\nb\" AS SELECT 1", "view 'a\\nb'"),
    ] {
        let (_folder, path) = stored(2);
        damage(&path, sql);
        let bytes = std::fs::read(&path).expect("bytes");
        let checked = crate::check(&path).err();
        for error in [Store::open(&path).err(), Store::open_readonly(&path).err(), checked] {
            let error = error.expect(sql);
            assert!(matches!(error, StoreError::Strange { .. }), "{sql}: {error}");
            let said = error.to_string();
            assert!(said.contains(&format!("a.db: its {what} is none of")), "{sql}: {said}");
        }
        assert_eq!(std::fs::read(&path).expect("bytes"), bytes, "{sql}");
    }
}

#[test]
fn what_analyze_keeps_and_what_is_missing_for_people_alone_are_no_matter() {
    let (_folder, path) = stored(2);
    damage(&path, "ANALYZE; DROP VIEW over_time; DROP TRIGGER metrics_no_update");
    let records = Store::open(&path).and_then(|store| store.records(&all())).expect("records");
    assert_eq!(records.len(), 2);
}

#[test]
fn cut_off_files_never_panic() {
    let (folder, path) = stored(20);
    let bytes = std::fs::read(&path).expect("bytes");
    for cut in (0..bytes.len()).step_by(bytes.len() / 23) {
        let cut_off = folder.path().join(format!("{cut}.db"));
        std::fs::write(&cut_off, &bytes[..cut]).expect("a file");
        let _ = Store::open_readonly(&cut_off).and_then(|store| store.read(&all()));
        let _ = crate::check(&cut_off);
    }
}

/// Lets the file grow by no more than `more` pages of 4 KiB.
fn limit_pages(store: &Store, more: i64) -> rusqlite::Result<()> {
    let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    store.connection.pragma_update(None, "max_page_count", pages + more)
}

#[test]
fn shared_sessions_come_in_whole_or_not_at_all() {
    let (_folder, path) = stored(1);
    let origin = Origin { by: "Ada".into(), seal: "5ea1".into() };
    let session =
        |campaign| Session { campaign, origin: Some(origin.clone()), ..sample::session() };
    let source = SchedulerSource {
        sha256: model::trial::identity([("mine.bpf.c", "a"), ("mine.h", "b")]),
        name: "mine".into(),
        files: vec![("mine.bpf.c".into(), "a".into()), ("mine.h".into(), "b".into())],
    };
    assert!(source.is_genuine());
    let sessions =
        [(session(None), vec![sample::record(0)]), (session(Some(0)), vec![sample::record(1)])];
    let store = Store::open(&path).expect("the store");
    limit_pages(&store, 1).expect("a limit");
    assert!(store.take_in(&sessions, std::slice::from_ref(&source)).is_err());
    drop(store);
    let store = Store::open(&path).expect("the store");
    assert_eq!(store.sessions().expect("sessions").len(), 1);
    let ids = store.take_in(&sessions, std::slice::from_ref(&source)).expect("taken in");
    assert_eq!(ids, [2, 3]);
    let kept = store.sessions().expect("sessions");
    assert_eq!((kept[2].campaign, &kept[2].origin), (Some(2), &Some(origin.clone())));
    assert_eq!(store.records(&all()).expect("records").len(), 3);
    // The same text again is no second one.
    store.keep_sources(std::slice::from_ref(&source)).expect("kept");
    assert_eq!(store.sources().expect("texts"), [source]);
}

#[test]
fn records_that_still_fit_are_kept() {
    let (_folder, path) = stored(1);
    let store = Store::open(&path).expect("the store");
    limit_pages(&store, 20).expect("a limit");
    let many: Vec<_> = (1..1000).map(sample::record).collect();
    let error = store.append_all(1, &many).expect_err("too little space");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let kept = store.records(&all()).expect("records");
    assert!((2..1000).contains(&kept.len()), "{}", kept.len());
    let first: Vec<_> = (0..kept.len() as u32).map(sample::record).collect();
    assert_eq!(kept, first);
}

#[test]
fn a_full_disk_is_told_from_other_trouble() {
    let (_folder, path) = stored(1);
    let store = Store::open(&path).expect("the store");
    let session = store.begin(&sample::session()).expect("a session");
    limit_pages(&store, 1).expect("a limit");
    let error =
        (0..100).find_map(|position| store.append(session, &sample::record(position)).err());
    let error = error.expect("no space");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let records = Store::open_readonly(&path).and_then(|s| s.records(&all())).expect("records");
    assert!(!records.is_empty(), "what was there before is still there");
}
