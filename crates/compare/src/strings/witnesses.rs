//! Classes of texts: for languages, a short text for each set of them that some text is in.
//!
//! In: wildcard patterns of literal characters, `*` (any characters) and `?` (one character), of
//! which equality is one without either; regular expressions. Out: the shortest text for each
//! combination of matching ones that is possible at all. Method: the product of their automata,
//! breadth first; characters that none has are one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use ephor_analysis::reads::texts::TextStep;
use ephor_functions::{lower, upper};
use ephor_value::Str;
use foldhash::fast::RandomState;

use crate::model::limits::MAX_STATES;
use crate::strings::automaton::{Automaton, Glob, Search};
use crate::strings::languages::{Languages, own_characters};
use crate::strings::numeral_forms::{Form, Numbers};
use crate::strings::preimage::Preimage;

/// The texts of languages, each found once.
#[derive(Debug, Default)]
pub struct WitnessCache {
    known: RefCell<HashMap<(Languages, usize), Texts>>,
    numbers: RefCell<HashMap<NumberKey, Numbers>>,
}

/// The languages by which texts of some fields are distinguished, and the texts that were found for
/// their combinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextClasses {
    /// Wildcard patterns.
    pub globs: Vec<String>,
    /// Single texts.
    pub texts: Vec<String>,
    /// Regular expressions, which match anywhere in a text.
    pub regexes: Vec<String>,
    /// A text for each combination of them that some text is in; none where these are too many.
    pub found: Option<Vec<Str>>,
}
/// What texts that are numbers depend on: what texts they are, by what they are cut, how they are
/// read, and which languages distinguish them.
pub(crate) type NumberKey = (Form, BTreeSet<i64>, BTreeSet<String>, Vec<&'static str>, Languages);

/// Texts, or none where they are too many.
type Texts = Option<Rc<[Str]>>;

impl WitnessCache {
    /// The texts that are numbers, found once.
    pub(crate) fn numbers(&self, key: &NumberKey, find: impl FnOnce() -> Numbers) -> Numbers {
        if let Some(known) = self.numbers.borrow().get(key) {
            return known.clone();
        }
        let found = find();
        self.numbers.borrow_mut().insert(key.clone(), found.clone());
        found
    }

    /// The texts: for each combination of languages that they are in up to `each` of them, the
    /// shortest first; `None` when the languages are too many, or too large.
    pub fn of(&self, languages: Languages, each: usize) -> Texts {
        let key = (languages, each);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let found = witnesses(&key.0, each).map(|texts| texts.into_iter().map(Str::from).collect());
        self.known.borrow_mut().insert(key, found.clone());
        found
    }

    /// All that were found, in no order, but those that distinguish texts by what is built of them.
    pub fn classes(&self) -> Vec<TextClasses> {
        let list = |texts: &BTreeSet<String>| texts.iter().cloned().collect();
        let classes = |((languages, _), found): (&(Languages, usize), &Texts)| TextClasses {
            globs: list(&languages.globs),
            texts: list(&languages.texts),
            regexes: list(&languages.regexes),
            found: found.as_deref().map(<[Str]>::to_vec),
        };
        let known = self.known.borrow();
        known.iter().filter(|((languages, _), _)| languages.made.is_empty()).map(classes).collect()
    }
}

/// In which of the languages each text is; `None`: they are too large.
pub(crate) fn truths(languages: &Languages, texts: &[Str]) -> Option<Vec<Vec<bool>>> {
    let alphabet: BTreeSet<char> = texts.iter().flat_map(|text| text.chars()).collect();
    let alphabet: Vec<char> = alphabet.into_iter().collect();
    let mut all = automata(languages, &alphabet)?;
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        let of = |one: &mut Box<dyn Automaton>| {
            let start = one.start();
            let end = text.chars().fold(start, |state, read| {
                let at = alphabet.binary_search(&read).unwrap_or_default();
                one.step(state, at, read)
            });
            one.accepts(end)
        };
        found.push(all.iter_mut().map(of).collect());
    }
    (!all.iter().any(|one| one.is_broken())).then_some(found)
}

