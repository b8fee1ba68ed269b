// SPDX-License-Identifier: GPL-2.0-only
//! Results travel: what is shared comes back whole, what is private stays at home, and a file that
//! is not as it was made is refused.

use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::{Backend, Outcome, Record};
use store::Store;
use store::exchange::share::{Shared, seal};

use crate::common::hogs::raced;
use crate::common::{Bench, TAPES, stderr, stdout};

fn bench() -> Bench {
    raced(2)
}

/// The experiment's shared file, made with these options too.
fn shared(bench: &Bench, options: &[&str]) -> Vec<u8> {
    let arguments = [&["share", "race", "--store", "a.db", "-o", "a.fairground"], options].concat();
    bench.run(&arguments).success();
    std::fs::read(bench.path("a.fairground")).expect("a shared file")
}

/// The text below the seal.
fn body(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).expect("gzip of text");
    text.split_once('\n').expect("a first line").1.to_owned()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn refused(bytes: &[u8]) -> String {
    Shared::unpack(bytes).map(|_| ()).expect_err("refused")
}

fn import(bench: &Bench, file: &str) -> String {
    let assert = bench.run(&["import", file, "--store", "b.db"]).success();
    stderr(&assert)
}

#[test]
fn what_is_shared_comes_back_and_comes_once() {
    let bench = bench();
    let bytes = shared(&bench, &["--by", "Ada"]);
    assert!(bytes.len() < 40_000, "{} bytes", bytes.len());
    assert_eq!(bytes, shared(&bench, &["--by", "Ada"]), "equal records make equal bytes");
    let said = import(&bench, "a.fairground");
    assert!(said.contains("shared by Ada: 4 trials"), "{said}");
    let said = import(&bench, "a.fairground");
    assert!(said.contains("the store has all of it already"), "{said}");
    assert_eq!(bench.records("b.db").len(), 4);
    bench.run(&["compare", "--identical", "a.db", "b.db"]).success();
    // Its owner has it already.
    let assert = bench.run(&["import", "a.fairground", "--store", "a.db"]).success();
    assert!(stderr(&assert).contains("the store has all of it already"));
    for record in bench.records("b.db") {
        let note = record.provenance.notes.last().expect("a note");
        assert!(note.starts_with("shared by Ada, seal "), "{note}");
    }
    bench.run(&["report", "--store", "b.db", "-o", "b.html"]).success();
    let page = std::fs::read_to_string(bench.path("b.html")).expect("a page");
    assert!(page.contains("shared by Ada, seal "));
    let store = Store::open_readonly(&bench.path("b.db")).expect("a store");
    let sources = store.sources().expect("texts");
    assert!(sources.iter().any(|source| source.name == "rr" && source.is_genuine()));
    // A shared file is a store to read from.
    let assert = bench.run(&["compare", "a.db", "a.fairground"]).success();
    assert!(stdout(&assert).contains("4 trials are in a.db and in a.fairground"));
}

/// `a.db` as if it had been measured on a live kernel that tells much.
fn talkative(bench: &Bench) {
    let mut session = bench.first_session("a.db");
    session.command = "fairground run /home/ada/work/race.toml --store ../x/a.db".into();
    let mut records = bench.records("a.db");
    for (index, record) in records.iter_mut().enumerate() {
        record.trial.backend = Backend::Live;
        let provenance = &mut record.provenance;
        provenance.kernel_facts.insert("command_line".into(), "root=UUID=secret-uuid".into());
        provenance.kernel_facts.insert("serial".into(), "secret-serial".into());
        provenance.boot_id = format!("secret-boot-{}", record.trial.boot);
        provenance.notes.push("read /home/ada/work/notes.txt".into());
        provenance.printed.push("secret-print".into());
        if index == 0 {
            let reason = "runnable task stall (secretd[12] failed to run)".into();
            record.outcome = Outcome::Ejected { reason, dump: "secret-dump".into() };
        }
    }
    bench.store("live.db", &session, records);
}

