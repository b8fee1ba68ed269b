// SPDX-License-Identifier: GPL-2.0-only
//! What hostile schedulers try, and what becomes of it: each trial has an outcome that says what was
//! tried, nothing happens outside its process, and the trials beside it measure what they always do.
//!
//! The attacks are one scheduler with a knob, so that it is compiled once.
//! `FAIRGROUND_BLESS=1 cargo test --release -p fairground-sim --test it hostile` rewrites the table in
//! the book.

mod attacks;

use std::fmt::Write;
use std::path::Path;
use std::sync::{Once, OnceLock, mpsc};

use compile::native::Native;
use model::{KnobValue, Outcome, Record, Trial};
use serde_json::json;
use sim::native::{LabFault, sandbox_parts, start_fork_server};

use crate::common::{builtin, compiled, compiled_text, trial_of};

const SOURCE: &str = include_str!("../../hostile/scheduler.c");
/// What the attacks would leave behind.
const TRACES: [&str; 3] = ["constructor", "destructor", "library"];

/// An attack: what it is, and its code.
fn all() -> Vec<(String, String)> {
    let call = |(what, name, number): &(&str, &str, i64)| {
        (format!("{what} (`{name}`)"), format!("call({number}, 0, 0, 0, 0, 0, 0);"))
    };
    let other = |(what, code): &(&str, &str)| ((*what).to_owned(), (*code).to_owned());
    attacks::OTHERS.iter().map(other).chain(attacks::CALLS.iter().map(call)).collect()
}

fn hostile() -> &'static Native {
    static HOSTILE: OnceLock<Native> = OnceLock::new();
    HOSTILE.get_or_init(|| {
        let cases =
            all().into_iter().enumerate().fold(String::new(), |text, (number, (_, code))| {
                format!("{text}\tcase {number}: {{ {code} break; }}\n")
            });
        compiled_text("hostile", &SOURCE.replace("@ATTACKS@", &cases))
    })
}

fn trial(scheduler: &str, knobs: &[(&str, KnobValue)]) -> Trial {
    let steps = json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
    trial_of(scheduler, knobs, 2, 20, json!([{ "name": "sleeper", "count": 6, "steps": steps }]))
}

/// As in the program: a fork server makes the processes. It dies with the thread that starts it.
fn supervise(trial: &Trial, scheduler: &Native) -> Result<Record, LabFault> {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            tell.send(start_fork_server()).expect("somebody waits");
            loop {
                std::thread::park();
            }
        });
        told.recv().expect("an answer").expect("a server");
    });
    crate::common::supervise(trial, scheduler)
}

fn attacked(number: usize) -> Result<Record, LabFault> {
    supervise(&trial("hostile", &[("attack", KnobValue::Int(number as i64))]), hostile())
}

fn honest() -> Record {
    supervise(&trial("fifo", &[]), &builtin("fifo")).expect("a record")
}

/// The outcome in words, without what differs from build to build: lines.
fn words(result: &Result<Record, LabFault>) -> String {
    let text = match result {
        Err(fault) => panic!("no record: {}", fault.what),
        Ok(record) if record.outcome == Outcome::Ok => "ok: nothing happened".into(),
        Ok(record) => format!("{}: {}", record.outcome.word(), record.outcome.reason()),
    };
    let is_place = |word: &&str| word.starts_with('(') && word.contains("hostile.bpf.c:");
    // What follows a place in a sentence stays.
    let text = text.replace(");", ") ;");
    let words = text.split(' ').filter(|word| !is_place(word));
    words.collect::<Vec<_>>().join(" ").replace(" ;", ";")
}

/// All attacks, two at a time, beside an honest scheduler.
fn outcomes() -> &'static [(String, String)] {
    static OUTCOMES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    OUTCOMES.get_or_init(|| {
        let alone = honest();
        assert!(alone.outcome.is_ok(), "{:?}", alone.outcome);
        let attacks: Vec<(usize, String)> =
            all().into_iter().map(|(what, _)| what).enumerate().collect();
        let half = |part: &[(usize, String)]| -> Vec<(String, String)> {
            let attack = |(number, what): &(usize, String)| {
                let result = attacked(*number);
                assert_eq!(honest(), alone, "beside: {what}");
                (what.clone(), words(&result))
            };
            part.iter().map(attack).collect()
        };
        let (first, second) = attacks.split_at(attacks.len() / 2);
        let (mut outcomes, rest) = std::thread::scope(|scope| {
            let rest = scope.spawn(|| half(second));
            (half(first), rest.join().expect("the other half"))
        });
        outcomes.extend(rest);
        outcomes
    })
}

