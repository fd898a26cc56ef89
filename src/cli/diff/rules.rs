//! What the results of comparisons mean, in the words of code scanning: a rule for each way in
//! which two sides differ.
//!
//! In: the word of a difference, and the question. Out: a title, and help that says what a result
//! with this word is.

use ephor_compare::DifferenceKind;

use crate::cli::diff::question::Question;

/// The ways in which two sides differ, in the order in which they are counted.
pub(super) const KINDS: [DifferenceKind; 5] = [
    DifferenceKind::Weaker,
    DifferenceKind::Stricter,
    DifferenceKind::Action,
    DifferenceKind::Errors,
    DifferenceKind::Result,
];

/// The texts of a rule: its word, then title and help where a policy replaces another, then both
/// where sets `A` and `B` are compared.
type RuleRow = (&'static str, [&'static str; 2], [&'static str; 2]);

const ROWS: [RuleRow; 10] = [
    (
        "weaker",
        [
            "Requests that are no longer denied",
            "A result is a request that violates the old policies and not the new ones.",
        ],
        [
            "Requests that violate A only",
            "A result is a request that violates the policies A and not the policies B.",
        ],
    ),
    (
        "stricter",
        [
            "Requests that are denied now",
            "A result is a request that violates the new policies and not the old ones.",
        ],
        [
            "Requests that violate B only",
            "A result is a request that violates the policies B and not the policies A.",
        ],
    ),
    (
        "action",
        [
            "Violations with another effect",
            "A result is a request that violates the old policies and the new ones, with different effects: it is denied by one side, and allowed, with a warning or in a report, by the other.",
        ],
        [
            "Violations with another effect",
            "A result is a request that violates A and B, with different effects: it is denied by one side, and allowed, with a warning or in a report, by the other.",
        ],
    ),
    (
        "errors",
        [
            "Violations because of an error",
            "A result is a request that violates the old policies and the new ones, one of them because a rule cannot be evaluated.",
        ],
        [
            "Violations because of an error",
            "A result is a request that violates A and B, one of them because a rule cannot be evaluated.",
        ],
    ),
    (
        "result",
        [
            "Other changes or generated objects",
            "A result is a request for which the old policies and the new ones change the object, or generate others, in different ways.",
        ],
        [
            "Other changes or generated objects",
            "A result is a request for which A and B change the object, or generate others, in different ways.",
        ],
    ),
    (
        "removed",
        ["Policies that are gone", "A result is a policy that only the old policies have."],
        ["Policies that only A has", "A result is a policy that only A has."],
    ),
    (
        "added",
        ["Policies that are new", "A result is a policy that only the new policies have."],
        ["Policies that only B has", "A result is a policy that only B has."],
    ),
    (
        "equal",
        [
            "Policies that cannot be compared",
            "A result is a pair of policies that cannot be compared; the message says why.",
        ],
        [
            "Policies that cannot be compared",
            "A result is a pair of sets that cannot be compared; the message says why.",
        ],
    ),
    (
        "schedule",
        [
            "Deletions at other times",
            "A result is a policy that deletes objects on another schedule, or in another way, than the one that it replaces.",
        ],
        [
            "Deletions at other times",
            "A result is that the policies A and B delete objects on different schedules, or in different ways.",
        ],
    ),
    (
        "existing",
        [
            "Updates of objects that are violations already",
            "A result is a pair of policies of which one alone allows updates of objects that violate it already.",
        ],
        [
            "Updates of objects that are violations already",
            "A result is a pair of sets of which one alone allows updates of objects that violate it already.",
        ],
    ),
];

const ACCEPT: &str = "Correct the policy, or accept the difference in `ephor-diff.yaml` with the reason.";

/// Title and help of a rule.
pub(super) fn texts(word: &str, question: Question) -> (&'static str, String) {
    let row = ROWS.iter().find(|(known, ..)| *known == word);
    let [title, help] = match (row, question) {
        (Some((_, of_pairs, _)), Question::Diff) => *of_pairs,
        (Some((.., of_sets)), Question::Equivalent | Question::Implies) => *of_sets,
        (None, _) => ["Differences", "A result is a request about which the two sides differ."],
    };
    let advice = if matches!(word, "equal") { "" } else { ACCEPT };
    (title, format!("{help} {advice}").trim_end().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_has_texts_of_its_own() {
        for question in [Question::Diff, Question::Equivalent, Question::Implies] {
            let known = KINDS.iter().map(|kind| texts(kind.name(), question).1);
            let mut all: Vec<String> = known
                .chain(
                    ["removed", "added", "equal", "schedule", "existing"].map(|word| texts(word, question).1),
                )
                .collect();
            assert!(all.iter().all(|help| help.starts_with("A result is ")), "{all:?}");
            all.sort();
            all.dedup();
            assert_eq!(all.len(), KINDS.len() + 5, "{all:?}");
        }
    }
}
