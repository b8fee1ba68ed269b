// SPDX-License-Identifier: GPL-2.0-only
//! A compiler ends when somebody asks for it. The flag holds for the process, so this test has one
//! of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_compiler_is_stopped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("slow.bpf.c");
    let text = "#include <scx/common.bpf.h>\nasm(\".rept 2000000000\\n.long 1\\n.endr\");\n";
    std::fs::write(&path, text).expect("the folder can be written");
    let source = compile::resolve(&path.display().to_string(), Path::new("")).expect("it is there");
    let stop = Arc::new(AtomicBool::new(false));
    process::stop::at(stop.clone());
    let begin = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
    });
    let error = compile::compile(&source).expect_err("it does not compile in half a second");
    assert!(error.interrupted, "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}
