// SPDX-License-Identifier: GPL-2.0-only
//! `action.yml` as GitHub runs it: the lines of its steps in their order, in a repository with a
//! scheduler, with planted changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::common::{Bench, guest, project};
use testing::need;

/// The part of the file that the steps depend on.
#[derive(serde::Deserialize)]
struct Action {
    inputs: BTreeMap<String, Input>,
    runs: Runs,
}

#[derive(serde::Deserialize)]
struct Input {
    #[serde(default)]
    default: String,
}

#[derive(serde::Deserialize)]
struct Runs {
    using: String,
    steps: Vec<Step>,
}

#[derive(serde::Deserialize)]
struct Step {
    name: String,
    shell: Option<String>,
    run: Option<String>,
    uses: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

fn action() -> Action {
    let text = std::fs::read_to_string(project("action.yml")).expect("the file is there");
    serde_saphyr::from_str(&text).expect("it is an action")
}

/// A pull request: a repository whose last commit changes `mine.bpf.c`.
struct PullRequest {
    bench: Bench,
    /// The runner's folder beside the checkout.
    outside: tempfile::TempDir,
    inputs: BTreeMap<String, String>,
    base: String,
}

impl PullRequest {
    fn new(slice_before: &str, slice_now: &str) -> PullRequest {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("sched")).expect("a folder");
        let outside = tempfile::tempdir().expect("a folder");
        let (inputs, base) = (BTreeMap::new(), String::new());
        let mut request = PullRequest { bench, outside, inputs, base };
        request.git(&["init", "--quiet", "."]);
        request.commit(slice_before);
        request.base = request.git(&["rev-parse", "HEAD"]).trim().to_owned();
        request.commit(slice_now);
        request.set("scheduler", "sched/mine.bpf.c");
        request.set("workloads", "frames\n");
        request.set("vm-workloads", "");
        request
    }

    fn set(&mut self, input: &str, value: &str) {
        self.inputs.insert(input.into(), value.into());
    }

    fn git(&self, words: &[&str]) -> String {
        self.bench.git(words)
    }

    /// The slice is in a header of the author's own, as larger schedulers have them.
    fn commit(&self, slice: &str) {
        let text = "#include <scx/common.bpf.h>\n#include \"slice.h\"\n\n\
            char _license[] SEC(\"license\") = \"GPL\";\n\n\
            void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 enq_flags)\n{\n\
            \tscx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, enq_flags);\n}\n\n\
            SCX_OPS_DEFINE(mine, .enqueue = (void *)mine_enqueue, .name = \"mine\");\n";
        self.bench.write("sched/mine.bpf.c", text);
        self.bench.write("sched/slice.h", &format!("#define SLICE {slice}\n"));
        self.git(&["add", "sched"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "slice"]);
    }

    /// What GitHub puts in place of `${{ … }}`.
    fn expanded(&self, action: &Action, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").expect("an expression ends");
            whole += &match expression.trim() {
                "github.event.pull_request.base.sha" => self.base.clone(),
                other => {
                    let name = other.strip_prefix("inputs.").expect("an input");
                    let usual = || self.expanded(action, &action.inputs[name].default);
                    self.inputs.get(name).cloned().unwrap_or_else(usual)
                }
            };
            whole += rest;
        }
        whole
    }

    /// Runs all steps until one fails: its exit code, everything said, and the summary.
    fn check(&self) -> (i32, String, String) {
        let action = action();
        let (mut said, mut code) = (String::new(), 0);
        for step in &action.runs.steps {
            let Some(run) = &step.run else { continue };
            let output = self.step(&action, step, run);
            said += &String::from_utf8_lossy(&[output.stdout, output.stderr].concat());
            code = output.status.code().expect("it was not killed");
            if code != 0 {
                break;
            }
        }
        let summary = std::fs::read_to_string(self.bench.path("summary.md")).unwrap_or_default();
        (code, said, summary)
    }

    fn step(&self, action: &Action, step: &Step, run: &str) -> Output {
        assert_eq!(step.shell.as_deref(), Some("bash"), "{}", step.name);
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_fairground"));
        let folder = binary.parent().expect("a folder").display().to_string();
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", run]);
        bash.current_dir(self.bench.path("")).env("CI", "true");
        bash.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap_or_default()));
        bash.env("GITHUB_ACTION_PATH", project("")).env("GITHUB_WORKSPACE", self.bench.path(""));
        for (name, file) in [("GITHUB_STEP_SUMMARY", "summary.md"), ("GITHUB_PATH", "path")] {
            bash.env(name, self.bench.path(file));
        }
        bash.env("RUNNER_TEMP", self.outside.path());
        bash.envs(step.env.iter().map(|(name, text)| (name, self.expanded(action, text))));
        bash.output().expect("bash runs")
    }
}

