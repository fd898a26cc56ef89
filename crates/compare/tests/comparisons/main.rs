//! Comparisons of policies, from their texts to the answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_compare::{Comparison, Options, Side, compare};
use ephor_policies::load::{Policies, argument};
use ephor_sources::files::SourceText;

mod clusters;
mod fields;
mod lists;
mod numbers;
mod outside;
mod pairs;
mod questions;
mod texts;
mod wholes;

fn load(text: &str) -> Policies {
    argument(&[SourceText { name: "p.yaml".into(), text: text.into() }])
}

fn side(text: &str) -> Side {
    Side::new(load(text), "p.yaml").unwrap()
}

fn compared(old: &str, new: &str) -> Comparison {
    compare(&side(old), &side(new), Options::default())
}
