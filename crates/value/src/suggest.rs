//! What a misspelt name was probably meant to be.

/// The candidate that `word` was probably meant to be: equal but for case, or few letters away.
pub fn did_you_mean<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    if let Some(same) = candidates.iter().find(|c| c.eq_ignore_ascii_case(word)) {
        return Some(same);
    }
    // One letter in three may differ; a word of another length altogether is no misspelling.
    let limit = word.chars().count().div_ceil(3).min(3);
    candidates
        .iter()
        .map(|c| (distance(word, c), *c))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// How many letters have to be put in, left out, replaced, or exchanged with the next one, each at
/// most once.
pub fn edits(word: &str, other: &str) -> usize {
    strsim::osa_distance(word, other)
}

/// How many letters of `word` are missing, added, other ones or exchanged with their neighbour in
/// `other`; case does not count.
pub fn distance(word: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(&word.to_lowercase(), &other.to_lowercase())
}
