// SPDX-License-Identifier: GPL-2.0-only
//! Good and bad files. `UPDATE_EXPECT=1 cargo test` rewrites the expected messages.

// Expected messages stay on their lines, where UPDATE_EXPECT can rewrite them.
#[rustfmt::skip]
mod bad_experiments;
#[rustfmt::skip]
mod bad_rtapp;
#[rustfmt::skip]
mod bad_workloads;
mod good;
mod good_rtapp;
mod names;
mod side_files;

use std::path::{Path, PathBuf};

use expect_test::Expect;
use model::{Knob, ValueKind, ValueType, Workload};

use super::contestants::RunningKernel;
use super::expression::Names;
use super::{Host, Resolve, SpecError, workload};
use crate::assets::Asset;

fn asset(label: &str, text: &str) -> Asset {
    Asset {
        label: label.into(),
        stem: Path::new(label).file_stem().unwrap().to_string_lossy().into_owned(),
        base: PathBuf::new(),
        text: text.into(),
    }
}

fn toml(text: &str) -> Result<Workload, SpecError> {
    Ok(workload::resolve(&asset("w.toml", text), &Names::new(), 2)?.workload)
}

fn json(text: &str) -> Result<workload::ResolvedWorkload, SpecError> {
    workload::resolve(&asset("w.json", text), &Names::new(), 2)
}

fn refused<T>(result: Result<T, SpecError>, message: &Expect) {
    match result {
        Ok(_) => panic!("this file must be refused"),
        Err(error) => message.assert_eq(&error.to_string()),
    }
}

/// A TOML workload that is refused.
#[track_caller]
fn bad(text: &str, message: Expect) {
    refused(toml(text), &message);
}

/// A finite task with steps for which it is refused.
#[track_caller]
fn bad_steps(steps: &str, message: Expect) {
    bad(&format!("[[task]]\nname = \"t\"\nrepeat = 1\nsteps = [{steps}]\n"), message);
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Schedulers that exist for the tests.
fn resolve(file: &str, _: &Path) -> Result<(String, String), String> {
    match file {
        name if compile::builtin().iter().any(|source| source.name == name) => {
            Ok((name.into(), name.into()))
        }
        _ => Err(format!("there is no scheduler '{file}'; built in are fifo, rr, vtime")),
    }
}

/// Their knobs, as the text declares them: as if those that are neither Booleans nor signed were
/// `u64`.
fn knobs(name: &str) -> Result<Vec<Knob>, String> {
    let builtin = compile::builtin();
    let text = builtin.iter().find(|source| source.name == name).map_or("", |source| &source.text);
    let statements = text.split("const volatile ").skip(1);
    let statements = statements.filter_map(|rest| rest.split(';').next()?.split_once(' '));
    Ok(statements.flat_map(|(ty, names)| names.split(',').map(|name| knob(ty, name))).collect())
}

/// The knob of a declaration such as `slice_us = 20000`.
fn knob(type_name: &str, declaration: &str) -> Knob {
    let (name, value) = declaration.split_once('=').unwrap_or((declaration, "0"));
    let number = value.trim().parse().unwrap_or(i64::from(value.trim() == "true"));
    let (kind, bytes) = match type_name.as_bytes()[0] {
        b'b' => (ValueKind::Bool, 1),
        b's' => (ValueKind::Signed, 8),
        _ => (ValueKind::Unsigned, 8),
    };
    let default = number.to_le_bytes()[..bytes].to_vec();
    let ty = ValueType { name: type_name.into(), size: bytes, kind };
    Knob { name: name.trim().into(), ty, default, is_constant: true }
}

fn running() -> RunningKernel {
    RunningKernel { release: "6.18.44-amd64".into(), no_sched_ext: None }
}

fn host<'a>() -> Host<'a> {
    host_with(&resolve)
}

pub fn host_with<'a>(resolve: &'a Resolve<'a>) -> Host<'a> {
    Host {
        cpus: 2,
        resolve,
        knobs: &knobs,
        kept: &|_, _| None,
        is_installed: &|_| false,
        running: Some(&running),
    }
}
