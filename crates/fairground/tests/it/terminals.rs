// SPDX-License-Identifier: GPL-2.0-only
//! What terminals get: progress where lines can be drawn again, nothing that others would obey, and
//! lines that fit.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use nix::pty::openpty;

use crate::common::{Bench, stderr, stdout};

const RUN: &str = "run --on sim --scheduler vtime --scheduler fifo --workload tiny.toml --blocks 6";

/// What `fairground RUN` writes to a terminal of this name, where lines end by `\n`.
fn on_terminal(name: &str, colours: bool) -> String {
    let (bench, terminal) = (Bench::new(), openpty(None, None).expect("a terminal"));
    let slave: OwnedFd = terminal.slave;
    let end = || slave.try_clone().expect("another descriptor");
    let mut process = bench.process(&RUN.split(' ').collect::<Vec<_>>());
    process.env("TERM", name).stdin(end()).stdout(end()).stderr(end());
    if colours {
        process.env_remove("NO_COLOR");
    }
    let mut child = process.spawn().expect("it starts");
    drop((process, slave));
    let (mut written, mut master) = (Vec::new(), File::from(terminal.master));
    // The end of a terminal is an error, and what was read before it is kept.
    let _ = master.read_to_end(&mut written);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    String::from_utf8(written).expect("text").replace("\r\n", "\n")
}

/// Whether a text has codes for colours: `ESC [ … m`.
fn is_coloured(text: &str) -> bool {
    text.split("\x1b[").skip(1).any(|code| {
        code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
    })
}

#[test]
fn a_dumb_terminal_gets_text_alone() {
    let text = on_terminal("dumb", true);
    assert!(text.contains("12 trials\n") && text.contains("records: fairground.db\n"), "{text}");
    assert!(!text.contains(['\x1b', '\r']), "{text:?}");
    let text = on_terminal("xterm", true);
    assert!(text.contains('\x1b') && text.contains('\r') && is_coloured(&text), "{text:?}");
    let text = on_terminal("xterm", false);
    assert!(text.contains('\r') && !is_coloured(&text), "NO_COLOR: {text:?}");
}

#[test]
fn a_file_gets_no_progress() {
    let bench = Bench::new();
    let told = stderr(&bench.line(RUN).success());
    let lines: Vec<&str> = told.lines().collect();
    let begins = ["6 independent replicates", "12 trials", "records: ", "report:  "];
    assert_eq!(lines.len(), begins.len(), "{told}");
    assert!(lines.iter().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{told}");
}

#[test]
fn a_locale_of_ascii_gets_ascii() {
    let bench = Bench::new();
    for locale in ["C", "C.UTF-8"] {
        let words: Vec<&str> = RUN.split(' ').collect();
        let ran = bench.fairground(&words).env("LC_ALL", locale).assert().success();
        let text = stdout(&ran) + &stderr(&ran);
        assert_eq!(text.is_ascii(), locale == "C", "{text}");
    }
}

#[test]
fn an_explanation_fits_a_narrow_terminal() {
    let bench = Bench::new();
    let explain = |columns: &str| {
        let words = "explain --scheduler vtime --workload tiny.toml".split(' ');
        let mut process = bench.fairground(&words.collect::<Vec<_>>());
        stdout(&process.env("COLUMNS", columns).assert().success())
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    let narrow = explain("60");
    assert!(widest(&narrow) <= Some(60), "{narrow}");
    // From its begin to its end, as on a wide one.
    let lane = |text: &str| {
        let row = text.lines().find(|line| line.starts_with("  CPU 0")).expect("a lane");
        row.chars().count()
    };
    assert!(lane(&narrow) > 50, "{narrow}");
    assert!(lane(&explain("200")) > 80);
}

#[test]
fn a_comparison_fits_a_narrow_terminal() {
    let bench = Bench::new();
    bench.line(RUN).success();
    let mut process = bench.fairground(&["compare"]);
    let text = stdout(&process.env("COLUMNS", "60").assert().success());
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 60).collect();
    assert!(wide.is_empty() && text.contains("lower is better"), "{wide:?}");
}