#[test]
fn a_planted_regression_is_caught() {
    let request = PullRequest::new("3000000", "30000000");
    let (code, said, summary) = request.check();
    assert_eq!(code, 1, "{said}");
    assert!(summary.contains("### Fairground, sim: regressed: 2 of 3 numbers worse"), "{summary}");
    assert!(!summary.contains(TOLD), "{summary}");
    let worse: Vec<&str> =
        summary.lines().filter(|line| line.starts_with("| **worse** | mine | ")).collect();
    let [late, slow] = worse[..] else { panic!("{summary}") };
    assert!(late.contains("| 0 → 0.409, n 8 | deadline miss ratio · player"), "{summary}");
    assert!(slow.contains("response time p50 · player, frames"), "{summary}");
    for kept in ["sim.html", "sim-now.fairground", "sim-before.fairground", "sim.gate"] {
        assert!(request.bench.path("fairground-results").join(kept).is_file(), "no {kept}");
    }
}

fn add(request: &PullRequest, file: &str, text: &str) {
    let path = request.bench.path(file);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    request.bench.write(file, text);
    request.git(&["add", file]);
    request.git(&["commit", "--quiet", "--message", "what is measured"]);
}

const TOLD: &str = "### Fairground: this change also changes what is measured\n\n- `";

#[test]
fn a_change_of_what_is_measured_hides_no_regression() {
    let request = PullRequest::new("3000000", "30000000");
    // A workload that no slice matters to, under the name of the one that is measured.
    add(&request, "workloads/frames.toml", crate::common::TINY);
    let (code, said, summary) = request.check();
    assert_eq!(code, 1, "{said}");
    assert!(summary.contains(&format!("{TOLD}workloads/frames.toml`\n\nThe def")), "{summary}");
    assert!(summary.contains("### Fairground, sim: regressed: 2 of 3 numbers worse"), "{summary}");
}

#[test]
fn workloads_are_those_of_the_base() {
    let mut request = PullRequest::new("3000000", "30000000");
    let frames = std::fs::read_to_string(project("workloads/frames.toml")).expect("a workload");
    add(&request, "ci/load.toml", &frames);
    add(&request, "workloads/ours.toml", &frames);
    request.base = request.git(&["rev-parse", "HEAD"]).trim().to_owned();
    request.commit("300000000");
    request.set("workloads", "./ci/load.toml\nours\n./ci/new.toml\n");
    let (code, said, summary) = request.check();
    assert_eq!((code, summary.contains(TOLD)), (2, false), "{said}");
    assert!(summary.contains("`fairground list workloads ./ci/new.toml` says"), "{summary}");
    for file in ["ci/load.toml", "workloads/ours.toml", "ci/new.toml"] {
        add(&request, file, crate::common::TINY);
    }
    let (code, said, summary) = request.check();
    assert_eq!(code, 1, "{said}");
    let told = format!("{TOLD}ci/load.toml`\n- `ci/new.toml`\n- `workloads/ours.toml`\n");
    assert!(summary.contains(&told), "{summary}");
    assert!(summary.contains("The workload `./ci/new.toml` is new; it counts once"), "{summary}");
    assert!(summary.contains("player, load background=8"), "{summary}");
    assert!(summary.contains("player, ours background=8"), "{summary}");
    // Nothing of the runner's folders is in the artefact.
    for record in request.bench.records("fairground-results/sim-now.db") {
        assert!(!format!("{record:?}").contains(&*request.bench.path("").to_string_lossy()));
    }
}

#[test]
fn results_of_the_change_itself_are_refused() {
    let request = PullRequest::new("3000000", "30000000");
    add(&request, "fairground-results/sim-before.db", "not measured");
    let (code, _, summary) = request.check();
    assert_eq!(code, 2, "{summary}");
    assert!(summary.contains("`results`: the repository has files in fairground-results"));
}

