// SPDX-License-Identifier: GPL-2.0-only
//! Loading a BPF object that is built in: the probes, or the recorder.

use compile::variables::{self, Global};
use libbpf_rs::btf::Btf;
use libbpf_rs::{Object, ObjectBuilder, OpenObject};

use super::knobs;
use super::log::{Listener, explain, warnings};

/// An object with its global variables. `name` stands for it in messages: `the probes`.
pub struct BuiltIn {
    name: &'static str,
    bytes: &'static [u8],
    variables: Vec<Global>,
}

impl BuiltIn {
    /// # Errors
    /// The object has no types.
    pub fn new(name: &'static str, bytes: &'static [u8]) -> Result<BuiltIn, String> {
        let btf = Btf::from_raw("built_in", bytes).ok().flatten();
        let btf = btf.ok_or_else(|| format!("{name}: no BTF in the object"))?;
        Ok(BuiltIn { name, bytes, variables: variables::globals(&btf) })
    }

    /// Loads it with these values of constants, after `size` has chosen maps and programs.
    ///
    /// # Errors
    /// What the kernel, or its verifier, says.
    pub fn load(
        &self,
        constants: &[(&str, &[u8])],
        size: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
    ) -> Result<Object, String> {
        let listener = Listener::new();
        let because = |error: libbpf_rs::Error| {
            format!("{} cannot be loaded: {error}; {}", self.name, warnings(&listener.text()))
        };
        let mut open = ObjectBuilder::default().open_memory(self.bytes).map_err(because)?;
        size(&mut open).map_err(because)?;
        for (name, value) in constants {
            knobs::write(&mut open, self.variable(name, ".rodata"), value);
        }
        let said = |error: libbpf_rs::Error| explain(&error.to_string(), &listener.text());
        open.load().map_err(|error| format!("{}: {}", self.name, said(error)))
    }

    /// Where a variable is among those that programs write.
    pub fn offset(&self, name: &str) -> usize {
        self.variable(name, ".bss").offset
    }

    /// The size of the section that these are in.
    pub fn bss_bytes(&self) -> usize {
        let globals = self.variables.iter().filter(|variable| variable.section == ".bss");
        globals.map(|variable| variable.offset + variable.ty.size).max().unwrap_or(0)
    }

    pub fn variable(&self, name: &str, section: &str) -> &Global {
        let found = self.variables.iter().find(|v| v.name == name && v.section == section);
        found.unwrap_or_else(|| unreachable!("a test checks that {} have {name}", self.name))
    }
}
