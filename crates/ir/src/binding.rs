//! Data that a rule may read under a name: variables, ConfigMaps, calls, global entries, images.
//!
//! Rules and their bodies hold them in order (`docs/internals/ir.md`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Origin, Query, Template};
use ephor_value::{Str, Value};

/// Data that a rule may read under a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Binding {
    /// Where it is written.
    pub origin: Origin,
    /// The name.
    pub name: Str,
    /// Where the data comes from.
    pub source: BindingSource,
}

/// Where a binding's data comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum BindingSource {
    /// A value, a query, or a query on a value.
    Variable {
        /// The value.
        #[serde(default, skip_serializing_if = "super::unset")]
        value: Option<Template>,
        /// The query.
        #[serde(default, skip_serializing_if = "super::unset")]
        query: Option<QuerySource>,
        /// Used when the query fails or, without a value, gives null.
        #[serde(default, skip_serializing_if = "super::unset")]
        default: Option<Template>,
        /// The entry as written, for messages.
        raw: Value,
    },
    /// A ConfigMap.
    ConfigMap {
        /// Its name.
        name: Template,
        /// Its namespace.
        namespace: Template,
        /// The entry as written, for messages.
        raw: Value,
    },
    /// An answer of the Kubernetes API or of a service.
    ApiCall {
        /// The whole entry.
        call: Template,
        /// As written, for the parts that are not filled in.
        raw: Value,
    },
    /// A global context entry.
    Global {
        /// `entry` or `entry.projection`.
        name: Str,
        /// Applied to the data.
        #[serde(default, skip_serializing_if = "super::unset")]
        query: Option<QuerySource>,
    },
    /// Facts about an image in a registry.
    Image {
        /// The image.
        reference: Template,
        /// The credentials for registries (`imageRegistryCredentials`).
        credentials: Value,
        /// Applied to the facts.
        #[serde(default, skip_serializing_if = "super::unset")]
        query: Option<QuerySource>,
    },
    /// A part of the request that stands for external data, where policies are compared.
    Given {
        /// The answer. When it fails, or is null, there is none.
        answer: Query,
        /// Applied to the answer.
        #[serde(default, skip_serializing_if = "super::unset")]
        query: Option<QuerySource>,
        /// The same with a text that no policy can write for each of its variables: for analyses.
        #[serde(default, skip_serializing_if = "super::unset")]
        shown: Option<Query>,
        /// Used where there is no answer.
        #[serde(default, skip_serializing_if = "super::unset")]
        default: Option<Value>,
    },
}

/// The field of an object that has answers of lookups, where policies are compared; what it has
/// under `get|…` are objects.
pub const INPUTS: &str = "ephor.dev/inputs";

/// The text that stands for the n-th variable of a query (`BindingSource::Given`): no policy can
/// write it.
pub fn hole(at: usize) -> Str {
    format!("\u{1}{at}").into()
}

/// The variable that a text stands for.
pub fn hole_of(text: &str) -> Option<usize> {
    text.strip_prefix('\u{1}')?.parse().ok()
}

/// A query whose text may hold variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum QuerySource {
    /// The text is constant.
    Ready(Query),
    /// The text is filled in first.
    Dynamic {
        /// The text.
        text: Template,
        /// Names of bindings in scope.
        #[serde(default, skip_serializing_if = "super::unset")]
        names: Arc<[Str]>,
    },
}
