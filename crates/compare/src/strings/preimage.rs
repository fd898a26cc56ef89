//! The texts that a function (`lower`, `trim`, `split`, `replace`) makes texts of a language of: an
//! automaton of its inputs, from the automaton of its outputs.
//!
//! In: an automaton, and a step. Out: the automaton of the texts of which the step makes one that
//! it accepts. The step reads a text from left to right, and the automaton reads what it makes; a
//! state is one of both.

use ephor_analysis::reads::texts::TextStep;
use ephor_functions::{lower, upper};

use crate::strings::automaton::{Automaton, States};

/// An automaton of what a step makes.
pub(crate) struct Preimage {
    step: TextStep,
    inner: Box<dyn Automaton>,
    /// The characters that the automaton reads, in order.
    outputs: Vec<char>,
    states: States<TextPosition>,
}

/// Where a step is in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TextPosition {
    /// The state of the automaton.
    inner: u32,
    /// Its state where the text may end: before characters that are left out at the end.
    end: u32,
    /// The part of the text.
    part: usize,
    /// Characters that may be the start of the constant.
    pending: String,
    /// Whether the start of the text is over.
    is_inside: bool,
}

impl Preimage {
    /// For a step, the automaton of what it makes, how many characters there are, and those that
    /// the step makes of them, in order.
    pub fn new(step: TextStep, inner: Box<dyn Automaton>, alphabet: usize, outputs: &[char]) -> Preimage {
        Preimage { step, inner, outputs: outputs.to_vec(), states: States::new(alphabet) }
    }

    fn feed(&mut self, state: u32, read: char) -> u32 {
        let at = self.outputs.binary_search(&read).unwrap_or_default();
        self.inner.step(state, at, read)
    }

    fn feed_all(&mut self, state: u32, text: &str) -> u32 {
        text.chars().fold(state, |state, read| self.feed(state, read))
    }

    /// Reads a character where a constant is searched; what it makes of each character that is
    /// none of it, and of the constant.
    fn look(
        &mut self,
        place: &mut TextPosition,
        read: char,
        constant: &str,
        other: &mut dyn FnMut(&mut Preimage, &mut TextPosition, char),
    ) -> bool {
        place.pending.push(read);
        if place.pending == constant {
            place.pending.clear();
            return true;
        }
        while !constant.starts_with(&place.pending) {
            let first = place.pending.remove(0);
            other(self, place, first);
        }
        false
    }

    fn read(&mut self, mut place: TextPosition, read: char) -> TextPosition {
        match self.step.clone() {
            TextStep::Before(_) | TextStep::Behind(_) => place.inner = self.feed(place.inner, read),
            TextStep::Upper { ascii } => {
                let made = if ascii { read.to_ascii_uppercase() } else { upper(read) };
                place.inner = self.feed(place.inner, made);
            }
            TextStep::Lower { ascii } => {
                let made = if ascii { read.to_ascii_lowercase() } else { lower(read) };
                place.inner = self.feed(place.inner, made);
            }
            TextStep::Part { by, at } => {
                if place.part > at {
                    return place;
                }
                let is_end = self.look(&mut place, read, &by, &mut |own, place, c| {
                    if place.part == at {
                        place.inner = own.feed(place.inner, c);
                    }
                });
                place.part += usize::from(is_end);
            }
            TextStep::LastPart { by } => {
                let is_end = self.look(&mut place, read, &by, &mut |own, place, c| {
                    place.inner = own.feed(place.inner, c);
                });
                if is_end {
                    place.inner = self.inner.start();
                }
            }
            TextStep::Trim(set) => {
                let is_cut = set.contains(read);
                if !is_cut || place.is_inside {
                    place.inner = self.feed(place.inner, read);
                }
                if !is_cut {
                    place.is_inside = true;
                    place.end = place.inner;
                }
            }
            TextStep::WithoutPrefix(prefix) => {
                if place.is_inside {
                    place.inner = self.feed(place.inner, read);
                    return place;
                }
                place.pending.push(read);
                if !prefix.starts_with(&place.pending) {
                    let pending = std::mem::take(&mut place.pending);
                    place.inner = self.feed_all(place.inner, &pending);
                    place.is_inside = true;
                } else if *place.pending == *prefix {
                    place.pending.clear();
                    place.is_inside = true;
                }
            }
            TextStep::Replace { old, new } => {
                let is_old = self.look(&mut place, read, &old, &mut |own, place, c| {
                    place.inner = own.feed(place.inner, c);
                });
                if is_old {
                    place.inner = self.feed_all(place.inner, &new);
                }
            }
        }
        place
    }
}

