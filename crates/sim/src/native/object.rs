// SPDX-License-Identifier: GPL-2.0-only
//! Loading of native objects: each trial has its own copy of a scheduler's globals.

use std::collections::BTreeMap;
use std::ffi::c_void;

use compile::native::{Native, SymbolRange, Variable, VariableKind};
use model::{Knob, KnobKind, KnobValue};

use super::abi::Export;
use super::elf::Image;

/// A loaded object. Dropping it unloads the object.
pub struct Loaded {
    // The address below points into it.
    image: Image,
    export: *const Export,
}

impl Loaded {
    pub fn new(object: &[u8]) -> Result<Loaded, String> {
        let refused = |why| format!("the native object cannot be loaded: {why}");
        let image = Image::map(object).map_err(refused)?;
        let export = image.symbol(object, "fairground_export");
        let export = export.ok_or("the native object has no symbol fairground_export")?;
        Ok(Loaded { image, export: export.cast() })
    }

    /// The object's table of callbacks, maps and imports.
    pub fn export(&self) -> &Export {
        // SAFETY: `new` checked the pointer; the memory lives as long as the object is loaded.
        unsafe { &*self.export }
    }

    pub fn at(&self, place: SymbolRange) -> *mut u8 {
        (self.image.range().0 + place.address) as *mut u8
    }

    /// The address range, which tells a crash of the scheduler from one of the simulator.
    pub fn range(&self) -> (u64, u64) {
        self.image.range()
    }

    /// Sets a `const volatile` global.
    pub fn set_knob(&self, native: &Native, name: &str, value: KnobValue) -> Result<(), String> {
        let knobs = knobs(native);
        let Some(knob) = knobs.get(name) else {
            let known: Vec<&str> = knobs.keys().copied().collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(format!("{} has no knob {name}; there are {known}", native.name));
        };
        let bytes = described(knob).encode(value)?;
        self.write(knob.place, &bytes).map_err(|error| format!("{name} cannot be set: {error}"))
    }

    /// Writes to a variable whose page may be read-only.
    fn write(&self, place: SymbolRange, bytes: &[u8]) -> std::io::Result<()> {
        let page = 4096u64;
        let first = self.at(place) as u64;
        let begin = first & !(page - 1);
        let length = first + place.size - begin;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the pages are private to this object and contain no code (`-z separate-code`).
        if unsafe { libc::mprotect(begin as *mut c_void, length as usize, writable) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the variable has this size.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(place), bytes.len()) };
        Ok(())
    }
}

/// The knobs: the `const volatile` globals whose type an experiment's file can express. The globals
/// of the ecosystem's headers are set by the loader only.
pub fn knobs(native: &Native) -> BTreeMap<&str, &Variable> {
    let is_own = |v: &&Variable| {
        let is_loaders = v.name.starts_with("__") || v.name.starts_with("scx_lib_");
        v.kind != VariableKind::Other && !is_loaders && !v.name.ends_with("_dump_len")
    };
    native.facts.variables.iter().filter(is_own).map(|v| (v.name.as_str(), v)).collect()
}

/// A knob as messages about its values name it.
fn described(variable: &Variable) -> Knob {
    let bits = 8 * variable.place.size;
    let (kind, type_name) = match variable.kind {
        VariableKind::Bool => (KnobKind::Bool, "bool".to_owned()),
        VariableKind::Signed => (KnobKind::Signed, format!("s{bits}")),
        _ => (KnobKind::Unsigned, format!("u{bits}")),
    };
    let default = vec![0; variable.place.size as usize];
    Knob { name: variable.name.clone(), kind, type_name, default }
}
