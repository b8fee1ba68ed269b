// SPDX-License-Identifier: GPL-2.0-only
//! Processes that are forked beside a compiler, as the simulator's are, have copies of everything
//! that was open. The compiler must not wait for what they hold.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use process::Process;

const TEXT: &str = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
                    UEI_DEFINE(uei);\nSCX_OPS_DEFINE(ops, .name = \"forked\");\n";

/// Forks processes that stay until this thread ends.
fn fork_until(done: &AtomicBool) {
    let mut forked = Vec::new();
    while !done.load(Ordering::Relaxed) && forked.len() < 400 {
        let sleep = || {
            std::thread::sleep(Duration::from_secs(600));
            0
        };
        forked.push(Process::fork(sleep).expect("a process"));
        std::thread::sleep(Duration::from_millis(1));
    }
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
    for process in forked {
        process.kill(libc::SIGKILL);
        process.wait();
    }
}

#[test]
fn a_compiler_does_not_wait_for_what_a_forked_process_holds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("forked.bpf.c");
    std::fs::write(&path, TEXT).expect("the folder can be written");
    let source = compile::resolve(&path.display().to_string(), Path::new("")).expect("it is there");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| fork_until(&done));
        let compiled = compile::compile(&source).map(drop);
        done.store(true, Ordering::Relaxed);
        assert!(compiled.is_ok(), "{compiled:?}");
    });
}
