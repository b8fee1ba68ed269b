// SPDX-License-Identifier: GPL-2.0-only
//! What the store promises: everything comes back, nothing changes, nothing that was appended is
//! lost.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::sample::{self, all, folder, stored};
use crate::{Filter, SCHEMA_VERSION, SchedulerSource, Session, Store, StoreError};
use rusqlite::Connection;

#[test]
fn records_that_come_together_are_each_there_once() {
    let (_folder, path) = stored(2);
    let store = Store::open(&path).expect("the store");
    let together: Vec<_> = [1, 3, 2, 3].map(sample::record).into();
    store.append_all(1, &together).expect("records");
    store.append_all(1, &[]).expect("nothing");
    let expected: Vec<_> = (0..4).map(sample::record).collect();
    assert!(store.records(&all()).expect("records") == expected);
}

#[test]
fn records_come_back_exactly() {
    let (_folder, path) = stored(5);
    let store = Store::open_readonly(&path).expect("the store");
    let expected: Vec<_> = (0..5).map(sample::record).collect();
    assert_eq!(store.records(&all()).expect("records"), expected);
    let without = store.records(&Filter::default()).expect("records");
    assert!(without.iter().all(|record| record.trace.is_none()));
}

#[test]
fn reading_leaves_no_trace() {
    let (folder, path) = stored(2);
    let before = std::fs::read(&path).expect("bytes");
    drop(Store::open_readonly(&path).and_then(|store| store.records(&all())).expect("records"));
    let files = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!((files, std::fs::read(&path).expect("bytes")), (1, before));
}

#[test]
fn sessions_come_back_and_resumed_ones_form_a_campaign() {
    let (_folder, path) = stored(1);
    let store = Store::open(&path).expect("the store");
    let resumed = Session { campaign: Some(1), ..sample::session() };
    let second = store.begin(&resumed).expect("a session");
    store.append(second, &sample::record(1)).expect("a record");
    let other = store.begin(&sample::session()).expect("a session");
    store.append(other, &sample::record(2)).expect("a record");

    let campaigns: Vec<_> =
        store.sessions().expect("sessions").into_iter().map(|s| (s.id, s.campaign)).collect();
    assert_eq!(campaigns, [(1, None), (second, Some(1)), (other, None)]);
    let filter = Filter { campaign: Some(1), ..Filter::default() };
    let done = store.trial_ids_done(&filter).expect("identities");
    assert_eq!(done, [0, 1].map(|p| sample::record(p).trial.id()).into());
    assert_eq!(store.sessions().expect("sessions")[0], Session { id: 1, ..sample::session() });
}

#[test]
fn filters_choose() {
    let (_folder, path) = stored(3);
    let store = Store::open_readonly(&path).expect("the store");
    let count = |filter: Filter| store.records(&filter).expect("records").len();
    let id = sample::record(2).trial.id();
    assert_eq!(count(Filter { experiment: Some("sample".into()), ..Filter::default() }), 3);
    assert_eq!(count(Filter { experiment: Some("other".into()), ..Filter::default() }), 0);
    assert_eq!(count(Filter { trial_id: Some(id[..8].into()), ..Filter::default() }), 1);
}

#[test]
fn nothing_can_be_changed_or_deleted() {
    let (_folder, path) = stored(1);
    let connection = Connection::open(&path).expect("the file");
    for table in ["sessions", "records", "metrics", "histograms", "series", "traces", "answers"] {
        let column = if table == "answers" { "campaign" } else { "rowid" };
        for sql in [format!("DELETE FROM {table}"), format!("UPDATE {table} SET {column} = 99")] {
            let error = connection.execute(&sql, []).expect_err(&sql).to_string();
            assert!(error.contains("append-only"), "{sql}: {error}");
        }
    }
}

#[test]
fn the_views_agree_with_the_model() {
    let (_folder, path) = stored(1);
    let connection = Connection::open(&path).expect("the file");
    let record = sample::record(0);
    let histogram = &record.measured.histograms[0];
    let mut select =
        connection.prepare("SELECT quantile, value FROM percentiles ORDER BY 1").expect("the view");
    let rows =
        select.query_map([], |row| Ok((row.get::<_, f64>(0)?, row.get::<_, i64>(1)? as u64)));
    let rows: Vec<_> = rows.expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 5);
    for (quantile, value) in rows {
        assert_eq!(histogram.quantile(quantile), Some(value), "{quantile}");
    }
    let mut select = connection
        .prepare("SELECT begin_ns, value FROM over_time WHERE name = 'busy_share' ORDER BY 1")
        .expect("the view");
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)));
    let rows: Vec<_> = rows.expect("rows").map(|row| row.expect("a row")).collect();
    let series = record.measured.series("busy_share").expect("it is there");
    let expected = series.values.iter().enumerate();
    let expected = expected.map(|(at, &value)| (series.interval(at).0 as i64, value));
    assert_eq!(rows, expected.collect::<Vec<_>>());
    let missing: String = connection
        .query_row("SELECT missing FROM results WHERE value IS NULL", [], |row| row.get(0))
        .expect("the missing metric");
    assert_eq!(missing, "no probes here");
}