/// The automata of languages, for texts of some characters; `None`: one is too large.
fn automata(languages: &Languages, alphabet: &[char]) -> Option<Vec<Box<dyn Automaton>>> {
    let mut all: Vec<Box<dyn Automaton>> = Vec::new();
    for glob in &languages.globs {
        all.push(Box::new(Glob::new(glob, alphabet.len())));
    }
    for text in &languages.texts {
        all.push(Box::new(Glob::of_text(text, alphabet.len())));
    }
    for regex in &languages.regexes {
        all.push(Box::new(Search::new(regex, alphabet.len())?));
    }
    for (way, languages) in &languages.made {
        let mut alphabets = vec![alphabet.to_vec()];
        for step in way {
            alphabets.extend(alphabets.last().map(|before| outputs(step, before)));
        }
        for mut one in automata(languages, alphabets.last()?)? {
            let levels = alphabets.iter().zip(alphabets.iter().skip(1));
            for (step, (before, behind)) in way.iter().zip(levels).rev() {
                one = Box::new(Preimage::new(step.clone(), one, before.len(), behind));
            }
            all.push(one);
        }
    }
    Some(all)
}

/// A text on the way through the product: the state of each automaton, the one before it, and the
/// character that was read.
pub(crate) struct ReachedState {
    states: Box<[u32]>,
    before: usize,
    read: char,
}

/// The characters that a step makes of texts of some characters.
fn outputs(step: &TextStep, alphabet: &[char]) -> Vec<char> {
    let mut all: BTreeSet<char> = alphabet.iter().copied().collect();
    all.extend(step.constants().into_iter().flat_map(str::chars));
    if matches!(step, TextStep::Upper { .. } | TextStep::Lower { .. }) {
        all.extend(alphabet.iter().flat_map(|c| [upper(*c), lower(*c)]));
    }
    all.into_iter().collect()
}

fn witnesses(languages: &Languages, each: usize) -> Option<Vec<String>> {
    let own = own_characters(languages);
    // Letters first: a text of them is valid in most fields.
    let others: Vec<char> =
        ('a'..='z').chain('0'..='9').filter(|c| !own.contains(c)).take(each.max(1)).collect();
    let alphabet: Vec<char> = others.into_iter().chain(own).collect();
    let mut automata = automata(languages, &alphabet)?;
    let start: Box<[u32]> = automata.iter_mut().map(|one| one.start()).collect();
    let mut found: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut visits: HashMap<Box<[u32]>, usize, RandomState> = HashMap::default();
    visits.insert(start.clone(), 1);
    let mut reached = vec![ReachedState { states: start, before: 0, read: ' ' }];
    let mut next: Box<[u32]> = Box::default();
    let mut at = 0;
    while let Some(ReachedState { states, .. }) = reached.get(at) {
        let states = states.clone();
        let truth: Vec<bool> = automata.iter_mut().zip(&states).map(|(one, s)| one.accepts(*s)).collect();
        let known = found.entry(truth).or_default();
        if *known < each {
            *known += 1;
            order.push(text(&reached, at));
        }
        next.clone_from(&states);
        for (place, &read) in alphabet.iter().enumerate() {
            for ((one, from), to) in automata.iter_mut().zip(&states).zip(next.iter_mut()) {
                *to = one.step(*from, place, read);
            }
            match visits.get_mut(&next) {
                Some(seen) if *seen >= each => continue,
                Some(seen) => *seen += 1,
                None => _ = visits.insert(next.clone(), 1),
            }
            reached.push(ReachedState { states: next.clone(), before: at, read });
        }
        if visits.len() > MAX_STATES {
            return None;
        }
        at += 1;
    }
    (!automata.iter().any(|one| one.is_broken())).then_some(order)
}

