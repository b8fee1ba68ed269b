// SPDX-License-Identifier: GPL-2.0-only
//! The page as text: self-contained, complete, harmless, small; and the data of its charts.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use model::{Knobs, Outcome, Record, SchedulerChoice};
use report::html::{About, LIMIT_BYTES, page};
use serde_json::Value;
use stats::{Options, compare};
use testing::{page_data as data, synthetic};

/// The page of the synthetic experiment, which many tests read and which takes a while.
pub fn usual_page() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(|| page_of(&synthetic::experiment()));
    &PAGE
}

/// The page of these records, with a title that tries to break out of it.
pub fn page_of(records: &[Record]) -> String {
    let comparison = compare(records, &Options { resamples: 200, ..Options::against("eevdf-7") });
    let about = About {
        title: "Race </title><script>alert(1)</script>".into(),
        question: "Is \"it\" <b>safe</b>?".into(),
        commands: vec!["fairground run 'x' && echo <done>".into()],
        generated: "now".into(),
        ..About::default()
    };
    page(&comparison, records, &about)
}

/// The page without plotly, which is packed.
pub fn own_part(page: &str) -> String {
    let start =
        page.find("<script type=\"application/gzip\" id=\"plotly\">").expect("it is embedded");
    let end = start + page[start..].find("</script>").expect("its element ends");
    assert!(end - start > 1_000_000, "plotly is whole");
    format!("{}{}", &page[..start], &page[end..])
}

pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    &page[start..start + page[start..].find("</section>").expect("its end")]
}

#[test]
fn nothing_is_loaded_from_outside() {
    let page = usual_page();
    let own = own_part(page);
    for outside in ["http://", "https://", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!own.contains(outside), "the page has {outside}");
    }
    assert!(own.contains("default-src 'none'"), "the page forbids requests");
    let libraries = page.matches("<script type=\"application/gzip\"").count();
    assert_eq!(libraries, 2, "the data, and plotly without the typesetting library");
}

#[test]
fn every_outcome_that_is_not_ok_is_there_with_reason_and_dump() {
    let page = usual_page();
    let failures = section(page, "failures");
    for needle in [
        "1&nbsp;ejected",
        "1&nbsp;hung",
        "failed to run for 30.2s",
        "scx_watchdog_workfn",
        "the guest said nothing",
    ] {
        assert!(failures.contains(needle), "{needle}");
    }
    let records: Vec<Record> = synthetic::experiment();
    for record in records.iter().filter(|record| !record.outcome.is_ok()) {
        assert!(failures.contains(&format!("#trial-{}", record.trial.id())));
    }
}

#[test]
fn text_of_strangers_is_harmless() {
    let nasty = "</script><img src=x onerror=alert(1)>'\"&";
    let mut records = synthetic::experiment();
    for record in records.iter_mut().filter(|r| r.trial.contestant.name == "rr") {
        record.trial.contestant.name = nasty.into();
        record.trial.machine.name = nasty.into();
        record.provenance.notes = vec![nasty.into()];
        record.provenance.cpu_model = nasty.into();
    }
    records[3].outcome = Outcome::Crashed { text: nasty.into() };
    let page = page_of(&records);
    let own = own_part(&page);
    assert!(!own.contains("<img") && !own.contains("<script>alert"), "markup got through");
    assert_eq!(own.matches("<script").count(), 2, "data and the page's own script");
    assert!(data(&page).to_string().contains("onerror"), "the name itself is kept, as data");
}

#[test]
fn the_data_hold_every_trial_once() {
    let records = synthetic::experiment();
    let data = data(usual_page());
    let ids: BTreeSet<&str> =
        data["trials"].as_array().unwrap().iter().map(|trial| trial[0].as_str().unwrap()).collect();
    assert_eq!(ids.len(), records.len());
    let cells = data["cells"].as_array().unwrap();
    let listed: usize = cells.iter().map(|cell| cell["trials"].as_array().unwrap().len()).sum();
    assert_eq!(listed, records.len());
    for row in cells.iter().flat_map(|cell| cell["rows"].as_array().unwrap()) {
        assert_eq!(row["entries"].as_array().unwrap().len(), 8);
    }
    assert_eq!(data["timelines"].as_array().unwrap().len(), 4);
}

#[test]
fn the_same_records_give_the_same_page() {
    let records = synthetic::experiment();
    assert_eq!(page_of(&records), usual_page());
}

