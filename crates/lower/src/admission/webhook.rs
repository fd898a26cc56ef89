//! `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration` → webhooks of the IR.
//!
//! In: configurations with their defaults (`api::admission`). Out: webhooks in the order of the
//! list; a condition that does not compile keeps its text and fails when it is evaluated.

use ephor_cel::library::Admission as Choice;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_ir::constraints::Constraints;
use ephor_ir::webhook::Webhook;
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::super::compiler::Compiler;
use super::super::constraints::{exact, rule};
use super::super::matcher::selector;
use super::list;

/// The kinds of configurations.
pub const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Lowers the webhooks of a configuration for an API server of a release; objects of other kinds
/// have none.
pub fn webhooks(document: &Value, release: Release) -> Vec<Webhook> {
    let kind = document.text_at(&["kind"]);
    if !KINDS.contains(&kind) {
        return Vec::new();
    }
    let configuration = Str::from(document.text_at(&["metadata", "name"]));
    let mutating = kind == KINDS[0];
    list(document, "webhooks")
        .iter()
        .map(|w| webhook(w, &configuration, mutating, CelLevel::of_server(release)))
        .collect()
}

fn webhook(v: &Value, configuration: &Str, mutating: bool, level: CelLevel) -> Webhook {
    let choice = Choice { authorizer: true, level, ..Choice::default() };
    let compiler = Compiler::without_variables(choice).at(level);
    let labels = |key: &str| v.get(key).and_then(selector).map(exact);
    Webhook {
        configuration: configuration.clone(),
        name: v.text_at(&["name"]).into(),
        mutating,
        when: Constraints {
            rules: list(v, "rules").iter().map(rule).collect(),
            exclude: Box::default(),
            namespace_selector: labels("namespaceSelector"),
            object_selector: labels("objectSelector"),
            equivalent: v.text_at(&["matchPolicy"]) == "Equivalent",
        },
        conditions: list(v, "matchConditions")
            .iter()
            .map(|c| compiler.source(c.text_at(&["expression"]), Some(&Type::Bool)))
            .collect(),
        ignore: v.text_at(&["failurePolicy"]) == "Ignore",
        side_effects: v.get("sideEffects").and_then(Value::as_str).map(Str::from),
        timeout: match v.get("timeoutSeconds") {
            Some(Value::Int(seconds)) => *seconds,
            _ => 10,
        },
        versions: list(v, "admissionReviewVersions")
            .iter()
            .filter_map(Value::as_str)
            .map(Str::from)
            .collect(),
        again: mutating && v.text_at(&["reinvocationPolicy"]) == "IfNeeded",
        url: url(v.get("clientConfig").unwrap_or(&Value::Null)).into(),
    }
}

/// The address that a call goes to, without its query.
fn url(client: &Value) -> String {
    let Some(service) = client.get("service").filter(|s| !s.is_null()) else {
        return client.text_at(&["url"]).into();
    };
    let text = |key: &str| service.text_at(&[key]);
    let port = match service.get("port") {
        Some(Value::Int(port)) => *port,
        _ => 443,
    };
    let path = text("path");
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("https://{}.{}.svc:{port}{slash}{path}", text("name"), text("namespace"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_api::admission::defaulted;

    #[test]
    fn a_service_is_called_at_its_name_in_the_cluster_and_the_usual_port() {
        let configuration = ephor_document::yaml_value(
            "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: c}, \
             webhooks: [{name: a.b.c, clientConfig: {service: {name: s, namespace: ns, path: /x}}}, \
             {name: d.e.f, clientConfig: {url: 'https://h/y'}, reinvocationPolicy: IfNeeded, failurePolicy: Ignore}]}",
        )
        .unwrap();
        let found = webhooks(&defaulted(&configuration), Release::default());
        assert_eq!(
            found.iter().map(|w| &*w.url).collect::<Vec<_>>(),
            ["https://s.ns.svc:443/x", "https://h/y"]
        );
        assert_eq!(
            found.iter().map(|w| (w.ignore, w.again)).collect::<Vec<_>>(),
            [(false, false), (true, true)]
        );
        assert!(found.iter().all(|w| w.when.equivalent && w.timeout == 10 && w.version().is_none()));
    }

    #[test]
    fn other_objects_have_no_webhooks() {
        assert!(
            webhooks(
                &ephor_document::yaml_value("{kind: Pod, webhooks: [{name: a.b.c}]}").unwrap(),
                Release::default()
            )
            .is_empty()
        );
    }
}
