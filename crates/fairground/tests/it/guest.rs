// SPDX-License-Identifier: GPL-2.0-only
//! What root does on a kernel with sched_ext, done in a virtual machine: ask for advice, switch, and
//! back again. And advice that is asked of virtual machines.

use std::fs;
use std::process::Command;

use model::Clock;

use crate::common::folder::{Folder, WORDS};
use crate::common::{Bench, guest, stdout};
use testing::need;

/// A workload that takes milliseconds, and whose numbers need few samples.
const OWN: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
about = "everybody writes to everybody"
headline = ["completion_ns all"]

[[channel]]
name = "pipes"
count = 10

[[task]]
name = "sender"
count = 10
repeat = 20
steps = [{ send = { channel = "pipes", bytes = 100, fan = 10 } }]

[[task]]
name = "receiver"
count = 10
repeat = 200
steps = [{ receive = { channel = "pipes", bytes = 100 } }]
"#;

#[test]
fn a_live_kernel_is_asked_which_scheduler_to_use() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&["sh", "cat", "tr", "sleep"]));
    let folder = Folder::new();
    let own = folder.write("own.toml", OWN);
    let script = format!(
        r#"
cd /tmp
race="{held} recommend --on live --workload {own} --scheduler vtime --scheduler policy:batch"
$race --budget 40s > said 2> told || fail "recommend ended with $?" told
case "$(cat said)" in "Use "* | "Keep "*) ;; *) fail "no advice" said ;; esac
has said "blocks on this kernel, Linux 7."
has said "  own, decides: completion"
for name in eevdf-7. vtime batch; do has said "    $name"; done
case "$(cat said)" in *"not known"*) fail "no number" said ;; esac
{held} load rr slice_us=3000 2> loaded &
while [ "$(state)" != enabled ]; do sleep 0.1; done
$race > said 2> told
[ $? = 2 ] || fail "not refused" told
has told "the sched_ext scheduler \`rr\` is running; stop it first"
kill $!
wait
[ "$(state)" = disabled ] || fail "it stayed" loaded
"#,
        held = folder.path("held").display(),
    );
    folder.ask(&script, &[&own], &[]);
}

/// A system manager in a namespace of its own, which runs one script.
const MANAGER: &str = r#"
mkdir -p /etc/systemd/system
mount -t cgroup2 none /sys/fs/cgroup
echo uninitialized > /etc/machine-id
unit() { printf "$2" > /etc/systemd/system/$1; }
for name in sysinit basic shutdown; do unit $name.target '[Unit]\nDefaultDependencies=no\n'; done
unit default.target '[Unit]\nWants=ask.service\n'
unit ask.service "[Service]\nType=oneshot\nExecStart=/bin/sh SCRIPT\n"
container=test unshare --pid --fork --mount-proc /lib/systemd/systemd --system > /tmp/log 2>&1 &
tries=30
while [ ! -f /tmp/done ] && [ $tries -gt 0 ]; do sleep 1; tries=$((tries - 1)); done
[ -f /tmp/done ] || fail "no answer" /tmp/log
has /tmp/said "all is well"
"#;

/// The printed commands that switch to a scheduler: in the foreground, which it is, as a service,
/// and back.
fn commands(folder: &Folder, scheduler: &str) -> [String; 4] {
    let answer = Command::new(folder.path("held"))
        .args(["recommend", "--on", "sim", "--machine", "uniprocessor", "--workload", "messaging"])
        .args(["--scheduler", scheduler, "--store"])
        .arg(folder.path("sim.db"))
        .output()
        .expect("an answer");
    let said = String::from_utf8_lossy(&answer.stdout);
    let lines = said.lines().skip_while(|line| !line.starts_with("How to switch to"));
    let lines = lines.take_while(|line| !line.is_empty());
    let commands = lines.filter_map(|line| line.strip_prefix("    ")).map(str::to_owned);
    let commands: Vec<String> = commands.filter(|line| !line.starts_with("grep ")).collect();
    commands.try_into().unwrap_or_else(|other| panic!("{other:?} of {said}"))
}