#[test]
fn private_facts_stay_at_home_unless_asked() {
    let bench = bench();
    talkative(&bench);
    let share = ["share", "--store", "live.db", "-o", "live.fairground"];
    let assert = bench.run(&share).success();
    assert!(stderr(&assert).contains("left out: "), "{}", stderr(&assert));
    let text = body(&std::fs::read(bench.path("live.fairground")).expect("a file"));
    let folder = bench.path("").display().to_string();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    // A name as short as `vm` stands in words that mean something else.
    let host = if host.trim().len() < 4 { "secret" } else { host.trim() };
    let home = std::env::var("HOME").unwrap_or_default();
    let home = if home.len() > 1 { home.as_str() } else { "secret" };
    for private in ["secret", "/home/ada", "work/", folder.trim_end_matches('/'), host, home] {
        assert!(!text.contains(private), "{private} in {text}");
    }
    for private in [boot.trim(), machine.trim()].into_iter().filter(|name| !name.is_empty()) {
        assert!(!text.contains(private), "{private}");
    }
    assert!(text.contains("race.toml --store a.db") && text.contains("read notes.txt"), "{text}");
    // Boots are still told apart.
    let file = Shared::read(&bench.path("live.fairground")).expect("a shared file");
    let boots: std::collections::BTreeSet<&str> =
        file.records().map(|record| record.provenance.boot_id.as_str()).collect();
    assert_eq!(boots.len(), 2, "{boots:?}");

    bench.run(&[&share[..], &["--with-host"]].concat()).success();
    let text = body(&std::fs::read(bench.path("live.fairground")).expect("a file"));
    for private in ["secret-uuid", "secret-dump", "secret-print", "/home/ada"] {
        assert!(text.contains(private), "{private}");
    }
}

#[test]
fn no_flipped_byte_and_no_cut_goes_unnoticed() {
    let bench = bench();
    let bytes = shared(&bench, &[]);
    let whole = Shared::unpack(&bytes).expect("as it was made");
    let stride = (bytes.len() / 500).max(1);
    let mut same = 0;
    for at in (0..bytes.len()).step_by(stride) {
        for bit in [0x01, 0x80] {
            let mut flipped = bytes.clone();
            flipped[at] ^= bit;
            match Shared::unpack(&flipped) {
                Err(why) => assert!(!why.is_empty()),
                // gzip's own head has bytes without a meaning for the content.
                Ok(read) => {
                    assert_eq!(read, whole, "byte {at}");
                    same += 1;
                }
            }
        }
    }
    assert!(same <= 20, "{same} flips made no difference");
    for at in (0..bytes.len()).step_by(stride) {
        let why = refused(&bytes[..at]);
        assert!(!why.is_empty());
    }
    assert!(refused(&[&bytes[..], b"more"].concat()).contains("behind its end"));
}

#[test]
fn a_seal_that_was_made_anew_does_not_help() {
    let bench = bench();
    let text = body(&shared(&bench, &[]));
    let reseal = |text: &str| seal::pack(text).expect("packed");
    assert!(Shared::unpack(&reseal(&text)).is_ok());
    let value = text.split("\"value\":").nth(1).expect("a number");
    let value = value.split([',', '}']).next().expect("a number");
    let lines: Vec<&str> = text.lines().collect();
    let session = lines.iter().position(|line| line.starts_with("{\"session\"")).expect("one");
    let swapped = [&lines[..1], &lines[session + 1..]].concat().join("\n");
    let cases = [
        (
            text.replacen(&format!("\"value\":{value}"), "\"value\":7.5", 1),
            "not the ones that were",
        ),
        (text.replacen("\"position\":0", "\"position\":9", 1), "not what its identity says"),
        (text.replacen("\"run_us\":1000", "\"run_us\":1001", 1), "not what its name says"),
        (text.replacen("fairground run", "rm -rf", 1), "no call of this program"),
        (text.replacen("#include", "#Include", 1), "not what its SHA-256 says"),
        (text.replacen("{\"about\"", "{\"script\"", 1), "unknown variant `script`"),
        (format!("{}\n{text}", lines[0]), "twice"),
        (lines[1..].join("\n"), "does not say what it is about"),
        (swapped, "does not stand above"),
        (lines[..session].join("\n"), "no record in it"),
        (text.replacen("\"by\":", "\"run\":\"sh\",\"by\":", 1), "unknown field `run`"),
        (String::new(), "no record in it"),
    ];
    for (changed, why) in cases {
        assert_ne!(changed, text, "{why}");
        let said = refused(&reseal(&changed));
        assert!(said.contains(why), "{said}; expected: {why}");
    }
}

#[test]
fn shared_trials_obey_the_rules_of_workload_files() {
    let mut shared = Shared::unpack(&shared(&bench(), &[])).expect("a shared file");
    shared.sessions[0].1[0].trial.workload.tasks[0].count = 1 << 31;
    let said = refused(&shared.pack().expect("packed"));
    assert!(said.contains("is no record: its workload: 2147483"), "{said}");
    assert!(said.contains("tasks are too many"), "{said}");
}

