//! What tests of this crate share.

#![allow(clippy::unwrap_used)]

use ephor_policies::load::argument;
use ephor_sources::files::SourceText;
use ephor_value::Value;

use crate::sides::side::Side;

pub(crate) fn side(text: &str) -> Side {
    Side::new(argument(&[SourceText { name: "p.yaml".into(), text: text.into() }]), "p.yaml").unwrap()
}

pub(crate) fn yaml(text: &str) -> Value {
    ephor_document::yaml_value(text).unwrap()
}

/// A ClusterPolicy for objects of a kind with one check.
pub(crate) fn classic(kind: &str, validate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    validate: {validate}\n"
    )
}
