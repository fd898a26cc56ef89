//! What is outside of a comparison: nothing answers.
//!
//! In: policies. Out: an engine in which each lookup fails, for every language, as one does in a cluster that cannot answer. Kyverno's
//! command line, which has no cluster, gives some expressions an empty value instead; then languages would differ that do not.

use std::sync::{Arc, LazyLock};

use crate::engine::Profile;
use crate::functions::Context;
use crate::outside_data::{ApiError, ApiRequest, ExternalData, Found, Reader, ServiceCall};
use crate::policies::policy_set::{Engine, PolicySet};

/// Why a lookup fails.
pub const NO_ANSWER: &str = "nothing answers in a comparison";

/// What functions of expressions know, for requests.
pub(crate) static FUNCTIONS: LazyLock<Context> =
    LazyLock::new(|| Context { external: Some(Arc::new(Silent)), ..Context::default() });

/// An engine for policies that are compared.
pub(crate) fn engine(set: PolicySet) -> Engine {
    let profile = Profile { admission_policies_see_creations: false, ..Profile::cluster() };
    Engine::new(set).with_profile(profile).with_external(Arc::new(Silent))
}

struct Silent;

fn failed<E: From<String>>() -> Found<E> {
    Some(Err(E::from(NO_ANSWER.to_string())))
}

impl ExternalData for Silent {
    fn config_map(&self, _: &str, _: &str) -> Found {
        failed()
    }

    fn api(&self, _: &ApiRequest<'_>) -> Found<ApiError> {
        failed()
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
