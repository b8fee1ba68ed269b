// SPDX-License-Identifier: GPL-2.0-only
//! The kernel that runs, and configurations that are packed: a kernel's own, in `/proc` and in its
//! image (`CONFIG_IKCONFIG`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use spec::files;

use super::collection::{CONFIG, HEADER_BYTES, IMAGE};
use super::{build, image};
use crate::installed::matches;

/// The image of the kernel that runs, and the text of its configuration, if it is here.
///
/// # Errors
/// The image is not where distributions put it, or only root may read it.
pub fn running() -> Result<(PathBuf, Option<String>)> {
    let release = nix::sys::utsname::uname().context("the running kernel")?;
    running_below("", &release.release().to_string_lossy())
}

fn running_below(root: &str, release: &str) -> Result<(PathBuf, Option<String>)> {
    let places = ["boot/vmlinuz*", "lib/modules/@/vmlinuz", "boot/*/@/linux", "efi/*/@/linux"];
    let places = places.into_iter().chain(["run/booted-system/kernel"]);
    let found = |place: &str| matches(&format!("{root}/{}", place.replace('@', release)));
    let is_it = |path: &PathBuf| {
        let start = files::beginning(path, HEADER_BYTES).ok();
        start.is_some_and(|start| image::release(&start).as_deref() == Some(release))
    };
    let image = places.flat_map(found).find(is_it).ok_or_else(|| {
        build::refused(format!(
            "no readable image in /boot and in /lib/modules/{release} is that of the kernel that \
             runs, {release}: name its file, or read it as root"
        ))
    })?;
    let packed = files::read(format!("{root}/proc/config.gz").as_ref(), CONFIG).ok();
    let plain = ["boot/config-@", "lib/modules/@/config", "lib/modules/@/build/.config"];
    let plain =
        || plain.into_iter().flat_map(found).find_map(|path| files::text(&path, CONFIG).ok());
    Ok((image, packed.and_then(|bytes| gunzip(&bytes)).or_else(plain)))
}

fn gunzip(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(bytes).take(CONFIG.most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The configuration that an image contains; `None`: it has none, or the program that unpacks such
/// an image is not installed.
pub fn embedded(image: &Path) -> Option<String> {
    let bytes = files::read(image, IMAGE).ok()?;
    let kernel = unpack(image::payload(&bytes)?)?;
    // The mark, and how gzip begins.
    let mark = b"IKCFG_ST\x1f\x8b";
    let start = kernel.windows(mark.len()).position(|bytes| bytes == mark)?;
    gunzip(&kernel[start + mark.len() - 2..])
}

/// How an image begins that a program packed.
const PACKERS: [(&[u8], &[&str]); 6] = [
    (b"\x1f\x8b", &["gzip", "-dc"]),
    (b"\x28\xb5\x2f\xfd", &["zstd", "-dcq"]),
    (b"\xfd7zXZ", &["xz", "-dc"]),
    (b"\x5d\x00\x00", &["xz", "--format=lzma", "-dc"]),
    (b"BZh", &["bzip2", "-dc"]),
    (b"\x02\x21\x4c\x18", &["lz4", "-dc"]),
];

fn unpack(payload: &[u8]) -> Option<Vec<u8>> {
    use std::io::{Seek, Write};
    let (_, command) = PACKERS.into_iter().find(|(begin, _)| payload.starts_with(begin))?;
    let mut file = tempfile::tempfile().ok()?;
    file.write_all(payload).and_then(|()| file.rewind()).ok()?;
    let mut unpacker = Command::new(command[0]);
    unpacker.args(&command[1..]).stdin(file).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut unpacker = unpacker.spawn().ok()?;
    let mut kernel = Vec::new();
    // The length follows what was packed, so that unpackers complain at the end.
    let _ = unpacker.stdout.take()?.take(IMAGE.most).read_to_end(&mut kernel);
    let _ = unpacker.wait();
    Some(kernel)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    const TEXT: &str = "CONFIG_SCHED_CLASS_EXT=y\n";

    /// An image whose packed kernel has this configuration.
    fn packed(release: &str) -> Vec<u8> {
        let kernel = [b"code IKCFG_ST", &gzip(TEXT.as_bytes())[..], b"IKCFG_ED data"].concat();
        image::fake_of(release, &[&gzip(&kernel)[..], b"size"].concat())
    }

    #[test]
    fn an_image_tells_its_own_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::write(&image, packed("9.8.7")).unwrap();
        assert_eq!(embedded(&image).as_deref(), Some(TEXT));
        for other in [image::fake("9.8.7"), image::fake_of("9.8.7", &gzip(b"code")), Vec::new()] {
            fs::write(&image, other).unwrap();
            assert_eq!(embedded(&image), None);
        }
    }

    #[test]
    fn the_running_kernel_is_found_where_distributions_put_it() {
        let release = "9.8.7-mine+";
        let configs = ["proc/config.gz", "boot/config-@", "lib/modules/@/config"].map(Some);
        let images = ["boot/vmlinuz-linux", "lib/modules/@/vmlinuz", "boot/0f3a/@/linux"];
        for (place, config) in images.into_iter().zip(configs).chain([(images[0], None)]) {
            let root = tempfile::tempdir().unwrap();
            let write = |place: &str, bytes: &[u8]| {
                let path = root.path().join(place.replace('@', release));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, bytes).unwrap();
                path
            };
            let below = || running_below(root.path().to_str().unwrap(), release);
            write("boot/vmlinuz", &image::fake("9.8.8-newer"));
            assert!(below().unwrap_err().to_string().contains("/lib/modules/9.8.7-mine+"));
            let image = write(place, &image::fake(release));
            let text = config.map(|config| {
                let packed = gzip(TEXT.as_bytes());
                write(config, if config.ends_with("gz") { &packed } else { TEXT.as_bytes() });
                TEXT.to_owned()
            });
            assert_eq!(below().unwrap(), (image, text));
        }
    }
}
