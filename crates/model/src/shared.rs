// SPDX-License-Identifier: GPL-2.0-only
//! A value that many records have alike, kept once: 100,000 trials of a cell have one workload.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that is cloned at no cost. Changing one makes it a value of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Shared<T> {
        Shared(Arc::new(value))
    }
}

impl<I, T: FromIterator<I>> FromIterator<I> for Shared<T> {
    fn from_iter<A: IntoIterator<Item = I>>(items: A) -> Shared<T> {
        T::from_iter(items).into()
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Shared<T>, D::Error> {
        T::deserialize(from).map(Shared::from)
    }
}

/// The values that were seen last, of which equal ones are kept once.
#[derive(Debug)]
pub struct Seen<T>(Vec<Shared<T>>);

/// How many are compared with a new one.
const LAST: usize = 16;

impl<T> Default for Seen<T> {
    fn default() -> Seen<T> {
        Seen(Vec::new())
    }
}

impl<T: PartialEq> Seen<T> {
    /// Replaces a value by an equal one that was seen.
    pub fn share(&mut self, value: &mut Shared<T>) {
        match self.0.iter().position(|seen| seen == value) {
            Some(place) => {
                let seen = self.0.remove(place);
                *value = Shared(seen.0.clone());
                self.0.push(seen);
            }
            None => {
                if self.0.len() == LAST {
                    self.0.remove(0);
                }
                self.0.push(Shared(value.0.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_until_one_is_changed() {
        let mut seen = Seen::default();
        let mut values: Vec<Shared<String>> =
            (0..40).map(|at| (at % 3).to_string().into()).collect();
        values.iter_mut().for_each(|value| seen.share(value));
        assert!(
            Arc::ptr_eq(&values[0].0, &values[39].0) && !Arc::ptr_eq(&values[0].0, &values[1].0)
        );
        values[39].push('x');
        assert_eq!((values[0].as_str(), values[39].as_str()), ("0", "0x"));
    }
}