#[test]
fn kill_loses_no_record_that_was_appended() {
    let folder = folder();
    let path = folder.path().join("a.db");
    for kill_after in [1, 7, 30] {
        let acknowledged = append_until_killed(&path, kill_after);
        let store = Store::open(&path).expect("the store opens after a kill");
        let last = store.sessions().expect("sessions").len() as i64;
        let filter = Filter { campaign: Some(last), traces: true, ..Filter::default() };
        let records = store.records(&filter).expect("undamaged records");
        assert!(records.len() > acknowledged, "{} <= {acknowledged}", records.len());
        for (position, record) in records.iter().enumerate() {
            assert_eq!(*record, sample::record(position as u32));
        }
    }
}

/// The program that is killed: this test alone, told by a variable where to append.
const APPEND_TO: &str = "FAIRGROUND_TEST_APPEND_TO";

/// Appends records until it is killed, and prints the number of each after it is safe.
#[test]
fn append_until_killed_if_told_where() {
    let Some(path) = std::env::var_os(APPEND_TO) else { return };
    let store = Store::open(Path::new(&path)).expect("the store");
    let session = store.begin(&sample::session()).expect("a session");
    for position in 0.. {
        store.append(session, &sample::record(position)).expect("a record");
        println!("\nappended {position}");
    }
}

/// Kills the appender (SIGKILL) after `kill_after` records, and returns the last one's number.
fn append_until_killed(path: &Path, kill_after: usize) -> usize {
    let test = "tests::promises::append_until_killed_if_told_where";
    let mut child = Command::new(std::env::current_exe().expect("this test's path"))
        .args(["--exact", test, "--nocapture"])
        .env(APPEND_TO, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the appender starts");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut last = 0;
    for line in lines {
        let line = line.expect("a line");
        let Some(position) = line.strip_prefix("appended ") else { continue };
        last = position.parse().expect("a number");
        if last == kill_after {
            child.kill().expect("SIGKILL");
        }
    }
    child.wait().expect("its end");
    last
}

#[test]
fn a_file_of_another_version_is_refused_with_both_versions() {
    let (_folder, path) = stored(1);
    let connection = Connection::open(&path).expect("the file");
    for version in [0, SCHEMA_VERSION + 1] {
        connection.pragma_update(None, "user_version", version).expect("another version");
        for error in [Store::open(&path).err(), Store::open_readonly(&path).err()] {
            let message = error.expect("refused").to_string();
            assert!(message.contains(&format!("version {version}")), "{message}");
            assert!(message.contains("reads version 1 only"), "{message}");
        }
    }
}

#[test]
fn what_is_not_a_store_is_refused_and_left_alone() {
    let folder = folder();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "dear diary, this is not a database, not even a small one".repeat(20))
        .expect("a file");
    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign)
        .and_then(|c| c.execute_batch("CREATE TABLE cheese (name TEXT)"))
        .expect("another program's database");
    for path in [text, foreign] {
        let before = std::fs::read(&path).expect("bytes");
        for error in [Store::open(&path).err(), Store::open_readonly(&path).err()] {
            let error = error.expect("refused");
            assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
        }
        assert_eq!(std::fs::read(&path).expect("bytes"), before);
    }
}

#[test]
fn missing_files_and_folders_say_what_to_do() {
    let folder = folder();
    let missing = folder.path().join("none.db");
    let message = Store::open_readonly(&missing).err().expect("refused").to_string();
    assert!(message.contains("fairground run"), "{message}");
    let nowhere = folder.path().join("no/such/folder/a.db");
    let error = Store::open(&nowhere).err().expect("refused");
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
}

#[test]
fn a_text_that_was_cut_anew_is_not_genuine() {
    let files = |own: &str, header: &str| {
        vec![("mine.bpf.c".to_owned(), own.to_owned()), ("mine.h".into(), header.into())]
    };
    let sha256 = model::trial::identity([("mine.bpf.c", "a\nb\n"), ("mine.h", "c\n")]);
    let source = |files| SchedulerSource { sha256: sha256.clone(), name: "mine".into(), files };
    assert!(source(files("a\nb\n", "c\n")).is_genuine());
    for (own, header) in [("a\n", "b\nc\n"), ("a\nb\nc\n", ""), ("", "a\nb\nc\n")] {
        assert!(!source(files(own, header)).is_genuine(), "{own}{header}");
    }
    assert!(!source(vec![("mine.bpf.c".into(), "a\nb\nc\n".into())]).is_genuine());
    // A text that has the name of tapes is no scheduler, whatever it holds.
    assert!(!source(vec![("tapes".into(), "a\nb\nc\n".into())]).is_genuine());
}
