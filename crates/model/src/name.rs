// SPDX-License-Identifier: GPL-2.0-only
//! A short text that many records have alike: 100,000 trials name the same measures.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that is copied at no cost, in eight bytes. Each thread keeps one of all equal texts until
/// the program ends, so it is for names of which there are few.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(&'static &'static str);

thread_local! {
    static KNOWN: RefCell<BTreeMap<&'static str, Name>> = const { RefCell::new(BTreeMap::new()) };
}

impl Name {
    pub fn as_str(&self) -> &'static str {
        self.0
    }
}

impl Default for Name {
    fn default() -> Name {
        Name(&"")
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        KNOWN.with_borrow_mut(|known| {
            if let Some(&name) = known.get(text) {
                return name;
            }
            let kept: &'static str = Box::leak(text.into());
            let name = Name(Box::leak(Box::new(kept)));
            known.insert(kept, name);
            name
        })
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
        self.0
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
    fn equal_names_are_one_text_of_eight_bytes() {
        let (one, same): (Name, Name) = ("migrations".into(), String::from("migrations").into());
        assert!(std::ptr::eq(one.0, same.0));
        assert_eq!((one, size_of::<Option<Name>>()), (same, 8));
        let other: Name = "tasks".into();
        assert!(one < other && one != other && one == "migrations");
    }
}
