// SPDX-License-Identifier: GPL-2.0-only
//! Writes a report of synthetic records, to look at: `cargo run --release -p fairground-report
//! --example sample -- out.html`. With `--text` it prints the terminal's table instead.

#[path = "../tests/it/synthetic/mod.rs"]
mod synthetic;

use report::html::{About, page};
use stats::{Options, compare};

fn main() -> std::io::Result<()> {
    let Some(target) = std::env::args().nth(1) else {
        eprintln!("usage: sample OUT.html | --text | --markdown");
        std::process::exit(2);
    };
    let records = synthetic::experiment();
    let comparison = compare(&records, &Options::against("eevdf-7"));
    match target.as_str() {
        "--text" => print!("{}", report::terminal::table(&comparison, None, true)),
        "--markdown" => print!("{}", report::markdown::tables(&comparison)),
        path => std::fs::write(path, page(&comparison, &records, &about()))?,
    }
    Ok(())
}

fn about() -> About {
    About {
        title: "A race on real kernels".into(),
        question:
            "Which scheduler wakes a fair task quickest when the machine is full, and what does \
                   that cost? (Synthetic numbers.)"
                .into(),
        commands: vec![
            "make race".into(),
            "fairground run experiments/quick.toml --seed 7 --store quick.fairground".into(),
            "fairground report quick.fairground --output race.html".into(),
        ],
        generated: "Sample made of synthetic records: no number in it was measured.".into(),
        ..About::default()
    }
}
