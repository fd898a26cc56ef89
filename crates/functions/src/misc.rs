//! Functions of versions, images and addresses.

use super::args::{FunctionResult, failure, text};
use super::{Arg, Context};
use ephor_value::image::ImageRef;
use ephor_value::semver::{SemverRange, Version};
use ephor_value::{Fault, Value};

/// More of an argument is not shown.
const SHOWN: usize = 60;

pub(super) fn semver_compare(cx: &Context, args: &[Arg<'_>]) -> FunctionResult {
    // A version that is none counts as 0.0.0, as in Kyverno 1.19.1.
    let version = Version::parse_ok(text(args, 0));
    if let (None, Some(remarks)) = (&version, &cx.remarks) {
        let given: String = text(args, 0).chars().take(SHOWN).collect();
        remarks.add(format!("semver_compare: `{given}` is no version of the form 1.2.3 and counts as 0.0.0"));
    }
    let version = version.unwrap_or_default();
    let range = SemverRange::parse(text(args, 1)).map_err(Fault::from_error)?;
    Ok(Value::Bool(range.contains(&version)))
}

pub(super) fn image_normalize(cx: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let image = ImageRef::parse(text(args, 0), &cx.default_registry, cx.mutate_registry)
        .map_err(|e| failure("image_normalize", e.to_string()))?;
    Ok(image.reference().into())
}
