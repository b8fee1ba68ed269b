// SPDX-License-Identifier: GPL-2.0-only
//! The global variables of an object, before and after it is loaded.

use compile::variables::Global;
use libbpf_rs::{MapCore, MapFlags, Object, OpenObject};

/// libbpf puts the object's name before the common sections' names.
pub fn is_section(map: &str, section: &str) -> bool {
    map == section || (map.ends_with(section) && section.matches('.').count() == 1)
}

/// The bytes of a section's map, once the object is loaded.
pub fn section(object: &Object, name: &str) -> Option<Vec<u8>> {
    let map = object.maps().find(|map| is_section(&map.name().to_string_lossy(), name))?;
    map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Overwrites a variable's initial value in an object that is not loaded yet.
pub fn write(object: &mut OpenObject, variable: &Global, bytes: &[u8]) {
    let place = variable.offset..variable.offset + bytes.len();
    let mut maps = object.maps_mut();
    let map = maps.find(|map| is_section(&map.name().to_string_lossy(), &variable.section));
    if let Some(mut map) = map
        && let Some(place) = map.initial_value_mut().and_then(|value| value.get_mut(place))
    {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_apart() {
        assert!(is_section("fifo.data", ".data"));
        assert!(is_section(".data.uei_dump", ".data.uei_dump"));
        assert!(!is_section(".data.uei_dump", ".data"));
        assert!(!is_section("fifo.bss", ".data"));
    }
}
