// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers that are switched under a program while it runs: two policies, which need no root.

use std::process::{Child, Stdio};

use live::facts::is_root;
use model::{Outcome, Record, SchedulerChoice};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, chown};

use crate::common::{Bench, installed, stderr};

/// Frames of at least 10 ms for as many seconds as it is told. Each is logged at once, as MangoHud
/// does. The script writes its user to `user`, and the policies of its shell to `policies`.
const GAME: &str = "\
id -u >user
begin=$(date +%s%N) before=$begin
end=$((begin + $2 * 1000000000))
printf 'os,cpu\\nLinux,x\\nfps,frametime,elapsed\\n' >\"$1\"
while [ \"$before\" -lt \"$end\" ]; do
    sleep 0.01
    now=$(date +%s%N)
    us=$(((now - before) / 1000))
    echo \"$((1000000 / us)),$us,$((now - begin))\" >>\"$1\"
    before=$now
    [ -e stop ] && exit
    cut -d ' ' -f 41 /proc/$$/stat >>policies
done
";

/// The user that called sudo, if root runs the tests.
const NOBODY: &str = "65534";
const TWO: &str = "--scheduler policy:other --scheduler policy:batch --blocks";

/// Starts it with stretches of two seconds.
fn start(bench: &Bench, options: &str, command: &str) -> Child {
    bench.write("game.sh", GAME);
    // Without privilege nobody changes, and nobody needs to.
    let nobody = NOBODY.parse().map(Uid::from_raw).expect("a number");
    let _ = chown(&bench.path(""), Some(nobody), None);
    let words = format!("ab --stretch 2s --frames log.csv {options} -- {command}");
    // The program goes on, and would hold a pipe.
    let [out, err] = ["out", "err"]
        .map(|name| Stdio::from(std::fs::File::create(bench.path(name)).expect("a file")));
    let mut process = bench.process(&words.split(' ').collect::<Vec<_>>());
    process.env("SUDO_UID", NOBODY).stdout(out).stderr(err).spawn().expect("it starts")
}

/// The exit code, what was printed, and what was told.
fn ended(bench: &Bench, mut child: Child) -> (Option<i32>, String, String) {
    let status = child.wait().expect("an end");
    bench.write("stop", "");
    let read = |name| std::fs::read_to_string(bench.path(name)).expect("text");
    (status.code(), read("out"), read("err"))
}

#[test]
fn schedulers_are_switched_under_a_program_that_goes_on() {
    let bench = Bench::new();
    let child = start(&bench, &format!("{TWO} 2"), "sh game.sh log.csv 600");
    let (code, printed, told) = ended(&bench, child);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("seed 1: 2 blocks of 2 stretches of 2.0 s, about 8.0 s"), "{told}");
    assert!(told.contains("the program goes on"), "{told}");
    assert!(printed.contains("No recommendation: 2 trials of each candidate"), "{printed}");
    for measure in ["one_percent_low_fps", "tenth_percent_low_fps", "frame_time_ns.p99"] {
        assert!(printed.contains(&format!("{measure} program, ")), "{printed}");
    }
    let records = bench.records("fairground.db");
    assert_eq!(records.len(), 4);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Ok);
        let seconds = record.provenance.wall_ms as f64 / 1e3;
        let frames = record.measured.histograms[0].count as f64;
        assert!(seconds >= 2.0 && frames > 0.0, "{frames} frames in {seconds} s");
        // The first second is left out.
        let rate = record.measured.value("iterations_per_second", "program").expect("a rate");
        assert!(frames <= rate * (seconds - 1.0) * 1.5 + 2.0, "{frames} at {rate} /s");
    }
    let policies = std::fs::read_to_string(bench.path("policies")).expect("policies");
    let count = |policy| policies.lines().filter(|line| *line == policy).count();
    assert!(count("0") > 0 && count("3") > 0, "SCHED_OTHER and SCHED_BATCH");
    assert_eq!(policies.lines().last(), Some("0"), "it has its own policy again");
    // The answer is a function of the records.
    let again = bench.run(&["compare"]).success();
    assert!(printed.starts_with(&crate::common::stdout(&again)), "{printed}");
}

#[test]
fn ctrl_c_and_the_end_of_the_program_leave_the_answer_of_complete_blocks() {
    let bench = Bench::new();
    let child = start(&bench, &format!("{TWO} 50"), "sh game.sh log.csv 600");
    bench.wait_for_records("fairground.db", 5);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let (code, printed, told) = ended(&bench, child);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("interrupted after "), "{told}");
    assert!(printed.contains(" blocks on this kernel"), "{printed}");
    assert!(bench.records("fairground.db").len() >= 5, "what was measured is kept");

    let bench = Bench::new();
    let child = start(&bench, &format!("{TWO} 50"), "sh game.sh log.csv 600");
    bench.wait_for_records("fairground.db", 1);
    bench.write("stop", "");
    let (code, printed, told) = ended(&bench, child);
    assert!(told.contains("the program has ended after "), "{told}");
    assert_eq!(told.contains("no answer: it needs 2 complete blocks"), code == Some(1), "{told}");
    assert_eq!(printed.is_empty(), code == Some(1), "{printed}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let bench = Bench::new();
    let child = start(&bench, &format!("{TWO} 2"), "sleep 7");
    let (code, _, told) = ended(&bench, child);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("MANGOHUD=1 MANGOHUD_CONFIG=output_folder=FOLDER,autostart_log=1"));
    assert!(bench.try_records("fairground.db").is_empty());
    let refused = |words: &str, said: &str| {
        let told = stderr(&bench.line(&format!("ab {words}")).code(2));
        assert!(told.contains(said), "{words}: {told}");
    };
    let two = "--scheduler policy:other --scheduler policy:batch";
    refused("--scheduler policy:rr:50 --frames new.csv -- true", "no policy of real time");
    refused(&format!("{two} --frames game.sh -- true"), "game.sh: is there already");
    refused(&format!("{two} --frames new.csv -- no-such-game"), "no-such-game: cannot be run");
    refused(&format!("{two} --stretch 1s --frames new.csv -- true"), "write 2s or more");
    if installed(&["mangohud"]).is_err() {
        refused(&format!("{two} -- true"), "MangoHud, which logs frames, is not installed");
    }
    if !std::path::Path::new("/sys/kernel/sched_ext").exists() {
        refused("--scheduler vtime --frames new.csv -- true", "here has no sched_ext");
    }
}

#[test]
fn one_scheduler_is_compared_with_the_kernels_own_and_the_user_of_sudo_plays() {
    let bench = Bench::new();
    let child = start(&bench, "--scheduler policy:batch --blocks 1", "sh game.sh log.csv 600");
    let (code, _, told) = ended(&bench, child);
    assert_eq!(code, Some(1), "one block is no answer: {told}");
    let records = bench.records("fairground.db");
    let is_own = |record: &&Record| record.trial.contestant.scheduler == SchedulerChoice::Kernel;
    assert_eq!((records.len(), records.iter().filter(is_own).count()), (2, 1));
    let user = std::fs::read_to_string(bench.path("user")).expect("a user");
    assert_eq!(user.trim() == NOBODY, is_root(), "{user}");
}
