//! What rules about signatures come to in a build without the feature `signatures`: an error, never
//! a pass.
//!
//! In and out: as `verify::attestors` and `manifests`.

use crate::Request;
use crate::data::Data;
use crate::outcome::Status;
use crate::verify::ImageVerification;
use ephor_external::registry::Registry;
use ephor_ir::images::ImageCheck;
use ephor_ir::manifests::Manifests;
use ephor_value::Value;

/// Why nothing is verified.
pub const UNVERIFIED: &str =
    "signatures cannot be verified: ephor was built without the feature `signatures`";

/// See `manifests::check`.
pub fn check(_: &Manifests, _: &Request, _: &ephor_ir::Origin) -> (Status, String) {
    (Status::Error, UNVERIFIED.into())
}

/// See `verify::attestors::verify`.
pub fn verify(
    _: &ImageCheck,
    _: &Value,
    _: &str,
    _: Option<&dyn Registry>,
    _: &str,
    _: &mut Data<'_>,
) -> ImageVerification {
    ImageVerification { status: Status::Error, text: UNVERIFIED.into(), digest: None }
}
