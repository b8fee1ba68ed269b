// SPDX-License-Identifier: GPL-2.0-only
//! Facts in the header of a bzImage, by the x86 boot protocol (Documentation/arch/x86/boot.rst).

/// The offset of the setup header's magic `HdrS`.
const MAGIC: usize = 0x202;
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

/// The smallest thing that passes for a bzImage.
#[cfg(test)]
pub fn fake(release: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
    image[VERSION_POINTER..VERSION_POINTER + 2].copy_from_slice(&0x100u16.to_le_bytes());
    image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
    image
}

#[cfg(test)]
mod tests {
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
}
