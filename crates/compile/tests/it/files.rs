// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's text reaches no file that is not its own, whatever it calls it.

use std::fs;
use std::path::Path;

use compile::{CompileError, Source};

/// Compiles a scheduler that begins with this text, in line 2. Beside it are `own.h`, a link to
/// `/etc/passwd` and a pipe; above it is `above.h`.
fn check(name: &str, text: &str) -> Result<(), CompileError> {
    let outer = tempfile::tempdir().expect("a temporary folder");
    let folder = outer.path().join("inner");
    fs::create_dir(&folder).expect("a folder");
    fs::write(outer.path().join("above.h"), "int above;\n").expect("a file");
    fs::write(outer.path().join("private.key"), "KEY\n").expect("a file");
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
        ("upwards", "#include \"../../../../../../etc/passwd\""),
        ("private", "#include \"../private.key\""),
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
        (Some(2), "\"pipe.h\" is no file with text that ends in .h or .c: include a header")
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
    check("never", "#ifdef NEVER\n#include \"own.h\"\n#include \"../gone.h\"\n#endif")
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Writes files below a folder and finds the scheduler that is the first of them.
pub fn resolved(files: &[(&str, &str)]) -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    let source = compile::resolve(&format!("./{}", files[0].0), folder.path());
    (folder, source.unwrap_or_else(|error| panic!("{error}")))
}

/// A whole scheduler with these lines from line 1 on.
pub fn scheduler(lines: &str) -> String {
    format!(
        "{lines}\nchar _license[] SEC(\"license\") = \"GPL\";\n\
         void BPF_STRUCT_OPS(x_enqueue, struct task_struct *p, u64 flags)\n\
         {{ scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, flags); }}\n\
         SCX_OPS_DEFINE(x_ops, .enqueue = (void *)x_enqueue, .name = \"x\");\n"
    )
}

fn compiles(source: &Source) {
    compile::compile(source).unwrap_or_else(|error| panic!("{error}"));
    compile::native::native(source).unwrap_or_else(|error| panic!("{error}"));
}

