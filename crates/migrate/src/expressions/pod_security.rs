//! Pod Security Standards → a validation for each control.
//!
//! In: a level and a version. Out: what each control requires of a pod, from the rows that the engine runs
//! (`ir::pod_security`). Exclusions by image and by value are refused: they depend on what the whole pod has.

use crate::ir::check::PodSecurity;

use super::Refusal;
use super::rule::Checked;
use super::scope::Scope;

/// The controls of a rule.
///
/// # Errors
/// Always so far.
pub fn controls(own: &PodSecurity, scope: &mut Scope<'_>) -> Result<Vec<Checked>, Refusal> {
    let _ = own;
    Err(scope.refuse("Pod Security Standards", "use the policies of the library"))
}