#[test]
fn the_printed_commands_switch_and_back() {
    testing::beyond_cargo_test!("boots a kernel");
    let programs =
        ["mkdir", "mount", "touch", "unshare", "/lib/systemd/systemd", "systemd-run", "systemctl"];
    need!(guest(&[&["sh", "cat", "tr", "sleep"][..], &programs].concat()));
    let folder = Folder::new();
    let [load, which, service, back] = commands(&folder, "bmq");
    let inner = format!(
        r#"{WORDS}
exec > /tmp/said 2>&1
trap "touch /tmp/done" EXIT
(sudo() {{ exec "$@"; }}; {load}) &
sleep 3
[ "$({which})" = bmq ] || exit 1
kill $!
wait
[ "$(state)" = disabled ] || exit 1
sudo() {{ "$@"; }}
{service}
sleep 3
[ "$({which})" = bmq ] || exit 1
{back}
[ "$(state)" = disabled ] && echo "all is well"
"#
    );
    let inner = folder.write("inner.sh", &inner);
    folder.ask(&MANAGER.replace("SCRIPT", &inner), &[&inner], &programs);
}

#[test]
fn without_kvm_virtual_machines_count_instructions() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    bench.write("own.toml", OWN);
    let race = ["recommend", "--on", "vm", "--workload", "own.toml", "--scheduler", "vtime"];
    let ended = bench.run(&[&race[..], &["--budget", "5m", "--offline"]].concat()).success();
    let said = stdout(&ended);
    assert!(said.starts_with("Use ") || said.starts_with("Keep "), "{said}");
    let records = bench.records("fairground.db");
    let counted = records.iter().all(|record| record.trial.clock() == Clock::Virtual);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(counted, words.contains("because KVM does not work here; uniprocessor: 1 CPU"));
    assert_eq!(counted, said.contains("--on vm --machine uniprocessor"), "{said}");
}

#[test]
fn a_kernel_has_the_last_word() {
    testing::beyond_cargo_test!("boots kernels");
    need!(guest(&[]));
    let bench = Bench::new();
    bench.write("own.toml", OWN);
    let race = ["recommend", "--workload", "own.toml", "--scheduler", "vtime"];
    let more = ["--machine", "uniprocessor", "--budget", "10m", "--offline", "--yes"];
    let said = stdout(&bench.run(&[&race[..], &more].concat()).success());
    let (first, second) = said
        .split_once("\nStep 2 of 2, measured on kernels. This answer counts; ")
        .unwrap_or_else(|| panic!("two steps: {said}"));
    assert!(first.starts_with("Step 1 of 2, a prediction by the simulator:\n"), "{said}");
    assert!(second.contains("the prediction "), "{said}");
    assert!(second.contains("blocks on kernels of their own in virtual machines"), "{said}");
    let on = |wanted| {
        let records = bench.records("fairground.db").into_iter();
        records.filter(|record| record.trial.backend == wanted).count()
    };
    assert!(on(model::Backend::Sim) > 0 && on(model::Backend::Vm) > 0);
}

#[test]
fn what_cannot_be_loaded_is_refused_before_anything_runs() {
    let bench = Bench::new();
    if fs::metadata("/sys/kernel/sched_ext").is_ok() {
        return testing::skip("this kernel has sched_ext");
    }
    let arguments = ["recommend", "--on", "live", "--care", "audio", "--scheduler", "vtime"];
    let refused = bench.run(&arguments).code(2);
    assert!(
        crate::common::stderr(&refused)
            .contains("has no sched_ext, and vtime would have to be loaded; write --on sim"),
        "{refused}"
    );
    assert_eq!(stdout(&refused), "");
    assert!(!bench.path("fairground.db").exists());
}
