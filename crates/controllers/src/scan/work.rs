//! Pieces of work of a scan.

use super::objects::Uid;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScanWork {
    /// Which policies there are, and which kinds they are about.
    Policies,
    /// Results in reports whose policies are gone.
    Sweep,
    /// An object.
    Object(Uid),
}
