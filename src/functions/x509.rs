//! placeholder
use super::{Arg, Context};
use crate::value::{Fault, Value};
pub(super) fn x509_decode(_: &Context, _: &[Arg<'_>]) -> Result<Value, Fault> {
    Err(Fault::new("todo"))
}
