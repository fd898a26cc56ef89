//! Where rules and data come from: files, standard input, downloads.
//!
//! - [`files`]: which files an argument of the command line means, and their texts;
//! - [`download`]: plain downloads over HTTP.

pub mod download;
pub mod files;
