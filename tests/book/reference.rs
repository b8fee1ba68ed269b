// SPDX-License-Identifier: GPL-2.0-only
//! The generated parts of the book, each from its one source.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use compile::native::interface::{ENUMS, KFUNCS, MEMBERS, Support};
use compile::{Header, Source};
use model::metric::{Direction, MEASURES, Unit};
use model::series::SERIES;
use spec::assets::Asset;
use spec::workload;
use store::exchange::privacy::fields::{KINDS, Kind, Rule};
use testing::need;
use testing::rtapp_examples::{self, FOLDER};
use vm::kernels::build::build_config::{Need, TABLE, Weight};

use crate::fields::table;
use crate::{files, project};

fn expect_generated(document: &str, name: &str, expected: &str) {
    project::expect_generated(&format!("docs/src/{document}"), name, "--test book", expected);
}

#[test]
fn the_method_lists_every_measure_and_series() {
    expect_generated("method/measures.md", "measures", &measures());
    expect_generated("method/measures.md", "series", &series());
}

#[test]
fn the_book_says_what_leaves() {
    let mut table = String::from("| what | what is left of it | why it leaves |\n|---|---|---|\n");
    for Kind { what, why, rule, .. } in KINDS {
        let left = match rule {
            Rule::Name => "the name without folders",
            Rule::Text => "words without paths, user and host",
            Rule::Tree => "anonymous names, in the same tree",
            Rule::File => "the file's name",
            Rule::Command => "files' names instead of paths",
            Rule::Arguments => "files' names instead of paths; paths in scripts are reduced",
            Rule::About => "nothing of your own",
            Rule::Group | Rule::Told => "the same, and a recording's threads are anonymous",
            Rule::Measure => "the measure; a recording's threads are anonymous",
        };
        writeln!(table, "| {what} | {left} | {why} |").expect("a string takes text");
    }
    expect_generated("how-to/share.md", "leaving", &table);
}

fn measures() -> String {
    let mut table = String::from("| measure | unit | better | definition |\n|---|---|---|---|\n");
    for measure in MEASURES {
        let better = match measure.direction {
            Direction::Lower => "lower",
            Direction::Higher => "higher",
            Direction::Neutral => "–",
        };
        let shape = if measure.distribution { " (distribution)" } else { "" };
        let (name, unit) = (measure.name, word(measure.unit));
        writeln!(table, "| `{name}`{shape} | {unit} | {better} | {} |", measure.definition)
            .expect("a string takes text");
    }
    table
}

fn series() -> String {
    let mut table = String::from("| series | unit | definition |\n|---|---|---|\n");
    for series in &SERIES {
        let unit = word(series.unit);
        writeln!(table, "| `{}` | {unit} | {} |", series.name, series.definition)
            .expect("a string takes text");
    }
    table
}

fn word(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Count => "count",
        Unit::PerSecond => "1/s",
        Unit::FramesPerSecond => "fps",
        Unit::Ratio => "0 … 1",
    }
}

/// METHOD.md repeats numbers of the book; here they come from the tables that have them.
#[test]
fn the_method_has_the_numbers_of_the_book() {
    let [one, two, four] = ["| all |", "| 2 |", "| 4 |"].map(|row| figures("simulator", row));
    let files = figures("counterparts", "| all |");
    let originals = figures("originals", "| all |");
    let text = format!(
        "- **The simulator as a kernel.** In virtual time, {one} are within their tolerance of \
         the kernel's\n  on one CPU, {two} on two CPUs, and {four} on four. In real time under \
         emulation it is\n  about half. The order of callbacks is equal in all compared scenarios. \
         [Simulator](docs/src/method/simulator.md)\n- **The files as the kernels.** {files} of \
         `cfs` and `eevdf` agree with those of their\n  [counterparts]\
         (docs/src/method/counterparts.md), and {originals} of all files with those of\n  [patched \
         kernels](docs/src/method/originals.md).\n"
    );
    project::expect_generated("METHOD.md", "agreement", "--test book", &text);
}

