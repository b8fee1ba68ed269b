// SPDX-License-Identifier: GPL-2.0-only
//! The loader's work before any system call, tested with the built-in objects.

use super::*;

/// Any scheduler will do: the tests must not break when one is deleted.
fn any() -> Compiled {
    let source = compile::builtin().into_iter().next().expect("there is a scheduler");
    compile::compile(&source).expect("it is compiled already")
}

fn open(compiled: &Compiled) -> Open {
    Open::new(&compiled.name, &compiled.object, &Listener::new()).expect("an object")
}

fn set(knob: &str, value: KnobValue) -> Result<Vec<Knob>, String> {
    let mut open = open(&any());
    let knobs = BTreeMap::from([(knob.to_owned(), value)]);
    open.set_knobs(&knobs).map_err(|error| error.to_string())?;
    Ok(open.knobs())
}

#[test]
fn knobs_are_the_schedulers_own() {
    for source in compile::builtin() {
        let compiled = compile::compile(&source).expect("it is compiled already");
        for knob in knobs(&compiled.object).expect("an object") {
            let known = declares(&source.text, &knob.type_name, &knob.name);
            assert!(
                known,
                "{}: {} {} is not in the source",
                source.name, knob.type_name, knob.name
            );
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
    let knob = open(&any()).knobs().remove(0);
    let knobs = set(&knob.name, KnobValue::Int(1)).expect("it has this knob");
    let known = if knob.type_name == "bool" { "true" } else { "1" };
    assert_eq!((knobs[0].name.as_str(), knobs[0].default.as_str()), (knob.name.as_str(), known));
}

#[test]
fn a_wrong_knob_is_told_which_there_are() {
    let knob = open(&any()).knobs().remove(0);
    let error = set("no_such_knob", KnobValue::Int(4)).unwrap_err();
    let said = format!("{} ({}, {})", knob.name, knob.type_name, knob.default);
    assert!(error.starts_with("there is no knob no_such_knob; "), "{error}");
    assert!(error.contains(&said), "{error}");
}

#[test]
fn enumerators_reach_the_object() {
    let mut open = open(&any());
    assert!(open.wanted().contains("SCX_OPS_ENQ_LAST"));
    let value = 0x8765_4321_0000_0001_u64;
    let (name, place) = open.enumerator_variables().next().expect("it uses one");
    let (enumerators, place) = (BTreeMap::from([(name.to_owned(), value)]), place.clone());
    open.set_enumerators(&KernelBtf { enumerators, ops_members: BTreeSet::new() });
    let is_constants = |name: &std::ffi::OsStr| is_section(&name.to_string_lossy(), ".rodata");
    let map = open.object.maps().find(|map| is_constants(map.name())).expect("it has constants");
    let bytes = &map.initial_value().expect("with values")[place.offset..place.offset + 8];
    assert_eq!(bytes, value.to_le_bytes());
}

#[test]
fn what_a_kernel_lacks_is_left_out_and_said() {
    let mut open = open(&any());
    let mut members: BTreeSet<String> = open.ops_members.iter().map(|m| m.name.clone()).collect();
    members.remove("exit");
    let enumerators = BTreeMap::from([("SCX_OPS_ENQ_LAST".to_owned(), 2)]);
    let kernel = KernelBtf { enumerators, ops_members: members };
    for map in open.object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        // SCX_OPS_ENQ_LAST and SCX_OPS_TID_TO_TASK.
        Ops { map, members: &open.ops_members }.put("flags", 2 | 1 << 8);
    }
    open.set_ops(&kernel);
    let said = [
        "this kernel has no ops.exit; left out",
        "this kernel has no SCX_OPS_TID_TO_TASK; not set",
    ];
    assert_eq!(open.notes, said);
    let map = open.object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
    let mut ops = Ops { map: map.expect("it has ops"), members: &open.ops_members };
    let mut is_set = |name| ops.member(name).is_some_and(|bytes| bytes.iter().any(|b| *b != 0));
    assert!(is_set("flags") && is_set("name") && !is_set("exit"));
}

#[test]
fn rubbish_is_no_object() {
    let error = knobs(b"not an object").unwrap_err();
    assert!(error.message.starts_with("object is not a BPF object"), "{}", error.message);
}
