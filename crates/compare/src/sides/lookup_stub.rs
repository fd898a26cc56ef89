//! What is outside of a comparison: nothing answers, but for objects that rules copy (`copied`).
//!
//! In: policies. Out: an engine in which each lookup fails, for every language, as one does in a
//! cluster that cannot answer. Kyverno's command line, which has no cluster, gives some expressions
//! an empty value instead; then languages would differ that do not.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_engine::Profile;
use ephor_external::{Address, ApiError, ApiRequest, ExternalData, Found, Reader, ServiceCall};
use ephor_ir::Rule;
use ephor_ir::generate::Generation;
use ephor_ir::rule::Body;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_value::Value;

use crate::effects::existing_objects::existing;
use crate::effects::writes::copied_by;
use crate::model::world::{Copied, ExistingObjects, outside};

/// Why a lookup fails.
pub const NO_ANSWER: &str = "nothing answers in a comparison";

/// An engine for policies that are compared.
pub(crate) fn engine(set: PolicySet) -> Engine {
    let profile = Profile { admission_policies_see_creations: false, ..Profile::cluster() };
    let silent = Silent::of(&set);
    Engine::new(set).with_profile(profile).with_external(Arc::new(silent))
}

#[derive(Default)]
pub(crate) struct Silent {
    /// The objects that rules copy, with what they need and with all that they can have.
    copied: [Vec<Value>; 2],
}

impl Silent {
    fn of(set: &PolicySet) -> Silent {
        let described = |rule: &Arc<Rule>| match &rule.body {
            Body::Generate(generation) => match &**generation {
                Generation::One(described) => copied_by(described).unwrap_or_default(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let rules = set.policies().iter().flat_map(|policy| policy.all_rules());
        let all: BTreeSet<Copied> = rules.flat_map(described).collect();
        let objects = |outside: ExistingObjects| all.iter().flat_map(|one| one.objects(outside)).collect();
        Silent { copied: [objects(ExistingObjects::Bare), objects(ExistingObjects::Full)] }
    }
}

fn failed<E: From<String>>() -> Found<E> {
    Some(Err(E::from(NO_ANSWER.to_string())))
}

impl ExternalData for Silent {
    fn config_map(&self, _: &str, _: &str) -> Found {
        failed()
    }

    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> {
        let (Address::Objects(at), None) = (request.at, request.body) else { return failed() };
        let Some(found) = existing(at.api_version, at.resource, at.namespace, at.name) else {
            return failed();
        };
        if at.name.is_empty() {
            let kind = found.first().map_or("", |object| object.text_at(&["kind"]));
            return Some(Ok(Value::map([
                ("apiVersion", Value::from(at.api_version)),
                ("kind", Value::from(format!("{kind}List"))),
                ("items", Value::list(found)),
            ])));
        }
        let missing = || ApiError { not_found: true, text: format!("{} {} not found", at.resource, at.name) };
        Some(found.into_iter().next().ok_or_else(missing))
    }

    fn selects_by_labels(&self) -> bool {
        true
    }

    fn clone_sources(&self) -> &[Value] {
        let [bare, full] = &self.copied;
        match outside() {
            ExistingObjects::Silent | ExistingObjects::Missing => &[],
            ExistingObjects::Bare => bare,
            ExistingObjects::Full => full,
        }
    }

    fn service(&self, _: &ServiceCall<'_>) -> Found {
        failed()
    }

    fn global(&self, _: &str, _: &str, _: Reader<'_>) -> Found {
        failed()
    }

    fn image(&self, _: &str) -> Found {
        failed()
    }
}