#[test]
fn other_files_are_refused_with_their_reason() {
    let bench = bench();
    let text = body(&shared(&bench, &[]));
    let with = |version: u32, bytes: u64, sha256: &str| {
        let seal = format!(
            "{{\"fairground_share\":{version},\"sha256\":\"{sha256}\",\"bytes\":{bytes}}}\n"
        );
        gzip((seal + &text).as_bytes())
    };
    let length = text.len() as u64;
    let newer = refused(&with(2, length, "?"));
    assert!(newer.contains("version 2, this program reads up to 1"), "{newer}");
    assert!(refused(&with(1, length, "0123456789abcdef")).contains("the seal is broken"));
    assert!(refused(&with(1, length - 1, "?")).contains("more than"));
    assert!(refused(&with(1, length + 1, "?")).contains("less than"));
    assert!(refused(&with(1, 1 << 40, "?")).contains("MiB is the most"));
    assert!(refused(&gzip(b"hello\n")).contains("its first line is no seal"));
    assert!(refused(b"hello").contains("not a shared file"));
    // A bomb: a small file of much text; no more is unpacked than was sealed.
    let bomb =
        [&b"{\"fairground_share\":1,\"sha256\":\"?\",\"bytes\":9}\n"[..], &vec![b' '; 200 << 20]];
    let bomb = gzip(&bomb.concat());
    assert!(bomb.len() < 2 << 20 && refused(&bomb).contains("more than the 9 bytes"));
    assert!(refused(&gzip(&vec![b'x'; 100 << 20])).contains("no seal"));
}

