// SPDX-License-Identifier: GPL-2.0-only
//! A boot that goes on from a saved one has the bytes of a fresh one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Bench, guest, stdout};
use testing::need;

/// Four trials of one boot: a file of sched_ext and the kernel's own scheduler.
const RACE: &str = "run --on vm --scheduler vtime --scheduler kernel:7 --workload tiny.toml --blocks \
                    1 --trials-per-boot=2 --offline --exploratory --store";

/// A data folder of its own, with the kernels and the emulator of the usual one: only the emulator
/// promises the same bytes on a busy host.
fn home(bench: &Bench) -> String {
    let home = bench.path("home");
    fs::create_dir(&home).expect("a folder");
    let usual = fairground::execution::locations::data_folder().expect("a data folder");
    for folder in ["kernels", "emulators"] {
        symlink(usual.join(folder), home.join(folder)).expect("a link");
    }
    home.display().to_string()
}

/// Runs the race and counts the records whose boot went on from a saved one.
fn race(bench: &Bench, home: &str, store: &str) -> usize {
    let arguments: Vec<&str> = RACE.split(' ').chain([store]).collect();
    bench.fairground(&arguments).env("FAIRGROUND_HOME", home).assert().success();
    let is_saved =
        |record: &&model::Record| record.provenance.notes.iter().any(|note| note == vm::SAVED_BOOT);
    bench.records(store).iter().filter(is_saved).count()
}

fn boots(bench: &Bench, home: &str, more: &[&str]) -> String {
    let arguments = [&["kernel", "boots"], more].concat();
    stdout(&bench.fairground(&arguments).env("FAIRGROUND_HOME", home).assert().success())
}

#[test]
fn a_saved_boot_has_the_bytes_of_a_fresh_one() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let home = home(&bench);
    assert_eq!(race(&bench, &home, "fresh.db"), 0);
    assert_eq!(race(&bench, &home, "saved.db"), 4);
    let folder = Path::new(&home).join("boots");
    let of = |said: &str| said.starts_with("1 saved boot, ") && said.contains("/home/boots");
    assert!(of(&boots(&bench, &home, &[])), "{}", boots(&bench, &home, &[]));
    let removed = boots(&bench, &home, &["--remove"]);
    assert!(removed.strip_prefix("removed: ").is_some_and(of), "{removed}");
    assert!(!folder.exists());
    // Nothing can be kept where a file is.
    fs::write(&folder, "").expect("a file");
    assert_eq!(race(&bench, &home, "unkept.db"), 0);
    for other in ["saved.db", "unkept.db"] {
        let same = bench.run(&["compare", "--identical", "fresh.db", other]).success();
        assert_eq!(stdout(&same), "identical: 4 trials, byte for byte\n");
    }
}
