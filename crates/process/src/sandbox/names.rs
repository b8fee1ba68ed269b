// SPDX-License-Identifier: GPL-2.0-only
//! The names of system calls, for a refusal that says what was called.

use syscalls::Sysno;

/// The kernel's name of a system call: `openat`; `system call 9999` for one that is unknown here.
pub fn name(number: i64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("system call {number}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_name() {
        assert_eq!(name(libc::SYS_openat), "openat");
        assert_eq!(name(libc::SYS_io_uring_setup), "io_uring_setup");
        assert_eq!(name(9_999), "system call 9999");
    }
}
