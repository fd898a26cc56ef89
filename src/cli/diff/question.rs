//! What is compared: pairs of policies, or two sets.

/// What `diff` and its like compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Differences, pair by pair.
    Diff,
    /// Whether two sets have the same effects.
    Equivalent,
    /// Whether one set denies all that another one denies.
    Implies,
}

impl Question {
    /// The command that answers it.
    pub fn command(self) -> &'static str {
        match self {
            Question::Diff => "diff",
            Question::Equivalent => "equivalent",
            Question::Implies => "implies",
        }
    }

    /// What output calls the sides.
    pub fn labels(self) -> [&'static str; 2] {
        match self {
            Question::Diff => ["old", "new"],
            Question::Equivalent | Question::Implies => ["A", "B"],
        }
    }
}
