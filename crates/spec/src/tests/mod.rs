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
#[rustfmt::skip]
mod rtapp_examples;

use std::path::{Path, PathBuf};

use expect_test::Expect;
use model::Workload;

use super::expression::Names;
use super::{Host, SpecError, workload};
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
        "vtime" | "fifo" | "rr" => Ok((file.into(), "00".repeat(32))),
        name if compile::builtin().iter().any(|source| source.name == name) => {
            Ok((name.into(), String::new()))
        }
        _ => Err(format!("there is no scheduler '{file}'; built in are fifo, rr, vtime")),
    }
}

fn host<'a>() -> Host<'a> {
    Host { cpus: 2, resolve: &resolve }
}
