// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs.

/// A set of CPUs as a bitmap of 64-bit words, least significant bit first, as the kernel's
/// `cpumask`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuMask {
    words: Vec<u64>,
}

impl CpuMask {
    /// The empty set of a machine with this number of CPUs.
    pub fn empty(cpus: u32) -> CpuMask {
        CpuMask { words: vec![0; cpus.div_ceil(64) as usize] }
    }

    /// The set of these CPUs; numbers outside the machine are ignored.
    pub fn from_cpus(cpus: u32, members: impl IntoIterator<Item = u32>) -> CpuMask {
        let mut mask = CpuMask::empty(cpus);
        members.into_iter().filter(|&cpu| cpu < cpus).for_each(|cpu| mask.set(cpu));
        mask
    }

    /// The set of a bitmap; bits outside the machine are ignored.
    pub fn from_words(cpus: u32, words: &[u64]) -> CpuMask {
        let mut words = words.to_vec();
        words.resize(cpus.div_ceil(64) as usize, 0);
        if !cpus.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= (1 << (cpus % 64)) - 1;
        }
        CpuMask { words }
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether the set contains the CPU.
    pub fn test(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    pub fn set(&mut self, cpu: u32) {
        self.words[cpu as usize / 64] |= 1 << (cpu % 64);
    }

    pub fn clear(&mut self, cpu: u32) {
        self.words[cpu as usize / 64] &= !(1 << (cpu % 64));
    }

    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The lowest CPU; `None` for an empty set.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index as u32 * 64 + bit)
            })
        })
    }

    pub fn is_subset(&self, other: &CpuMask) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    pub fn add(&mut self, other: &CpuMask) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Removes the CPUs that the other set lacks.
    pub fn keep(&mut self, other: &CpuMask) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }

    pub fn remove(&mut self, other: &CpuMask) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }
}

/// The first CPU at or after `start`, wrapping round, that is in all masks: the kernel's
/// `find_next_and_bit_wrap`. All masks belong to the same machine.
pub fn next_in_all(masks: &[&CpuMask], start: u32) -> Option<u32> {
    let (first, others) = masks.split_first()?;
    let words = first.words.len();
    let in_all = |index: usize| {
        let word = first.words[index];
        // The first is a set of idle CPUs: on a busy machine most of its words are zero.
        if word == 0 { 0 } else { others.iter().fold(word, |word, mask| word & mask.words[index]) }
    };
    let found =
        |index: usize, word: u64| (word != 0).then(|| index as u32 * 64 + word.trailing_zeros());
    let (begin, bit) = ((start as usize / 64) % words, start % 64);
    let above = if (start as usize / 64) < words { u64::MAX << bit } else { u64::MAX };
    found(begin, in_all(begin) & above)
        .or_else(|| (begin + 1..words).find_map(|index| found(index, in_all(index))))
        .or_else(|| (0..=begin).find_map(|index| found(index, in_all(index))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_wraps_round() {
        let a = CpuMask::from_cpus(130, [3, 64, 129]);
        let b = CpuMask::from_cpus(130, [3, 64, 128, 129]);
        let found = |start| next_in_all(&[&a, &b], start);
        assert_eq!([0, 3, 4, 65, 130, 192].map(found), [3, 3, 64, 129, 3, 3].map(Some));
        assert_eq!(next_in_all(&[&a, &CpuMask::empty(130)], 5), None);
    }

    #[test]
    fn sets_are_sets() {
        let mut mask = CpuMask::from_cpus(8, [1, 2, 9]);
        assert_eq!(mask.iter().collect::<Vec<_>>(), [1, 2]);
        assert!(mask.is_subset(&CpuMask::from_cpus(8, [0, 1, 2])));
        mask.remove(&CpuMask::from_cpus(8, [1]));
        assert_eq!((mask.first(), mask.count(), mask.test(700)), (Some(2), 1, false));
    }
}