/// Attacks that come to nothing by themselves: what they look for is not there, or is refused with
/// an error.
const VAIN: &[&str] = &[
    "nothing",
    "block the signals",
    "write to standard error",
    "take a tebibyte",
    "take memory",
    "run a command",
    "print through",
    "find any function",
    "read the environment",
    "run code while",
    "divide by zero",
];

#[test]
fn every_attack_has_its_outcome_and_no_effect() {
    let complete = sandbox_parts().seccomp;
    for (what, outcome) in outcomes() {
        let is_vain = VAIN.iter().any(|vain| what.starts_with(vain));
        assert_eq!(outcome == "ok: nothing happened", is_vain, "{what}: {outcome}");
        if let Some((_, call)) = what.strip_suffix("`)").and_then(|what| what.split_once(" (`")) {
            let expected = format!(
                "failed: the scheduler called {call}, which the sandbox forbids, in enqueue"
            );
            assert!(!complete || *outcome == expected, "{what}: {outcome}");
        }
    }
    assert!(outcomes().len() >= 60);
    for trace in TRACES {
        assert!(!Path::new(trace).exists(), "{trace} was made");
    }
}

#[test]
fn an_answer_for_another_trial_is_a_failed_one() {
    let number = all().iter().position(|(what, _)| what.contains("for another trial"));
    let record = attacked(number.expect("it is listed")).expect("a record");
    let reason = "it answered for trial 0000000000000000, which the scheduler forged";
    assert_eq!(record.outcome, Outcome::Failed { reason: reason.into() });
}

/// A weak name would be null, or the library's function if it were there.
#[test]
fn functions_of_the_c_library_are_refused_by_name() {
    for function in ["system", "puts", "dlsym"] {
        let declared = format!(
            "extern int {function}(const char *) \
             __attribute__((weak, visibility(\"default\")));\nstatic void attack_now"
        );
        let call = format!("\tcase 0: if ({function}) {function}(\"touch library\"); break;\n");
        let text =
            SOURCE.replace("@ATTACKS@", &call).replacen("static void attack_now", &declared, 1);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hostile.bpf.c");
        std::fs::write(&path, text).expect("the folder can be written");
        let said = compiled(&path).expect_err(function).message;
        assert!(said.contains(&format!("{function}()")), "{said}");
    }
}

#[test]
fn a_function_that_is_chosen_at_loading_is_refused() {
    let text = SOURCE.replace("@ATTACKS@", "\tcase 0: chosen(); break;\n").replace(
        "static void attack_now",
        "#ifdef __x86_64__\nstatic void one(void) {}\n\
         static void *choose(void) { call(2, (long)\"ifunc\", 02101, 0644, 0, 0, 0); return one; }\n\
         void chosen(void) __attribute__((ifunc(\"choose\")));\n#endif\nstatic void attack_now",
    );
    let native = compiled_text("hostile", &text);
    let outcome = supervise(&trial("hostile", &[]), &native).expect("a record").outcome;
    assert!(matches!(outcome, Outcome::Unsupported { .. }), "{outcome:?}");
    assert!(!Path::new("ifunc").exists());
}

/// The outcome without what the host's load decides: whether an answer without end is too long
/// before it is too late, and which function a wild jump is seen in.
fn settled(what: &str, outcome: &str) -> String {
    if what == "send an answer without end" {
        let is_expected = outcome.starts_with("failed: an answer of more than 12 MiB")
            || outcome.starts_with("hung");
        assert!(is_expected, "{what}: {outcome}");
        return "failed, for its answer has no end, or hung".into();
    }
    outcome.split(", in a kfunc that it calls").next().unwrap_or_default().into()
}

fn table() -> String {
    let mut text = String::from("| what was tried | what became of it |\n|---|---|\n");
    for (what, outcome) in outcomes().iter().filter(|(what, _)| what != "nothing") {
        writeln!(text, "| {what} | {} |", settled(what, outcome).replace('|', "\\|"))
            .expect("text");
    }
    text
}

#[test]
fn the_table_in_the_book_is_this_one() {
    testing::need!(sandbox_parts().missing().map_or(Ok(()), |_| Err(sandbox_parts().to_string())));
    let tests = "-p fairground-sim --test it hostile";
    testing::project::expect_generated("docs/src/method/hostile.md", "hostile", tests, &table());
}
