// SPDX-License-Identifier: GPL-2.0-only
//! The compiler's warnings.

use crate::files::{resolved, scheduler};

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
