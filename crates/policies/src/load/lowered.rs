//! Files with the IR of policies, as `ephor explain --output json` prints it.
//!
//! In: a JSON text. Out: its policies, exceptions and bindings, ready to be evaluated. The policies
//! were checked when they were lowered. Servers refuse such files: they admit what an API server
//! admits, and evaluate Kubernetes' own policies from their documents. Format:
//! `docs/internals/ir-json.md`.

use std::sync::Arc;

use ephor_ir::expressions::{Proxy, View};
use ephor_ir::json::Bundle;
use ephor_ir::{Policy, Rule};
use ephor_value::{Map, Value};

use super::loaded::{Item, LoadedPolicy, Policies, Problem, Reader};

/// What a file with the IR gives.
pub(super) fn item(source: Arc<str>, text: &str, reader: Reader) -> Item {
    let read = match reader {
        Reader::Command | Reader::AllExceptions => Bundle::read(text).map_err(|e| e.to_string()),
        Reader::Server(_) | Reader::Scan => Err("a server reads policies, not their IR".into()),
    };
    let bundle = match read {
        Ok(bundle) => bundle,
        Err(text) => {
            return Item::Left(Problem {
                source,
                line: 1,
                column: None,
                text,
                fatal: true,
                foreign: false,
                fail_closed: true,
                policy: None,
            });
        }
    };
    let Bundle { api_version: _, policies, exceptions, cel_exceptions, mut bindings, cleanups } = bundle;
    let bound = policies.iter().flat_map(|p| p.rules.iter()).filter_map(|r| r.bound.as_ref());
    bindings.extend(bound.flat_map(|b| b.bindings.iter().cloned()).collect::<Vec<_>>());
    let text: Arc<str> = text.into();
    let loaded = |policy: Arc<Policy>| LoadedPolicy {
        document: document(&policy),
        source: source.clone(),
        line: 1,
        text: text.clone(),
        prefix: Vec::new(),
        name: policy.name.to_string(),
        rule_count: policy.rule_count,
        refused: None,
        uncompiled: None,
        faults: Vec::new(),
        policy: Some(policy),
    };
    let policies = policies.into_iter().map(loaded).collect();
    Item::Lowered(Box::new(Policies {
        policies,
        exceptions,
        cel_exceptions,
        bindings,
        cleanups,
        ..Policies::default()
    }))
}

/// What is known of a policy's document: what names it, and for which proxies it is.
fn document(policy: &Policy) -> Value {
    let object = |entries: &[(&str, Value)]| {
        let written = entries.iter().filter(|(_, v)| !v.is_null());
        Value::Map(written.map(|(k, v)| ((*k).into(), v.clone())).collect::<Map>())
    };
    let metadata = object(&[
        ("name", Value::from(&*policy.name)),
        ("namespace", policy.namespace.as_deref().map(Value::from).unwrap_or_default()),
        ("annotations", Value::Map(policy.annotations.clone())),
    ]);
    let mode = policy.rules.iter().find_map(proxy).map(|proxy| match proxy {
        Proxy::Http => "HTTP",
        Proxy::Envoy => "Envoy",
    });
    let evaluation = mode.map(|mode| object(&[("evaluation", object(&[("mode", Value::from(mode))]))]));
    object(&[
        ("apiVersion", Value::from(format!("{}/v1", policy.api.group))),
        ("kind", Value::from(&*policy.api.kind)),
        ("metadata", metadata),
        ("spec", evaluation.unwrap_or_default()),
    ])
}

fn proxy(rule: &Arc<Rule>) -> Option<Proxy> {
    match rule.expressions.as_ref()?.view {
        View::CheckRequest(proxy) => Some(proxy),
        _ => None,
    }
}
