// SPDX-License-Identifier: GPL-2.0-only
//! The running kernel's type information (BTF).

use std::collections::{BTreeMap, BTreeSet};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64};

use crate::loader::variable::members;

/// The kernel's side of the contract.
pub struct KernelBtf {
    /// The values of the requested enumerators that exist.
    pub enumerators: BTreeMap<String, u64>,
    /// The members of `struct sched_ext_ops`.
    pub ops_members: BTreeSet<String>,
}

impl KernelBtf {
    /// Reads `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// When the kernel has no BTF, or no `struct sched_ext_ops` in it.
    pub fn read(wanted: &BTreeSet<String>) -> Result<KernelBtf, String> {
        let btf = Btf::from_vmlinux()
            .map_err(|error| format!("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): {error}"))?;
        let ops = members(&btf, "sched_ext_ops")
            .ok_or("this kernel's BTF has no struct sched_ext_ops (CONFIG_SCHED_CLASS_EXT)")?;
        Ok(KernelBtf {
            enumerators: enumerators(&btf, wanted),
            ops_members: ops.into_iter().map(|member| member.name).collect(),
        })
    }
}

/// Looks in every enumeration, because enumerators have moved between them from version to version.
fn enumerators(btf: &Btf, wanted: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut note = |name: Option<&std::ffi::OsStr>, value: u64| {
        let name = name.and_then(|name| name.to_str()).unwrap_or_default();
        if wanted.contains(name) {
            found.entry(name.to_owned()).or_insert(value);
        }
    };
    for enumeration in btf.type_by_kind::<Enum64>() {
        enumeration.iter().for_each(|member| note(member.name, member.value as u64));
    }
    for enumeration in btf.type_by_kind::<Enum>() {
        enumeration.iter().for_each(|member| note(member.name, member.value as u64));
    }
    found
}
