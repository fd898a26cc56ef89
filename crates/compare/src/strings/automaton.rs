//! Deterministic automata over the characters of some languages.
//!
//! In: a wildcard or a regular expression. Out: an [`Automaton`]; its states are numbered as they
//! are met. `witnesses` walks the product of several.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};

use crate::model::limits::MAX_AUTOMATON_BYTES;

/// States of an automaton, numbered in the order in which they are found, and the steps between
/// them that are known.
pub(crate) struct States<S> {
    all: Vec<S>,
    known: HashMap<S, u32, RandomState>,
    /// For each state, the next one for each character of the alphabet.
    steps: Vec<Option<u32>>,
    alphabet: usize,
}

impl<S: Clone + Eq + Hash> States<S> {
    pub fn new(alphabet: usize) -> States<S> {
        States { all: Vec::new(), known: HashMap::default(), steps: Vec::new(), alphabet }
    }

    pub fn number(&mut self, state: S) -> u32 {
        if let Some(known) = self.known.get(&state) {
            return *known;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(state.clone());
        self.known.insert(state, number);
        self.steps.resize(self.all.len() * self.alphabet, None);
        number
    }

    pub fn get(&self, state: u32) -> Option<&S> {
        self.all.get(state as usize)
    }

    pub fn step(&self, state: u32, read: usize) -> Option<u32> {
        *self.steps.get(state as usize * self.alphabet + read)?
    }

    pub fn learn(&mut self, state: u32, read: usize, next: u32) {
        if let Some(step) = self.steps.get_mut(state as usize * self.alphabet + read) {
            *step = Some(next);
        }
    }
}

/// An automaton over the characters of an alphabet.
pub(crate) trait Automaton {
    fn start(&mut self) -> u32;
    /// The state behind a character, which is the one at `at` of the alphabet.
    fn step(&mut self, state: u32, at: usize, read: char) -> u32;
    fn accepts(&mut self, state: u32) -> bool;
    /// Whether it was too large to say.
    fn is_broken(&self) -> bool {
        false
    }
}

/// A wildcard pattern: sets of positions are its states.
pub(crate) struct Glob {
    /// Each character, and whether it is a wildcard.
    pattern: Vec<(char, bool)>,
    states: States<Vec<usize>>,
}

impl Glob {
    pub(crate) fn new(pattern: &str, alphabet: usize) -> Glob {
        let pattern = pattern.chars().map(|c| (c, matches!(c, '*' | '?'))).collect();
        Glob { pattern, states: States::new(alphabet) }
    }

    pub(crate) fn of_text(text: &str, alphabet: usize) -> Glob {
        Glob { pattern: text.chars().map(|c| (c, false)).collect(), states: States::new(alphabet) }
    }

    /// The number of a set of positions, with those that are reached without reading: behind `*`.
    fn number(&mut self, mut state: Vec<usize>) -> u32 {
        let mut done = 0;
        while let Some(at) = state.get(done).copied() {
            if self.pattern.get(at) == Some(&('*', true)) && !state.contains(&(at + 1)) {
                state.push(at + 1);
            }
            done += 1;
        }
        state.sort_unstable();
        state.dedup();
        self.states.number(state)
    }
}

impl Automaton for Glob {
    fn start(&mut self) -> u32 {
        self.number(vec![0])
    }

    fn step(&mut self, state: u32, at: usize, read: char) -> u32 {
        if let Some(known) = self.states.step(state, at) {
            return known;
        }
        let positions = self.states.get(state).map(Vec::as_slice).unwrap_or_default();
        let next = positions.iter().filter_map(|&at| match self.pattern.get(at)? {
            ('*', true) => Some(at),
            ('?', true) => Some(at + 1),
            (own, _) => (*own == read).then_some(at + 1),
        });
        let next = next.collect();
        let next = self.number(next);
        self.states.learn(state, at, next);
        next
    }

    fn accepts(&mut self, state: u32) -> bool {
        self.states.get(state).is_some_and(|positions| positions.contains(&self.pattern.len()))
    }
}

/// A regular expression that matches anywhere in a text; what follows a match is not read.
pub(crate) struct Search {
    dfa: DFA,
    cache: Cache,
    states: States<LazyStateID>,
    is_broken: bool,
}

impl Search {
    pub(crate) fn new(pattern: &str, alphabet: usize) -> Option<Search> {
        let dfa = DFA::builder()
            .configure(DFA::config().cache_capacity(MAX_AUTOMATON_BYTES).match_kind(MatchKind::All))
            .thompson(thompson::Config::new().nfa_size_limit(Some(MAX_AUTOMATON_BYTES)))
            .build(pattern)
            .ok()?;
        let cache = dfa.create_cache();
        Some(Search { dfa, cache, states: States::new(alphabet), is_broken: false })
    }
}

impl Automaton for Search {
    fn start(&mut self) -> u32 {
        let config = start::Config::new().anchored(Anchored::No);
        match self.dfa.start_state(&mut self.cache, &config) {
            Ok(state) => self.states.number(state),
            Err(_) => {
                self.is_broken = true;
                0
            }
        }
    }

    fn step(&mut self, state: u32, at: usize, read: char) -> u32 {
        if let Some(known) = self.states.step(state, at) {
            return known;
        }
        let Some(mut here) = self.states.get(state).copied() else { return state };
        let mut bytes = [0; 4];
        for byte in read.encode_utf8(&mut bytes).bytes() {
            // A match is seen one byte late, and stays one.
            if here.is_match() {
                break;
            }
            match self.dfa.next_state(&mut self.cache, here, byte) {
                Ok(next) => here = next,
                Err(_) => self.is_broken = true,
            }
        }
        self.is_broken |= self.cache.clear_count() > 0;
        let next = self.states.number(here);
        self.states.learn(state, at, next);
        next
    }

    fn accepts(&mut self, state: u32) -> bool {
        let Some(at) = self.states.get(state).copied() else { return false };
        if at.is_match() {
            return true;
        }
        match self.dfa.next_eoi_state(&mut self.cache, at) {
            Ok(end) => end.is_match(),
            Err(_) => {
                self.is_broken = true;
                false
            }
        }
    }

    fn is_broken(&self) -> bool {
        self.is_broken
    }
}
