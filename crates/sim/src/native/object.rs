// SPDX-License-Identifier: GPL-2.0-only
//! Loading of native objects: each trial has its own copy of a scheduler's globals.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use compile::native::{Native, SymbolRange, Variable, VariableKind};
use model::KnobValue;

use super::abi::Export;

/// A loaded object. Dropping it unloads the object.
pub struct Loaded {
    handle: *mut c_void,
    /// The dynamic loader identifies the object by the path of this descriptor. It stays open, so
    /// that no other object gets the same path.
    _file: OwnedFd,
    base: u64,
    end: u64,
    export: *const Export,
}

impl Loaded {
    /// Loads an object from memory.
    ///
    /// # Errors
    /// The reason as a sentence, when the dynamic loader refuses the object.
    pub fn new(object: &[u8]) -> Result<Loaded, String> {
        let file = memory_file(object).map_err(|error| format!("no memory file: {error}"))?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
        // SAFETY: the object comes from `compile::native` and has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("the native object cannot be loaded: {}", last_error()));
        }
        // SAFETY: the handle is open.
        let export = unsafe { libc::dlsym(handle, c"fairground_export".as_ptr()) };
        let base = base_of(export);
        let end = base + extent(object);
        let loaded = Loaded { handle, _file: file, base, end, export: export.cast() };
        match export.is_null() {
            true => Err("the native object has no symbol fairground_export".into()),
            false => Ok(loaded),
        }
    }

    /// The object's table of callbacks, maps and imports.
    pub fn export(&self) -> &Export {
        // SAFETY: `new` checked the pointer; the memory lives as long as the object is loaded.
        unsafe { &*self.export }
    }

    /// The address of a symbol.
    pub fn at(&self, place: SymbolRange) -> *mut u8 {
        (self.base + place.address) as *mut u8
    }

    /// The address range, which tells a crash of the scheduler from one of the simulator.
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.end)
    }

    /// Sets a `const volatile` global.
    ///
    /// # Errors
    /// When the scheduler has no such knob, or when the value does not fit; the sentence lists the
    /// knobs or the type.
    pub fn set_knob(&self, native: &Native, name: &str, value: KnobValue) -> Result<(), String> {
        let knobs = knobs(native);
        let Some(knob) = knobs.get(name) else {
            let known: Vec<&str> = knobs.keys().copied().collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(format!("{} has no knob {name}; there are {known}", native.name));
        };
        let bytes = encode(knob, value).ok_or_else(|| {
            let bits = knob.place.size * 8;
            format!("{name} = {value:?} does not fit: it is {:?} with {bits} bits", knob.kind)
        })?;
        self.write(knob.place, &bytes).map_err(|error| format!("{name} cannot be set: {error}"))
    }

    /// Writes to a variable whose page may be read-only.
    fn write(&self, place: SymbolRange, bytes: &[u8]) -> std::io::Result<()> {
        let page = 4096u64;
        let begin = (self.base + place.address) & !(page - 1);
        let length = self.base + place.address + place.size - begin;
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

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: `new` opened it.
        unsafe { libc::dlclose(self.handle) };
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

/// The little-endian bytes of a value; `None` if the knob's type cannot hold it.
fn encode(knob: &Variable, value: KnobValue) -> Option<Vec<u8>> {
    let number = match (value, knob.kind) {
        (KnobValue::Bool(value), VariableKind::Bool) => i64::from(value),
        (KnobValue::Int(value), VariableKind::Unsigned | VariableKind::Signed) => value,
        _ => return None,
    };
    let size = knob.place.size as usize;
    let unused = 64u32.checked_sub(size as u32 * 8)?;
    let fits = match knob.kind {
        VariableKind::Unsigned => number >= 0 && (unused == 0 || number >> (64 - unused) == 0),
        _ => number << unused >> unused == number,
    };
    fits.then(|| number.to_le_bytes()[..size].to_vec())
}

fn memory_file(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    // SAFETY: the call has no memory arguments except a constant string.
    let fd = unsafe { libc::memfd_create(c"scheduler".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and nobody else owns it.
    let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(bytes)?;
    Ok(file.into())
}

fn last_error() -> String {
    // SAFETY: the returned string is copied before the next call of the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The load address of the object that contains an address; 0 if there is none.
fn base_of(address: *const c_void) -> u64 {
    // SAFETY: `dladdr` writes to the given structure only.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut info) == 0 { 0 } else { info.dli_fbase as u64 }
    }
}

/// The size of the object in memory: the end of its last loaded segment.
fn extent(object: &[u8]) -> u64 {
    let read = |at: u64, size: usize| -> u64 {
        let bytes = object.get(at as usize..at as usize + size).unwrap_or_default();
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    };
    // Offsets in Elf64_Ehdr and Elf64_Phdr.
    let (table, size, count) = (read(32, 8), read(54, 2), read(56, 2));
    let segments = (0..count).map(|index| table + index * size);
    let loaded = segments.filter(|&segment| read(segment, 4) == u64::from(libc::PT_LOAD));
    loaded.map(|segment| read(segment + 16, 8) + read(segment + 40, 8)).max().unwrap_or(0)
}
