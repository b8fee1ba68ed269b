// SPDX-License-Identifier: GPL-2.0-only
//! What a store promises.

mod damage;
mod promises;
mod sample;

use std::path::Path;

use crate::{Filter, Store};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Makes a session with that number of records, and returns the number of the session.
fn filled(path: &Path, records: u32) -> i64 {
    let store = Store::open(path).expect("a store");
    let session = store.begin(&sample::session()).expect("a session");
    for position in 0..records {
        store.append(session, &sample::record(position)).expect("a record");
    }
    session
}

fn all() -> Filter {
    Filter { traces: true, ..Filter::default() }
}
