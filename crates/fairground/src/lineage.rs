// SPDX-License-Identifier: GPL-2.0-only
//! The built-in schedulers' family, from their headers.

use report::lineage::Member;

/// Those whose header tells it.
pub fn members() -> Vec<Member> {
    let member = |source: compile::Source| {
        let family = source.header.lineage?;
        let compile::Lineage { year, author, after } = family;
        Some(Member { name: source.name, year, author, after, queue: source.header.queue })
    };
    compile::builtin().into_iter().filter_map(member).collect()
}
