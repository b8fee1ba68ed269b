// SPDX-License-Identifier: GPL-2.0-only
//! The licence of a scheduler: the kernel loads struct_ops programs only if it is compatible with
//! the GPL.

use object::{Object, ObjectSection};

use crate::{CompileError, Source};

/// What the kernel takes for compatible (`license_is_gpl_compatible`).
const COMPATIBLE: &[&str] =
    &["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// Refuses a scheduler that no kernel loads because of its licence.
///
/// # Errors
/// It has none, or another one; the message says what to write instead.
pub fn check(source: &Source, object: &[u8]) -> Result<(), CompileError> {
    let found = licence(object);
    if COMPATIBLE.contains(&found.as_str()) {
        return Ok(());
    }
    let is_meant = |line: &str| line.contains("SEC(\"license\")");
    let line = source.text.lines().position(is_meant).map(|at| at as u32 + 1);
    let what = if found.is_empty() {
        "has no licence".into()
    } else {
        format!("has the licence {found:?}")
    };
    let message = format!(
        "{} {what}, and a kernel loads only schedulers whose licence is compatible with the GPL: \
         write char _license[] SEC(\"license\") = \"GPL\";",
        source.name
    );
    Err(CompileError { line, ..CompileError::new(&source.path, message) })
}

fn licence(object: &[u8]) -> String {
    let file = object::File::parse(object).ok();
    let section = file.as_ref().and_then(|file| file.section_by_name("license"));
    let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
