// SPDX-License-Identifier: GPL-2.0-only
//! The loader's work before any system call, tested with the built-in objects.

use std::collections::BTreeMap;

use model::KnobValue;
use model::tables::GROUP_CALLBACKS;

use super::*;

/// Any scheduler will do: the tests must not break when one is deleted.
fn any() -> Compiled {
    let source = compile::builtin().into_iter().next().expect("there is a scheduler");
    compile::compile(&source).expect("it is compiled already")
}

/// What becomes of a scheduler with these knobs on a kernel that has these callbacks and no flag:
/// its knobs, and the notes.
fn fit(
    compiled: &Compiled,
    knobs: &[(&str, KnobValue)],
    callbacks: &[&str],
) -> Result<(Vec<Knob>, Vec<String>), String> {
    let knobs = knobs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let ops_members = callbacks.iter().map(|name| (*name).to_owned()).collect();
    let kernel = KernelBtf { enumerators: BTreeMap::new(), ops_members };
    let fitted = fitted(compiled, &knobs, |_| Ok(kernel), &Listener::new());
    let open = fitted.map_err(|error| error.to_string())?;
    let btf = Btf::from_raw(&compiled.name, &compiled.object).expect("an object").expect("BTF");
    let found = knobs::knobs(&open.object, &btf, &open.variables, &open.ops_members);
    Ok((found, open.notes))
}

#[test]
fn knobs_are_the_schedulers_own() {
    for source in compile::builtin() {
        let compiled = compile::compile(&source).expect("it is compiled already");
        let all = knobs(&compiled.object).expect("an object");
        for knob in all.into_iter().filter(|knob| knob.is_constant) {
            let known = declares(&source.text, &knob.ty.name, &knob.name);
            assert!(known, "{}: {} {} is not in the source", source.name, knob.ty.name, knob.name);
        }
    }
}

/// Whether a statement `const volatile TYPE …;` has the name in its list.
fn declares(text: &str, type_name: &str, name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let statements =
        text.split("const volatile ").skip(1).filter_map(|rest| rest.split(';').next());
    statements
        .filter_map(|statement| statement.strip_prefix(type_name))
        .any(|names| names.split(|c| !is_letter(c)).any(|word| word == name))
}

#[test]
fn a_knob_that_is_set_is_set() {
    let compiled = any();
    let knob = knobs(&compiled.object).expect("an object").remove(0);
    let (found, _) = fit(&compiled, &[(&knob.name, KnobValue::Int(1))], &[]).expect("it has it");
    let value = if knob.ty.name == "bool" { "true" } else { "1" };
    assert_eq!(found[0].to_string(), format!("{} ({}, {value})", knob.name, knob.ty.name));
}

#[test]
fn a_wrong_knob_is_told_which_there_are() {
    let compiled = any();
    let knob = knobs(&compiled.object).expect("an object").remove(0);
    let error = fit(&compiled, &[("no_such_knob", KnobValue::Int(4))], &[]).unwrap_err();
    assert!(error.starts_with("there is no knob no_such_knob; "), "{error}");
    assert!(error.contains(&knob.to_string()), "{error}");
}

#[test]
fn what_a_kernel_lacks_is_left_out_and_said() {
    let all = ["select_cpu", "enqueue", "dispatch", "running", "stopping", "enable", "init"];
    let source = compile::builtin().into_iter().find(|source| source.name == "vtime");
    let vtime = compile::compile(&source.expect("the example")).expect("it is compiled already");
    let (_, notes) = fit(&vtime, &[], &[&all[..], &["name", "exit"]].concat()).expect("it fits");
    assert_eq!(notes, [""; 0]);
    let (_, notes) = fit(&vtime, &[], &[&all[1..], &["name"]].concat()).expect("it fits");
    let said =
        ["this kernel has no ops.select_cpu; left out", "this kernel has no ops.exit; left out"];
    assert_eq!(notes, said);
}

#[test]
fn rubbish_is_no_object() {
    let error = knobs(b"not an object").unwrap_err();
    assert!(error.message.starts_with("object is not a BPF object"), "{}", error.message);
}

#[test]
fn it_is_known_who_looks_at_groups_and_sessions() {
    for (name, looks) in [("eevdf", true), ("cfs", true), ("vtime", false)] {
        let sources = compile::builtin().into_iter();
        for source in sources.filter(|source| source.name == name) {
            let compiled = compile::compile(&source).expect("it is compiled already");
            let open = Open::new(name, &compiled.object, &Listener::new()).expect("an object");
            let Watch { callbacks, sees_sessions, .. } = open.watch;
            let is_told = callbacks.iter().any(|(name, _)| GROUP_CALLBACKS.contains(&&**name));
            assert_eq!((is_told, sees_sessions), (looks, looks), "{name}");
        }
    }
}

#[test]
fn callbacks_are_known_by_their_programs() {
    let source = compile::builtin().into_iter().find(|source| source.name == "vtime");
    let vtime = compile::compile(&source.expect("the example")).expect("it is compiled already");
    let open = Open::new("vtime", &vtime.object, &Listener::new()).expect("an object");
    let programs: Vec<(&str, &str)> = open
        .watch
        .callbacks
        .iter()
        .map(|(name, program)| (name.as_str(), program.as_str()))
        .collect();
    assert!(programs.contains(&("enqueue", "vtime_enqueue")), "{programs:?}");
    assert!(programs.iter().all(|(name, program)| *program == format!("vtime_{name}")));
}
