// SPDX-License-Identifier: GPL-2.0-only
//! Text of strangers on a terminal.

use model::text::LINE_MAX;
use model::{Outcome, Record};
use store::Store;

use crate::common::hogs::{raced, shared};
use crate::common::{Bench, stderr, stdout};

/// Whether a text has a character that a terminal obeys, or a line that is too long.
fn is_safe(text: &str) -> bool {
    let obeyed = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
    !text.chars().any(obeyed) && text.lines().all(|line| line.chars().count() < LINE_MAX + 100)
}

#[test]
fn control_sequences_of_a_shared_file_are_shown_and_not_obeyed() {
    let bench = shared(|shared| {
        shared.about.by = "\u{1b}]0;PWNED\u{7}\u{1b}[31mred\u{1b}[2J".into();
        shared.about.note = "\u{1b}[2Jn".into();
        for record in &mut shared.sessions[0].1 {
            let reason = "\u{1b}]52;c;eA==\u{7}\u{1b}[2Jevil\nnot ok: fake line".into();
            record.outcome = Outcome::Failed { reason };
        }
    });
    let imported = bench.run(&["import", "a.fairground", "--store", "a.db"]).success();
    let said = stderr(&imported);
    assert!(is_safe(&said) && said.contains("\\u001b]0;PWNED\\u0007"), "{said}");
    for arguments in [&["compare", "a.db"][..], &["compare", "a.fairground"], &["list", "sessions"]]
    {
        let assert = bench.run(arguments);
        let (out, err) = (stdout(&assert), stderr(&assert));
        assert!(is_safe(&out) && is_safe(&err), "{out:?} {err:?}");
        // A reason of two lines is not two lines of ours.
        assert!(!err.lines().any(|line| line.starts_with("not ok: fake line")), "{err}");
    }
}

#[test]
fn reasons_in_a_store_have_nothing_that_a_terminal_obeys() {
    let bench = raced(2);
    let from = Store::open_readonly(&bench.path("a.db")).expect("a store");
    let session = from.sessions().expect("sessions").remove(0);
    let to = Store::open(&bench.path("b.db")).expect("a store");
    let id = to.begin(&session).expect("a session");
    let reason = "\u{1b}]52;c;eA==\u{7}\u{202e}x".to_owned();
    for record in bench.records("a.db") {
        let outcome = Outcome::Failed { reason: reason.clone() };
        to.append(id, &Record { outcome, ..record }).expect("appended");
    }
    for record in bench.records("b.db") {
        assert_eq!(record.outcome.reason(), "\\u001b]52;c;eA==\\u0007\\u202ex");
    }
}

#[test]
fn a_command_is_a_call_of_this_program_only_if_its_first_word_is_its_name() {
    for command in ["fairground-evil run x", "fairground/../../tmp/evil.sh", "/tmp/fairground run"]
    {
        let bench = shared(|shared| shared.sessions[0].0.command = command.into());
        let said = stderr(&bench.run(&["import", "a.fairground", "--store", "a.db"]).code(2));
        assert!(said.contains("its command is no call of this program"), "{said}");
    }
}

#[test]
fn endless_names_are_cut_in_messages() {
    let bench = Bench::new();
    let long = "x".repeat(100_000);
    bench.write("long.toml", &format!("{long} = 1\nabout = \"\u{202e}\"\n"));
    let assert =
        bench.run(&["run", "--on", "sim", "--workload", "./long.toml", "--scheduler", "rr"]);
    let said = stderr(&assert.code(2));
    assert!(is_safe(&said) && said.contains("more characters"), "{} bytes", said.len());
}
