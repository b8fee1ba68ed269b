// SPDX-License-Identifier: GPL-2.0-only
//! How long a function may be.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::{expect_none, files};

const LINES_MAX: usize = 70;
const LINES_MEDIAN_MAX: usize = 12;

struct Lengths {
    path: String,
    found: Vec<(usize, String)>,
}

impl Lengths {
    fn add(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        let lines = span.end().line - span.start().line + 1;
        self.found.push((lines, format!("{}:{}: {name}", self.path, span.start().line)));
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig.ident, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig.ident, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }
}

fn lengths() -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".rs"])) {
        let parsed = syn::parse_file(&file.text).expect("the compiler accepts the file");
        let mut lengths = Lengths { path: file.path.clone(), found: Vec::new() };
        lengths.visit_file(&parsed);
        all.append(&mut lengths.found);
    }
    all.sort();
    all
}

#[test]
fn functions_do_one_thing() {
    let long = lengths().into_iter().filter(|(lines, _)| *lines > LINES_MAX);
    expect_none(long.map(|(lines, place)| format!("{place}: {lines} lines")).collect());
}

#[test]
fn most_functions_fit_in_the_eye() {
    let lengths = lengths();
    let median = lengths[lengths.len() / 2].0;
    assert!(median <= LINES_MEDIAN_MAX, "the median function has {median} lines");
}
