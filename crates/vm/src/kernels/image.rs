// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel is: what its files say, the header of a bzImage, by the x86 boot protocol
//! (Documentation/arch/x86/boot.rst), and its configuration, and which kernel a name means.

use std::collections::BTreeMap;
use std::path::Path;

use super::collection::Kernel;

/// The offset of the setup header's magic `HdrS`.
const MAGIC: usize = 0x202;
/// The number of sectors before the protected-mode kernel, besides the first.
const SETUP_SECTORS: usize = 0x1f1;
/// The payload's offset in that kernel; its length follows.
const PAYLOAD: usize = 0x248;
/// The offset of a field: the offset of the version string, minus 0x200.
const VERSION_POINTER: usize = 0x20e;

/// `uname -r` of the kernel in a bzImage: the first word of its version string. `None` if it is
/// none.
pub fn release(image: &[u8]) -> Option<String> {
    if image.get(MAGIC..MAGIC + 4)? != b"HdrS" {
        return None;
    }
    let pointer = image.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let start = usize::from(u16::from_le_bytes([pointer[0], pointer[1]])) + 0x200;
    let text = image.get(start..)?;
    let end = text.iter().take(256).position(|byte| matches!(byte, 0 | b' '))?;
    let release = std::str::from_utf8(&text[..end]).ok()?;
    // The release becomes a folder's name.
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-._~".contains(c);
    let usable = release.starts_with(|c: char| c.is_ascii_digit()) && release.chars().all(plain);
    usable.then(|| release.to_owned())
}

/// The packed kernel in a bzImage.
pub fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |place: usize| {
        let bytes = image.get(place..place + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let sectors = match image.get(SETUP_SECTORS)? {
        0 => 4, // by the protocol
        &sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + number(PAYLOAD)?;
    image.get(start..start + number(PAYLOAD + 4)?)
}

/// A configuration's options with their values.
pub fn settings(config: &str) -> BTreeMap<String, String> {
    config.lines().filter_map(setting).collect()
}

/// `CONFIG_X=y`, or kconfig's own `# CONFIG_X is not set`, which is `n`.
pub fn setting(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let unset = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"));
    if let Some(name) = unset.filter(|name| name.starts_with("CONFIG_")) {
        return Some((name.to_owned(), "n".to_owned()));
    }
    let (name, value) = line.split_once('=')?;
    is_option(line).then(|| (name.to_owned(), value.to_owned()))
}

/// Whether a text is one line `CONFIG_NAME=value`.
pub fn is_option(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.strip_prefix("CONFIG_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(plain))
        && !value.is_empty()
        && !value.contains('\n')
}

/// The facts of a configuration that matter to a comparison of schedulers.
pub fn facts(config: &str) -> BTreeMap<String, String> {
    let options = settings(config);
    let value = |name: &str| options.get(name).map(String::as_str);
    let yes_no = |name: &str| if value(name) == Some("y") { "yes" } else { "no" };
    // The model that the kernel boots with. Real-time comes first: such a kernel also sets others.
    let models = [
        ("CONFIG_PREEMPT_RT", "rt"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT", "full"),
    ];
    let model = models.into_iter().find(|(name, _)| value(name) == Some("y"));
    let facts = [
        ("HZ", value("CONFIG_HZ").unwrap_or("unknown")),
        ("preempt", model.map_or("unknown", |(_, model)| model)),
        ("preempt_dynamic", yes_no("CONFIG_PREEMPT_DYNAMIC")),
        ("sched_ext", yes_no("CONFIG_SCHED_CLASS_EXT")),
        ("autogroup", yes_no("CONFIG_SCHED_AUTOGROUP")),
        ("btf", yes_no("CONFIG_DEBUG_INFO_BTF")),
        ("nr_cpus", value("CONFIG_NR_CPUS").unwrap_or("unknown")),
    ];
    facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The smallest thing that passes for a bzImage.
#[cfg(test)]
pub fn fake(release: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
    image[VERSION_POINTER..VERSION_POINTER + 2].copy_from_slice(&0x100u16.to_le_bytes());
    image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
    image
}

/// The same with a payload.
#[cfg(test)]
pub fn fake_of(release: &str, payload: &[u8]) -> Vec<u8> {
    let mut image = [&fake(release), payload].concat();
    image[SETUP_SECTORS] = 1;
    image[PAYLOAD + 4..PAYLOAD + 8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    image
}

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

    #[test]
    fn the_release_is_the_version_strings_first_word() {
        assert_eq!(
            release(&fake("6.1.0-50-cloud-amd64 (debian) #1")).unwrap(),
            "6.1.0-50-cloud-amd64"
        );
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(release(b"\x7fELF"), None);
        assert_eq!(release(&fake("")), None);
        assert_eq!(release(&fake("../../etc")), None);
        let mut truncated = fake("6.1");
        truncated.truncate(0x2ff);
        assert_eq!(release(&truncated), None);
    }

    #[test]
    fn facts_are_read_from_a_config_file() {
        let facts = facts(
            "# Linux/x86 6.12\nCONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_PREEMPT_BUILD=y\n\
             CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n\
             # CONFIG_SCHED_CLASS_EXT is not set\nCONFIG_NR_CPUS=512\nCONFIG_SCHED_AUTOGROUP=y\n",
        );
        let expected = [
            ("HZ", "250"),
            ("autogroup", "yes"),
            ("btf", "no"),
            ("nr_cpus", "512"),
            ("preempt", "voluntary"),
            ("preempt_dynamic", "yes"),
            ("sched_ext", "no"),
        ];
        let actual: Vec<(&str, &str)> =
            facts.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(actual, expected);
    }

    #[test]
    fn preemption_models_are_told_apart() {
        let model = |text: &str| facts(text)["preempt"].clone();
        assert_eq!(model("CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y"), "full");
        assert_eq!(model("CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT=y"), "rt");
        assert_eq!(model("CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_BUILD=y"), "lazy");
        assert_eq!(model(""), "unknown");
    }

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
