//! Results object by object, for formats that show them so.
//!
//! In: results in the order of the run. Out: those of one object at a time ([`OfObject`]), with
//! those that come later in the run: policies that delete are evaluated behind all others. Only
//! such objects need more than one pass. More results of one object than [`MOST`] come in pieces.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::merged::{Merged, merged};
use crate::findings::{SortedFindings, size};
use crate::run::Finding;
use crate::spool::SpoolError;
use crate::tally::Tally;

/// Most results of an object at a time.
pub(super) const MOST: usize = 10_000;

/// Most bytes of results of an object at a time.
const MOST_BYTES: usize = 4 << 20;

/// Results of one object.
pub(super) struct OfObject<'r> {
    /// All of them, or a piece of many.
    pub all: Vec<Cow<'r, Finding>>,
    /// Those that come here in the run; others of `all` come elsewhere.
    pub own: Range<usize>,
    /// Where the first of these stands among all results.
    pub at: usize,
    /// Whether these are the first of the object.
    pub begins: bool,
    /// Whether `all` ends with the last one of the object.
    pub ends: bool,
}

impl OfObject<'_> {
    /// The violations, each once, also of results that come elsewhere.
    pub fn merged(&self) -> Vec<Merged<'_>> {
        merged(self.all.iter().map(|finding| &**finding))
    }

    /// Where the first result of a violation stands among all results, if it comes here.
    pub fn position(&self, violation: &Merged<'_>) -> Option<usize> {
        self.own.contains(&violation.at).then(|| self.at + violation.at - self.own.start)
    }
}

/// Results, object by object.
pub(super) struct Objects {
    /// Objects whose results stand at more than one place of the run, with the number of their
    /// group.
    apart: HashMap<Identity, usize>,
    groups: SortedFindings,
    /// How many results each group has, and whether they are too many to be read at once.
    sizes: Vec<(usize, bool)>,
    most: usize,
}

/// What results of one object have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity(String);

impl Identity {
    fn of(finding: &Finding) -> Identity {
        Identity(super::text::title(finding))
    }

    fn digest(&self) -> [u8; 8] {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish().to_be_bytes()
    }
}

/// Whether two results are of one object, for sure: what makes titles differ is compared.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let has_place = |f: &Finding| f.place.is_some();
    a.resource == b.resource
        && a.template == b.template
        && has_place(a) == has_place(b)
        && a.file() == b.file()
        && (a.resource.is_some() || (a.policy.kind == b.policy.kind && a.policy.name == b.policy.name))
}

impl Objects {
    /// Looks for objects whose results stand at more than one place.
    ///
    /// # Errors
    /// Results cannot be read, or written where they stand together.
    pub(super) fn of<'r, I>(results: impl Fn() -> I) -> Result<Objects, SpoolError>
    where
        I: Iterator<Item = Result<Cow<'r, Finding>, SpoolError>>,
    {
        Objects::within(results, MOST)
    }

