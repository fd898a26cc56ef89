//! Credentials for registries.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::Repository;
use super::credentials::{Credentials, ImageRegistryCredentials, Keys, Secrets};
use ephor_functions::encode::base64_text;
use ephor_value::Value;

/// Two secrets of namespace `kyverno`.
struct Two;

impl Secrets for Two {
    fn secret(&self, namespace: &str, name: &str) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let config = match (namespace, name) {
            ("kyverno", "first") => {
                r#"{"auths":{"https://ghcr.io":{"username":"u","password":"p"},"ghcr.io/team":{"auth":"dGVhbQ=="},"*.corp.example":{"auth":"Y29ycA=="},"https://index.docker.io/v1/":{"auth":"aHVi"}}}"#
            }
            ("shop", "second") => r#"{"auths":{"other.example":{"identitytoken":"i"}}}"#,
            _ => return Err(format!("secrets \"{name}\" not found").into()),
        };
        let text = format!("data: {{.dockerconfigjson: {}}}", base64_text(config.as_bytes()));
        Ok(ephor_document::yaml_value(&text)?)
    }
}

fn of(secrets: &[&str], registry: &str, path: &str) -> Result<Option<Credentials>, String> {
    let keys = Keys {
        pull_secrets: secrets.iter().map(ToString::to_string).collect(),
        namespace: "kyverno".into(),
        secrets: Some(Arc::new(Two)),
        ..Keys::anonymous()
    };
    keys.of(&Repository { registry: registry.into(), path: path.into() }).map_err(|e| e.to_string())
}

fn password(text: &str) -> Result<Option<Credentials>, String> {
    Ok(Some(Credentials::Basic(base64_text(text.as_bytes()))))
}

#[test]
fn pull_secrets_have_the_entry_of_the_host_with_the_longest_path() {
    let first = |registry, path| of(&["first"], registry, path);
    assert_eq!(first("ghcr.io", "someone/app"), password("u:p"));
    assert_eq!(first("ghcr.io", "team/app"), password("team"));
    assert_eq!(first("ghcr.io", "teams/app"), password("u:p"));
    assert_eq!(first("a.corp.example", "x"), password("corp"));
    assert_eq!(first("a.b.corp.example", "x"), Ok(None));
    assert_eq!(first("ghcr.io.evil.example", "x"), Ok(None));
    assert_eq!(first("index.docker.io", "library/nginx"), password("hub"));
}

#[test]
fn secrets_are_looked_for_in_order_and_one_that_cannot_be_read_is_an_error() {
    assert_eq!(
        of(&["first", "shop/second"], "other.example", "x"),
        Ok(Some(Credentials::Identity("i".into())))
    );
    assert_eq!(
        of(&["gone", "first"], "ghcr.io", "x"),
        Err("failed to read pull secret kyverno/gone: secrets \"gone\" not found".into())
    );
}

#[test]
fn a_policy_adds_secrets_and_providers() {
    let wanted = ephor_document::yaml_value("{secrets: [first], providers: [unknown]}").unwrap();
    let keys = Keys { namespace: "kyverno".into(), secrets: Some(Arc::new(Two)), ..Keys::anonymous() };
    let keys = keys.with(&ImageRegistryCredentials::of(&wanted));
    let at = |registry: &str| Repository { registry: registry.into(), path: "x".into() };
    let of = |registry: &str| keys.of(&at(registry)).map_err(|e| e.to_string());
    assert_eq!(of("ghcr.io"), password("u:p"));
    assert_eq!(of("other.example"), Err("unknown provider of credentials `unknown`".into()));
    let elsewhere = ephor_document::yaml_value("{secrets: [shop/second]}").unwrap();
    assert_eq!(
        keys.with(&ImageRegistryCredentials::of(&elsewhere))
            .of(&at("other.example"))
            .map_err(|e| e.to_string()),
        Err("failed to read pull secret kyverno/shop/second: secrets \"shop/second\" not found".into())
    );
}
