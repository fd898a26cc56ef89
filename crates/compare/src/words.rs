//! Classes of texts: for wildcard patterns, a short text for each set of them that some text matches.
//!
//! In: patterns of literal characters, `*` (any characters) and `?` (one character); equality is a pattern without either.
//! Out: the shortest text for each combination of matching patterns that is possible at all. Method: the product of the
//! patterns' automata, breadth first; characters that no pattern has are one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// More states of the product are given up.
const MOST_STATES: usize = 20_000;

/// One pattern: its positions are the states of its automaton.
struct Glob(Vec<char>);

type State = BTreeSet<usize>;

impl Glob {
    fn new(pattern: &str) -> Glob {
        Glob(pattern.chars().collect())
    }

    /// The positions that are reached without reading: those behind `*`.
    fn closed(&self, mut state: State) -> State {
        let mut todo: Vec<usize> = state.iter().copied().collect();
        while let Some(at) = todo.pop() {
            if self.0.get(at) == Some(&'*') && state.insert(at + 1) {
                todo.push(at + 1);
            }
        }
        state
    }

    fn start(&self) -> State {
        self.closed(State::from([0]))
    }

    fn step(&self, state: &State, read: char) -> State {
        let next = state.iter().filter_map(|&at| match self.0.get(at)? {
            '*' => Some(at),
            '?' => Some(at + 1),
            own => (*own == read).then_some(at + 1),
        });
        self.closed(next.collect())
    }

    fn accepts(&self, state: &State) -> bool {
        state.contains(&self.0.len())
    }
}

/// The texts: for each combination of patterns that match it up to `each` of them, the shortest first; `None` when the patterns are
/// too many.
pub fn witnesses(patterns: &BTreeSet<String>, each: usize) -> Option<Vec<String>> {
    let globs: Vec<Glob> = patterns.iter().map(|p| Glob::new(p)).collect();
    let own: BTreeSet<char> =
        globs.iter().flat_map(|g| g.0.iter().copied()).filter(|c| !matches!(c, '*' | '?')).collect();
    // Letters first: a text of them is valid in most fields.
    let others: Vec<char> =
        ('a'..='z').chain('0'..='9').filter(|c| !own.contains(c)).take(each.max(1)).collect();
    let alphabet: Vec<char> = others.into_iter().chain(own).collect();
    let start: Vec<State> = globs.iter().map(Glob::start).collect();
    let mut found: BTreeMap<Vec<bool>, Vec<String>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut visits: BTreeMap<Vec<State>, usize> = BTreeMap::from([(start.clone(), 1)]);
    let mut todo = VecDeque::from([(start, String::new())]);
    while let Some((states, text)) = todo.pop_front() {
        let truth: Vec<bool> = globs.iter().zip(&states).map(|(g, s)| g.accepts(s)).collect();
        let known = found.entry(truth).or_default();
        if known.len() < each {
            known.push(text.clone());
            order.push(text.clone());
        }
        for &read in &alphabet {
            let next: Vec<State> = globs.iter().zip(&states).map(|(g, s)| g.step(s, read)).collect();
            let seen = visits.entry(next.clone()).or_insert(0);
            if *seen < each {
                *seen += 1;
                todo.push_back((next, format!("{text}{read}")));
            }
        }
        if visits.len() > MOST_STATES {
            return None;
        }
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patterns: &[&str], each: usize) -> Vec<String> {
        witnesses(&patterns.iter().map(|p| (*p).to_string()).collect(), each).unwrap()
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
    fn several_texts_of_a_combination_differ() {
        let all = of(&["x"], 2);
        assert_eq!(all, ["", "a", "x"]);
    }

    #[test]
    fn combinations_agree_with_the_wildcards_of_the_engine() {
        let patterns = ["a*b", "*b*", "??", "a"];
        let texts = of(&patterns, 1);
        let truth = |text: &str| patterns.map(|p| crate::value::wildcard::matches(p, text));
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
}