fn names(source: &Source) -> Vec<&str> {
    source.included.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn headers_above_the_folder_are_part_of_the_scheduler() {
    let text = scheduler("#include <scx/common.bpf.h>\n#include \"../shared/names.h\"");
    let slice = "#define SLICE SCX_SLICE_DFL\n";
    let (_one, source) = resolved(&[("own/x.bpf.c", &text), ("shared/names.h", slice)]);
    assert_eq!(source.outside(), ["../shared/names.h"]);
    compiles(&source);
    let (_two, other) =
        resolved(&[("own/x.bpf.c", &text), ("shared/names.h", "#define SLICE 1\n")]);
    assert_ne!(source.sha256, other.sha256);
    let far = tempfile::tempdir().expect("a temporary folder");
    let unpacked = compile::unpack(&compile::files(&source), far.path()).expect("it is whole");
    assert_eq!((unpacked.sha256, unpacked.included), (source.sha256, source.included));
}

#[test]
fn a_path_to_the_headers_of_scx_that_are_not_there_means_ours() {
    let text = "#ifdef LSP\n#include \"../vmlinux/vmlinux.h\"\n#else\n\
                #include \"../../../../scheds/include/scx/common.bpf.h\"\n#endif\n\
                #define SLICE SCX_SLICE_DFL";
    let (_folder, source) = resolved(&[("src/bpf/x.bpf.c", &scheduler(text))]);
    assert_eq!(names(&source), Vec::<&str>::new());
    compiles(&source);
}

/// What a copy of scx's header has, as far as a scheduler of Linux 6.12 needs it.
const OWN_COMMON: &str = "#pragma once\n#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n\
    #include <bpf/bpf_tracing.h>\n#define SLICE 20000000\n\
    void scx_bpf_dispatch(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym;\n\
    #define scx_bpf_dsq_insert scx_bpf_dispatch\n\
    #define BPF_STRUCT_OPS(name, args...) SEC(\"struct_ops/\"#name) BPF_PROG(name, ##args)\n\
    #define SCX_OPS_DEFINE(name, ...) SEC(\".struct_ops.link\") struct sched_ext_ops name = \\\n\
    { __VA_ARGS__ }\n";

#[test]
fn a_scheduler_s_own_headers_of_scx_win() {
    let own = OWN_COMMON.replace("#define scx_bpf_dsq_insert scx_bpf_dispatch\n", "");
    let text = scheduler("#include <scx/common.bpf.h>").replace("dsq_insert(", "dispatch(");
    let files = [("scheds/x.bpf.c", text.as_str()), ("include/scx/common.bpf.h", &own)];
    let (_folder, source) = resolved(&files);
    assert_eq!(names(&source), ["../include/scx/common.bpf.h"]);
    compiles(&source);
}

/// A checkout of scx has the headers of its time for arenas and loops, which ours differ from.
#[test]
fn a_scheduler_s_own_headers_of_arenas_win() {
    let own = "#pragma once\nint own_atomic;\n#define can_loop own_atomic\n";
    let text = scheduler(
        "#include <scx/common.bpf.h>\n#include <bpf_atomic.h>\n\
         #define SLICE ({ while (can_loop && own_atomic++ < 3); SCX_SLICE_DFL; })",
    );
    let files = [("scheds/x.bpf.c", text.as_str()), ("include/bpf_atomic.h", own)];
    let (_folder, source) = resolved(&files);
    assert_eq!(names(&source), ["../include/bpf_atomic.h"]);
    compiles(&source);
}

/// libbpf lets an option read as zero that no kernel has, if it is weak.
#[test]
fn options_of_the_kernel_and_programs_of_many_arguments_compile() {
    let (_folder, source) = resolved(&[(
        "options.bpf.c",
        &scheduler(
            "#include <scx/common.bpf.h>\n\
             extern bool CONFIG_NO_SUCH_THING __kconfig __weak;\n\
             extern bool CONFIG_NO_HZ_IDLE __kconfig __weak;\n\
             #define SLICE (CONFIG_NO_SUCH_THING || !CONFIG_NO_HZ_IDLE ? 1 : SCX_SLICE_DFL)\n\
             u64 waits;\nSEC(\"?fexit/futex_wait\")\n\
             int BPF_PROG(waited, u32 *at, u32 flags, u32 val, void *to, u32 bits, u32 *other,\n\
             int ret)\n\
             { waits += !ret; return 0; }",
        ),
    )]);
    compiles(&source);
}

#[test]
fn the_kernel_s_types_beside_a_scheduler_give_way_to_those_of_the_simulator() {
    let types = "\nstruct task_struct {\n\tint pid;\n};\n";
    let ours = scheduler("#include \"vmlinux.h\"\n#include <scx/common.bpf.h>\n#define SLICE 1");
    let (_folder, source) = resolved(&[("x.bpf.c", &ours), ("vmlinux.h", types)]);
    assert_eq!(names(&source), Vec::<&str>::new());
    compiles(&source);
}

const PLAIN: &str = "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n\
    #include <bpf/bpf_tracing.h>\n#include <limits.h>\n\
    struct mine { int pid; } __attribute__((preserve_access_index));\n\
    extern void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice,\n\
                                 u64 enq_flags) __ksym;\n\
    extern int scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;\n\
    char _license[] SEC(\"license\") = \"GPL\";\n\
    SEC(\"struct_ops/enqueue\")\n\
    void BPF_PROG(enqueue, struct task_struct *p, u64 enq_flags)\n\
    { struct mine *own = (void *)p; u64 d = scx_bpf_dsq_nr_queued(SCX_DSQ_GLOBAL);\n\
      scx_bpf_dispatch(p, SCX_DSQ_GLOBAL, 5000000 / (d + 1) + !own->pid, enq_flags); }\n\
    SEC(\".struct_ops\")\n\
    struct sched_ext_ops plain = { .enqueue = (void *)enqueue, .name = \"plain\" };\n";

#[test]
fn a_scheduler_without_the_headers_of_scx_declares_what_it_calls() {
    let (_folder, source) = resolved(&[("plain.bpf.c", PLAIN)]);
    compiles(&source);
    let both = PLAIN.replace(
        "extern int",
        "extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,\n\
                                        u64 enq_flags) __ksym;\nextern bool scx_bpf_consume(void) __ksym;\n\
         extern void scx_bpf_dsq_move_to_local(u64 id) __ksym;\nextern int",
    );
    let (_folder, source) = resolved(&[("both.bpf.c", &both)]);
    compiles(&source);
}

/// As the headers of scx that both a scheduler and its user space include.
#[test]
fn a_header_for_bpf_and_for_user_space_is_one_for_bpf() {
    let text = scheduler("#include <scx/common.bpf.h>\n#include \"shared.h\"");
    let header = "#ifdef __bpf__\n#define SLICE 1\n#else\n#include <stdio.h>\n#endif\n";
    let (_folder, source) = resolved(&[("x.bpf.c", &text), ("shared.h", header)]);
    compiles(&source);
}

#[test]
fn older_forms_compile_with_our_headers() {
    for (name, lines) in [
        ("constant", "const volatile u64 SLICE = SCX_SLICE_DFL;"),
        (
            "function",
            "static u64 div_round_up(u64 a, u64 b)\n{ return a / b; }\n\
             #define SLICE div_round_up(9, 2)",
        ),
        ("exists", "#define SLICE (bpf_ksym_exists(scx_bpf_select_cpu_and) ? 1 : 2)"),
        (
            "counts",
            "u64 n;\n#define SLICE 1\nvoid BPF_STRUCT_OPS(x_cpu_release, s32 cpu,\n\
                    struct scx_cpu_release_args *a) { n += scx_bpf_reenqueue_local(); }",
        ),
    ] {
        let text = scheduler(&format!("#include <scx/common.bpf.h>\n{lines}"));
        let (_folder, source) = resolved(&[(&format!("{name}.bpf.c"), &text)]);
        compile::compile(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
        compile::native::native(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Two sources with a function of the same name each, and one that they share.
const FIRST: &str = "#include <scx/common.bpf.h>\n#include \"shared.h\"\n\
    static u64 own(void) { return 1; }\n#define SLICE (own() + slice_of(p))";
const SECOND: &str = "#include <scx/common.bpf.h>\n#include \"../shared.h\"\n\
    const volatile u64 base = 5000000;\nstatic __noinline u64 own(void) { return base; }\n\
    __hidden u64 slice_of(struct task_struct *p) { return own() + p->scx.weight; }\n";

#[test]
fn several_sources_are_one_scheduler() {
    let (first, header) = (scheduler(FIRST), "u64 slice_of(struct task_struct *p);\n");
    let build = "fn main() { B::new().enable_skel(\"src/bpf/main.bpf.c\", \"bpf\")\n\
                 .add_source(\"src/bpf/lib/b.bpf.c\").compile_link_gen().unwrap(); }\n";
    let files = [
        ("scx_x/src/bpf/main.bpf.c", first.as_str()),
        ("scx_x/src/bpf/lib/b.bpf.c", SECOND),
        ("scx_x/src/bpf/shared.h", header),
        ("scx_x/build.rs", build),
    ];
    let (_folder, alone) = resolved(&files[..3]);
    let error = compile::native::native(&alone).map(drop).expect_err("a part is missing");
    assert!(error.message.contains("have slice_of() (line 7); several sources"), "{error}");
    let (folder, main) = resolved(&files);
    let of = |file: &str| compile::resolve(file, folder.path()).expect("it is there");
    let crate_ = of("./scx_x");
    assert_eq!((crate_.name.as_str(), &crate_.others[..]), ("scx_x", &["lib/b.bpf.c".into()][..]));
    compiles(&crate_);
    assert_eq!((main.name, main.sha256), (crate_.name.clone(), crate_.sha256.clone()));
    let both = of("scx_x/src/bpf/main.bpf.c+scx_x/src/bpf/lib/b.bpf.c");
    assert_eq!((both.sha256.as_str(), both.name.as_str()), (crate_.sha256.as_str(), "main"));
    let native = compile::native::native(&both).expect("it compiles");
    assert!(native.facts.variables.iter().any(|variable| variable.name == "base"));
    let far = tempfile::tempdir().expect("a temporary folder");
    let unpacked = compile::unpack(&compile::files(&crate_), far.path()).expect("it is whole");
    assert_eq!((unpacked.sha256, unpacked.others), (crate_.sha256, crate_.others));
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

/// Why the files below a folder are no scheduler.
fn not_found(folder: &Path, file: &str) -> String {
    compile::resolve(file, folder).expect_err("it must be refused").message
}

#[test]
fn sources_are_c_files_wherever_links_and_build_scripts_lead() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir_all(place("scx_x/src/bpf")).expect("a folder");
    fs::write(place("key"), "KEY\n").expect("a file");
    fs::write(place("scx_x/src/bpf/main.bpf.c"), "SCX_OPS_DEFINE(x);\n").expect("a file");
    let build = "enable_skel(\"src/bpf/main.bpf.c\") add_source(\"../key\")";
    fs::write(place("scx_x/build.rs"), build).expect("a file");
    std::os::unix::fs::symlink(place("key"), place("link.bpf.c")).expect("a link");
    for file in ["./scx_x", "./link.bpf.c"] {
        let why = not_found(folder.path(), file);
        assert!(why.ends_with("key has no name of a C file"), "{file}: {why}");
    }
    fs::write(place("own.h"), "").expect("a file");
    fs::write(place("scx_x/in.h"), "").expect("a file");
    std::os::unix::fs::symlink(place("own.h"), place("scx_x/out.h")).expect("a link");
    fs::write(place("scx_x/y.bpf.c"), "#include \"in.h\"\n#include \"out.h\"\n").expect("a file");
    let source = compile::resolve("./scx_x/y.bpf.c", folder.path()).expect("a scheduler");
    assert_eq!(source.outside(), ["out.h"]);
}

#[test]
fn all_files_of_a_scheduler_have_a_limit_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("x")).expect("a folder");
    fs::write(place("x/main.bpf.c"), "SCX_OPS_DEFINE(x);\n").expect("a file");
    fs::write(place("large.c"), " ".repeat(4 << 20)).expect("a file");
    for number in 0..20 {
        let link = place(&format!("x/{number}.bpf.c"));
        std::os::unix::fs::symlink(place("large.c"), link).expect("a link");
    }
    assert_eq!(not_found(folder.path(), "./x"), "its other files have more than 64 MiB");
    for number in 0..2_100 {
        let text = format!("#include \"{}.h\"\n", number + 1);
        fs::write(place(&format!("{number}.h")), text).expect("a file");
    }
    fs::write(place("deep.bpf.c"), "#include \"0.h\"\n").expect("a file");
    assert_eq!(not_found(folder.path(), "./deep.bpf.c"), "its other files have more than 64 MiB");
}
