// SPDX-License-Identifier: GPL-2.0-only
//! Parts that many records have, cleaned once.

use model::Shared;

/// How many cleaned parts of records are remembered; a store has few different ones.
const REMEMBERED: usize = 64;

/// Parts that were cleaned: before, whether of a recording, after.
pub struct Memo<T>(Vec<(T, bool, Shared<T>)>);

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo(Vec::new())
    }
}

impl<T: Clone + PartialEq> Memo<T> {
    /// What became of a value, of a recording or not.
    pub fn get(&self, value: &T, is_recorded: bool) -> Option<Shared<T>> {
        let known = self.0.iter().find(|(of, flag, _)| *flag == is_recorded && of == value);
        known.map(|(_, _, clean)| clean.clone())
    }

    pub fn keep(&mut self, value: &T, is_recorded: bool, clean: &Shared<T>) {
        if self.0.len() >= REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((value.clone(), is_recorded, clean.clone()));
    }
}
