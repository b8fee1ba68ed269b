// SPDX-License-Identifier: GPL-2.0-only
//! The built-in schedulers' lineage, from their headers.

use serde::Serialize;

/// One scheduler with its origins.
#[derive(Serialize)]
pub struct FamilyMember {
    pub name: String,
    /// The year of its first release.
    pub year: u16,
    pub author: String,
    /// The schedulers whose ideas or code it took up, the nearest first.
    pub after: Vec<String>,
    /// Its run queue and the cost of its operations.
    pub queue: String,
}

/// Those whose header tells it.
pub fn members() -> Vec<FamilyMember> {
    let member = |source: compile::Source| {
        let compile::Lineage { year, author, after } = source.header.lineage?;
        Some(FamilyMember { name: source.name, year, author, after, queue: source.header.queue })
    };
    compile::builtin().into_iter().filter_map(member).collect()
}

/// The tree in fixed-width characters: year, name under its parent, author, further parents.
pub fn tree(members: &[FamilyMember]) -> String {
    let mut sorted: Vec<&FamilyMember> = members.iter().collect();
    sorted.sort_by_key(|member| (member.year, &member.name));
    let mut rows = Vec::new();
    add_children(None, "", &sorted, &mut rows);
    let width = rows.iter().map(|(drawn, _)| drawn.chars().count()).max().unwrap_or(0);
    let line = |(drawn, member): &(String, &FamilyMember)| {
        let FamilyMember { year, author, .. } = member;
        let parents: Vec<&str> = parents(member, &sorted).skip(1).collect();
        let also = match parents.as_slice() {
            [] => String::new(),
            names => format!("; also after {}", names.join(", ")),
        };
        format!("{year}  {drawn:width$}  {author}{also}\n")
    };
    rows.iter().map(line).collect()
}

/// The members that a member comes after; a header may name others.
fn parents<'a>(
    member: &'a FamilyMember,
    members: &[&'a FamilyMember],
) -> impl Iterator<Item = &'a str> {
    let is_member = |name: &&String| members.iter().any(|known| known.name == **name);
    member.after.iter().filter(is_member).map(String::as_str)
}

/// Adds the members whose first parent is `parent`, each with its own children below it. `lead`
/// are the lines of the drawing that go on past them.
fn add_children<'a>(
    parent: Option<&str>,
    lead: &str,
    members: &[&'a FamilyMember],
    rows: &mut Vec<(String, &'a FamilyMember)>,
) {
    let mut children =
        members.iter().filter(|member| parents(member, members).next() == parent).peekable();
    while let Some(child) = children.next() {
        let (branch, below) = match (parent, children.peek()) {
            (None, _) => ("", ""),
            (Some(_), None) => ("└─ ", "   "),
            (Some(_), Some(_)) => ("├─ ", "│  "),
        };
        rows.push((format!("{lead}{branch}{}", child.name), child));
        add_children(Some(&child.name), &format!("{lead}{below}"), members, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_under_their_first_parent() {
        let member = |name: &str, year, after: &[&str]| FamilyMember {
            name: name.into(),
            year,
            author: format!("{name}'s"),
            after: after.iter().map(|&name| name.into()).collect(),
            queue: String::new(),
        };
        let family = [
            member("grandchild", 1990, &["older", "alone"]),
            member("younger", 1985, &["root"]),
            member("alone", 1980, &["nobody here"]),
            member("older", 1975, &["root"]),
            member("root", 1970, &[]),
        ];
        let expected = "\
            1970  root              root's\n\
            1975  ├─ older          older's\n\
            1990  │  └─ grandchild  grandchild's; also after alone\n\
            1985  └─ younger        younger's\n\
            1980  alone             alone's\n";
        assert_eq!(tree(&family), expected);
    }
}
