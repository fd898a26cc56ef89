//! Which objects a run has seen, in memory that hardly grows with their number.
//!
//! In: objects in order. Out: whether one with the same version, kind, namespace and name came
//! before. Only digests are stored: the recent ones in memory, the others as sorted runs in a
//! temporary file, behind a filter for each run that answers nearly all questions. The digests have
//! 128 bits and random keys, so that no input makes two objects the same.

use std::collections::HashSet;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use ephor_value::Value;
use foldhash::quality::RandomState;

use super::identity::identity;

/// How many digests are in memory before they go to the file.
const RECENT: usize = 56 << 10;

/// How many bits of a filter there are for a digest, and how many of them it sets: of a thousand
/// new objects, one is looked up in the file for nothing.
const BITS: usize = 16;
const PROBES: u32 = 6;

/// The size of a digest in the file.
const WIDTH: u64 = 16;

/// The objects that were seen.
#[derive(Debug, Default)]
pub struct Identities {
    keys: (RandomState, RandomState),
    recent: HashSet<u128, foldhash::fast::RandomState>,
    runs: Vec<DigestRun>,
    file: Option<File>,
}

/// Sorted digests in the file.
#[derive(Debug)]
struct DigestRun {
    filter: Vec<u64>,
    /// Where the first one is, in digests.
    start: u64,
    count: u64,
}

impl Identities {
    /// Notes an object; whether it is the first one of its identity. Objects without a name are
    /// never the same.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn is_new(&mut self, object: &Value) -> io::Result<bool> {
        self.is_new_among(object, RECENT)
    }

    fn is_new_among(&mut self, object: &Value, recent: usize) -> io::Result<bool> {
        if object.text_at(&["metadata", "name"]).is_empty() {
            return Ok(true);
        }
        let digest = self.digest(object);
        if self.recent.contains(&digest) {
            return Ok(false);
        }
        for run in &self.runs {
            if run.may_have(digest) && run.has(digest, self.file.as_mut())? {
                return Ok(false);
            }
        }
        self.recent.insert(digest);
        if self.recent.len() >= recent {
            self.store()?;
        }
        Ok(true)
    }

    fn digest(&self, object: &Value) -> u128 {
        let identity = identity(object);
        let (high, low) = (self.keys.0.hash_one(identity), self.keys.1.hash_one(identity));
        (u128::from(high) << 64) | u128::from(low)
    }

    /// Moves what is in memory to the file.
    fn store(&mut self) -> io::Result<()> {
        let mut digests: Vec<u128> = self.recent.drain().collect();
        digests.sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        let start = file.seek(SeekFrom::End(0))? / WIDTH;
        let mut out = BufWriter::new(file);
        digests.iter().try_for_each(|digest| out.write_all(&digest.to_be_bytes()))?;
        out.flush()?;
        let mut run = DigestRun {
            filter: vec![0; (digests.len() * BITS).div_ceil(64).max(1)],
            start,
            count: digests.len() as u64,
        };
        digests.iter().for_each(|digest| run.mark(*digest));
        self.runs.push(run);
        Ok(())
    }
}

impl DigestRun {
    /// The bits of a digest in the filter: their words and masks.
    fn bits(&self, digest: u128) -> impl Iterator<Item = (usize, u64)> + use<> {
        let bits = self.filter.len() as u64 * 64;
        let (first, step) = ((digest >> 64) as u64, digest as u64 | 1);
        (0..u64::from(PROBES)).map(move |i| {
            let bit = first.wrapping_add(step.wrapping_mul(i)) % bits;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    fn mark(&mut self, digest: u128) {
        for (word, mask) in self.bits(digest) {
            if let Some(word) = self.filter.get_mut(word) {
                *word |= mask;
            }
        }
    }

    fn may_have(&self, digest: u128) -> bool {
        self.bits(digest).all(|(word, mask)| self.filter.get(word).is_some_and(|word| word & mask != 0))
    }

    /// Looks a digest up in the file.
    fn has(&self, digest: u128, file: Option<&mut File>) -> io::Result<bool> {
        let Some(file) = file else { return Ok(false) };
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut bytes = [0; WIDTH as usize];
            file.seek(SeekFrom::Start((self.start + middle) * WIDTH))?;
            file.read_exact(&mut bytes)?;
            match u128::from_be_bytes(bytes).cmp(&digest) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn pod(name: &str) -> Value {
        let text = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: '{name}', namespace: shop}}}}");
        ephor_document::yaml_value(&text).unwrap()
    }

    #[test]
    fn an_object_is_new_once_also_when_its_digest_went_to_the_file() {
        let mut seen = Identities::default();
        let all: Vec<Value> = (0..500).map(|i| pod(&format!("cart-{i}"))).collect();
        for (i, object) in all.iter().enumerate() {
            assert!(seen.is_new_among(object, 64).unwrap(), "{i}");
            assert!(!seen.is_new_among(&all[i / 2], 64).unwrap(), "{i}");
        }
        assert_eq!(seen.runs.len(), 500 / 64);
        assert!(all.iter().all(|object| !seen.is_new_among(object, 64).unwrap()));
        assert!(seen.is_new_among(&pod("other"), 64).unwrap());
    }

    #[test]
    fn objects_without_a_name_are_never_the_same() {
        let mut seen = Identities::default();
        assert!(seen.is_new(&pod("")).unwrap() && seen.is_new(&pod("")).unwrap());
    }

    #[test]
    fn the_memory_of_a_million_objects_is_a_few_megabytes() {
        let mut run = DigestRun { filter: vec![0; RECENT * BITS / 64], start: 0, count: 0 };
        run.mark(7);
        let runs = 1_000_000 / RECENT + 1;
        assert!(runs * run.filter.len() * 8 < 3 << 20);
        assert!(run.may_have(7));
    }
}
