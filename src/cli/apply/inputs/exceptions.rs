//! The exceptions of files, and those among resources and policies.

use std::sync::Arc;

use ephor_document::Document;
use ephor_ir::Policy;
use ephor_policies::load::Policies;
use ephor_policies::pitfalls;
use ephor_testing::inputs::exceptions::{self, Exceptions};

use super::super::arguments::InputArguments;
use super::super::log::Log;
use super::policies::deprecations;
use crate::cli::CommandError;

/// The exceptions from all the places that flags name; those without effect are warnings.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub(super) fn load(
    args: &InputArguments<'_>,
    policies: &Policies,
    resources: &[Document],
    log: &Log,
) -> Result<Exceptions, CommandError> {
    let mut all = Exceptions::default();
    if args.input.exceptions_with_resources {
        resources.iter().for_each(|d| all.take(&d.value));
    } else {
        for path in args.input.exceptions() {
            let loaded = exceptions::read(&path).map_err(|error| CommandError::Exceptions(error.into()))?;
            if args.deprecations {
                deprecations(&loaded.deprecations, 0, args.warnings_as_errors, log)?;
            }
            all.extend(loaded);
        }
    }
    if args.input.exceptions_within_policies {
        all.exceptions.extend(policies.exceptions.iter().cloned());
        all.cel_exceptions.extend(policies.cel_exceptions.iter().cloned());
    }
    let lowered: Vec<Arc<Policy>> = policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
    pitfalls::of_exceptions(&lowered, &all.exceptions).iter().for_each(|one| log.warn(&one.to_string()));
    Ok(all)
}
