// SPDX-License-Identifier: GPL-2.0-only
//! "Did you mean …?"

/// The known names most similar to a mistyped one, the nearest first.
///
/// A name is near if it is at most a third of its length away (Damerau-Levenshtein distance), or if
/// one contains the other.
pub fn near<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, name)| {
            *distance <= (wrong.chars().count() / 3).max(2) && *distance < name.chars().count()
                || wrong.len() >= 3 && (name.contains(wrong) || wrong.contains(name))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Advice for a wrong name: similar names, or else all of them.
pub fn advice<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    let close = near(wrong, known.clone());
    if !close.is_empty() {
        return Some(format!("did you mean {}?", quoted(&close, " or ")));
    }
    let all: Vec<&str> = known.into_iter().collect();
    (!all.is_empty()).then(|| format!("known are {}", quoted(&all, ", ")))
}

pub fn quoted(names: &[&str], separator: &str) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        assert_eq!(near("rnu_us", ["sleep_us", "run_us"]), ["run_us"]);
        assert_eq!(near("hackbensh", ["hackbench", "frames"]), ["hackbench"]);
        assert_eq!(near("wake", ["wake_under_hogs", "frames"]), ["wake_under_hogs"]);
        assert!(near("zebra", ["run_us", "lock"]).is_empty());
        assert_eq!(advice("zebra", ["run_us", "lock"]).unwrap(), "known are 'run_us', 'lock'");
        assert_eq!(advice("zebra", []), None);
    }
}
