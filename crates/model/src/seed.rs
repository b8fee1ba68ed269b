// SPDX-License-Identifier: GPL-2.0-only
//! The only source of chance.

use serde::{Deserialize, Serialize};

/// A splittable generator: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014). Implemented here because plans and records must stay reproducible for
/// years, and crates do not promise stable streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// An independent seed for a named purpose.
    pub fn derive(self, purpose: &str) -> Seed {
        Seed(self.0 ^ 0x6a09_e667_f3bc_c909).and(purpose)
    }

    /// The seed for a purpose whose name goes on with this: many that begin alike cost little.
    pub fn and(mut self, more: &str) -> Seed {
        for byte in more.bytes() {
            self.0 ^= u64::from(byte);
            // The output, not the state: the state only adds, and two changed bytes would cancel
            // out.
            self = Seed(self.next_u64());
        }
        self
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number below `bound`; 0 when `bound` is 0. Multiply-shift without rejection: the
    /// bias is below `bound`/2⁶⁴.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform number in a range, ends included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Fisher and Yates' shuffle.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // Known answers of SplitMix64 with seed 1234567 (the reference implementation's first
        // outputs).
        let mut seed = Seed(1_234_567);
        assert_eq!(seed.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(seed.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn purposes_give_different_streams() {
        assert_ne!(Seed(1).derive("order"), Seed(1).derive("phase"));
        assert_ne!(Seed(1).derive("order"), Seed(2).derive("order"));
        assert_eq!(Seed(1).derive("order"), Seed(1).derive("order"));
    }

    #[test]
    fn a_purpose_can_be_named_in_parts() {
        assert_eq!(Seed(1).derive("jitter ").and("12"), Seed(1).derive("jitter 12"));
        assert_ne!(Seed(1).derive("jitter 1").derive("2"), Seed(1).derive("jitter 12"));
    }

    #[test]
    fn purposes_that_differ_in_two_bytes_do_not_collide() {
        let mut seen = std::collections::BTreeSet::new();
        for machine in 0..100 {
            for block in 0..100 {
                assert!(seen.insert(Seed(1).derive(&format!("machine{machine} block{block}")).0));
            }
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Seed(7).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
