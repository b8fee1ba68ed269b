// SPDX-License-Identifier: GPL-2.0-only
//! Values and short texts that many records have alike, kept once: 100,000 trials of a cell have
//! one workload, and name the same measures.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
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

/// A text in eight bytes, which is copied at no cost. Each thread keeps one of all equal texts that
/// are in use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Arc<Box<str>>);

/// The texts that a thread has seen.
struct Known {
    names: BTreeSet<Name>,
    /// At this number of names the unused ones are dropped: a stranger's file may name millions of
    /// things.
    most: usize,
}

/// A process has few names.
const FEW: usize = 4_096;

thread_local! {
    static KNOWN: RefCell<Known> =
        const { RefCell::new(Known { names: BTreeSet::new(), most: FEW }) };
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl Default for Name {
    fn default() -> Name {
        "".into()
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        KNOWN.with_borrow_mut(|known| known.name(text))
    }
}

impl Known {
    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        if self.names.len() >= self.most {
            self.names.retain(|name| Arc::strong_count(&name.0) > 1);
            self.most = FEW.max(2 * self.names.len());
        }
        let name = Name(Arc::new(text.into()));
        self.names.insert(name.clone());
        name
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        text.as_str().into()
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Name {
        text.as_str().into()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.as_str().into()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self
    }
}

/// Names and other texts are equal if their letters are.
macro_rules! equal_texts {
    ($($text:ty),*) => {$(
        impl PartialEq<$text> for Name {
            fn eq(&self, other: &$text) -> bool {
                *self.as_str() == other[..]
            }
        }

        impl PartialEq<Name> for $text {
            fn eq(&self, other: &Name) -> bool {
                self[..] == *other.as_str()
            }
        }
    )*};
}

equal_texts!(str, &str, String);

impl fmt::Display for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(to)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(to)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        std::borrow::Cow::<str>::deserialize(from).map(|text| text.as_ref().into())
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

    #[test]
    fn equal_names_are_one_text_of_eight_bytes() {
        let (one, same): (Name, Name) = ("migrations".into(), String::from("migrations").into());
        assert!(Arc::ptr_eq(&one.0, &same.0));
        assert_eq!((&one, size_of::<Option<Name>>()), (&same, 8));
        let other: Name = "tasks".into();
        assert!(one < other && one != other && one == "migrations");
    }

    #[test]
    fn names_that_nobody_uses_are_forgotten() {
        let used: Vec<Name> = (0..10).map(|at| at.to_string().into()).collect();
        (0..100_000).for_each(|at| drop(Name::from(at.to_string())));
        KNOWN.with_borrow(|known| {
            assert!(known.names.len() <= FEW, "{}", known.names.len());
            assert!(used.iter().all(|name| known.names.contains(name)));
        });
    }
}
