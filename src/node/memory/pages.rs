//! A set of page numbers, as bits.

use std::ops::Range;

pub(super) struct Pages {
    words: Vec<u64>,
    count: usize,
}

impl Pages {
    pub(super) fn none_of(pages: u32) -> Self {
        Self { words: vec![0; (pages as usize).div_ceil(64)], count: 0 }
    }

    /// How many pages are in the set.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn insert(&mut self, run: Range<u32>) {
        for (word, mask) in masks(run) {
            self.count += (mask & !self.words[word]).count_ones() as usize;
            self.words[word] |= mask;
        }
    }

    pub(super) fn remove(&mut self, run: Range<u32>) {
        for (word, mask) in masks(run) {
            self.count -= (mask & self.words[word]).count_ones() as usize;
            self.words[word] &= !mask;
        }
    }

    /// The first run of pages of `within` that are in the set.
    pub(super) fn run(&self, within: Range<u32>) -> Option<Range<u32>> {
        first_run(within, |word| self.words[word])
    }

    /// The first run of pages of `within` that are not in the set.
    pub(super) fn gap(&self, within: Range<u32>) -> Option<Range<u32>> {
        first_run(within, |word| !self.words[word])
    }

    /// The first run of pages of `within` that are in the set but not in `other`.
    pub(super) fn run_without(&self, other: &Self, within: Range<u32>) -> Option<Range<u32>> {
        first_run(within, |word| self.words[word] & !other.words[word])
    }
}

/// The words that a run touches, each with the run's bits in it.
fn masks(run: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    let (mut at, end) = (run.start, run.end);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (word, bit) = (at / 64, at % 64);
        let bits = (end - at).min(64 - bit);
        at += bits;
        Some((word as usize, (u64::MAX >> (64 - bits)) << bit))
    })
}

fn first_run(within: Range<u32>, word: impl Fn(usize) -> u64) -> Option<Range<u32>> {
    let start = first_one(within.clone(), &word)?;
    let end = first_one(start..within.end, |at| !word(at)).unwrap_or(within.end);
    Some(start..end)
}

fn first_one(within: Range<u32>, word: impl Fn(usize) -> u64) -> Option<u32> {
    masks(within).find_map(|(at, mask)| {
        let bits = word(at) & mask;
        (bits != 0).then(|| at as u32 * 64 + bits.trailing_zeros())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_list_of_flags(steps in prop::collection::vec((any::<bool>(), 0u32..300, 0u32..300), 1..60), from in 0u32..300) {
            let (mut pages, mut flags) = (Pages::none_of(300), vec![false; 300]);
            for (insert, a, b) in steps {
                let run = a.min(b)..a.max(b);
                flags[run.start as usize..run.end as usize].fill(insert);
                if insert { pages.insert(run) } else { pages.remove(run) }
            }
            prop_assert_eq!(pages.count(), flags.iter().filter(|&&flag| flag).count());
            for wanted in [true, false] {
                let expected = (from..300).find(|&page| flags[page as usize] == wanted).map(|start| {
                    start..(start..300).find(|&page| flags[page as usize] != wanted).unwrap_or(300)
                });
                prop_assert_eq!(if wanted { pages.run(from..300) } else { pages.gap(from..300) }, expected);
            }
        }
    }

    #[test]
    fn a_run_without_another_set_ends_where_the_other_begins() {
        let (mut all, mut some) = (Pages::none_of(200), Pages::none_of(200));
        all.insert(10..190);
        some.insert(100..130);
        assert_eq!(all.run_without(&some, 0..200), Some(10..100));
        assert_eq!(all.run_without(&some, 100..200), Some(130..190));
        assert_eq!(all.run_without(&some, 190..200), None);
    }
}
