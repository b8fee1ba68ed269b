// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel manages inside the values of a map (`btf_parse_fields`): an update leaves it
//! out, and what was there before is gone.

use libbpf_rs::btf::types::{Composite, MemberAttr, Ptr};
use libbpf_rs::btf::{Btf, BtfKind, BtfType, HasSize, TypeId};
use libbpf_rs::{AsRawLibbpf, OpenMap, libbpf_sys};

/// Structures of the kernel's own.
const STRUCTURES: &[&str] = &[
    "bpf_timer",
    "bpf_wq",
    "bpf_task_work",
    "bpf_list_head",
    "bpf_list_node",
    "bpf_rb_root",
    "bpf_rb_node",
    "bpf_refcount",
    "bpf_spin_lock",
    "bpf_res_spin_lock",
];
/// Tags of pointers that hold objects.
const TAGS: &[&str] = &["kptr", "kptr_untrusted", "percpu_kptr", "uptr"];
/// Structures in structures; the kernel looks into as many.
const DEEPEST: u32 = 4;
const POINTER: u32 = 8;

/// Offsets and sizes in the map's values, bytes.
pub fn of_map(btf: &Btf, map: &OpenMap) -> Vec<(u32, u32)> {
    // SAFETY: the map's object is open.
    let id = unsafe { libbpf_sys::bpf_map__btf_value_type_id(map.as_libbpf_object().as_ptr()) };
    let mut found = Vec::new();
    if let Some(value) = btf.type_by_id::<BtfType>(TypeId::from(id)).filter(|_| id != 0) {
        add(btf, value, 0, DEEPEST, &mut found);
    }
    found
}

fn add(btf: &Btf, ty: BtfType, offset: u32, depth: u32, found: &mut Vec<(u32, u32)>) {
    let bare = ty.skip_mods_and_typedefs();
    match bare.kind() {
        BtfKind::Ptr if is_held(bare) => found.push((offset, POINTER)),
        BtfKind::Struct if depth > 0 => {
            let Ok(composite) = Composite::try_from(bare) else { return };
            let name = composite.name().map(|name| name.to_string_lossy().into_owned());
            if name.is_some_and(|name| STRUCTURES.contains(&name.as_str())) {
                return found.push((offset, composite.size() as u32));
            }
            for member in composite.iter() {
                let MemberAttr::Normal { offset: bits } = member.attr else { continue };
                if let Some(ty) = btf.type_by_id::<BtfType>(member.ty) {
                    add(btf, ty, offset + bits / 8, depth - 1, found);
                }
            }
        }
        _ => {}
    }
}

/// Whether a pointer holds an object: its target has such a tag.
fn is_held(pointer: BtfType) -> bool {
    let target = Ptr::try_from(pointer).ok().and_then(|pointer| pointer.next_type());
    let tag = target.filter(|target| target.kind() == BtfKind::TypeTag);
    let name = tag.and_then(|tag| tag.name().map(|name| name.to_string_lossy().into_owned()));
    name.is_some_and(|name| TAGS.contains(&name.as_str()))
}