    /// The same, with at most this many results at a time.
    fn within<'r, I>(results: impl Fn() -> I, most: usize) -> Result<Objects, SpoolError>
    where
        I: Iterator<Item = Result<Cow<'r, Finding>, SpoolError>>,
    {
        let mut places = Tally::default();
        let mut last: Option<(Cow<'r, Finding>, Identity)> = None;
        for finding in results() {
            let finding = finding?;
            if last.as_ref().is_some_and(|(last, _)| is_same(last, &finding)) {
                continue;
            }
            let identity = Identity::of(&finding);
            if last.as_ref().is_none_or(|(_, last)| *last != identity) {
                places.add(&identity.digest())?;
            }
            last = Some((finding, identity));
        }
        let mut repeated: HashSet<[u8; 8]> = HashSet::new();
        for entry in places.iter()? {
            let (digest, number) = entry?;
            if number > 1 {
                repeated.extend(<[u8; 8]>::try_from(digest.as_slice()));
            }
        }
        let mut found =
            Objects { apart: HashMap::new(), groups: SortedFindings::default(), sizes: Vec::new(), most };
        if repeated.is_empty() {
            return Ok(found);
        }
        let mut bytes = Vec::new();
        for finding in results() {
            let finding = finding?;
            let identity = Identity::of(&finding);
            if repeated.contains(&identity.digest()) {
                let next = found.apart.len();
                let group = *found.apart.entry(identity).or_insert(next);
                found.sizes.resize(found.apart.len(), (0, false));
                bytes.resize(found.apart.len(), 0);
                found.groups.push(group, &finding)?;
                if let (Some((number, is_many)), Some(bytes)) =
                    (found.sizes.get_mut(group), bytes.get_mut(group))
                {
                    *number += 1;
                    *bytes += size(&finding);
                    *is_many |= *number > most || *bytes > MOST_BYTES;
                }
            }
        }
        Ok(found)
    }

    /// Calls `show` with the results of each object, in the order of the run.
    ///
    /// # Errors
    /// Results cannot be read, or what `show` says.
    pub(super) fn each<'r, E: From<SpoolError>>(
        &self,
        results: impl Iterator<Item = Result<Cow<'r, Finding>, SpoolError>>,
        mut show: impl FnMut(OfObject<'r>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut seen: HashMap<usize, usize> = HashMap::new();
        let mut piece: Option<Piece<'r>> = None;
        for (at, finding) in results.enumerate() {
            let finding = finding?;
            let is_next = match piece.as_mut() {
                Some(piece) => piece.has(&finding),
                None => false,
            };
            let is_full =
                piece.as_ref().is_some_and(|piece| piece.all.len() >= self.most || piece.bytes > MOST_BYTES);
            if is_next && !is_full {
                if let Some(piece) = &mut piece {
                    piece.push(finding);
                }
                continue;
            }
            if let Some(done) = piece.take() {
                self.finish(done, !is_next, &mut seen, &mut show)?;
            }
            piece = Some(Piece::of(finding, at, !is_next));
        }
        match piece {
            Some(done) => self.finish(done, true, &mut seen, &mut show),
            None => Ok(()),
        }
    }

    fn finish<'r, E: From<SpoolError>>(
        &self,
        piece: Piece<'r>,
        ends: bool,
        seen: &mut HashMap<usize, usize>,
        show: &mut impl FnMut(OfObject<'r>) -> Result<(), E>,
    ) -> Result<(), E> {
        let own = piece.all.len();
        let Some(group) = self.apart.get(&piece.identity) else {
            let (at, begins) = (piece.at, piece.begins);
            return show(OfObject { all: piece.all, own: 0..own, at, begins, ends });
        };
        let shown = seen.entry(*group).or_default();
        let from = std::mem::replace(shown, *shown + own);
        let is_many = self.sizes.get(*group).is_some_and(|(_, is_many)| *is_many);
        if is_many {
            let (at, begins) = (piece.at, piece.begins);
            return show(OfObject { all: piece.all, own: 0..own, at, begins, ends });
        }
        let all =
            self.groups.group(*group).map(|read| read.map(Cow::Owned)).collect::<Result<Vec<_>, _>>()?;
        show(OfObject { all, own: from..from + own, at: piece.at, begins: from == 0, ends: true })
    }
}

/// Results of one object that follow one another.
struct Piece<'r> {
    all: Vec<Cow<'r, Finding>>,
    identity: Identity,
    at: usize,
    begins: bool,
    bytes: usize,
}

impl<'r> Piece<'r> {
    fn of(finding: Cow<'r, Finding>, at: usize, begins: bool) -> Piece<'r> {
        let (identity, bytes) = (Identity::of(&finding), size(&finding));
        Piece { all: vec![finding], identity, at, begins, bytes }
    }

    fn has(&self, finding: &Finding) -> bool {
        self.all.last().is_some_and(|last| is_same(last, finding)) || self.identity == Identity::of(finding)
    }

    fn push(&mut self, finding: Cow<'r, Finding>) {
        self.bytes += size(&finding);
        self.all.push(finding);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::run::{Order, ResourceName};
    use ephor_engine::Status;

    fn finding(name: &str) -> Finding {
        let resource = ResourceName { kind: "Pod".into(), name: name.into(), ..ResourceName::default() };
        Finding {
            order: Order::default(),
            policy: Default::default(),
            rule: String::new(),
            status: Status::Fail,
            message: String::new(),
            resource: Some(resource),
            field: None,
            place: None,
            template: None,
            decision: None,
            fix: None,
            is_known: false,
        }
    }

    /// What is shown: how many results at a time, of which own, where, and whether it is the first
    /// and the last of the object.
    fn shown(names: &str, most: usize) -> Vec<(usize, Range<usize>, usize, bool, bool)> {
        let all: Vec<Finding> = names.chars().map(|name| finding(&name.to_string())).collect();
        let results = || all.iter().map(|finding| Ok::<_, SpoolError>(Cow::Borrowed(finding)));
        let mut shown = Vec::new();
        let each = |object: OfObject<'_>| {
            shown.push((object.all.len(), object.own, object.at, object.begins, object.ends));
            Ok::<_, SpoolError>(())
        };
        Objects::within(results, most).unwrap().each(results(), each).unwrap();
        shown
    }

    #[test]
    fn results_of_an_object_come_together_also_those_that_come_later() {
        assert_eq!(shown("", 10), []);
        assert_eq!(shown("aab", 10), [(2, 0..2, 0, true, true), (1, 0..1, 2, true, true)]);
        let apart = [(3, 0..2, 0, true, true), (1, 0..1, 2, true, true), (3, 2..3, 3, false, true)];
        assert_eq!(shown("aaba", 10), apart);
    }

    #[test]
    fn many_results_of_an_object_come_in_pieces() {
        let pieces = [(2, 0..2, 0, true, false), (2, 0..2, 2, false, false), (1, 0..1, 4, false, true)];
        assert_eq!(shown("aaaaa", 2), pieces);
        // The search ends here: later ones do not count.
        let apart = [
            (2, 0..2, 0, true, false),
            (1, 0..1, 2, false, true),
            (1, 0..1, 3, true, true),
            (1, 0..1, 4, true, true),
        ];
        assert_eq!(shown("aaaba", 2), apart);
    }
}
