// SPDX-License-Identifier: GPL-2.0-only
//! The data of charts besides the tables' numbers: shift functions and knees.

use crate::page::{data, page_of, section};
use model::Record;
use serde_json::Value;
use testing::synthetic;

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
    let data = data(&page_of(&synthetic::experiment()));
    let shifts = cell(&data, "wake_under_hogs hogs=24")["shifts"].as_array().expect("shifts");
    let groups: Vec<&Value> = shifts.iter().map(|it| &it["group"]).collect();
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
    assert!(!contestants.iter().flat_map(|it| it.as_array().unwrap()).any(marked));
}

/// The synthetic player with a planted knee at 20 background tasks under `vtime`, straight lines
/// under all others.
fn planted() -> Vec<Record> {
    let mut records = synthetic::experiment();
    records.retain(|record| record.trial.workload.name == "frames");
    for record in &mut records {
        let load = record.trial.workload.parameters["background"] as f64;
        let ratio = match record.trial.contestant.name.as_str() {
            "vtime" => 0.001 * load + 0.009 * (load - 20.0).max(0.0),
            _ => 0.003 * load,
        };
        let ratio = ratio * (1.0 + 0.001 * f64::from(record.trial.block));
        let metrics = record.measured.metrics.iter_mut();
        for metric in metrics.filter(|metric| metric.name == "deadline_miss_ratio") {
            metric.value = Some(ratio);
        }
    }
    records
}

#[test]
fn a_knee_is_marked_and_said_in_words() {
    let page = page_of(&planted());
    let data = data(&page);
    let ramps = data["ramps"].as_array().expect("ramps");
    assert_eq!(ramps.len(), 1, "one workload with one headline measure");
    assert_eq!(ramps[0]["parameter"], "background");
    let knees = ramps[0]["knees"].as_array().unwrap();
    let knee = &knees[place(&data, "vtime")];
    assert!((knee["at"].as_f64().unwrap() - 20.0).abs() < 0.5, "{knee}");
    let ends: Vec<f64> =
        knee["ends"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert!(ends[0] <= 20.1 && 19.9 <= ends[1], "{knee}");
    assert!(knees[place(&data, "rr")].is_null());
    let words = section(&page, "pictures");
    for needle in [
        "<b class=\"name\">vtime</b>: from background = ",
        "on deadline miss ratio · player grows 10.0 times faster",
        "No knee; one line fits as well: eevdf-7",
    ] {
        assert!(words.contains(needle), "{needle} in {words}");
    }
}

#[test]
fn passes_that_lack_a_load_are_left_out() {
    let mut records = planted();
    records.retain(|record| {
        let load = record.trial.workload.parameters["background"];
        record.trial.contestant.name != "rr" || load != 40
    });
    for record in records.iter_mut().filter(|record| record.trial.block == 3) {
        if record.trial.workload.parameters["background"] == 60 {
            record.outcome = model::Outcome::Hung { reason: "silence".into() };
        }
    }
    let page = page_of(&records);
    let words = section(&page, "pictures");
    assert!(words.contains("No complete block: rr"), "{words}");
    assert!(words.contains("vtime</b>: from background = "), "seven passes are enough");
}

#[test]
fn four_loads_are_no_ramp_for_a_knee() {
    let mut records = synthetic::experiment();
    records.retain(|record| record.trial.workload.name == "wake_under_hogs");
    let page = page_of(&records);
    assert!(data(&page)["ramps"].as_array().unwrap().is_empty());
    assert!(!page.contains("id=\"knees\""));
}
