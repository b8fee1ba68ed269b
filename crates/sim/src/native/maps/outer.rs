// SPDX-License-Identifier: GPL-2.0-only
//! Maps of maps. A scheduler knows a map by the variable that holds its address.

use super::Map;

#[derive(Default)]
pub struct Outer {
    /// The inner maps' variables, by index; null where there is none.
    variables: Vec<*mut u8>,
    /// The maps that user space makes, and their addresses, which stand for variables.
    made: Vec<Box<Map>>,
    addresses: Vec<*const Map>,
}

impl Outer {
    /// The variable at an index; null if there is none.
    pub fn at(&self, index: u32) -> *mut u8 {
        self.variables.get(index as usize).copied().unwrap_or(std::ptr::null_mut())
    }

    /// Takes the variables of the file.
    pub fn set(&mut self, variables: Vec<*mut u8>) {
        self.variables = variables;
    }

    /// Takes maps without variables in the place of all others.
    pub fn fill(&mut self, maps: Vec<Box<Map>>) {
        self.made = maps;
        self.addresses = self.made.iter().map(|map| &raw const **map).collect();
        self.variables =
            self.addresses.iter_mut().map(|address| (&raw mut *address).cast()).collect();
    }
}
