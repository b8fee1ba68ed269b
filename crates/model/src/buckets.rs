// SPDX-License-Identifier: GPL-2.0-only
//! The buckets of a histogram in few bytes: most records are made of little else.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `(lowest value of the bucket, samples in it)` in the order in which they were added. Each is
/// kept as what it adds to the value before, and its samples, as numbers of variable length
/// (LEB128).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Buckets(Box<[u8]>);

impl Buckets {
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut rest, mut value) = (&self.0[..], 0_u64);
        std::iter::from_fn(move || {
            let step = number(&mut rest)?;
            value = value.wrapping_add(step);
            Some((value, number(&mut rest)?))
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(u64, u64)> for Buckets {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(buckets: I) -> Buckets {
        let (mut bytes, mut before) = (Vec::new(), 0_u64);
        for (value, samples) in buckets {
            append(&mut bytes, value.wrapping_sub(before));
            append(&mut bytes, samples);
            before = value;
        }
        Buckets(bytes.into())
    }
}

impl From<Vec<(u64, u64)>> for Buckets {
    fn from(buckets: Vec<(u64, u64)>) -> Buckets {
        buckets.into_iter().collect()
    }
}

impl PartialEq<Vec<(u64, u64)>> for Buckets {
    fn eq(&self, other: &Vec<(u64, u64)>) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

fn append(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The first number, which is taken off.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Buckets, D::Error> {
        Vec::deserialize(from).map(|buckets: Vec<(u64, u64)>| buckets.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Those of strangers need not ascend.
        #[test]
        fn any_buckets_come_back(list in prop::collection::vec(any::<(u64, u64)>(), 0..9)) {
            let buckets: Buckets = list.clone().into();
            prop_assert_eq!(buckets.iter().collect::<Vec<_>>(), list.clone());
            let json = serde_json::to_string(&buckets).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&list).unwrap());
            prop_assert_eq!(serde_json::from_str::<Buckets>(&json).unwrap(), buckets);
        }
    }

    #[test]
    fn usual_buckets_need_few_bytes() {
        let buckets: Buckets = (0..100).map(|at| (5_000 + at * 8, at % 50 + 1)).collect();
        assert!(buckets.0.len() <= 201, "{}", buckets.0.len());
    }
}
