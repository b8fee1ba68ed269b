// SPDX-License-Identifier: GPL-2.0-only
//! An identity covers everything that an object is made of, and an object is made of nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use compile::native::{Native, native};
use compile::{CompileError, Source};
use proptest::prelude::*;

/// Texts by their names in the scheduler's folder.
type Texts = BTreeMap<&'static str, String>;

fn write(folder: &Path, texts: &Texts) {
    for (name, text) in texts {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
}

fn resolved(folder: &Path) -> Source {
    compile::resolve("mine.bpf.c", folder).expect("it is there")
}

fn identity(below: &str, texts: &Texts) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join(below);
    write(&folder, texts);
    resolved(&folder).sha256
}

/// A scheduler that includes three headers, of lines that are easily confused.
fn texts() -> impl Strategy<Value = Texts> {
    let lines = || prop::collection::vec(prop_oneof!["int a;\n", "int b;\n", "\n"], 0..3);
    (lines(), lines(), lines(), lines()).prop_map(|(own, one, two, three)| {
        let includes = "#include \"one.h\"\n#include \"sub/two.h\"\n#include \"three.h\"\n";
        Texts::from([
            ("mine.bpf.c", includes.to_owned() + &own.concat()),
            ("one.h", one.concat()),
            ("sub/two.h", two.concat()),
            ("three.h", three.concat()),
        ])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn texts_and_identities_are_equal_together((one, other) in (texts(), texts())) {
        prop_assert_eq!(identity("a", &one) == identity("far/b", &other), one == other);
    }

    #[test]
    fn another_folder_changes_nothing(texts in texts()) {
        prop_assert_eq!(identity("a", &texts), identity("some where/else", &texts));
    }
}

/// A scheduler with these lines from line 2 on, and a body of its callback.
fn scheduler(lines: &str, body: &str) -> String {
    format!(
        "#include <scx/common.bpf.h>\n{lines}\nchar _license[] SEC(\"license\") = \"GPL\";\n\
         void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 flags)\n{{\n{body}\n}}\n\
         SCX_OPS_DEFINE(mine_ops, .enqueue = (void *)mine_enqueue, .name = \"mine\");\n"
    )
}

/// Both objects of this scheduler, beside a header and a private file.
fn compiled(lines: &str, body: &str) -> Result<Native, CompileError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().display().to_string();
    let text = scheduler(&lines.replace("HERE", &path), body);
    let texts = [("mine.bpf.c", text), ("own.h", "#define OWN 1\n".into())];
    write(folder.path(), &Texts::from(texts));
    fs::write(folder.path().join("private.key"), "KEY").expect("it can be written");
    native(&resolved(folder.path()))
}

fn refusal(lines: &str, body: &str) -> String {
    let refused = compiled(lines, body).expect_err(&format!("{lines}{body} must be refused"));
    assert!(!refused.interrupted);
    refused.message
}

#[test]
fn what_only_one_of_the_two_compilations_reads_is_noticed() {
    for condition in ["ifndef", "ifdef"] {
        let lines = format!("#{condition} __x86_64__\n#define F \"own.h\"\n#include F\n#endif");
        let said = refusal(&lines, "");
        assert!(said.contains("own.h is included in a roundabout way"), "{said}");
    }
}

#[test]
fn files_that_the_text_does_not_name_are_not_there() {
    let landlock = process::sandbox::Parts::of_kernel().landlock;
    testing::need!(landlock.then_some(()).ok_or("this kernel has no Landlock"));
    for macro_made in ["/etc/passwd", "HERE/private.key"] {
        let said = refusal(&format!("#define F \"{macro_made}\"\n#include F"), "");
        assert!(said.contains("Permission denied: it lies outside"), "{macro_made}: {said}");
    }
}

#[test]
fn assembler_that_reads_files_is_refused_in_any_spelling() {
    let mut conditions = ["ifndef", "ifdef"];
    const PLACE: &str = ".section .rodata\\n.globl s\\n.hidden s\\ns:\\n";
    for reading in [
        r#".in" "cbin \"HERE/private.key\""#,
        r#".INC" "BIN \"/etc/passwd\""#,
        r#".in\143bin \"/etc/passwd\""#,
        r#"\".inc" "bin\" \"/etc/passwd\""#,
        r#".incl" "ude \"/etc/passwd\""#,
        r#".macro m a b\n.in\\a \\b\n.endm\nm cbin \"/etc/passwd\""#,
        r#".irp x, cbin\n.in\\x \"/etc/passwd\"\n.endr"#,
        r#".irpc x, b\n.inc\\x\\()in \"/etc/passwd\"\n.endr"#,
    ] {
        // One kind is asked of the compilation for kernels, the next of that for the simulator.
        conditions.rotate_left(1);
        let condition = conditions[0];
        let lines =
            format!("#{condition} __x86_64__\nasm(\"{PLACE}{reading}\\n.text\\n\");\n#endif");
        let said = refusal(&lines, "");
        let is_meant = ["reads no files with .inc", "assembler has no .", "incbin file"];
        assert!(is_meant.iter().any(|words| said.contains(words)), "{reading}: {said}");
    }
    let pasted = "#define JOIN(a, b) a##b\nJOIN(a, sm)(\".inc\" \"bin \\\"/etc/passwd\\\"\");";
    assert!(refusal(pasted, "").contains("reads no files"));
    let header = "#include <bpf_experimental.h>\n#ifndef __x86_64__\n#define USE(x) \
                  __bpf_assert_op(x, \"\\n.inc\" \"bin \\\"/etc/passwd\\\"\\n\", 1, 1, true)\n#else\n\
                  #define USE(x)\n#endif";
    assert!(compiled(header, "USE(flags);").is_err());
    let harmless = compiled("", "asm volatile(\"\" ::: \"memory\");");
    let harmless = harmless.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(harmless.facts.host_instruction, None);
}

#[test]
fn neither_the_day_nor_the_folder_nor_foreign_files_are_in_an_object() {
    let body = "bpf_printk(\"%s %s %s %s\", __DATE__, __TIME__, __TIMESTAMP__, __FILE__);";
    let objects = ["", ""].map(|lines| {
        std::thread::sleep(std::time::Duration::from_millis(1100));
        compiled(lines, body).expect("it compiles").object
    });
    assert!(objects[0] == objects[1], "the objects differ");
    let joined = "#define JOIN(a, b) a##b\n#if JOIN(__has_, include)(\"/etc/passwd\")\n#endif";
    assert!(refusal(joined, "").contains("poisoned"), "{}", refusal(joined, ""));
    let said = refusal("#include <sys/types.h>", "");
    assert!(said.contains("'sys/types.h' file not found: Fairground brings"), "{said}");
    let said = refusal("#include <linux/bpf.h>", "");
    assert!(said.contains("leave it out; vmlinux.h has the kernel's types"), "{said}");
    let of_c = "#include <stdbool.h>\n#include <stdint.h>\n#include <stddef.h>\n#include <limits.h>\n\
                #include <errno.h>\n#include <stdarg.h>\n#include <string.h>";
    let uses = "uint64_t a = INT_MAX; bool b = true; size_t c = offsetof(struct task_struct, pid);\
                if (a + b + c == UINT64_MAX) scx_bpf_error(\"%d\", ENOENT);";
    compiled(of_c, uses).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn what_is_compiled_is_what_was_hashed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = scheduler("#include \"own.h\"", "scx_bpf_dsq_insert(p, OWN, 1, flags);");
    write(folder.path(), &Texts::from([("mine.bpf.c", text), ("own.h", "#define OWN 3\n".into())]));
    let source = resolved(folder.path());
    fs::write(folder.path().join("own.h"), "#error changed meanwhile\n")
        .expect("it can be written");
    native(&source).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn errors_name_the_file_that_was_given_and_objects_do_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join("secret client");
    let text = scheduler("#include \"own.h\"", "OWN");
    write(
        &own,
        &Texts::from([("mine.bpf.c", text.clone()), ("own.h", "#define OWN wrong\n".into())]),
    );
    let error = native(&resolved(&own)).expect_err("it is wrong");
    assert_eq!(error.file, own.join("mine.bpf.c").display().to_string());
    fs::write(own.join("own.h"), "\n#define OWN\nwrong\n").expect("it can be written");
    let error = native(&resolved(&own)).expect_err("it is wrong");
    let header = own.join("own.h").display().to_string();
    assert_eq!((error.file, error.line), (header, Some(3)));
    fs::write(own.join("own.h"), "#define OWN scx_bpf_error(\"x\");\n").expect("it can be written");
    let object = native(&resolved(&own)).expect("it is right").object;
    let twin = compile::compile(&resolved(&own)).expect("it is right").object;
    for object in [object, twin] {
        assert!(!object.windows(6).any(|window| window == b"secret"));
        assert!(object.windows(10).any(|window| window == b"mine.bpf.c"));
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn random_numbers_of_the_processor_are_found() {
    let draw = |name: &str| format!("long v; asm volatile(\"{name} %0\" : \"=r\"(v) :: \"cc\");");
    let found = |body: &str| {
        let body = format!("#ifdef __x86_64__\n{body}\n#endif");
        let native = compiled("", &body).unwrap_or_else(|error| panic!("{error}"));
        native.facts.host_instruction.map(|found| found.name)
    };
    assert_eq!(found(&draw("rdrand")).as_deref(), Some("rdrand"));
    let bytes = "asm volatile(\".byte 0x0f, 0xc7, 0xf0\" ::: \"rax\", \"cc\");";
    assert_eq!(found(bytes).as_deref(), Some("rdrand"));
    let builtin = "#ifdef __x86_64__\n__attribute__((target(\"rdrnd\"))) static int draw(void) {\n\
                   unsigned long long v; return __builtin_ia32_rdrand64_step(&v); }\n#else\n\
                   static int draw(void) { return 1; }\n#endif";
    let native = compiled(builtin, "if (draw()) scx_bpf_error(\"x\");").expect("it compiles");
    assert!(native.facts.host_instruction.is_some());
    for section in [".text.draw", ".text", ".text.q,\\\"ax\\\",@progbits#"] {
        let lines = format!(
            "#ifdef __x86_64__\nSEC(\"{section}\") const unsigned char draw[] = {{0x0f, 0xc7, 0xf0, \
             0xc3}};\n#define DRAW ((int (*)(void))(void *)draw)()\n#else\n#define DRAW 1\n#endif"
        );
        let said = refusal(&lines, "if (DRAW) scx_bpf_error(\"x\");");
        assert!(said.contains("draw is data in a section of code"), "{section}: {said}");
    }
}
