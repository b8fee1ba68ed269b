// SPDX-License-Identifier: GPL-2.0-only
//! The Debian package: its form, its bytes, its service, and a fresh Debian that installs and uses
//! it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod common;
use common::project;

/// What `scripts/chroot.sh` says if this machine cannot make a chroot.
const CANNOT: i32 = 77;

/// Whether the tools of `scripts/setup.sh packages` are there; says which are not. With `CI` set
/// they must be.
fn has_tools(tools: &[&str]) -> bool {
    let absent = tools.iter().find(|tool| find(tool).is_none());
    if let Some(tool) = absent {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and CI must have it");
        println!("skipped: {tool} is not installed (scripts/setup.sh packages)");
    }
    absent.is_none()
}

/// Cargo's own folder need not be in `PATH`.
fn find(tool: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home)?.join("bin").join(tool);
    vm::installed::find(tool).or_else(|| cargo.is_file().then_some(cargo))
}

fn run(program: &str, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.current_dir(project("")).args(words);
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The package of the tested binary.
fn package(to: &Path) -> PathBuf {
    let binary = env!("CARGO_BIN_EXE_fairground");
    let made = run("scripts/deb.sh", &[binary, &to.display().to_string()]);
    assert!(made.status.success(), "{}", said(&made));
    PathBuf::from(String::from_utf8_lossy(&made.stdout).trim())
}

/// One test, because it takes a while to make the package.
#[test]
fn the_package_is_sound_and_a_fresh_system_can_use_it() {
    let tools = ["cargo-deb", "mdbook", "lintian", "dpkg-shlibdeps", "xz"];
    if !has_tools(&tools) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = package(&folder.path().join("first"));
    lintian_finds_no_error(&first);
    let second = package(&folder.path().join("second"));
    let [first_bytes, second_bytes] =
        [&first, &second].map(|package| std::fs::read(package).expect("the package is there"));
    assert!(first_bytes == second_bytes, "the same binary gave two packages");
    a_fresh_system_installs_it(&first);
}

fn lintian_finds_no_error(package: &Path) {
    let package = package.display().to_string();
    let checked = run("lintian", &["--fail-on", "error,warning", "--allow-root", &package]);
    assert!(checked.status.success(), "{}", said(&checked));
}

/// The simulator's part; `make packages-test` has the others, on two releases of Debian.
fn a_fresh_system_installs_it(package: &Path) {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let named = |name: &str| release.lines().find_map(|line| line.strip_prefix(name));
    let (Some("debian"), Some(codename)) = (named("ID="), named("VERSION_CODENAME=")) else {
        println!("skipped: this is no Debian, and a package fits the release that it was made on");
        return;
    };
    let used = run("scripts/chroot.sh", &[codename, &package.display().to_string(), "simulator"]);
    println!("{}", said(&used).trim_end());
    if used.status.code() == Some(CANNOT) {
        return;
    }
    assert!(used.status.success(), "{}", said(&used));
    assert!(said(&used).contains("fairground run quick --on sim"), "{}", said(&used));
}

#[test]
fn the_service_is_what_systemd_understands() {
    if !has_tools(&["systemd-analyze"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let unit = std::fs::read_to_string(project("packaging/fairground-scheduler@.service"));
    // systemd looks for the program, which is not installed here.
    let unit =
        unit.expect("the unit").replace("/usr/bin/fairground", env!("CARGO_BIN_EXE_fairground"));
    let path = folder.path().join("fairground-scheduler@bore.service");
    std::fs::write(&path, unit).expect("a file");
    let path = path.display().to_string();
    let verified = run("systemd-analyze", &["verify", "--man=no", &path]);
    let complaints = said(&verified);
    let own: Vec<&str> =
        complaints.lines().filter(|line| line.contains("fairground-scheduler")).collect();
    assert!(verified.status.success() && own.is_empty(), "{complaints}");
}
