// SPDX-License-Identifier: GPL-2.0-only
//! What names of kernels mean.

use std::path::Path;

use super::collection::Kernel;

/// What a name must be, for messages.
pub const NAME_RULE: &str = "write small letters, digits, `.`, `_` and `-`, with a letter first";

/// Whether a person may give a kernel this name. It must not look like a version.
pub fn is_usable_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
}

/// The first kernel whose folder, release or leading version numbers are `query`, except that a
/// kernel with a name is found by its name only. The kernels are sorted, newest first.
pub fn resolve<'a>(kernels: &'a [Kernel], query: &str) -> Option<&'a Kernel> {
    let by_folder = kernels.iter().find(|kernel| folder_name(kernel) == query);
    let unnamed = || kernels.iter().filter(|kernel| !kernel.is_named);
    let exact = by_folder.or_else(|| unnamed().find(|kernel| kernel.release == query));
    let of_series = |kernel: &&Kernel| has_version_prefix(&kernel.release, query);
    let pulled = || unnamed().filter(|kernel| !kernel.is_added).find(of_series);
    exact.or_else(pulled).or_else(|| unnamed().find(of_series))
}

pub fn folder_name(kernel: &Kernel) -> String {
    let folder = kernel.image.parent().and_then(Path::file_name);
    folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The shortest name that finds the kernel. From version 7 on it may be the major version alone.
pub fn shortest_name(kernels: &[Kernel], kernel: &Kernel) -> String {
    if kernel.is_named {
        return folder_name(kernel);
    }
    let version = version_key(&kernel.release);
    let major = version.first().copied().unwrap_or_default();
    let minor = version.get(1).copied().unwrap_or_default();
    let mut names = vec![format!("{major}.{minor}"), kernel.release.clone(), folder_name(kernel)];
    if major >= 7 {
        names.insert(0, major.to_string());
    }
    let means_it = |name: &String| resolve(kernels, name) == Some(kernel);
    names.into_iter().find(means_it).unwrap_or_else(|| folder_name(kernel))
}

pub fn has_version_prefix(release: &str, query: &str) -> bool {
    let numbers: Option<Vec<u64>> = query.split('.').map(|part| part.parse().ok()).collect();
    numbers.is_some_and(|numbers| version_key(release).starts_with(&numbers))
}

/// All numbers in a release, in order: `6.1.0-50-cloud` → 6, 1, 0, 50.
pub fn version_key(release: &str) -> Vec<u64> {
    let numbers = release.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    numbers.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::collection::describe;
    use super::*;

    fn kernel(release: &str) -> Kernel {
        let image = PathBuf::from(format!("/home/kernels/{release}/vmlinuz"));
        describe(release, image, None, "00".into()).unwrap()
    }

    #[test]
    fn names_mean_the_newest_of_their_series() {
        let releases =
            ["7.3.4+deb13", "7.2.12+deb13", "6.12.107+deb13", "6.12.94", "6.1.0-50-cloud"];
        let kernels: Vec<Kernel> = releases.iter().map(|release| kernel(release)).collect();
        let found = |query: &str| resolve(&kernels, query).map(|kernel| kernel.release.as_str());
        assert_eq!(found("7"), Some("7.3.4+deb13"));
        assert_eq!(found("7.2"), Some("7.2.12+deb13"));
        assert_eq!(found("6.12"), Some("6.12.107+deb13"));
        assert_eq!(found("6.1"), Some("6.1.0-50-cloud"));
        assert_eq!(found("6.12.94"), Some("6.12.94"));
        assert_eq!(found("5"), None);
        let names: Vec<String> = kernels.iter().map(|k| shortest_name(&kernels, k)).collect();
        assert_eq!(names, ["7", "7.2", "6.12", "6.12.94", "6.1"]);
    }

    #[test]
    fn a_kernel_with_a_name_never_changes_what_a_version_means() {
        let pulled = ["6.12.94+deb13", "6.1.0-50-cloud"].map(kernel);
        let mut own = kernel("6.12.107-mine");
        own.image = PathBuf::from("/home/kernels/mine/vmlinuz");
        own.is_named = true;
        let mut added = kernel("6.12.110");
        added.is_added = true;
        let kernels = [&[added, own], &pulled[..]].concat();
        let found = |query: &str| resolve(&kernels, query).map(|kernel| kernel.release.as_str());
        assert_eq!(found("6.12"), Some("6.12.94+deb13"));
        assert_eq!(found("mine"), Some("6.12.107-mine"));
        assert_eq!(found("6.12.107"), None);
        assert_eq!(found("6.12.110"), Some("6.12.110"));
        let names: Vec<String> = kernels.iter().map(|k| shortest_name(&kernels, k)).collect();
        assert_eq!(names, ["6.12.110", "mine", "6.12", "6.1"]);
    }

    #[test]
    fn a_name_must_not_look_like_a_version_or_a_path() {
        assert!(["bore-5.9.6", "mine", "a_b"].into_iter().all(is_usable_name));
        assert!(["6.12", "7", "", "../x", "Mine", "-x"].into_iter().all(|n| !is_usable_name(n)));
    }
}
