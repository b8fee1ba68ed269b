// SPDX-License-Identifier: GPL-2.0-only
//! `fairground explain FILE`: traces of real machines with a planted cause, which it must name.

use crate::common::{Bench, stderr, stdout};

type Thread = (&'static str, u32);
const IDLE: Thread = ("swapper", 0);

/// The text of a trace; each line has the time in µs, the CPU, and the running task.
#[derive(Default)]
struct Text(String);

impl Text {
    fn event(&mut self, us: u64, cpu: u32, (comm, tid): Thread, what: &str) {
        let (seconds, us) = (us / 1_000_000, us % 1_000_000);
        self.0 += &format!("{comm:>16}-{tid} [{cpu:03}] ..... {seconds}.{us:06}: {what}\n");
    }

    fn switch(&mut self, us: u64, cpu: u32, prev: Thread, state: &str, next: Thread) {
        let what = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> \
             next_comm={} next_pid={} next_prio=120",
            prev.0, prev.1, next.0, next.1
        );
        self.event(us, cpu, prev, &what);
    }

    fn waking(&mut self, us: u64, cpu: u32, by: Thread, (comm, tid): Thread) {
        let what = format!("sched_waking: comm={comm} pid={tid} prio=120 target_cpu={cpu:03}");
        self.event(us, cpu, by, &what);
    }
}

/// What `explain` says of a text, with its lines joined.
fn explained(text: &Text, more: &[&str]) -> String {
    let bench = Bench::new();
    bench.write("trace.txt", &text.0);
    let shown = stdout(&bench.run(&[&["explain", "trace.txt"], more].concat()).success());
    shown.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn says(shown: &str, sentences: &[&str]) {
    for sentence in sentences {
        let sentence = &sentence.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(sentence), "{sentence}\n{shown}");
    }
}

#[test]
fn an_interrupt_storm() {
    let (game, audio) = (("game", 10), ("audio", 11));
    let mut text = Text::default();
    text.switch(0, 0, IDLE, "R", game);
    for number in 0..150 {
        let us = 40_000 + number * 120;
        text.event(us, 0, game, "irq_handler_entry: irq=9 name=nic");
        if number == 50 {
            text.waking(us + 50, 0, game, audio);
        }
        text.event(us + 100, 0, game, "irq_handler_exit: irq=9 ret=handled");
    }
    text.switch(60_000, 0, game, "R", audio);
    text.switch(61_000, 0, audio, "S", game);
    text.switch(100_000, 0, game, "S", IDLE);
    let shown = explained(&text, &[]);
    says(
        &shown,
        &[
            "CPU 0: 15.0 ms (15.0 %) in 150 interrupts; 84.0 % of the 10.0 ms from 40.000 ms \
             on.",
            "game[10] lost most to them, 15.0 ms while it ran.",
            "13.9 ms: audio[11] It was woken at 46.050 ms on CPU 0. Meanwhile CPU 0 ran game[10] \
             for 13.9 ms (until it was preempted). Interrupts took 9.90 ms of that time.",
        ],
    );
}

#[test]
fn a_page_draws_what_ran_during_a_wait() {
    let (game, audio) = (("game", 10), ("audio", 11));
    let mut text = Text::default();
    text.switch(0, 0, IDLE, "R", game);
    text.waking(40_000, 0, game, audio);
    text.switch(60_000, 0, game, "R", audio);
    text.switch(80_000, 0, audio, "S", game);
    text.switch(100_000, 0, game, "S", IDLE);
    let bench = Bench::new();
    bench.write("trace.txt", &text.0);
    let told = stderr(&bench.run(&["explain", "trace.txt", "-o", "page.html"]).success());
    assert!(told.contains("wrote page.html"), "{told}");
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a page");
    let page = read("page.html");
    assert!(page.contains("20.0 ms: ") && page.contains("<svg"), "{page}");
    assert!(page.contains("game[10], 60.0 ms from 0.000 ms"), "{page}");
    let trial = ["explain", "--scheduler", "fifo", "--workload", "wake_under_hogs"];
    bench.run(&[&trial[..], &["-o", "trial.html"]].concat()).success();
    assert!(read("trial.html").contains("class=\"waited\""));
    bench.run(&["explain", "trace.txt", "-o", "none/page.html"]).code(2);
}

