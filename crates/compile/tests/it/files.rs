// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's text reaches no file that is not its own, whatever it calls it.

use std::fs;
use std::path::Path;

use compile::CompileError;

/// Compiles a scheduler that begins with this text, in line 2. Beside it are `own.h`, a link to
/// `/etc/passwd` and a pipe; above it is `above.h`.
fn check(name: &str, text: &str) -> Result<(), CompileError> {
    let outer = tempfile::tempdir().expect("a temporary folder");
    let folder = outer.path().join("inner");
    fs::create_dir(&folder).expect("a folder");
    fs::write(outer.path().join("above.h"), "int above;\n").expect("a file");
    fs::write(folder.join("own.h"), "int own;\n").expect("a file");
    fs::write(folder.join("itself.h"), "#include \"./itself.h\"\n").expect("a file");
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.h")).expect("a link");
    let pipe = std::ffi::CString::new(folder.join("pipe.h").display().to_string()).expect("a name");
    // SAFETY: the name lives during the call.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    let whole = format!(
        "#include <scx/common.bpf.h>\n{text}\nchar _license[] SEC(\"license\") = \"GPL\";\n\
         void BPF_STRUCT_OPS({name}_exit, struct scx_exit_info *ei) {{ }}\n\
         SCX_OPS_DEFINE({name}_ops, .exit = (void *){name}_exit, .name = \"{name}\");\n"
    );
    fs::write(folder.join(format!("{name}.bpf.c")), whole).expect("a file");
    let source = compile::resolve(&format!("{name}.bpf.c"), &folder)?;
    compile::compile(&source).map(drop)
}

/// The line and the words of a refusal.
fn refused(name: &str, text: &str) -> (Option<u32>, String) {
    let error = check(name, text).expect_err("it must be refused");
    assert!(!error.interrupted);
    (error.line, error.message)
}

#[test]
fn files_outside_the_folder_are_refused_by_line() {
    for (name, text) in [
        ("absolute", "#include \"/etc/passwd\""),
        ("upwards", "#include \"../above.h\""),
        ("roundabout", "#include \"own/../../above.h\""),
        ("brackets", "#include <../../../../../../etc/passwd>"),
        ("link", "#include \"link.h\""),
    ] {
        let (line, message) = refused(name, text);
        assert_eq!(line, Some(2), "{name}: {message}");
        assert!(message.contains("lies outside the scheduler's folder"), "{name}: {message}");
    }
    let (line, message) = refused("pipe", "#include \"pipe.h\"");
    assert_eq!(
        (line, message.as_str()),
        (Some(2), "\"pipe.h\" is no file with text: include a header")
    );
}

#[test]
fn other_ways_to_read_are_refused_by_line() {
    for (name, text, word) in [
        ("assembler", "asm(\".incbin \\\"/etc/passwd\\\"\");", ".incbin"),
        ("embed", "char x[] = {\n#embed \"/etc/passwd\"\n};", "#embed"),
        ("question", "\n#if __has_include(\"/etc/shadow\")\n#endif", "__has_include"),
    ] {
        let (line, message) = refused(name, text);
        assert!(line.is_some_and(|line| (2..5).contains(&line)), "{name}: {line:?}");
        assert!(
            message.starts_with(&format!("a scheduler reads no files with {word}")),
            "{message}"
        );
    }
}

#[test]
fn names_that_macros_make_up_lead_nowhere() {
    let landlock = process::sandbox::Parts::of_kernel().landlock;
    testing::need!(landlock.then_some(()).ok_or("this kernel has no Landlock"));
    let (line, message) = refused("made_up", "#define F \"/etc/passwd\"\n#include F");
    assert_eq!(line, Some(3), "{message}");
    assert!(message.contains("Permission denied: it lies outside"), "{message}");
}

#[test]
fn the_text_says_what_is_read() {
    check("plain", "#include \"own.h\"").unwrap_or_else(|error| panic!("{error}"));
    let off = "#if 0\n#include \"/etc/passwd\"\n#endif\n/*\n#include \"../above.h\"\n*/";
    check("off", off).unwrap_or_else(|error| panic!("{error}"));
    let (_, message) = refused("macro_of_its_own", "#define F \"own.h\"\n#include F");
    assert!(message.contains("in a roundabout way"), "{message}");
    let (_, message) = refused("never", "#ifdef NEVER\n#include \"own.h\"\n#endif");
    assert!(message.contains("below a condition that never holds"), "{message}");
}

#[test]
fn texts_without_end_are_refused() {
    let (_, message) = refused("endless", "#include \"itself.h\"");
    assert!(message.contains("nested too deeply"), "{message}");
    for name in ["/dev/zero", "/dev/stdin"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("device.bpf.c");
        std::os::unix::fs::symlink(name, &path).expect("a link");
        let error = compile::resolve(&path.display().to_string(), Path::new(""));
        let error = error.expect_err("it must be refused");
        assert!(error.message.contains("no regular file"), "{error}");
    }
}

#[test]
fn licences_that_no_kernel_loads_are_refused_by_line() {
    let compile = |licence: &str| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = format!(
            "#include <scx/common.bpf.h>\n{licence}\n\
             void BPF_STRUCT_OPS(x_exit, struct scx_exit_info *ei) {{ }}\n\
             SCX_OPS_DEFINE(x_ops, .exit = (void *)x_exit, .name = \"x\");\n"
        );
        fs::write(folder.path().join("x.bpf.c"), text).expect("a file");
        compile::compile(&compile::resolve("x.bpf.c", folder.path())?).map(drop)
    };
    assert_eq!(compile("char _license[] SEC(\"license\") = \"Dual MIT/GPL\";"), Ok(()));
    let error = compile("char _license[] SEC(\"license\") = \"MIT\";").expect_err("no GPL");
    assert_eq!(error.line, Some(2));
    assert!(error.message.starts_with("x has the licence \"MIT\""), "{error}");
    let error = compile("").expect_err("none");
    assert!(error.message.starts_with("x has no licence") && error.line.is_none(), "{error}");
}
