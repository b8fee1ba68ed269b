// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers of the project are in the binary.

use std::path::Path;

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
