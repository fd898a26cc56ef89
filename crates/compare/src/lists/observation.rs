//! What loops say of one list: an [`Observation`].

use crate::model::verdict::Verdict;

/// What rules observe of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Observation {
    pub is_empty: bool,
    /// What each loop says.
    pub as_written: Vec<Verdict>,
    /// The same of the list as an API server shows it to webhooks.
    pub in_clusters: Vec<Verdict>,
    /// Whether it refuses it, with the field for want of which it does where that is known, or `*`
    /// for a text with wildcards: then the observation counts as if it did not, as something else
    /// in the object may be wrong.
    pub refused: Option<String>,
}
