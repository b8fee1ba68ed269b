// SPDX-License-Identifier: GPL-2.0-only
//! The simulator compared with a real kernel, and files compared with their counterparts.

use crate::common::{Bench, guest, project, stderr, stdout};
use testing::need;

/// One that sleeps beside two that do not, long enough for several slices.
const EXPERIMENT: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
question = "Are both alike?"
on = ["sim", "vm"]
machine = "uniprocessor"
baseline = "rr"
blocks = 1
timeout_s = 60

[[scheduler]]
name = "rr"
kernel = "7"
file = "rr"

[[workload]]
name = "tiny.toml"
"#;

/// In virtual time a trial is the same whenever it runs, so the share can fall only by a change of
/// the simulator, the player or the kernel. When this was written, 15 of 16 agreed: 93.8 %.
const WITHIN_LEAST: f64 = 85.0;

#[test]
fn most_numbers_of_a_small_experiment_agree() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    bench.write("alike.toml", EXPERIMENT);
    let said = stdout(&bench.run(&["fidelity", "alike.toml", "--offline", "--all"]).code(0));
    assert!(said.starts_with("Kernel: 7."), "{said}");
    let all = said.lines().find(|line| line.starts_with("| all |")).expect("a row of sums");
    let columns: Vec<&str> = all.split('|').map(str::trim).collect();
    let within: f64 = columns[3].trim_end_matches(" %").parse().expect("a percentage");
    assert!(within >= WITHIN_LEAST, "{said}");
    assert!(said.contains("| tiny on uniprocessor | rr | cpu share · hog |"), "{said}");
    assert!(said.contains("Claims that both make"), "{said}");
}

#[test]
fn a_kernel_confirms_advice_and_the_table_keeps_what_was_measured() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let advice =
        ["fidelity", "--advice", "--scheduler", "bmq", "--blocks", "6", "--offline", "--care"];
    let one = stdout(&bench.run(&[&advice[..], &["fairness", "--cpus", "1"]].concat()).success());
    assert!(one.starts_with("Kernel: 7."), "{one}");
    assert!(one.contains("| fairness | 1 | 6 | 1 of 1 | "), "{one}");
    assert!(one.contains("| fairness | 2 | – | not measured |"), "{one}");
    let resumed = [&advice[..], &["fairness", "--cpus", "1", "--resume"]].concat();
    assert_eq!(stdout(&bench.run(&resumed).success()), one);
}

/// A file that does exactly what its counterpart does.
const TWINS: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
question = "Are twins alike?"
on = "vm"
machine = "uniprocessor"
baseline = "one"
blocks = 1
timeout_s = 60
pairs = { other = "one" }

[[scheduler]]
name = "one"
kernel = "7"
file = "rr"

[[scheduler]]
name = "other"
kernel = "7"
file = "./twin.bpf.c"

[[workload]]
name = "tiny.toml"
"#;

fn write_twin(bench: &Bench) {
    let rr = std::fs::read_to_string(project("schedulers/rr.bpf.c")).expect("a scheduler");
    bench.write("twin.bpf.c", &format!("{rr}\n// The same by another text.\n"));
}

#[test]
fn a_perfect_file_agrees_with_its_counterpart() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    bench.write("twins.toml", TWINS);
    write_twin(&bench);
    let said = stdout(
        &bench.run(&["fidelity", "--counterparts", "twins.toml", "--offline", "--all"]).code(0),
    );
    assert!(said.starts_with("Pairs: other on 7."), "{said}");
    assert!(said.contains("farthest off | counterpart | file |"), "{said}");
    let all = said.lines().find(|line| line.starts_with("| all |")).expect("a row of sums");
    let columns: Vec<&str> = all.split('|').map(str::trim).collect();
    let within: f64 = columns[3].trim_end_matches(" %").parse().expect("a percentage");
    assert!(within >= WITHIN_LEAST, "{said}");
}

#[test]
fn a_counterpart_that_nobody_is_has_a_suggestion() {
    let bench = Bench::new();
    write_twin(&bench);
    bench.write("strangers.toml", &TWINS.replace("other = \"one\"", "other = \"on\""));
    let said = stderr(&bench.run(&["fidelity", "--counterparts", "strangers.toml"]).code(2));
    assert!(said.contains("did you mean 'one'"), "{said}");
}
