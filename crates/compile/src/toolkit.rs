// SPDX-License-Identifier: GPL-2.0-only
//! The headers that every scheduler needs, carried by the binary and unpacked once.

use std::io;
use std::path::{Path, PathBuf};

use crate::embedded;

/// Where unpacked headers and compiled objects are kept: `$FAIRGROUND_HOME`, else the user's cache,
/// else the temporary folder. Below it, one folder for each tool kit, so that a new version starts
/// afresh.
pub(crate) fn folder() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = || {
        let cache = named("XDG_CACHE_HOME").map(PathBuf::from);
        cache.or_else(|| Some(Path::new(&named("HOME")?).join(".cache")))
    };
    let home = named("FAIRGROUND_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(cache()?.join("fairground")));
    home.unwrap_or_else(|| std::env::temp_dir().join("fairground"))
        .join("bpf")
        .join(embedded::TOOLKIT)
}

/// The unpacked headers. The first caller unpacks them next to their place and renames; a second
/// one, at the same time, finds them there and drops its own.
pub(crate) fn headers() -> io::Result<PathBuf> {
    let place = folder().join("headers");
    if place.is_dir() {
        return Ok(place);
    }
    std::fs::create_dir_all(folder())?;
    let fresh = tempfile::tempdir_in(folder())?;
    unpack(fresh.path())?;
    match std::fs::rename(fresh.path(), &place) {
        Err(_) if place.is_dir() => Ok(place),
        Err(error) => Err(error),
        Ok(()) => {
            // The name is gone, and with it what would be removed.
            let _ = fresh.keep();
            Ok(place)
        }
    }
}

fn unpack(folder: &Path) -> io::Result<()> {
    tar::Archive::new(flate2::read::GzDecoder::new(embedded::HEADERS)).unpack(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clang, native::make};

    #[test]
    fn the_headers_are_whole() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        unpack(folder.path()).expect("the archive is whole");
        for name in ["vmlinux.h", "scx/common.bpf.h", "scx/compat.bpf.h", "bpf/bpf_helpers.h"] {
            assert!(folder.path().join(name).is_file(), "{name} is missing");
        }
    }

    /// A text without a folder of its own: it includes what the headers' folder has.
    fn text(label: &str, text: &str) -> clang::Text<'static> {
        clang::Text::alone(label, Path::new(label), Path::new("x"), text)
    }

    fn holds(bytes: &[u8], words: &str) -> bool {
        bytes.windows(words.len()).any(|window| window == words.as_bytes())
    }

    /// The names of Linux 6.12, the one argument of 6.13 to 7.0, the C library's constants, and the
    /// kernel's types first.
    #[test]
    fn a_scheduler_of_older_headers_compiles_for_kernels_and_for_the_simulator() {
        const TEXT: &str = "#include \"vmlinux.h\"\n#include <scx/common.bpf.h>\n\
            #include <limits.h>\n#include <errno.h>\n\
            char _license[] SEC(\"license\") = \"GPL\";\n\
            void BPF_STRUCT_OPS(old_enqueue, struct task_struct *p, u64 flags) {\n\
            if (flags) scx_bpf_dispatch_vtime(p, 0, SCX_SLICE_DFL, p->scx.dsq_vtime, flags);\n\
            else scx_bpf_dispatch(p, 0, SCX_SLICE_DFL, flags); }\n\
            void BPF_STRUCT_OPS(old_dispatch, s32 cpu, struct task_struct *prev) {\n\
            if (!scx_bpf_consume(0) && !scx_bpf_dsq_move_to_local(INT_MAX))\n\
            scx_bpf_dsq_move_to_local(ENOENT, 0); }\n\
            SCX_OPS_DEFINE(old_ops, .enqueue = (void *)old_enqueue,\n\
            .dispatch = (void *)old_dispatch, .name = \"old\");\n";
        let clang = clang::find().expect("a compiler");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let headers = folder.path().join("headers");
        unpack(&headers).expect("the archive is whole");
        let definitions = ["BPF_NO_KFUNC_PROTOTYPES=".to_owned()];
        let sources = [clang::Text { definitions: &definitions, ..text("old.bpf.c", TEXT) }];
        clang::compile(&clang, &headers, &sources).expect("an object");
        make::object(&clang, &headers, &sources, make::Form::Usual).expect("a native object");
    }

    #[test]
    fn an_object_is_the_same_in_another_folder_and_names_none() {
        let clang = clang::find().expect("a compiler");
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let source = crate::builtin().into_iter().find(|source| source.name == "bore");
        let bore = source.expect("bore is built in").text;
        let [one, other] = folders.each_ref().map(|folder| {
            let headers = folder.path().join("somewhere");
            unpack(&headers).expect("the archive is whole");
            let sources = [text("bore.bpf.c", &bore)];
            let (object, _) = clang::compile(&clang, &headers, &sources).expect("an object");
            let (native, _) = make::object(&clang, &headers, &sources, make::Form::Usual)
                .expect("a native object");
            assert!(!holds(&[&object[..], &native].concat(), &folder.path().display().to_string()));
            (object, native)
        });
        assert!(one == other, "the objects differ");
    }

    #[test]
    fn what_is_embedded_does_not_name_the_folder_where_it_was_built() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        unpack(folder.path()).expect("the archive is whole");
        let trampolines = std::fs::read(make::trampolines(folder.path(), make::Form::Usual))
            .expect("they are there");
        let objects = embedded::BUILTINS.iter().map(|entry| entry.object);
        for object in objects.chain([&trampolines[..], embedded::PROBES]) {
            assert!(!holds(object, env!("OUT_DIR")) && !holds(object, "/.tmp"));
        }
    }
}
