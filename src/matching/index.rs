//! Index.
