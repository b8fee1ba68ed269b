// SPDX-License-Identifier: GPL-2.0-only
//! How many instructions the verifier has looked at, for each program that was loaded.

use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::Object;
use libbpf_rs::libbpf_sys::{bpf_prog_get_info_by_fd, bpf_prog_info};

/// How the note begins that names each program and its instructions: `name 123, name 4`.
pub const VERIFIED: &str = "verified instructions: ";

/// The note, or nothing where the kernel does not say (before 5.16).
pub(super) fn note(object: &Object) -> Option<String> {
    let counts: Vec<String> = object
        .progs()
        .filter_map(|program| {
            let count = verified(program.as_fd().as_raw_fd()).filter(|count| *count > 0)?;
            Some(format!("{} {count}", program.name().to_string_lossy()))
        })
        .collect();
    (!counts.is_empty()).then(|| format!("{VERIFIED}{}", counts.join(", ")))
}

fn verified(program: i32) -> Option<u32> {
    let mut size = size_of::<bpf_prog_info>() as u32;
    // SAFETY: a plain structure; the kernel writes at most `size` bytes of it.
    let (info, result) = unsafe {
        let mut info: bpf_prog_info = zeroed();
        let result = bpf_prog_get_info_by_fd(program, &raw mut info, &raw mut size);
        (info, result)
    };
    (result == 0).then_some(info.verified_insns)
}
