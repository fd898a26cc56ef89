//! Values that stand for all others: of texts, integers, quantities and durations.
//!
//! In: what rules test ([`Predicates`]). Out: a value for each class of them.

use std::collections::BTreeSet;

use ephor_analysis::reads::texts::made;
use ephor_value::Str;
use ephor_value::quantity::Quantity;

use crate::predicates::summary::Predicates;
use crate::strings::languages::Languages;
use crate::strings::witnesses::WitnessCache;

impl Predicates {
    /// Whether functions change the case of texts.
    pub(crate) fn changes_case(&self) -> bool {
        self.functions.iter().any(|operation| operation.changes_case())
    }

    /// The languages by which texts are distinguished.
    pub fn languages(&self) -> Languages {
        let mut languages = Languages {
            globs: self.globs.clone(),
            regexes: self.regexes.clone(),
            characters: BTreeSet::new(),
            made: self.made.iter().map(|(way, made)| (way.clone(), made.made_languages())).collect(),
            // What looks for equal texts knows no wildcards.
            texts: self.constants.iter().filter(|text| text.contains(['*', '?'])).cloned().collect(),
        };
        languages.globs.insert(String::new());
        if self.changes_case() {
            // What is compared in one case is a language of all cases.
            languages.regexes.extend(self.globs.iter().map(|glob| in_any_case(glob)));
        }
        languages
    }

    /// The languages of a text that is built of another one: whether there is one, and whether it
    /// is empty, counts.
    fn made_languages(&self) -> Languages {
        let mut languages = self.languages();
        languages.globs.insert("*".into());
        languages
    }

    /// Whether a text is a constant, or what is built of it is one.
    fn is_constant(&self, text: &str) -> bool {
        self.constants.contains(text)
            || self
                .made
                .iter()
                .any(|(way, own)| made(way, text).is_some_and(|text| own.constants.contains(&*text)))
    }

    /// A text for each class of texts.
    pub fn texts(&self, words: &WitnessCache) -> Option<Vec<Str>> {
        let found = words.of(self.languages(), if self.relates { 2 } else { 1 })?;
        let is_tried =
            |text: &&Str| !self.are_patterns || !text.contains(['*', '?']) || self.is_constant(text);
        Some(found.iter().filter(is_tried).cloned().collect())
    }

    /// Texts in and outside of each language, where their combinations are too many.
    pub fn some_texts(&self, words: &WitnessCache) -> Vec<Str> {
        let all = self.languages();
        let of =
            |languages: Languages| words.of(Languages { characters: all.characters.clone(), ..languages }, 1);
        let one = |text: &String| BTreeSet::from([text.clone()]);
        let globs = all.globs.iter().map(|glob| of(Languages { globs: one(glob), ..Languages::default() }));
        let texts = all.texts.iter().map(|text| of(Languages { texts: one(text), ..Languages::default() }));
        let regexes =
            all.regexes.iter().map(|regex| of(Languages { regexes: one(regex), ..Languages::default() }));
        let made = all.made.iter().map(|(way, inner)| {
            let made = [(way.clone(), inner.clone())].into();
            of(Languages { made, ..Languages::default() })
        });
        let single = globs.chain(texts).chain(regexes).chain(made);
        let mut all: Vec<Str> = vec!["".into(), "a".into()];
        for text in single.flatten().flat_map(|found| found.to_vec()) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }

    /// Integers below, at and above those that are tested.
    pub fn integers(&self) -> Vec<i64> {
        let mut all: Vec<i64> = vec![0, 1];
        let around = self.ints.iter().flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]);
        let mut more: BTreeSet<i64> = around.collect();
        if self.relates {
            more.extend([2, -1]);
        }
        all.extend(more.into_iter().filter(|n| !matches!(n, 0 | 1)));
        all
    }

    /// Numbers at and around those that are tested and no integers.
    pub fn fractions(&self) -> Vec<f64> {
        let tested = self.amounts.iter().filter_map(|text| text.parse::<f64>().ok());
        let tested: Vec<f64> = tested.filter(|n| n.fract() != 0.0).collect();
        let mut all: Vec<f64> = tested.iter().flat_map(|n| [*n, n - 0.01, n + 0.01]).collect();
        // Between neighbours.
        let mut sorted = tested;
        sorted.extend(self.ints.iter().map(|n| *n as f64));
        sorted.sort_by(f64::total_cmp);
        let neighbours = sorted.iter().zip(sorted.iter().skip(1));
        if !all.is_empty() {
            all.extend(neighbours.map(|(a, b)| f64::midpoint(*a, *b)).filter(|n| n.fract() != 0.0));
        }
        all
    }

    /// Quantities and durations below, at and above those that are tested, and the same amount in
    /// another notation.
    pub fn amounts(&self) -> Vec<Str> {
        let mut all: Vec<Str> = Vec::new();
        let mut add = |text: String| {
            let text = Str::from(text);
            if !all.contains(&text) {
                all.push(text);
            }
        };
        for text in &self.amounts {
            let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
            let (number, unit) = text.split_at(split);
            add(text.clone());
            if let Ok(n) = number.parse::<i64>() {
                add(format!("{}{unit}", n.saturating_sub(1)));
                add(format!("{}{unit}", n.saturating_add(1)));
            }
            if let Some(whole) = Quantity::parse(text).and_then(|q| q.to_i64()) {
                add(whole.to_string());
            }
        }
        all
    }
}

/// A wildcard pattern as a regular expression for texts of any case.
fn in_any_case(glob: &str) -> String {
    let mut pattern = String::from("(?is)^");
    for c in glob.chars() {
        match c {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            c => pattern.push_str(&regex_syntax::escape(&c.to_string())),
        }
    }
    pattern + "$"
}
