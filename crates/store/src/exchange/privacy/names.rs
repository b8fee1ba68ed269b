// SPDX-License-Identifier: GPL-2.0-only
//! Names that stand for others in what leaves, a name always the same.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Names {
    /// What became of names that folders tell apart.
    pub known: BTreeMap<String, String>,
    /// The numbers of the names of control groups.
    control_groups: BTreeMap<String, usize>,
}

impl Names {
    /// The last part of a name; a number tells it from others: `a/main`, `b/main`.
    pub fn unique(&mut self, name: &str, last: String) -> String {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let numbered = (2..).map(|number| format!("{last} ({number})"));
        let is_free = |name: &String| self.known.values().all(|known| known != name);
        let free = std::iter::once(last.clone()).chain(numbered).find(is_free);
        let clean = free.expect("numbers do not end");
        self.known.insert(name.into(), clean.clone());
        clean
    }

    /// The path of a control group with each name replaced by `c1`, `c2`, …
    pub fn tree(&mut self, path: &str) -> String {
        let anonymous = path.split('/').filter(|name| !name.is_empty()).map(|name| {
            let next = self.control_groups.len() + 1;
            format!("c{}", self.control_groups.entry(name.to_owned()).or_insert(next))
        });
        anonymous.collect::<Vec<_>>().join("/")
    }
}