impl Automaton for Preimage {
    fn start(&mut self) -> u32 {
        let mut inner = self.inner.start();
        let mut is_inside = false;
        match self.step.clone() {
            TextStep::Before(before) => inner = self.feed_all(inner, &before),
            TextStep::WithoutPrefix(prefix) => is_inside = prefix.is_empty(),
            _ => {}
        }
        self.states.number(TextPosition { inner, end: inner, part: 0, pending: String::new(), is_inside })
    }

    fn step(&mut self, state: u32, at: usize, read: char) -> u32 {
        if let Some(known) = self.states.step(state, at) {
            return known;
        }
        let Some(place) = self.states.get(state).cloned() else { return state };
        let next = self.read(place, read);
        let next = self.states.number(next);
        self.states.learn(state, at, next);
        next
    }

    fn accepts(&mut self, state: u32) -> bool {
        let Some(place) = self.states.get(state).cloned() else { return false };
        let end = match self.step.clone() {
            TextStep::Part { at, .. } if place.part < at => return false,
            TextStep::Part { at, .. } if place.part > at => place.inner,
            TextStep::Behind(behind) => self.feed_all(place.inner, &behind),
            TextStep::Trim(_) => place.end,
            _ => self.feed_all(place.inner, &place.pending),
        };
        self.inner.accepts(end)
    }

    fn is_broken(&self) -> bool {
        self.inner.is_broken()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ephor_analysis::reads::texts::made;
    use ephor_value::Str;
    use ephor_value::wildcard::matches;

    use super::*;
    use crate::strings::languages::Languages;
    use crate::strings::witnesses::{WitnessCache, truths};

    /// Whether the automata agree with the functions on all short texts, and the texts of the
    /// classes have all of their truths.
    #[track_caller]
    fn agrees(way: &[TextStep], globs: &[&str], characters: &str) {
        let inner =
            Languages { globs: globs.iter().map(|g| (*g).to_string()).collect(), ..Languages::default() };
        let languages = Languages { made: [(way.to_vec(), inner)].into(), ..Languages::default() };
        let mut all = vec![String::new()];
        for length in 0..6 {
            let longest: Vec<String> = all.iter().filter(|t| t.chars().count() == length).cloned().collect();
            all.extend(longest.iter().flat_map(|t| characters.chars().map(move |c| format!("{t}{c}"))));
        }
        let texts: Vec<Str> = all.iter().map(|t| Str::from(&**t)).collect();
        let sorted: BTreeSet<&str> = globs.iter().copied().collect();
        let wanted = |text: &str| -> Vec<bool> {
            let found = made(way, text);
            sorted.iter().map(|glob| found.as_ref().is_some_and(|text| matches(glob, text))).collect()
        };
        let found = truths(&languages, &texts).unwrap();
        for (text, found) in texts.iter().zip(&found) {
            assert_eq!(*found, wanted(text), "{text:?}");
        }
        let classes = WitnessCache::default().of(languages, 1).unwrap();
        let classes: BTreeSet<Vec<bool>> = classes.iter().map(|text| wanted(text)).collect();
        assert!(found.iter().all(|truth| classes.contains(truth)), "{classes:?}");
    }

    #[test]
    fn what_steps_make_is_read_as_the_functions_make_it() {
        let part = |by: &str, at: usize| TextStep::Part { by: by.into(), at };
        agrees(&[part("/", 1)], &["*", "", "ab", "a*"], "ab/");
        agrees(&[part("aa", 1)], &["*", "", "b", "ab"], "ab");
        agrees(&[TextStep::LastPart { by: "/".into() }], &["", "ab", "*b"], "ab/");
        agrees(&[TextStep::LastPart { by: "ab".into() }], &["", "a", "*b"], "ab");
        agrees(&[TextStep::Upper { ascii: true }], &["AB", "ab", "A*"], "abAB");
        agrees(&[TextStep::Lower { ascii: false }], &["ak", "AB"], "akAK");
        agrees(&[TextStep::Trim(" b".into())], &["", "a", "a a", "a*"], "ab ");
        agrees(&[TextStep::WithoutPrefix("aab".into())], &["", "a", "aa", "b*"], "ab");
        agrees(&[TextStep::Replace { old: "ab".into(), new: "b".into() }], &["", "b", "ab", "*bb"], "ab");
        agrees(&[TextStep::Before("a".into()), TextStep::Behind("b".into())], &["ab", "aab", "*bb"], "ab");
        agrees(&[part("/", 0), TextStep::LastPart { by: ":".into() }], &["", "a", "*"], "a/:");
        agrees(
            &[TextStep::Trim("a".into()), TextStep::Upper { ascii: false }, part("B", 1)],
            &["", "*", "C"],
            "abc",
        );
    }
}