/// Stores have what may not leave a machine.
#[test]
fn the_artefact_has_only_what_was_made_for_others() {
    let text = std::fs::read_to_string(project("action.yml")).expect("the file is there");
    let artefact = text.split("path: |\n").nth(1).expect("what is uploaded");
    let files = artefact.lines().take_while(|line| line.contains("results }}/"));
    let endings: Vec<&str> =
        files.filter_map(|line| line.rsplit_once('*')).map(|(_, end)| end).collect();
    assert_eq!(endings, [".html", ".fairground", ".gate"]);
    let history = std::fs::read_to_string(project("docs/history.yml")).expect("the file is there");
    let artefact = history.split("upload-artifact").nth(1).expect("what is uploaded");
    assert!(!artefact.split("- name: history").next().expect("a step").contains(".db"));
}

#[test]
fn a_harmless_change_passes() {
    let request = PullRequest::new("3000000", "(3 * 1000 * 1000)");
    let (code, said, summary) = request.check();
    assert_eq!(code, 0, "{said}");
    assert!(summary.contains("0 of 3 numbers worse"), "{summary}");
    assert!(summary.contains("3 numbers without a change."), "{summary}");
    assert!(!summary.contains("| **"), "{summary}");
}

#[test]
fn a_scheduler_that_stalls_now_is_caught() {
    let request = PullRequest::new("3000000", "3000000");
    // A queue that nothing is taken from.
    let text = std::fs::read_to_string(request.bench.path("sched/mine.bpf.c")).expect("the file");
    let stalls = text.replace("\tscx_bpf_dsq_insert(", "\tif (p->pid < 0) scx_bpf_dsq_insert(");
    request.bench.write("sched/mine.bpf.c", &stalls);
    let (code, said, summary) = request.check();
    assert_eq!(code, 1, "{said}");
    assert!(summary.contains("regressed"), "{summary}");
}

#[test]
fn a_kernel_is_asked_too() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["qemu-system-x86_64"]));
    let mut request = PullRequest::new("3000000", "30000000");
    request.set("vm-workloads", "wake_under_hogs\n");
    request.set("vm-blocks", "1");
    request.set("workloads", "wake_under_hogs\n");
    let (code, said, summary) = request.check();
    assert_eq!(code, 1, "{said}");
    assert!(summary.contains("### Fairground, vm: regressed"), "{summary}");
}

#[test]
fn wrong_inputs_are_named() {
    let mut request = PullRequest::new("3000000", "3000000");
    request.set("scheduler", "sched/yours.bpf.c");
    let (code, _, summary) = request.check();
    assert_eq!(code, 2);
    assert!(summary.contains("there is no file sched/yours.bpf.c"), "{summary}");
    request.set("scheduler", "sched/mine.bpf.c");
    request.set("base", "");
    let (code, said, _) = request.check();
    assert_eq!(code, 2);
    assert!(said.contains("::error::`base`: name the commit"), "{said}");
}

#[test]
fn a_scheduler_that_the_base_lacks_has_nothing_to_be_compared_with() {
    let mut request = PullRequest::new("3000000", "3000000");
    request.git(&["mv", "sched/mine.bpf.c", "sched/ours.bpf.c"]);
    request.git(&["commit", "--quiet", "--message", "a name"]);
    request.set("scheduler", "sched/ours.bpf.c");
    let (code, said, summary) = request.check();
    assert_eq!(code, 0, "{said}");
    assert!(summary.contains("### Fairground, sim: nothing to compare with"), "{summary}");
}

#[test]
fn every_step_runs_a_line_or_uses_an_action() {
    let action = action();
    assert_eq!(action.runs.using, "composite");
    for step in &action.runs.steps {
        assert_ne!(step.run.is_some(), step.uses.is_some(), "{}", step.name);
    }
    // The report is kept before the step that can fail.
    let place = |is: &dyn Fn(&Step) -> bool| action.runs.steps.iter().position(is);
    let kept = place(&|step| step.uses.as_ref().is_some_and(|uses| uses.contains("upload")));
    let gate = place(&|step| step.run.as_ref().is_some_and(|run| run.ends_with(" gate")));
    assert!(kept.expect("an artefact") < gate.expect("a gate"));
}
