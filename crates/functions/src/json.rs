//! `parse_json` and `parse_yaml`.
//!
//! In: text. Out: a [`Value`] whose numbers are doubles, or Kyverno 1.19.1's error text. Semantics:
//! `docs/expressions/functions.md`.

use super::args::text;
use super::{Arg, Context, limits};
use ephor_document::{decode_json, yaml_value};
use ephor_value::{Fault, Value};

pub(super) fn parse_json(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    limits::decoded(text(args, 0))?;
    decode_json(text(args, 0)).map_err(Fault::from_error)
}

pub(super) fn parse_yaml(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    limits::decoded(text(args, 0))?;
    yaml_value(text(args, 0)).map(|v| v.with_float_numbers()).map_err(Fault::from_error)
}