#[test]
fn refusal_writes_nothing_and_is_bad_input() {
    let bench = bench();
    let mut bytes = shared(&bench, &[]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(bench.path("bad.fairground"), &bytes).expect("a file");
    let assert =
        bench.run(&["import", "a.fairground", "bad.fairground", "--store", "b.db"]).code(2);
    let said = stderr(&assert);
    assert!(said.contains("bad.fairground: refused: "), "{said}");
    assert!(!Path::new(&bench.path("b.db")).exists());
    let assert = bench.run(&["import", "a.fairground", "--scheduler", "x"]).code(2);
    assert!(stderr(&assert).contains("--scheduler: a shared file has its own"));
    bench.run(&["import", "none.fairground", "--store", "b.db"]).code(2);
}

#[test]
fn what_others_measured_is_no_session_of_ours() {
    let bench = bench();
    shared(&bench, &["--by", "Ada"]);
    import(&bench, "a.fairground");
    // One session of our own, one of Ada's: nothing before it to compare with.
    bench.run(&["run", "./race.toml", "--exploratory", "--store", "b.db", "--seed", "9"]).success();
    let assert = bench.run(&["history", "--gate", "--store", "b.db"]).code(2);
    assert!(stderr(&assert).contains("measured only once"), "{}", stderr(&assert));
    let own = |record: &&Record| record.provenance.notes.iter().all(|note| !note.contains("Ada"));
    assert_eq!(bench.records("b.db").iter().filter(own).count(), 4);
}

#[test]
fn what_will_leave_is_shown_before_it_is_written() {
    let bench = bench();
    let arguments = ["share", "race", "--store", "a.db", "-o", "a.fairground", "--by", "Ada"];
    let shown = bench.run(&[&arguments[..], &["--dry-run"]].concat()).success();
    let said = stderr(&shown);
    for part in ["a text of rr: rr.bpf.c, ", "trials: 4", "a command: fairground run", "Ada"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("not written: a.fairground") && !bench.path("a.fairground").exists());
    let written = stderr(&bench.run(&arguments).success());
    let shown = said.split("not written").next().expect("a list");
    assert!(written.starts_with(shown), "{written}");
}

/// A folder where a recording was played.
fn recorded() -> Bench {
    let bench = Bench::new();
    bench.write_recording("mine", TAPES);
    play(&bench, "a.db");
    bench
}

fn play(bench: &Bench, store: &str) {
    let run = ["run", "--on", "sim", "--workload", "mine.toml", "--scheduler", "fifo"];
    bench
        .run(&[&run[..], &["--exploratory", "--blocks", "2", "--store", store]].concat())
        .success();
}

#[test]
fn who_gets_the_tapes_repeats_the_trials() {
    let bench = recorded();
    let share = ["share", "--store", "a.db", "-o", "a.fairground", "--tapes"];
    let said = stderr(&bench.run(&share).success());
    let tapes_line = format!("a text of mine: tapes, {} bytes", TAPES.len());
    assert!(said.contains(&tapes_line), "{said}");
    assert!(said.contains("texts of schedulers: 1, recordings: 1, "), "{said}");
    // From another folder: the tapes are where the store is, not where the command is.
    std::fs::create_dir(bench.path("elsewhere")).expect("a folder");
    let far = ["share", "--store", "../a.db", "-o", "../far.fairground", "--tapes"];
    bench.fairground(&far).current_dir(bench.path("elsewhere")).assert().success();
    let bytes = |name: &str| std::fs::read(bench.path(name)).expect("a file");
    assert!(bytes("far.fairground") == bytes("a.fairground"));
    std::fs::remove_file(bench.path("mine.tapes")).expect("removed");
    import(&bench, "a.fairground");
    let export = ["export", "workload", "mine", "--store", "b.db", "-o", "mine.toml"];
    bench.run(&[&export[..], &["--thread-names"]].concat()).success();
    play(&bench, "c.db");
    bench.run(&["compare", "--identical", "a.db", "c.db"]).success();
    // What came can be shared again, without the file.
    std::fs::remove_file(bench.path("mine.tapes")).expect("removed");
    bench.run(&["share", "--store", "b.db", "-o", "b.fairground", "--tapes"]).success();
    // It has not come with the store of its owner, whose file is gone now.
    let said = stderr(
        &bench.run(&["export", "workload", "mine", "--store", "a.db", "-o", "x.toml"]).code(2),
    );
    assert!(said.contains("did not come with it") && said.contains("share --tapes"), "{said}");
    let said = stderr(&bench.run(&share).code(2));
    let sha256 = model::trial::sha256_hex(TAPES.as_bytes());
    assert!(
        said.contains(&format!("mine.tapes: no such file, which has the tapes {sha256}")),
        "{said}"
    );
    let said = stderr(
        &bench.run(&["export", "workload", "other", "--store", "b.db", "-o", "x.toml"]).code(2),
    );
    assert!(said.contains("no record plays a recording named 'other'"), "{said}");
}

#[test]
fn what_nobody_named_is_not_shared_without_a_question() {
    let bench = recorded();
    std::fs::rename(bench.path("a.db"), bench.path("fairground.db")).expect("renamed");
    let said = stderr(&bench.run(&["share"]).code(2));
    assert!(said.contains("name what to share: fairground share adhoc"), "{said}");
    assert!(said.contains("what will leave this machine"), "{said}");
    assert!(!bench.path("adhoc.fairground").exists());
    bench.run(&["share", "adhoc"]).success();
    assert!(bench.path("adhoc.fairground").exists());
}

#[test]
fn tapes_stay_at_home_unless_asked() {
    let bench = recorded();
    let said = stderr(&bench.run(&["share", "--store", "a.db", "-o", "a.fairground"]).success());
    assert!(said.contains("left out: the tapes of mine: what each thread did and when"), "{said}");
    let text = body(&std::fs::read(bench.path("a.fairground")).expect("a file"));
    assert!(!text.contains("r1000000"), "{text}");
    std::fs::remove_file(bench.path("mine.tapes")).expect("removed");
    import(&bench, "a.fairground");
    let said = stderr(
        &bench.run(&["export", "workload", "mine", "--store", "b.db", "-o", "x.toml"]).code(2),
    );
    assert!(said.contains("did not come with it, and mine.tapes does not have them"), "{said}");
}

#[test]
fn changed_tapes_are_refused() {
    let bench = recorded();
    bench.run(&["share", "--store", "a.db", "-o", "a.fairground", "--tapes"]).success();
    let text = body(&std::fs::read(bench.path("a.fairground")).expect("a file"));
    let changed = seal::pack(&text.replace("r1000000 p1", "r1000001 p1")).expect("packed");
    assert!(refused(&changed).contains("the text of mine is not what its SHA-256 says"));
    // No tapes, under their own name: they are kept, and nobody plays them.
    let (old, new) = (model::trial::sha256_hex(TAPES.as_bytes()), "rm -rf");
    let tapes = serde_json::to_string(TAPES).expect("text");
    let other = text.replace(&tapes, &format!("\"{new}\""));
    let line = other.lines().find(|line| line.contains(new)).expect("a line");
    let named = line.replace(&old, &model::trial::sha256_hex(new.as_bytes()));
    let other = seal::pack(&other.replace(line, &named)).expect("packed");
    std::fs::write(bench.path("bad.fairground"), other).expect("a file");
    std::fs::remove_file(bench.path("mine.tapes")).expect("removed");
    import(&bench, "bad.fairground");
    let said = stderr(
        &bench.run(&["export", "workload", "mine", "--store", "b.db", "-o", "x.toml"]).code(2),
    );
    assert!(said.contains("did not come with it"), "{said}");
}