/// The characters that were read on the way to a text; the first text is the empty one.
pub(crate) fn text(reached: &[ReachedState], mut at: usize) -> String {
    let mut read: Vec<char> = Vec::new();
    while let Some(one) = reached.get(at).filter(|_| at > 0) {
        read.push(one.read);
        at = one.before;
    }
    read.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patterns: &[&str], each: usize) -> Vec<String> {
        let globs = patterns.iter().map(|p| (*p).to_string()).collect();
        witnesses(&Languages { globs, ..Languages::default() }, each).unwrap()
    }

    #[test]
    fn each_possible_combination_has_its_shortest_text() {
        assert_eq!(of(&["x"], 1), ["", "x"]);
        assert_eq!(of(&["*:latest"], 1), ["", ":latest"]);
        // A text with a tag that is not `latest`, with `latest`, and without a tag.
        assert_eq!(of(&["*:*", "*:latest"], 1), ["", ":", ":latest"]);
        assert_eq!(of(&["?*"], 1), ["", "a"]);
    }

    #[test]
    fn a_text_that_has_the_prefix_but_is_not_the_text_is_found() {
        assert_eq!(of(&["ab", "ab*"], 1), ["", "ab", "abc"]);
    }

    #[test]
    fn a_text_with_wildcards_is_a_text_as_well() {
        let languages = Languages {
            globs: ["*", "?*"].map(String::from).into(),
            texts: ["*", "?*"].map(String::from).into(),
            ..Languages::default()
        };
        assert_eq!(witnesses(&languages, 1).unwrap(), ["", "a", "*", "?*"]);
    }

    #[test]
    fn languages_and_texts_that_were_found_are_listed() {
        let words = WitnessCache::default();
        words.of(Languages { globs: ["a*".to_string()].into(), ..Languages::default() }, 1);
        let [classes] = &words.classes()[..] else { panic!("one is expected") };
        assert_eq!(classes.globs, ["a*"]);
        assert_eq!(classes.found.as_deref(), Some(&["".into(), "a".into()][..]));
    }

    #[test]
    fn several_texts_of_a_combination_differ() {
        let all = of(&["x"], 2);
        assert_eq!(all, ["", "a", "x"]);
    }

    #[test]
    fn combinations_agree_with_the_wildcards_of_the_engine() {
        let patterns = ["a*b", "*b*", "??", "a"];
        let texts = of(&patterns, 1);
        let truth = |text: &str| patterns.map(|p| ephor_value::wildcard::matches(p, text));
        let found: BTreeSet<_> = texts.iter().map(|t| truth(t)).collect();
        assert_eq!(found.len(), texts.len());
        // Every combination of short texts over a few characters is among them.
        let mut all = vec![String::new()];
        for length in 0..5 {
            let longest: Vec<String> = all.iter().filter(|t| t.len() == length).cloned().collect();
            all.extend(longest.iter().flat_map(|t| ['a', 'b', 'c'].map(|c| format!("{t}{c}"))));
        }
        assert!(all.iter().all(|t| found.contains(&truth(t))));
    }

    #[test]
    fn regular_expressions_have_texts_in_and_outside() {
        let patterns = ["^[a-z]+-v[0-9]+$", "admin|root", "(?i)^LATEST$"];
        let regexes: BTreeSet<String> = patterns.iter().map(|p| (*p).to_string()).collect();
        let languages = Languages { globs: ["*:*".into()].into(), regexes, ..Languages::default() };
        let texts = witnesses(&languages, 1).unwrap();
        let truth = |text: &str| -> Vec<bool> {
            let of = |p: &&str| regex::Regex::new(p).unwrap().is_match(text);
            patterns.iter().map(of).chain([text.contains(':')]).collect()
        };
        let found: BTreeSet<_> = texts.iter().map(|t| truth(t)).collect();
        assert_eq!(found.len(), texts.len(), "{texts:?}");
        for text in ["a-v1", "root", "admin:x", "LaTeSt", ":", "x", "a-vroot", "adm-v0"] {
            assert!(found.contains(&truth(text)), "{text}: {texts:?}");
        }
    }
}
