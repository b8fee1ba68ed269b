// SPDX-License-Identifier: GPL-2.0-only
//! Objects: those of the project's schedulers are in the binary, others are compiled, with their
//! warnings, by a compiler that waits for nobody and can be stopped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use process::Process;

use crate::files::{resolved, scheduler};

#[test]
fn built_in_schedulers_need_no_compiler() {
    for source in compile::builtin() {
        let compiled = compile::compile(&source).expect("it is embedded");
        assert_eq!((compiled.name, compiled.sha256), (source.name.clone(), source.sha256.clone()));
        assert!(!source.header.title.is_empty(), "{} has no title", source.name);
    }
}

#[test]
fn who_asks_for_nothing_known_is_told_what_there_is() {
    let error = compile::resolve("nonsense", Path::new(".")).unwrap_err();
    for source in compile::builtin() {
        assert!(error.message.contains(&source.name), "{error}");
    }
    let error = compile::resolve("nowhere/x.bpf.c", Path::new("/")).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/x.bpf.c: "), "{error}");
}

#[test]
fn warnings_name_the_scheduler_and_are_kept_with_its_object() {
    let text = scheduler("#include <scx/common.bpf.h>\n#define SLICE ({ int spare; 7; })");
    let (_folder, source) = resolved(&[("x.bpf.c", &text)]);
    let compile = || compile::compile(&source).unwrap_or_else(|error| panic!("{error}"));
    let (first, again) = (compile().warnings, compile().warnings);
    let [line] = &first[..] else { panic!("{first:?}") };
    assert!(
        line.contains("x.bpf.c:5:") && line.contains("warning: unused variable 'spare'"),
        "{line}"
    );
    assert_eq!(first, again);
}

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

/// Processes that are forked beside a compiler, as the simulator's are, have copies of everything
/// that was open.
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

#[test]
fn a_compiler_is_stopped() {
    // The flag holds for the process.
    testing::alone!();
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
