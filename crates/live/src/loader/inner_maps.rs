// SPDX-License-Identifier: GPL-2.0-only
//! Maps of maps that user space fills: each element gets a map of its own.

use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use compile::variables;
use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{AsRawLibbpf, MapCore, MapFlags, MapHandle, MapType, Object, OpenMap, libbpf_sys};

/// The number of inner maps that are inserted by one system call, and so are open at a time. After
/// each call the kernel waits until no program uses the elements' former values.
const ROUND: u32 = 256;

/// A map of maps, and how the file describes the maps in it.
pub struct Filling {
    name: OsString,
    kind: MapType,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    extra: u64,
}

impl Filling {
    /// Of an object that is not loaded yet; `None` for other maps.
    pub fn of(map: &OpenMap) -> Option<Filling> {
        let inner = variables::inner(map)?;
        Some(Filling {
            name: map.name().to_owned(),
            kind: inner.map_type(),
            key_size: inner.key_size(),
            value_size: inner.value_size(),
            max_entries: inner.max_entries(),
            flags: inner.map_flags(),
            // SAFETY: the object is open.
            extra: unsafe { libbpf_sys::bpf_map__map_extra(inner.as_libbpf_object().as_ptr()) },
        })
    }

    /// Makes the inner maps, which live as long as the outer one.
    pub fn make(&self, object: &Object) -> Result<(), String> {
        let name = self.name.to_string_lossy();
        let map = object.maps().find(|map| map.name() == self.name);
        let map = map.ok_or_else(|| format!("there is no map {name}"))?;
        let entries = map.max_entries();
        (0..entries).step_by(ROUND as usize).try_for_each(|first| {
            let keys = first..entries.min(first + ROUND);
            self.fill(&map, keys).map_err(|error| format!("{name} cannot be filled: {error}"))
        })
    }

    fn fill(&self, map: &impl MapCore, keys: Range<u32>) -> libbpf_rs::Result<()> {
        let inner = keys.clone().map(|_| self.inner()).collect::<Result<Vec<_>, _>>()?;
        let bytes: Vec<u8> = keys.clone().flat_map(u32::to_ne_bytes).collect();
        let descriptors = inner.iter().map(|map| map.as_fd().as_raw_fd());
        let descriptors: Vec<u8> = descriptors.flat_map(i32::to_ne_bytes).collect();
        let (count, any) = (keys.len() as u32, MapFlags::ANY);
        map.update_batch(&bytes, &descriptors, count, any, any)
    }

    fn inner(&self) -> libbpf_rs::Result<MapHandle> {
        let options = bpf_map_create_opts {
            sz: size_of::<bpf_map_create_opts>() as _,
            map_flags: self.flags,
            map_extra: self.extra,
            ..Default::default()
        };
        let (key, value) = (self.key_size, self.value_size);
        MapHandle::create(self.kind, None::<&str>, key, value, self.max_entries, &options)
    }
}
