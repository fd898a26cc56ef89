//! How often each value comes up, with bounded memory.
//!
//! In: values in any order. Out: each value with its number, in the order of values. A map is full
//! at a limit and goes to disk as a sorted run; the runs are merged as they are read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{BufReader, Read};

use crate::spool::{SpoolError, SpoolReader, Spools};

/// About how many bytes of values are in memory.
const MEMORY: usize = 1 << 20;

/// About how many bytes an entry takes in addition to its text.
const ENTRY: usize = 64;

/// Values with their numbers.
#[derive(Debug)]
pub struct Tally {
    map: BTreeMap<Vec<u8>, u64>,
    size: usize,
    most: usize,
    /// Each a run of values in their order.
    runs: Spools,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::within(MEMORY)
    }
}

impl Tally {
    /// Nothing; at most about this many bytes of values will be in memory.
    pub fn within(most: usize) -> Tally {
        Tally { map: BTreeMap::new(), size: 0, most, runs: Spools::new(most.min(MEMORY)) }
    }

    /// Counts a value.
    ///
    /// # Errors
    /// There is no room for it, in memory and on the disk.
    pub fn add(&mut self, value: &[u8]) -> Result<(), SpoolError> {
        if let Some(number) = self.map.get_mut(value) {
            *number += 1;
            return Ok(());
        }
        self.map.insert(value.to_vec(), 1);
        self.size += value.len() + ENTRY;
        if self.size <= self.most {
            return Ok(());
        }
        self.size = 0;
        let run = self.runs.add();
        let mut entry = Vec::new();
        for (value, number) in std::mem::take(&mut self.map) {
            entry.clear();
            entry.extend((value.len() as u64).to_le_bytes());
            entry.extend(number.to_le_bytes());
            entry.extend(value);
            self.runs.push(run, &entry)?;
        }
        Ok(())
    }

    /// The values with their numbers, in the order of values.
    ///
    /// # Errors
    /// What is on disk cannot be read.
    pub fn iter(&self) -> Result<TallyIter<'_>, SpoolError> {
        let runs = (0..self.runs.len())
            .map(|run| SortedRun::Disk(BufReader::with_capacity(4_096, self.runs.reader(run))));
        let runs: Vec<SortedRun<'_>> = runs.chain([SortedRun::Memory(self.map.iter())]).collect();
        let mut all = TallyIter { runs, heads: BinaryHeap::new() };
        (0..all.runs.len()).try_for_each(|run| all.advance(run))?;
        Ok(all)
    }
}

enum SortedRun<'t> {
    Disk(BufReader<SpoolReader<'t>>),
    Memory(std::collections::btree_map::Iter<'t, Vec<u8>, u64>),
}

impl SortedRun<'_> {
    fn next(&mut self) -> Result<Option<(Vec<u8>, u64)>, SpoolError> {
        match self {
            SortedRun::Memory(all) => Ok(all.next().map(|(value, number)| (value.clone(), *number))),
            SortedRun::Disk(bytes) => entry(bytes).map_err(|error| bytes.get_ref().failed(error)),
        }
    }
}

fn entry(bytes: &mut impl Read) -> std::io::Result<Option<(Vec<u8>, u64)>> {
    let mut number = [0; 8];
    if bytes.read(&mut number[..1])? == 0 {
        return Ok(None);
    }
    bytes.read_exact(&mut number[1..])?;
    let length = usize::try_from(u64::from_le_bytes(number)).unwrap_or(usize::MAX);
    bytes.read_exact(&mut number)?;
    let mut value = vec![0; length];
    bytes.read_exact(&mut value)?;
    Ok(Some((value, u64::from_le_bytes(number))))
}

/// Values with their numbers, in the order of values.
pub struct TallyIter<'t> {
    runs: Vec<SortedRun<'t>>,
    /// The next value of each run, with its number and that of the run.
    heads: BinaryHeap<Reverse<(Vec<u8>, u64, usize)>>,
}

impl TallyIter<'_> {
    fn advance(&mut self, run: usize) -> Result<(), SpoolError> {
        let next = self.runs.get_mut(run).map(SortedRun::next).transpose()?.flatten();
        self.heads.extend(next.map(|(value, number)| Reverse((value, number, run))));
        Ok(())
    }

    fn merged(&mut self) -> Result<Option<(Vec<u8>, u64)>, SpoolError> {
        let Some(Reverse((value, mut number, run))) = self.heads.pop() else { return Ok(None) };
        self.advance(run)?;
        while self.heads.peek().is_some_and(|Reverse((other, ..))| *other == value) {
            if let Some(Reverse((_, more, run))) = self.heads.pop() {
                number += more;
                self.advance(run)?;
            }
        }
        Ok(Some((value, number)))
    }
}

impl Iterator for TallyIter<'_> {
    type Item = Result<(Vec<u8>, u64), SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.merged().transpose()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn values_are_counted_in_their_order_whatever_is_in_memory() {
        let of = |most: usize| {
            let mut tally = Tally::within(most);
            (0..1_000_u32).for_each(|i| tally.add(format!("{}", i * 7 % 130).as_bytes()).unwrap());
            // Read twice, as charts and filters do.
            tally.iter().unwrap().for_each(|entry| drop(entry.unwrap()));
            tally.iter().unwrap().map(Result::unwrap).collect::<Vec<_>>()
        };
        let all = of(1 << 20);
        assert_eq!((all.len(), all.iter().map(|(_, n)| n).sum::<u64>()), (130, 1_000));
        assert!(all.is_sorted());
        assert_eq!(of(500), all);
        assert_eq!(of(0), all);
        assert_eq!(Tally::default().iter().unwrap().count(), 0);
    }
}
