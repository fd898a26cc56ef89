//! The languages and kinds that the policy check of a reader knows.

use ephor_api::lint;
use ephor_document::{self};
use ephor_kubernetes::Kinds;
use ephor_value::release::Release;

/// What the policy check calls in other modules.
pub const CHECKS: lint::Checks = lint::Checks {
    condition: |text| {
        ephor_lower::policy::condition_of_requests(text)
            .program
            .map(|_| ())
            .map_err(|text| text.to_string().into())
    },
    parse_jmespath: |text| ephor_jmespath::parse(text).map(|_| ()).map_err(|e| e.to_string().into()),
    parse_yaml: |text| ephor_document::yaml_value(text).map_err(Into::into),
    // Kyverno's commands know no cluster.
    scope: |_, _| lint::Scope::Namespaced,
};

/// The same for a server, where the kinds that every cluster has live where they do, and others may
/// live anywhere. A kind lives in the same place in all releases that have it.
pub(super) const SERVER_CHECKS: lint::Checks = lint::Checks {
    scope: |api_version, kind| {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let mut releases = Release::ALL.into_iter();
        match releases.find_map(|release| Kinds::of_release(release).kind(group, version, kind)) {
            Some(resource) if resource.namespaced => lint::Scope::Namespaced,
            Some(_) => lint::Scope::Cluster,
            None => lint::Scope::Unknown,
        }
    },
    ..CHECKS
};
