// SPDX-License-Identifier: GPL-2.0-only
//! Loading a native object: a fresh copy of its globals for every trial.

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
    /// The name under which the loader knows the object is its file descriptor's, so that must not
    /// be used for another one meanwhile.
    _file: OwnedFd,
    base: u64,
    end: u64,
    export: *const Export,
}

impl Loaded {
    /// Loads an object.
    ///
    /// # Errors
    /// When the system refuses; the sentence says why.
    pub fn new(object: &[u8]) -> Result<Loaded, String> {
        let file = memory_file(object).map_err(|error| format!("no memory file: {error}"))?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
        // SAFETY: the object has no constructors; it was made by our own compiler call.
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
            true => Err("the native object is none of ours".into()),
            false => Ok(loaded),
        }
    }

    /// What the object says about itself.
    pub fn export(&self) -> &Export {
        // SAFETY: it was found, and lives as long as the object is loaded.
        unsafe { &*self.export }
    }

    /// Where a place of the object is in memory.
    pub fn at(&self, place: SymbolRange) -> *mut u8 {
        (self.base + place.address) as *mut u8
    }

    /// First and last address, for telling whose a crash is.
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.end)
    }

    /// Sets a `const volatile` global.
    ///
    /// # Errors
    /// When there is no such knob or the value does not fit; the sentence names what there is.
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

    /// Writes to memory that may be read-only.
    fn write(&self, place: SymbolRange, bytes: &[u8]) -> std::io::Result<()> {
        let page = 4096u64;
        let begin = (self.base + place.address) & !(page - 1);
        let length = self.base + place.address + place.size - begin;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the pages are this object's private ones, and hold no code (`-z separate-code`).
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

/// The knobs: the `const volatile` globals with a value that can be written in a file. Those of the
/// ecosystem's headers are the loader's own.
pub fn knobs(native: &Native) -> BTreeMap<&str, &Variable> {
    let is_own = |v: &&Variable| {
        let loaders = v.name.starts_with("__") || v.name.starts_with("scx_lib_");
        v.kind != VariableKind::Other && !loaders && !v.name.ends_with("_dump_len")
    };
    native.facts.variables.iter().filter(is_own).map(|v| (v.name.as_str(), v)).collect()
}

/// The bytes of a value, if it fits.
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
    // SAFETY: a new descriptor, or an error.
    let fd = unsafe { libc::memfd_create(c"scheduler".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is ours alone.
    let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(bytes)?;
    Ok(file.into())
}

fn last_error() -> String {
    // SAFETY: the string is copied at once.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Where the object that holds an address was loaded; 0 if none does.
fn base_of(address: *const c_void) -> u64 {
    // SAFETY: `dladdr` only writes to what it is given.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut info) == 0 { 0 } else { info.dli_fbase as u64 }
    }
}

/// How much address space the object takes: the end of its last segment.
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
