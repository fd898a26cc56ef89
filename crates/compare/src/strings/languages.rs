//! The languages of a field: what rules compare its texts with.
//!
//! In: wildcards, regular expressions, constants, steps that make other texts of one. Out: the
//! characters that they treat in ways of their own, which are the alphabet of the automata.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use ephor_analysis::reads::texts::{TextStep, Way};
use ephor_functions::{lower, upper};

/// Languages of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Languages {
    /// Wildcard patterns.
    pub globs: BTreeSet<String>,
    /// Single texts; here, `*` and `?` are characters.
    pub texts: BTreeSet<String>,
    /// Regular expressions as the `regex` crate writes them; a text is in the language when a part
    /// of it matches.
    pub regexes: BTreeSet<String>,
    /// Characters of which not all are treated alike though no pattern has them.
    pub characters: BTreeSet<char>,
    /// Languages of the texts that are built of them.
    pub made: BTreeMap<Way, Languages>,
}

/// The characters that languages treat in ways of their own.
pub(crate) fn own_characters(languages: &Languages) -> BTreeSet<char> {
    let patterns = languages.globs.iter().flat_map(|glob| glob.chars()).filter(|c| !matches!(c, '*' | '?'));
    let mut own: BTreeSet<char> = patterns.collect();
    own.extend(languages.texts.iter().flat_map(|text| text.chars()));
    own.extend(&languages.characters);
    own.extend(languages.regexes.iter().flat_map(|regex| characters(regex)));
    for (way, languages) in &languages.made {
        let mut made = own_characters(languages);
        for step in way.iter().rev() {
            made.extend(step.constants().into_iter().flat_map(str::chars));
            if matches!(step, TextStep::Upper { .. } | TextStep::Lower { .. }) {
                // Those that become one of them.
                let others: Vec<char> = LETTERS
                    .into_iter()
                    .filter(|c| made.contains(&upper(*c)) || made.contains(&lower(*c)))
                    .collect();
                let cases: Vec<char> = made.iter().flat_map(|c| [upper(*c), lower(*c)]).collect();
                made.extend(others.into_iter().chain(cases));
            }
        }
        own.extend(made);
    }
    own
}

/// Letters that are small or capital forms of others, besides the one that these become.
pub(crate) const LETTERS: [char; 5] = ['ſ', 'ı', 'İ', '\u{212a}', '\u{212b}'];

/// A character of each class that a regular expression distinguishes, as far as it names them: the
/// characters that it is written with, and those at the ends of ranges with their neighbours.
pub(crate) fn characters(regex: &str) -> BTreeSet<char> {
    fn of(hir: &regex_syntax::hir::Hir, out: &mut BTreeSet<char>) {
        use regex_syntax::hir::{Class, HirKind, Look};
        match hir.kind() {
            HirKind::Literal(literal) => out.extend(String::from_utf8_lossy(&literal.0).chars()),
            HirKind::Class(Class::Unicode(class)) => {
                for range in class.ranges() {
                    let (start, end) = (range.start(), range.end());
                    let before = (start as u32).checked_sub(1).and_then(char::from_u32);
                    let after = char::from_u32(end as u32 + 1);
                    let printable = |c: &char| {
                        *c == '\n' || (' '..='~').contains(c) || (*c > '\u{7f}' && *c < '\u{d7ff}')
                    };
                    out.extend(
                        [Some(start), Some(end), before, after].into_iter().flatten().filter(printable),
                    );
                    // A letter or digit, where the range has one: it can stand in most fields.
                    out.extend(
                        ('a'..='z').chain('0'..='9').chain('A'..='Z').find(|c| *c >= start && *c <= end),
                    );
                }
            }
            HirKind::Class(Class::Bytes(_)) | HirKind::Empty => {}
            HirKind::Look(look) => {
                let is_word = matches!(look, Look::WordAscii | Look::WordAsciiNegate | Look::WordUnicode);
                out.extend(is_word.then_some(['a', ' ', '_']).into_iter().flatten());
                out.extend(matches!(look, Look::StartLF | Look::EndLF).then_some('\n'));
            }
            HirKind::Repetition(repetition) => of(&repetition.sub, out),
            HirKind::Capture(capture) => of(&capture.sub, out),
            HirKind::Concat(all) | HirKind::Alternation(all) => all.iter().for_each(|one| of(one, out)),
        }
    }
    let mut out = BTreeSet::new();
    if let Ok(hir) = regex_syntax::parse(regex) {
        of(&hir, &mut out);
    }
    out
}
