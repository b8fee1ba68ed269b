// SPDX-License-Identifier: GPL-2.0-only
//! What compiles natively and what is refused, by name and line.

use std::path::Path;

use model::ValueKind;

use super::*;
use crate::{builtin, resolve};

const HEAD: &str = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n";

/// Compiles a scheduler with one callback of the given body, which is in line 3.
fn check(name: &str, body: &str) -> Result<Native, CompileError> {
    with_header(name, "", body)
}

/// The same beside a header `own.h`.
fn with_header(name: &str, header: &str, body: &str) -> Result<Native, CompileError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("{name}.bpf.c"));
    let text = format!(
        "{HEAD}{body}\nSCX_OPS_DEFINE({name}_ops,\n\
         .enqueue = (void *){name}_enqueue, .name = \"{name}\");\n"
    );
    std::fs::write(&path, text).expect("the temporary folder can be written");
    std::fs::write(folder.path().join("own.h"), header).expect("the folder can be written");
    native(&resolve(&path.display().to_string(), Path::new(".")).expect("the file is there"))
}

fn refusal(name: &str, body: &str) -> (Option<u32>, String) {
    let error = check(name, body).expect_err("the model lacks something");
    assert!(error.file.ends_with(&format!("{name}.bpf.c")), "{error}");
    (error.line, error.message)
}

