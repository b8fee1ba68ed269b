// SPDX-License-Identifier: GPL-2.0-only
//! A full disk: what was stored stays, and what does not fit leaves no trace.

use super::{all, filled, folder, sample};
use crate::{Origin, SchedulerSource, Session, Store, StoreError};

/// Lets the file grow by no more than `more` pages of 4 KiB.
fn limit_pages(store: &Store, more: i64) -> rusqlite::Result<()> {
    let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    store.connection.pragma_update(None, "max_page_count", pages + more)
}

#[test]
fn shared_sessions_come_in_whole_or_not_at_all() {
    let folder = folder();
    let path = folder.path().join("a.db");
    filled(&path, 1);
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
    let folder = folder();
    let path = folder.path().join("a.db");
    filled(&path, 1);
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
    let folder = folder();
    let path = folder.path().join("a.db");
    filled(&path, 1);
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
