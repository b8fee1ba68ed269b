// SPDX-License-Identifier: GPL-2.0-only
//! The doors by which records leave, and what is written there.

use std::io::Read;

use flate2::read::GzDecoder;
use store::exchange::privacy::{Choice, Cleaner, Owner};
use store::exchange::share::Shared;
use store::{Filter, Session, Store};

use super::STORE;
use crate::common::{Bench, stderr, stdout};

/// The owner of the machine.
const OWNER: [(&str, &str); 3] =
    [("USER", "planteduser"), ("LOGNAME", "planteduser"), ("HOME", "/home/plantedhome")];

fn run(bench: &Bench, arguments: &[&str]) -> assert_cmd::assert::Assert {
    bench.fairground(arguments).envs(OWNER).assert()
}

/// What `share` says before it writes.
pub fn listed(bench: &Bench) -> String {
    let options = ["share", "--store", STORE, "--session", "all", "--traces", "--dry-run"];
    stderr(&run(bench, &options))
}

/// Each door, and the text that it writes.
pub fn all(bench: &Bench) -> Vec<(String, String)> {
    let mut texts = vec![("share".to_owned(), shared(bench, &[]))];
    texts.extend(but_share(bench));
    texts
}

/// What `share` would write of records that nobody can play, which it refuses in the end.
pub fn unplayable(bench: &Bench) -> String {
    let store = Store::open_readonly(&bench.path(STORE)).expect("a store");
    let with_records = |session: Session| {
        let filter = Filter { session: Some(session.id), traces: true, ..Filter::default() };
        let records = store.read(&filter).expect("records").records;
        (Session { campaign: None, ..session }, records)
    };
    let sessions = store.sessions().expect("sessions").into_iter().map(with_records).collect();
    let mut shared = Shared { sessions, ..Shared::default() };
    let owner = Owner::from_names(["planteduser", "plantedhome"].map(str::to_owned));
    let sessions = shared.sessions.iter().map(|(session, _)| session);
    let mut cleaner = Cleaner::new(Choice::default(), owner, sessions);
    shared.clean(&mut cleaner).expect("they stay records");
    unpacked(&shared.pack().expect("packed"))
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).expect("gzip of text");
    text
}

/// The other doors.
pub fn but_share(bench: &Bench) -> Vec<(String, String)> {
    let mut texts = vec![("report".to_owned(), page(bench))];
    let of_all = ["--store", STORE, "--session", "all"];
    for form in ["csv", "series", "json"] {
        let text = stdout(&run(bench, &[&["export", form], &of_all[..]].concat()).success());
        texts.push((format!("export {form}"), text));
    }
    texts.push(("export hgrm".to_owned(), hgrm(bench, &of_all)));
    let trial = bench.records(STORE).into_iter().find(|record| record.trace.is_some());
    if let Some(record) = trial {
        let arguments = ["export", "trace", &record.trial.id(), "--store", STORE];
        texts.push(("export trace".to_owned(), stdout(&run(bench, &arguments).success())));
    }
    let gate = ["history", "--gate", "--store", STORE, "--before", STORE];
    texts.push(("the action's gate".to_owned(), stdout(&run(bench, &gate))));
    texts
}

/// The text of a shared file that was made with these options too.
pub fn shared(bench: &Bench, options: &[&str]) -> String {
    let file = bench.path("planted.fairground");
    let name = file.display().to_string();
    let arguments = ["share", "--store", STORE, "--session", "all", "--traces", "-o", &name];
    run(bench, &[&arguments[..], options].concat()).success();
    unpacked(&std::fs::read(&file).expect("a file"))
}

fn page(bench: &Bench) -> String {
    let arguments = ["report", "--store", STORE, "--session", "all", "-o", "page.html"];
    run(bench, &arguments).success();
    let page = std::fs::read_to_string(bench.path("page.html")).expect("a page");
    let data = testing::page_data(&page).to_string();
    page + &data
}

fn hgrm(bench: &Bench, of_all: &[&str]) -> String {
    run(bench, &[&["export", "hgrm", "-o", "hgrm"], of_all].concat()).success();
    let files = std::fs::read_dir(bench.path("hgrm")).expect("a folder");
    let text = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a file").path();
        format!("{}\n{}", path.display(), std::fs::read_to_string(&path).expect("text"))
    };
    files.map(text).collect()
}
