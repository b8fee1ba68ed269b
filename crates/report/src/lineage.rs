// SPDX-License-Identifier: GPL-2.0-only
//! Lineage: which scheduler descends from which, as text.

use std::collections::BTreeSet;

use serde::Serialize;

/// One scheduler with its origins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    pub name: String,
    /// The year of its first release.
    pub year: u16,
    pub author: String,
    /// The schedulers whose ideas or code it took up, the nearest first. Unknown names do not
    /// count.
    pub after: Vec<String>,
    /// Its run queue and the cost of its operations.
    pub queue: String,
}

/// A line of the tree.
struct Branch<'a> {
    member: &'a Member,
    /// The branch in the row above or further up that it grows from.
    parent: Option<usize>,
    /// For each ancestor but the root: whether its parent has more children below this line.
    more: Vec<bool>,
}

/// All members once, children under the first of those they come after, older ones first.
fn tree(members: &[Member]) -> Vec<Branch<'_>> {
    let mut tree = Vec::new();
    let mut waiting: Vec<&Member> = members.iter().collect();
    waiting.sort_by_key(|member| (member.year, &member.name));
    let names: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let roots: Vec<&Member> =
        waiting.iter().copied().filter(|member| parent(member, &names).is_none()).collect();
    for root in roots {
        grow(Branch { member: root, parent: None, more: Vec::new() }, &names, &waiting, &mut tree);
    }
    tree
}

fn parent<'a>(member: &'a Member, names: &BTreeSet<&str>) -> Option<&'a str> {
    member.after.iter().map(String::as_str).find(|name| names.contains(name))
}

fn grow<'a>(
    branch: Branch<'a>,
    names: &BTreeSet<&str>,
    all: &[&'a Member],
    tree: &mut Vec<Branch<'a>>,
) {
    let (name, at, above) = (branch.member.name.as_str(), tree.len(), branch.more.clone());
    tree.push(branch);
    let children: Vec<&Member> =
        all.iter().copied().filter(|child| parent(child, names) == Some(name)).collect();
    for (index, child) in children.iter().enumerate() {
        let mut more = above.clone();
        more.push(index + 1 < children.len());
        grow(Branch { member: child, parent: Some(at), more }, names, all, tree);
    }
}

impl Branch<'_> {
    /// The lines of a drawing that lead to the name.
    fn lines(&self) -> String {
        let Some((last, above)) = self.more.split_last() else { return String::new() };
        let mut lines: String =
            above.iter().map(|&more| if more { "│  " } else { "   " }).collect();
        lines += if *last { "├─ " } else { "└─ " };
        lines
    }

    /// The members that it also comes after, other than the one that it grows from.
    fn also_after<'a>(&'a self, tree: &'a [Branch<'_>]) -> impl Iterator<Item = usize> + 'a {
        let others = self
            .member
            .after
            .iter()
            .filter_map(|name| tree.iter().position(|branch| branch.member.name == *name));
        others.filter(|at| Some(*at) != self.parent)
    }
}

/// The tree in fixed-width characters: year, name under its parent, author, further parents.
pub fn text(members: &[Member]) -> String {
    let tree = tree(members);
    let drawn = |branch: &Branch| format!("{}{}", branch.lines(), branch.member.name);
    let width = tree.iter().map(|branch| drawn(branch).chars().count()).max().unwrap_or(0);
    let line = |branch: &Branch| {
        let others: Vec<&str> =
            branch.also_after(&tree).map(|at| tree[at].member.name.as_str()).collect();
        let others = match others.as_slice() {
            [] => String::new(),
            names => format!("; also after {}", names.join(", ")),
        };
        let Member { year, author, .. } = branch.member;
        format!("{year}  {:width$}  {author}{others}\n", drawn(branch))
    };
    tree.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, year: u16, after: &[&str]) -> Member {
        let after = after.iter().map(|&name| name.into()).collect();
        let author = format!("{name}'s");
        Member { name: name.into(), year, author, after, queue: String::new() }
    }

    #[test]
    fn children_stand_under_their_first_parent() {
        let family = [
            member("grandchild", 1990, &["younger", "alone"]),
            member("younger", 1985, &["root"]),
            member("alone", 1980, &["nobody here"]),
            member("older", 1975, &["root"]),
            member("root", 1970, &[]),
        ];
        let expected = "\
            1970  root              root's\n\
            1975  ├─ older          older's\n\
            1985  └─ younger        younger's\n\
            1990     └─ grandchild  grandchild's; also after alone\n\
            1980  alone             alone's\n";
        assert_eq!(text(&family), expected);
    }

    #[test]
    fn lines_go_on_past_cousins() {
        let family = [
            member("a", 1, &[]),
            member("b", 2, &["a"]),
            member("c", 3, &["b"]),
            member("d", 4, &["a"]),
        ];
        assert_eq!(
            text(&family),
            "1  a        a's\n2  ├─ b     b's\n3  │  └─ c  c's\n4  └─ d     d's\n"
        );
    }
}
