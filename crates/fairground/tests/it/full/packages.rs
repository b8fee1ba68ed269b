// SPDX-License-Identifier: GPL-2.0-only
//! Packages: their form, their bytes, the service, and a fresh Debian that installs one and uses it.
//! `scripts/foreign.sh` uses the others.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{installed, project};
use testing::need;

/// What `scripts/chroot.sh` says if this machine cannot make a chroot.
const CANNOT: i32 = 77;

fn run(program: &str, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.current_dir(project("")).args(words);
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The project's files as they are now, in another folder.
fn copied(to: &Path) -> PathBuf {
    std::fs::create_dir_all(to.join("target")).expect("a folder");
    let list = "git ls-files -z --cached --others --exclude-standard";
    let pack = "tar --create --null --files-from - --ignore-failed-read 2>/dev/null";
    let all = format!("{list} | {pack} | tar --extract --directory \"$1\"");
    let copied = run("sh", &["-c", &all, "sh", &to.display().to_string()]);
    assert!(copied.status.success(), "{}", said(&copied));
    to.to_owned()
}

/// A release with the tested binary, made in a copy of the project.
fn release(project: &Path) -> PathBuf {
    let to = project.join("target/dist");
    let mut script = Command::new(project.join("scripts/release.sh"));
    script.env("BINARY", env!("CARGO_BIN_EXE_fairground")).env("SOURCE_DATE_EPOCH", "1795600000");
    script.env_remove("CARGO_TARGET_DIR");
    let made = script.arg(&to).output().expect("the script starts");
    assert!(made.status.success(), "{}", said(&made));
    to
}

fn named(folder: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(folder).expect("the release").flatten().map(|file| file.path());
    let mut files = files.filter(|file| file.to_string_lossy().ends_with(ending));
    files.next().unwrap_or_else(|| panic!("the release has no {ending}"))
}

/// One test, because it takes a while to make the package.
#[test]
fn a_release_is_sound_and_a_fresh_system_can_use_it() {
    testing::beyond_cargo_test!("makes a Debian package");
    let tools =
        ["cargo-deb", "cargo-cyclonedx", "mdbook", "lintian", "dpkg-shlibdeps", "xz", "rpmbuild"];
    need!(installed(&tools));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [one, another] = ["one", "another-folder"]
        .map(|name| release(&copied(&folder.path().join(name))))
        .map(|made| (std::fs::read_to_string(made.join("SHA256SUMS")).expect("the sums"), made));
    assert_eq!(one.0, another.0, "the same binary gave two releases");
    assert_eq!(one.0.lines().count(), 6, "{}", one.0);
    components_are_listed(&one.1);
    let package = named(&one.1, ".deb");
    lintian_finds_no_error(&package);
    a_fresh_system_installs_it(&package);
}

/// The tests' binary is not static; a small program with the same flags is.
#[test]
fn a_static_program_with_libelf_starts() {
    testing::beyond_cargo_test!("links a static program");
    let flags = run("sh", &["-c", "FLAGS=1 scripts/release.sh"]);
    assert!(flags.status.success(), "{}", said(&flags));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [source, program] = ["main.rs", "main"].map(|name| folder.path().join(name));
    let text = "#[link(name = \"elf\")]\nunsafe extern \"C\" { fn elf_version(version: u32) -> u32; }\n\
                fn main() { assert_eq!(unsafe { elf_version(1) }, 1); }\n";
    std::fs::write(&source, text).expect("the folder can be written");
    let mut rustc = Command::new("rustc");
    rustc.args(String::from_utf8_lossy(&flags.stdout).split_whitespace());
    let linked = rustc.arg("--target=x86_64-unknown-linux-gnu").arg("-o").args([&program, &source]);
    let linked = linked.output().expect("rustc starts");
    assert!(linked.status.success(), "{}", said(&linked));
    let started = Command::new(&program).output().expect("the program starts");
    assert!(started.status.success(), "{:?}", started.status);
}

fn components_are_listed(release: &Path) {
    let text = std::fs::read_to_string(named(release, ".cdx.json")).expect("the list");
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<&str> = list["components"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|c| c["name"].as_str())
        .collect();
    for linked in ["libbpf-sys", "rusqlite", "plotly", "fairground-sim"] {
        assert!(names.contains(&linked), "no {linked} in {names:?}");
    }
    assert!(!text.contains(&release.display().to_string()), "it names a folder of this host");
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
        return testing::skip("a package fits the release of Debian that it was made on");
    };
    let used = run("scripts/chroot.sh", &[codename, &package.display().to_string(), "simulator"]);
    println!("{}", said(&used).trim_end());
    if used.status.code() == Some(CANNOT) {
        return testing::skip("this machine cannot make a chroot");
    }
    assert!(used.status.success(), "{}", said(&used));
    for step in ["fairground run quick --on sim", "the action, with a harmless change"] {
        assert!(said(&used).contains(step), "{}", said(&used));
    }
}

#[test]
fn the_service_is_what_systemd_understands() {
    testing::beyond_cargo_test!("asks systemd");
    need!(installed(&["systemd-analyze"]));
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
