// SPDX-License-Identifier: GPL-2.0-only
//! A page in a real browser, for tests.

pub mod driver;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// No window, no sandbox (tests may run as root), nothing that would ask the network, and no page
/// that counts as hidden: such a page gets no frames.
const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
];

/// Standard output and error of Chromium.
pub fn chromium(page: &Path, arguments: &[&str]) -> Result<(String, String), String> {
    let program = crate::program("chromium")?;
    let profile = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new(program)
        .args(FLAGS)
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=8000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(profile.path().join("stdout")).expect("a file"))
        .stderr(std::fs::File::create(profile.path().join("stderr")).expect("a file"))
        .spawn()
        .expect("chromium starts");
    wait(&mut child, Duration::from_secs(180));
    let read = |name: &str| {
        let bytes = std::fs::read(profile.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok((read("stdout"), read("stderr")))
}

fn wait(child: &mut Child, limit: Duration) {
    let start = Instant::now();
    while child.try_wait().expect("a child of ours").is_none() {
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            panic!("chromium did not end within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the page wrote to the browser's console.
pub fn complaints(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.contains("CONSOLE")).collect()
}