#[test]
fn every_builtin_scheduler_is_there() {
    for source in builtin() {
        let found = native(&source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(&found.object[1..4], b"ELF", "{}", source.name);
        assert_eq!(found.facts.ops.len(), 1, "{}", source.name);
    }
}

#[test]
fn knobs_and_maps_are_known() {
    let body = "const volatile u64 slice_us = 5; const volatile bool lazy;\
        const volatile s32 shift = -1;\
        struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 7);\
            __type(key, u32); __type(value, u64); } seen SEC(\".maps\");\
        void BPF_STRUCT_OPS(facts_enqueue, struct task_struct *p, u64 flags) {\
            u32 key = shift; u64 *v = bpf_map_lookup_elem(&seen, &key);\
            scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, lazy ? slice_us : v ? *v : 0, flags); }";
    let facts = check("facts", body).unwrap_or_else(|error| panic!("{error}")).facts;
    let found = |name: &str| facts.variables.iter().find(|v| v.name == name);
    let kind = |name: &str| found(name).map(|variable| variable.ty.kind.clone());
    assert_eq!(kind("slice_us"), Some(ValueKind::Unsigned));
    assert_eq!(kind("lazy"), Some(ValueKind::Bool));
    assert_eq!(kind("shift"), Some(ValueKind::Signed));
    let map = &facts.maps[0];
    assert_eq!((map.name.as_str(), map.kind, map.key_size, map.value_size), ("seen", 1, 4, 8));
    assert_eq!(map.max_entries, 7);
}

#[test]
fn what_the_kernel_manages_in_a_value_is_known() {
    let body = "struct inner { u32 n; struct bpf_cpumask __kptr *mask; };\
        struct value { struct bpf_timer timer; struct inner inner; };\
        struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1);\
            __type(key, u32); __type(value, struct value); } managed SEC(\".maps\");\
        void BPF_STRUCT_OPS(managed_enqueue, struct task_struct *p, u64 flags) {\
            u32 key = 0; if (bpf_map_lookup_elem(&managed, &key))\
            scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, flags); }";
    let facts = check("managed", body).unwrap_or_else(|error| panic!("{error}")).facts;
    assert_eq!(facts.maps[0].special, [(0, 16), (24, 8)]);
}

#[test]
fn what_the_model_lacks_is_named_with_its_line() {
    for (name, body, said) in [
        ("kfunc", "scx_bpf_online_cmask();", "scx_bpf_online_cmask() (line 4)"),
        ("helper", "bpf_send_signal(9);", "bpf_send_signal()"),
        ("field", "flags = p->se.deadline;", "no member named 'deadline'"),
    ] {
        let head = format!("void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 flags)");
        let (line, message) = refusal(name, &format!("{head} {{\n{body} }}"));
        assert_eq!(line, Some(4), "{name}: {message}");
        assert!(message.contains(said), "{name}: {message}");
    }
}

#[test]
fn programs_without_an_event_in_the_simulator_are_left_out() {
    let body = "extern void scx_bpf_made_up(void) __weak __ksym;\n\
        SEC(\"tp_btf/irq_handler_entry\") int left(void *ctx) { scx_bpf_made_up(); return 0; }\n\
        SEC(\"?fentry/do_exit\") int off(void *ctx) { return 0; }\n\
        SEC(\"tp_btf/sched_switch\") int BPF_PROG(kept, bool preempt) { return 0; }\n\
        SEC(\"raw_tp/sched_wakeup\") int by_hand(u64 *ctx) { return 0; }\n\
        SEC(\"syscall\") int called(void *ctx) { return 0; }\n\
        void BPF_STRUCT_OPS(traces_enqueue, struct task_struct *p, u64 flags) { }";
    let facts = check("traces", body).unwrap_or_else(|error| panic!("{error}")).facts;
    assert_eq!(facts.left_out, ["left (tp_btf/irq_handler_entry)"]);
    assert!(
        facts
            .note(&model::Knobs::new())
            .is_some_and(|note| note.contains("no events for left (tp_btf/irq"))
    );
    let mut kept: Vec<_> =
        facts.tracers.iter().map(|(_, one)| (&one.name[..], one.plain)).collect();
    kept.sort();
    assert_eq!(kept, [("by_hand", false), ("kept", true)]);
}

#[test]
fn a_weak_kfunc_that_is_called_is_no_null_pointer() {
    let body = "extern void scx_bpf_made_up(void) __weak __ksym;\n\
        extern const int made_up_variable __weak __ksym;\n\
        void BPF_STRUCT_OPS(weak_enqueue, struct task_struct *p, u64 flags) {\n\
        if (&made_up_variable) scx_bpf_made_up(); }";
    let (line, message) = refusal("weak", body);
    assert_eq!((line, message.contains("no scx_bpf_made_up()")), (Some(6), true), "{message}");
    let asked = body.replace("scx_bpf_made_up();", "scx_bpf_dispatch_cancel();");
    let asked = asked.replace("weak_enqueue", "asked_enqueue");
    check("asked", &asked).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_table_of_operations_needs_no_link() {
    let body = "void BPF_STRUCT_OPS(linked_enqueue, struct task_struct *p, u64 flags) { }\n\
        SEC(\".struct_ops\") struct sched_ext_ops old_ops = { .name = \"old\" };";
    let found = check("linked", body).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.facts.ops.keys().collect::<Vec<_>>(), ["linked_ops", "old_ops"]);
    let elsewhere = "#undef SCX_OPS_DEFINE\n#define SCX_OPS_DEFINE(name, ...)\n\
        void BPF_STRUCT_OPS(placed_enqueue, struct task_struct *p, u64 flags) { }\n\
        SEC(\"struct_ops/x\") struct sched_ext_ops placed = { .enqueue = (void *)placed_enqueue };";
    let error = check("placed", elsewhere).expect_err("libbpf finds no table");
    assert_eq!((error.line, error.unsupported), (Some(6), false), "{error}");
}

#[test]
fn a_program_s_context_has_its_arguments() {
    let body = "u64 seen; s32 last; bool idle;\n\
        void BPF_STRUCT_OPS(context_update_idle, s32 cpu, bool is_idle) {\n\
        idle = is_idle; last = cpu; seen = ctx[0]; }\n\
        s32 BPF_STRUCT_OPS_SLEEPABLE(context_init) { return ctx ? 0 : 1; }\n\
        void BPF_STRUCT_OPS(context_enqueue, struct task_struct *p, u64 flags) {\n\
        seen = ctx[1]; scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, flags); }";
    check("context", body).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_address_has_a_line() {
    let source =
        builtin().into_iter().find(|source| source.name == "fifo").expect("fifo is built in");
    let found = native(&source).unwrap_or_else(|error| panic!("{error}"));
    let file = object::File::parse(&found.object[..]).expect("an ELF object");
    use object::{Object, ObjectSymbol};
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("fifo_enqueue"));
    let line = find_line(&found.object, symbol.expect("it has an enqueue").address());
    let line = line.expect("the object has line tables");
    assert_eq!(line.file, "fifo.bpf.c");
    // The function's opening brace, which is below its name.
    let mut before = source.text.lines().take(line.line as usize).skip(line.line as usize - 2);
    assert!(before.any(|text| text.contains("fifo_enqueue")), "{line:?}");
}

#[test]
fn reads_through_the_kernel_s_own_pointers_may_meet_null() {
    let body = "u64 sum;\n\
        void BPF_STRUCT_OPS(reads_enqueue, struct task_struct *p, u64 flags) {\n\
        struct scx_dispatch_q *dsq = p->scx.dsq;\n\
        sum += dsq->id;\n\
        struct task_struct *q = bpf_task_from_pid(1);\n\
        sum += q->pid;\n\
        sum += p->real_parent->pid; }";
    let facts = check("reads", body).unwrap_or_else(|error| panic!("{error}")).facts;
    let lines: Vec<u32> = facts.null_reads.iter().map(|(_, line)| *line).collect();
    assert_eq!(lines, [6, 9]);
    assert!(facts.null_reads.iter().all(|(file, _)| file == "reads.bpf.c"));
}

/// Each is checked by the compiler, with the offsets of the model.
#[test]
fn flavors_have_their_places_however_they_are_written() {
    let body = |definition: &str, asserted: &str| {
        format!(
            "{definition}\n#define AT(of, member) __builtin_offsetof(of, member)\n\
             void BPF_STRUCT_OPS(forms_enqueue, struct task_struct *p, u64 flags) {{\n\
             struct task_struct___a *a = (void *)p; bpf_printk(\"%d\", a->pid);\n\
             #ifdef BPF_NO_PRESERVE_ACCESS_INDEX\n_Static_assert({asserted}, \"\");\n#endif\n}}"
        )
    };
    let pid = "AT(struct task_struct___a, pid) == AT(struct task_struct, pid)";
    let core = "__attribute__((preserve_access_index))";
    let plain = format!("struct task_struct___a {{ int pid; }} {core};");
    let conditions = "struct task_struct___a {\n#if defined(__bpf__) && \\\n\t1\nint pid; /* } */\n\
        #else\nlong no;\n#endif\nstruct { int x; } inner; u32 bits:3, more:5; } CORE;";
    let inside = "struct outer { int n; struct task_struct___a { int pid; } CORE *t; };";
    let spelled = "#define FORM(of) of##___a {\n#define OPEN struct FORM(task_struct)\n\
        OPEN int pid; } CORE;";
    for definition in [conditions, inside, spelled, &plain] {
        let definition = &definition.replace("CORE", core);
        let found = check("forms", &body(definition, pid));
        found.unwrap_or_else(|error| panic!("{definition}: {error}"));
    }
    let found = with_header("forms", &plain, &body("#include \"own.h\"", pid));
    found.unwrap_or_else(|error| panic!("a header: {error}"));
    let error = check("forms", &body(&plain, "AT(struct task_struct___a, pid) == 0"));
    assert!(error.is_err(), "the local place is another one");
}

#[test]
fn questions_about_types_have_the_model_s_answers() {
    let body = "struct task_struct___s { u32 __state; } __attribute__((preserve_access_index));\n\
        struct no_such___x { int a; };\n\
        enum scx_enq_flags___x { SCX_ENQ_WAKEUP___x = 99, SCX_ENQ_NONE___x = 7 };\n\
        struct rq___i { struct { int nr_running; } cfs; int nothing; };\n\
        void BPF_STRUCT_OPS(asks_enqueue, struct task_struct *p, u64 flags) {\n\
        struct task_struct___s *s = (void *)p;\n\
        u64 size = bpf_core_type_size(struct task_struct___s);\n\
        u64 value = bpf_core_enum_value(enum scx_enq_flags___x, SCX_ENQ_WAKEUP___x);\n\
        if (bpf_core_type_exists(struct no_such___x) || s->__state) size = 0;\n\
        if (bpf_core_enum_value_exists(enum scx_enq_flags___x, SCX_ENQ_NONE___x)) size = 0;\n\
        if (bpf_core_field_exists(((struct rq___i *)0)->nothing)) size = 0;\n\
        #ifdef BPF_NO_PRESERVE_ACCESS_INDEX\n\
        _Static_assert(bpf_core_type_size(struct task_struct___s) == sizeof(struct task_struct)\n\
        && bpf_core_type_size(struct task_struct) == sizeof(struct task_struct)\n\
        && !bpf_core_type_size(struct no_such___x)\n\
        && bpf_core_enum_value(enum scx_enq_flags___x, SCX_ENQ_WAKEUP___x) == 1\n\
        && !bpf_core_enum_value_exists(enum scx_enq_flags___x, SCX_ENQ_NONE___x)\n\
        && bpf_core_enum_value_exists(enum scx_enq_flags___x, SCX_ENQ_WAKEUP___x)\n\
        && !bpf_core_field_exists(struct no_such___x, a), \"\");\n\
        #endif\n\
        scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, size, value); }";
    check("asks", body).unwrap_or_else(|error| panic!("{error}"));
}
