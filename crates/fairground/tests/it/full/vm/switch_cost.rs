// SPDX-License-Identifier: GPL-2.0-only
//! What a switch costs on a real kernel: instructions under the virtual clock.

use model::Outcome;

use super::of;
use crate::common::{Bench, guest};
use testing::need;

/// Pairs of tasks that wake each other in turn: each message is a switch under every scheduler, so
/// that the time is what a switch takes. In `messaging` it is also how often a scheduler switches.
const PAIRS: &str = r#"
about = "pairs of tasks that wake each other in turn, through two pipes"

[[channel]]
name = "there"
count = 10

[[channel]]
name = "back"
count = 10

[[task]]
name = "asker"
count = 10
repeat = 500
steps = [{ send = { channel = "there", bytes = 1 } }, { receive = { channel = "back", bytes = 1 } }]

[[task]]
name = "answerer"
count = 10
repeat = 500
steps = [{ receive = { channel = "there", bytes = 1 } }, { send = { channel = "back", bytes = 1 } }]
"#;

#[test]
fn a_switch_under_vtime_takes_no_more_instructions_than_under_scx_bpfland() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["scx_bpfland"]));
    let bench = Bench::new();
    bench.write("pairs.toml", PAIRS);
    let ended = bench.line(
        "run --on vm --scheduler vtime --scheduler program:scx_bpfland --workload pairs.toml \
         --blocks 1 --trials-per-boot 6 --offline --exploratory",
    );
    let records = bench.records("fairground.db");
    // At times scx_bpfland loads itself anew, which is told, and which nobody can compare.
    let is_anew = |outcome: &Outcome| match outcome {
        Outcome::Ejected { reason, .. } => reason.matches("bpfland").count() == 2,
        other => other.is_ok(),
    };
    let bpfland = of(&records, "scx_bpfland");
    assert!(bpfland.iter().all(|record| is_anew(&record.outcome)), "{ended}");
    assert!(of(&records, "vtime").iter().all(|record| record.outcome.is_ok()), "{ended}");
    let median = |contestant: &str| {
        let of = of(&records, contestant).into_iter().filter(|record| record.outcome.is_ok());
        let mut times: Vec<f64> =
            of.map(|r| r.measured.value("completion_ns", "all").expect("a time")).collect();
        times.sort_by(f64::total_cmp);
        *times.get(times.len() / 2).expect("a trial that ended well")
    };
    let (vtime, bpfland) = (median("vtime"), median("scx_bpfland"));
    println!("pairs: vtime {vtime} ns, scx_bpfland {bpfland} ns");
    assert!(vtime <= bpfland, "vtime {vtime} ns, scx_bpfland {bpfland} ns");
}