#[test]
fn five_thousand_trials_fit() {
    let records = synthetic::five_thousand();
    let page = page_of(&records);
    println!("{} trials: {} bytes", records.len(), page.len());
    assert!(page.len() <= LIMIT_BYTES, "{}", page.len());
    // The text comes before the charts' data and does not need it.
    let at = |needle: &str| page.find(needle).unwrap_or_else(|| panic!("no {needle}"));
    assert!(
        at("<section id=\"answer\"") < at("id=\"data\"") && at("id=\"data\"") < at("id=\"plotly\"")
    );
}

#[test]
fn a_page_of_any_store_keeps_its_limit_and_says_what_is_missing() {
    let records = synthetic::huge();
    let page = page_of(&records);
    println!("{} trials: {} bytes", records.len(), page.len());
    assert!(page.len() <= LIMIT_BYTES, "{}", page.len());
    for needle in [
        "There is very much data: single trials and distributions",
        "There is too much data for this cell’s tables",
        "There is too much data for the pictures of",
        "more such trials here; the table of all trials has them",
    ] {
        assert!(page.contains(needle), "{needle}");
    }
    assert_eq!(data(&page)["trials"].as_array().unwrap().len(), records.len(), "no trial is lost");
}

#[test]
fn an_empty_store_still_makes_a_page() {
    let page = page_of(&[]);
    assert!(page.contains("There are no records to compare."));
}

/// The plain experiment's `messaging` on machines of these sizes, with a rate of 1,000 times
/// `per_cpu` for each CPU.
fn on_machines(sizes: &[(u32, f64)]) -> Vec<Record> {
    let messaging = |record: &&Record| record.trial.workload.name == "messaging";
    let once = synthetic::experiment();
    let once: Vec<&Record> = once.iter().filter(messaging).collect();
    let mut records = Vec::new();
    for &(cpus, per_cpu) in sizes {
        for &record in &once {
            let mut record = record.clone();
            record.trial.machine.name = format!("with_{cpus}");
            record.trial.machine.cpus = cpus;
            record.trial.workload.headline = vec!["iterations_per_second all".into()];
            let rate = 1_000.0 * per_cpu * f64::from(cpus);
            let rate = model::Metric::number("iterations_per_second", "all", rate);
            record.measured.metrics.push(rate);
            record.measured.sort();
            records.push(record);
        }
    }
    records
}

#[test]
fn growing_machines_have_a_table_of_what_each_cpu_does() {
    let page = page_of(&on_machines(&[(64, 0.4), (1, 1.0), (8, 0.9)]));
    let scaling = section(&page, "results");
    let places = ["with_1<", "1.00 k/s", "with_8<", "900 /s", "(90 %)", "with_64<", "(40 %)"];
    let scaling = &scaling[scaling.find("id=\"scaling\"").expect("the table")..];
    let places: Vec<usize> = places
        .map(|word| scaling.find(word).unwrap_or_else(|| panic!("no {word} in {scaling}")))
        .to_vec();
    assert!(places.is_sorted(), "smallest first: {scaling}");
    let two_sizes = page_of(&on_machines(&[(1, 1.0), (8, 0.9)]));
    assert!(!two_sizes.contains("id=\"scaling\""), "two sizes are no curve");
}

#[test]
fn two_backends_stand_side_by_side() {
    let page = page_of(&synthetic::on_both_backends());
    let agreement = section(&page, "agreement");
    for needle in ["Only on the real kernel: ", "hackbench", "context switches", "outside the tol"]
    {
        assert!(agreement.contains(needle), "{needle}");
    }
    let results = section(&page, "results");
    assert!(results.contains("vm and sim") && results.contains("not on sim"));
    assert!(page.contains("href=\"#agreement\""));
    let alone = usual_page();
    assert!(!alone.contains("href=\"#agreement\""), "nothing to agree with, nothing said");
}

#[test]
fn a_file_of_the_readers_own_comes_first() {
    let mut records = synthetic::experiment();
    for record in records.iter_mut().filter(|r| r.trial.contestant.name == "vtime") {
        let file = "./vtime.bpf.c".into();
        record.trial.contestant.scheduler = SchedulerChoice::File {
            file,
            sha256: String::new(),
            knobs: Knobs::new(),
            settings: Knobs::new(),
        };
    }
    let page = page_of(&records);
    let answer = section(&page, "answer");
    assert!(answer.contains("<th scope=\"col\">vtime, against eevdf-7</th>"), "{answer}");
    let matrix = &answer[answer.find("class=\"base\"").expect("a matrix")..];
    let heads: Vec<&str> = matrix.split("<span>").skip(1).take(2).collect();
    assert!(heads[0].starts_with("eevdf-7<") && heads[1].starts_with("vtime<"), "{heads:?}");
}