#[test]
fn a_task_that_is_pinned_to_a_busy_cpu() {
    let (worker, hog) = (("worker", 20), ("hog", 21));
    let mut text = Text::default();
    text.switch(0, 0, ("other", 9), "S", IDLE);
    text.switch(0, 1, worker, "S", hog);
    text.waking(10_000, 1, hog, worker);
    text.switch(60_000, 1, hog, "R", worker);
    text.switch(65_000, 1, worker, "S", hog);
    text.switch(80_000, 1, hog, "S", IDLE);
    let shown = explained(&text, &["--task", "worker", "--worst", "1"]);
    says(
        &shown,
        &[
            "50.0 ms: worker[20] It was woken at 10.000 ms on CPU 1. Meanwhile CPU 1 ran hog[21] \
             for 50.0 ms (until it was preempted). For 50.0 ms (100 %) another CPU that it may use \
             was idle.",
            "55.0 ms from 10.000 ms: worker[20] waited on CPU 1 while CPU 0 idled.",
        ],
    );
    assert!(!shown.contains("ms: hog[21]"), "{shown}");
}

#[test]
fn a_mutex_holder_that_was_preempted() {
    let (user, holder, hog) = (("user", 30), ("holder", 31), ("hog", 32));
    let mut text = Text::default();
    text.switch(0, 0, IDLE, "R", holder);
    text.switch(5_000, 1, user, "S", IDLE);
    text.waking(7_000, 0, holder, hog);
    text.switch(8_000, 0, holder, "R", hog);
    text.switch(48_000, 0, hog, "S", holder);
    text.waking(50_000, 0, holder, user);
    text.switch(50_100, 1, IDLE, "R", user);
    text.switch(60_000, 1, user, "S", IDLE);
    let shown = explained(&text, &[]);
    says(
        &shown,
        &[
            "45.0 ms: user[30] It slept at 5.000 ms and was woken at 50.000 ms. For 40.0 ms (88.9 %) \
             of that, tasks that had to run first waited for a CPU, holder[31] longest, for 40.0 ms \
             from 8.000 ms on. Meanwhile CPU 0 ran hog[32] for 40.0 ms (until it slept).",
        ],
    );
    let bench = Bench::new();
    bench.write("trace.txt", &text.0);
    let refused =
        |more: [&str; 2]| stderr(&bench.run(&["explain", "trace.txt", more[0], more[1]]).code(2));
    let nobody = "--task nobody: none of that name waited then; these waited longest: holder[31]";
    says(&refused(["--task", "nobody"]), &[nobody]);
    says(&refused(["--at", "450ms"]), &["--at 0.450s: it ends after 0.060 s"]);
}

#[test]
fn a_chain_of_wake_ups() {
    let (first, second, last) = (("first", 40), ("second", 41), ("last", 42));
    let mut text = Text::default();
    text.switch(0, 0, first, "S", IDLE);
    text.switch(0, 1, second, "S", ("hog", 43));
    text.switch(0, 2, last, "S", IDLE);
    text.event(1_000, 0, IDLE, "hrtimer_expire_entry: hrtimer=0 function=f now=0");
    text.waking(1_010, 0, IDLE, first);
    text.event(1_020, 0, IDLE, "hrtimer_expire_exit: hrtimer=0");
    text.switch(1_030, 0, IDLE, "R", first);
    text.waking(2_000, 0, first, second);
    text.switch(2_010, 0, first, "S", IDLE);
    text.switch(12_000, 1, ("hog", 43), "R", second);
    text.waking(14_000, 1, second, last);
    text.switch(19_000, 2, IDLE, "R", last);
    text.switch(20_000, 2, last, "S", IDLE);
    let shown = explained(&text, &["--task", "last"]);
    says(
        &shown,
        &["The wake-ups before: a timer, then first[40] waited 20.0 µs and ran 970 µs, then \
             second[41] waited 10.0 ms and ran 2.00 ms, and woke it."],
    );
}

#[test]
fn what_is_no_trace_says_what_to_do() {
    let bench = Bench::new();
    bench.write("load.toml", "about = 'a load'\n");
    let refused = stderr(&bench.run(&["explain", "load.toml"]).code(2));
    assert!(refused.contains("load.toml: no trace of a scheduler"), "{refused}");
    assert!(refused.contains("record with --trace FILE"), "{refused}");
    let refused = stderr(&bench.run(&["explain", "desk.txt"]).code(2));
    assert!(refused.contains("desk.txt: there is no such file"), "{refused}");
    let refused = stderr(&bench.run(&["explain", "."]).code(2));
    assert!(refused.contains(".: this is no file"), "{refused}");
}