/// `90.1 % of 949 figures`, from the first row of a chapter's tables that begins like this.
fn figures(chapter: &str, row: &str) -> String {
    let path = project::root().join(format!("docs/src/method/{chapter}.md"));
    let text = std::fs::read_to_string(path).expect("a chapter");
    let found = text.lines().find(|line| line.starts_with(row));
    let row = found.unwrap_or_else(|| panic!("{chapter}.md has no row {row}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    format!("{} of {} figures", cells[3], grouped(cells[2]))
}

/// `1006` as `1,006`; a table may have either.
fn grouped(number: &str) -> String {
    let digits = number.replace(',', "");
    match digits.len().checked_sub(3) {
        Some(at) if at > 0 => format!("{},{}", &digits[..at], &digits[at..]),
        _ => digits,
    }
}

#[test]
fn the_how_to_lists_what_a_kernel_needs() {
    let mut table = String::from("| option | without it | used for |\n|---|---|---|\n");
    for Need { option, weight, reason } in TABLE {
        let lost = match weight {
            Weight::Needed => "no trial runs",
            Weight::Cpus => "trials on one CPU only",
            Weight::Probes => "figures are missing",
        };
        writeln!(table, "| `{option}` | {lost} | {reason} |").expect("a string takes text");
    }
    expect_generated("how-to/kernel.md", "needs", &table);
}

#[test]
fn file_formats_are_those_of_the_types() {
    for (document, types) in [
        (
            "reference/workloads.md",
            &[
                "Workload",
                "TaskGroup",
                "ControlGroup",
                "TaskSession",
                "Policy",
                "UtilClamp",
                "Step",
                "Recorded",
                "Timer",
                "Channel",
                "Mutex",
                "InterruptLoad",
                "Program",
                "Total",
            ][..],
        ),
        ("reference/machines.md", &["Machine", "Costs"]),
        ("reference/files.md", &["Claim", "Published", "Test", "Expectation"]),
    ] {
        types.iter().for_each(|name| expect_generated(document, name, &table(name)));
    }
}

#[test]
fn the_chapter_on_schedulers_is_the_headers() {
    let all = compile::builtin();
    let mut text = String::from(
        "## At a glance\n\n| scheduler | author | queue | slice | wake-up | balancing |\n\
         |---|---|---|---|---|---|\n",
    );
    for Source { name, header, .. } in &all {
        let Header { queue, slice, wake_up, balancing, lineage, .. } = header;
        let origin = lineage.as_ref().map(|of| match of.after.join(", ") {
            after if after.is_empty() => format!("{}, {}", of.author, of.year),
            after => format!("{}, {}; after {after}", of.author, of.year),
        });
        let origin = origin.unwrap_or_default();
        writeln!(
            text,
            "| [`{name}`](#{name}) | {origin} | {queue} | {slice} | {wake_up} | {balancing} |"
        )
        .expect("a string takes text");
    }
    all.iter().for_each(|source| text += &scheduler(source));
    expect_generated("reference/schedulers.md", "schedulers", &text);
}

/// A scheduler's section, from its header.
fn scheduler(source: &Source) -> String {
    let Source { name, header, .. } = source;
    let knobs: Vec<String> =
        knobs(&source.text).iter().map(|(knob, value)| format!("`{knob}` ({value})")).collect();
    let mut section = format!("\n## {name}\n\n{}\n\n{}\n\n", header.title, header.idea);
    for (what, answer) in [
        ("Good at", header.good_at.as_str()),
        ("Bad at", &header.bad_at),
        ("Origin", &header.origin),
        ("Knobs, with their defaults", &knobs.join(", ")),
        ("Differs from its original", &header.differs),
    ] {
        writeln!(section, "- **{what}**: {answer}").expect("a string takes text");
    }
    section
}

/// The knobs of a scheduler and their defaults: `const volatile u64 slice_us = 4000;`.
fn knobs(text: &str) -> Vec<(&str, &str)> {
    let declared = text.lines().filter_map(|line| line.strip_prefix("const volatile "));
    let values = declared.flat_map(|line| {
        let list = line.split_once(' ').map_or("", |(_, list)| list);
        list.trim_end().trim_end_matches(';').split(',')
    });
    values
        .filter_map(|value| value.split_once('='))
        .map(|(knob, value)| (knob.trim(), value.trim()))
        .collect()
}

#[test]
fn knobs_are_found_one_by_one_and_in_lists() {
    let text =
        "const volatile u64 a = 1;\nstatic int b = 2;\nconst volatile bool c = true, d = no;\n";
    assert_eq!(knobs(text), [("a", "1"), ("c", "true"), ("d", "no")]);
}

#[test]
fn the_chapter_on_verbs_is_the_help() {
    let mut text = String::new();
    let mut command = fairground::cmd::command();
    command.build();
    for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
        describe(verb, 2, &mut text);
    }
    expect_generated("reference/verbs.md", "verbs", text.trim_start());
}

#[test]
fn the_readme_names_every_verb() {
    let readme = std::fs::read_to_string(project::root().join("README.md")).expect("a README");
    let command = fairground::cmd::command();
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let missing = shown.filter(|verb| !readme.contains(&format!("`{}`", verb.get_name())));
    project::expect_none(missing.map(|verb| format!("README.md: name {verb}")).collect());
}

/// A verb's help, then that of its own verbs.
fn describe(verb: &mut Command, depth: usize, text: &mut String) {
    let title = verb.get_bin_name().unwrap_or_default().trim_start_matches("fairground ");
    write!(text, "\n{} {title}\n\n", "#".repeat(depth)).expect("a string takes text");
    let help = verb.clone().term_width(100).render_help().to_string();
    let lines = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    write!(text, "```text\n{}\n```\n", lines.trim_end()).expect("a string takes text");
    for inner in verb.get_subcommands_mut().filter(|inner| inner.get_name() != "help") {
        describe(inner, depth + 1, text);
    }
}

#[test]
fn the_simulator_lists_where_it_diverges() {
    let mut text = String::new();
    for file in files() {
        let model = ["crates/sim/src/", "crates/compile/native/"];
        if !model.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        let lines: Vec<&str> = file.text.lines().collect();
        let marked = (0..lines.len()).filter(|at| lines[*at].contains("DIVERGES: "));
        for at in marked {
            let comment = paragraph(&lines[at..]);
            writeln!(text, "- `{}`: {comment}", file.path).expect("a string takes text");
        }
    }
    expect_generated("method/simulator.md", "diverges", &text);
}

#[test]
fn the_simulator_lists_what_of_sched_ext_it_knows() {
    let kinds = [("kfunc", KFUNCS), ("member of `ops`", MEMBERS)].into_iter();
    let named = kinds.flat_map(|(kind, table)| table.iter().map(move |one| (kind, one.0, one.1)));
    let flags = ENUMS.iter().flat_map(|(_, table)| table.iter().map(|one| ("flag", one.0, one.2)));
    let all: Vec<(&str, &str, Support)> = named.chain(flags).collect();
    let mut text = String::from("| what | without effect, because |\n|---|---|\n");
    for (kind, name, support) in &all {
        if let Support::Harmless(why) = support {
            writeln!(text, "| {kind} `{name}` | {why} |").expect("a string takes text");
        }
    }
    let refused = |wanted| {
        let of_kind = all.iter().filter(move |one| one.0 == wanted && one.2 == Support::Refused);
        of_kind.map(|one| format!("`{}`", one.1)).collect::<Vec<_>>().join(", ")
    };
    for (kind, title) in [("kfunc", "kfuncs"), ("member of `ops`", "members"), ("flag", "flags")] {
        writeln!(text, "\nRefused {title}: {}.", refused(kind)).expect("a string takes text");
    }
    expect_generated("method/simulator.md", "sched_ext", &text);
}

/// The rest of a comment's paragraph, from its mark on.
fn paragraph(lines: &[&str]) -> String {
    let (_, first) = lines[0].split_once("DIVERGES: ").expect("the mark");
    let mut words = vec![first.trim_end_matches("*/").trim()];
    let open = !lines[0].contains("*/");
    let rest = lines[1..].iter().map(|line| line.trim());
    for line in rest.take_while(|line| open && is_comment(line)) {
        let text = line.trim_start_matches(['/', '!', '*']).trim_end_matches("*/").trim();
        if text.is_empty() || text.starts_with('#') {
            break;
        }
        words.push(text);
        if line.ends_with("*/") {
            break;
        }
    }
    words.join(" ").replace("[`", "`").replace("`]", "`")
}

fn is_comment(line: &str) -> bool {
    line.starts_with("//") || line.starts_with('*')
}

/// rt-app's own examples, as Debian's package installs them.
#[test]
fn the_chapter_on_rtapp_lists_its_examples() {
    testing::beyond_cargo_test!("needs rt-app");
    let mut files = need!(rtapp_examples::files());
    files.retain(|file| !file.starts_with(format!("{FOLDER}/merge")));
    let mut table =
        String::from("| file | groups | lasts | what is noted |\n|---|---:|---:|---|\n");
    for file in &files {
        table += &example(file);
    }
    expect_generated("reference/rt-app.md", "examples", &table);
}

fn example(file: &Path) -> String {
    let label = file.strip_prefix(FOLDER).expect("it is there").display().to_string();
    let text = fs::read_to_string(file).expect("a file");
    let stem = file.file_stem().expect("a name").to_string_lossy().into_owned();
    let asset = Asset { label: label.clone(), stem, base: PathBuf::new(), text };
    let resolved = workload::resolve(&asset, &Default::default(), 4)
        .unwrap_or_else(|error| panic!("it is refused: {error}"));
    let seconds = resolved.workload.duration_us.map(|us| format!("{} s", us / 1_000_000));
    let lasts = seconds.unwrap_or_else(|| "until its tasks have ended".into());
    let notes = resolved.notes.iter().map(|note| note.trim_start_matches(&label));
    let notes = notes.map(|note| note.trim_start_matches(": ")).collect::<Vec<_>>().join("; ");
    format!("| `{label}` | {} | {lasts} | {notes} |\n", resolved.workload.tasks.len())
}
