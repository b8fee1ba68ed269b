// SPDX-License-Identifier: GPL-2.0-only
//! The data of charts besides the tables' numbers: shift functions.

use crate::page::{page_of, usual_page};
use serde_json::Value;
use testing::{page_data as data, synthetic};

fn cell<'a>(data: &'a Value, name: &str) -> &'a Value {
    let cells = data["cells"].as_array().expect("cells");
    cells.iter().find(|cell| cell["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn place(data: &Value, contestant: &str) -> usize {
    let names = data["contestants"].as_array().expect("names");
    names.iter().position(|name| name == contestant).expect("it takes part")
}

#[test]
fn headline_distributions_have_shift_functions() {
    let data = data(usual_page());
    let shifts = cell(&data, "wake_under_hogs hogs=24")["shifts"].as_array().expect("shifts");
    let groups: Vec<&Value> = shifts.iter().map(|shift| &shift["group"]).collect();
    assert_eq!(groups, ["fair_waker", "rt_waker"], "not `run_delay_ns hog`, which is no headline");
    let of = |contestant| shifts[0]["contestants"][place(&data, contestant)].as_array().unwrap();
    assert!(of("eevdf-7").is_empty(), "nothing is held against itself");
    let quantiles = data["shift_quantiles"].as_array().expect("quantiles");
    assert_eq!(of("vtime").len(), quantiles.len());
    // A thousand samples a trial carry p99 and not p99.9.
    assert!(of("vtime").iter().take(12).all(Value::is_array) && of("vtime")[12].is_null());
    // Made with a third of the baseline's latency, and with nine times as much.
    for (contestant, low, high) in [("vtime", -75.0, -55.0), ("fifo", 600.0, 1_100.0)] {
        for step in of(contestant).iter().take(12) {
            let percent = step[0].as_f64().expect("percent");
            let ends = |at: usize| step[1][at].as_f64().expect("an end");
            assert!(low < percent && percent < high, "{contestant}: {step}");
            assert!(ends(0) <= percent && percent <= ends(1), "{step}");
            assert!((step[2].as_f64().unwrap() > 0.0) == (percent > 0.0), "{step}");
        }
    }
    // Twelve quantiles of seven contestants in one family, of eight boots.
    assert_eq!(shifts[0]["comparisons"], 12 * 7);
    assert_eq!(shifts[0]["can_claim"], true);
    let p = of("vtime")[5][4].as_f64().expect("a corrected p value");
    assert!(p <= 0.05, "{p}");
    assert!(cell(&data, "messaging groups=4")["shifts"].as_array().unwrap().is_empty());
}

#[test]
fn trials_of_one_boot_are_no_independent_trials() {
    let mut records = synthetic::experiment();
    for record in &mut records {
        record.trial.boot = record.trial.block % 2;
        record.provenance.boot_id = String::new();
    }
    let data = data(&page_of(&records));
    let shifts = &cell(&data, "wake_under_hogs hogs=24")["shifts"][0];
    assert_eq!(shifts["can_claim"], false, "two boots are two, however many trials they have");
    let marked = |step: &Value| step[4].as_f64().is_some_and(|p| p <= 0.05);
    let contestants = shifts["contestants"].as_array().unwrap();
    assert!(!contestants.iter().flat_map(|row| row.as_array().unwrap()).any(marked));
}