#[test]
fn traced_trials_are_explained() {
    let page = usual_page();
    let why = section(page, "why");
    assert_eq!(why.matches("<details class=\"more why\"").count(), 4, "one for each traced trial");
    for needle in
        ["fair_waker", "hog", "Meanwhile CPU", "Idle while work waited", "class=\"parts\""]
    {
        assert!(why.contains(needle), "{needle}");
    }
    let mut untraced = synthetic::experiment();
    untraced.iter_mut().for_each(|record| record.trace = None);
    assert!(section(&page_of(&untraced), "why").contains("No trial was traced."));
}

#[test]
fn every_pair_of_contestants_has_a_line_that_tells_them_apart() {
    let records = synthetic::experiment();
    let page = usual_page();
    let section = section(page, "separation");
    let names: BTreeSet<&str> = records.iter().map(|r| r.trial.contestant.name.as_str()).collect();
    let pairs = names.len() * (names.len() - 1) / 2;
    assert_eq!(section.matches("<tr><th scope=\"row\">").count(), pairs, "{section}");
    assert!(page.contains("href=\"#separation\""));
}

#[test]
fn the_first_screen_has_a_line_for_each_headline_measure_of_a_load_and_machine() {
    let records = synthetic::experiment();
    let page = usual_page();
    let answer = section(page, "answer");
    let table = &answer[answer.find("<table class=\"best\"").expect("the table")..];
    let table = &table[..table.find("</table>").expect("its end")];
    let mut loads: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for trial in records.iter().map(|record| &record.trial) {
        let place = (trial.workload.name.as_str(), trial.machine.name.as_str());
        loads.extend(trial.workload.headline.iter().map(|text| (place.0, place.1, text.as_str())));
    }
    let lines = table.matches("<td class=\"leaders\"").count();
    assert!(lines > loads.len() / 2 && lines <= loads.len(), "{lines} lines for {}", loads.len());
    assert!(!answer.contains("none better"), "who is not better is not listed");
}

#[test]
fn the_trade_off_is_drawn_with_its_numbers() {
    let page = usual_page();
    let trade_off = section(page, "trade-off");
    assert!(trade_off.contains("throughput_ratio") && trade_off.contains("eevdf-6.12"));
    let figures = page.matches("<figure class=\"drawn\"").count();
    let here = page.matches("data-csv=\"contestant,").count();
    let packed = data(page)["numbers"].as_array().expect("numbers").len();
    assert_eq!((here, packed), (1, 10));
    assert_eq!(here + packed, figures, "each has its numbers");
}

#[test]
fn measures_that_nobody_has_are_a_sentence_and_no_row() {
    let mut records = synthetic::experiment();
    for record in &mut records {
        let missing = model::Metric::missing("unload_ns", "all", "nothing was reloaded");
        record.measured.metrics.push(missing);
        record.measured.sort();
    }
    let page = page_of(&records);
    let results = section(&page, "results");
    assert!(results.contains("No contestant has a number for"), "{results}");
    assert!(results.contains("(nothing was reloaded)"));
    assert!(!results.contains("<th scope=\"row\">unload</th>"));
}

#[test]
fn how_trials_went_over_time_is_drawn_where_it_was_measured() {
    let mut records = synthetic::experiment();
    let page = usual_page();
    let section = section(page, "over-time");
    // A fold for each cell; pictures where there are numbers, which are three series of eight
    // contestants, and no task forks.
    assert_eq!(section.matches("<details class=\"cell\"").count(), 11);
    assert_eq!(section.matches("<figure class=\"drawn\"").count(), 10);
    assert_eq!(section.matches("class=\"course\"").count(), 10 * 8 * 3);
    assert!(section.contains("Missing in some trials: no probes &lt;here&gt;."));
    assert_eq!(section.matches("What is measured").count(), 1, "said once for all cells");
    assert!(!section.contains("NaN") && !section.contains("inf"), "numbers are numbers");
    assert!(page.contains("<a href=\"#over-time\">"), "the contents lead there");

    records.iter_mut().for_each(|record| record.measured.series.clear());
    assert!(!page_of(&records).contains("over-time\""), "records from before there were series");
}

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
