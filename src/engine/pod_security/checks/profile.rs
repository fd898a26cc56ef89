//! Checks of kernel security profiles: AppArmor, SELinux, seccomp.

use crate::value::Value;

use super::super::finding::{Bad, plural, quoted, sorted};
use super::super::pod::{Pod, error, present};
use super::container::containers;
use super::user::{Setters, setters};
use super::{FieldError, Violation};

const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// The type of a profile, empty when the profile has none.
fn profile_type<'a>(security: &'a Value, profile: &str) -> Option<&'a str> {
    present(security, profile).map(|p| p.text_at(&["type"]))
}

fn is_allowed(kind: &str) -> bool {
    matches!(kind, "RuntimeDefault" | "Localhost")
}

fn bad_type(security: &Value, profile: &str) -> Option<Bad> {
    profile_type(security, profile).filter(|kind| !is_allowed(kind)).map(|kind| Bad::Text(kind.into()))
}

/// The texts that errors complain about.
fn texts(errors: &[FieldError]) -> Vec<String> {
    let text = |e: &FieldError| match &e.bad {
        Bad::Text(t) => Some(t.clone()),
        _ => None,
    };
    errors.iter().filter_map(text).collect()
}

/// Annotations below `prefix` whose profile is not `accepted`, sorted by key.
fn bad_annotations<'a>(
    pod: &Pod<'a>,
    is_meant: impl Fn(&str) -> bool,
    accepted: &[&str],
) -> Vec<(&'a str, &'a str)> {
    let Some(annotations) = pod.annotations else { return Vec::new() };
    let mut found: Vec<(&str, &str)> = annotations
        .iter()
        .filter(|(k, _)| is_meant(k))
        .map(|(k, v)| (&**k, v.as_str().unwrap_or_default()))
        .filter(|(_, v)| !accepted.contains(v) && !v.starts_with("localhost/"))
        .collect();
    found.sort_unstable();
    found
}

/// AppArmor profiles are the runtime's or local ones.
pub fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    let Setters { pod: by_pod, names, mut errors } =
        Setters::of(pod, "appArmorProfile.type", |s| bad_type(s, "appArmorProfile"));
    let annotations = bad_annotations(pod, |k| k.starts_with(APP_ARMOR_PREFIX), &["", "runtime/default"]);
    if errors.is_empty() && annotations.is_empty() {
        return None;
    }
    let mut values = texts(&errors);
    for (key, value) in &annotations {
        values.push(format!("{key}={}", crate::value::quote::quote(value)));
        errors.push(error(format!("metadata.annotations[{key}]"), Bad::Text((*value).into())));
    }
    let values = sorted(values);
    let word = (!annotations.is_empty()).then(|| plural("annotation", annotations.len()));
    Some(Violation {
        reason: if values.len() == 1 { "forbidden AppArmor profile" } else { "forbidden AppArmor profiles" },
        detail: format!(
            "{} must not set AppArmor profile type to {}",
            setters(by_pod, &names, word),
            quoted(&values)
        ),
        errors,
    })
}

/// Seccomp profiles, given as annotations, are the runtime's or local ones.
pub fn seccomp_annotations(pod: &Pod<'_>) -> Option<Violation> {
    let is_meant = |k: &str| {
        let container = k.strip_prefix(SECCOMP_PREFIX);
        k == SECCOMP_POD || container.is_some_and(|name| pod.containers().any(|c| c.name() == name))
    };
    let bad = bad_annotations(pod, is_meant, &["runtime/default", "docker/default"]);
    (!bad.is_empty()).then(|| {
        let shown: Vec<String> = bad.iter().map(|(k, v)| format!("{k}=\"{v}\"")).collect();
        let forbidden =
            |(k, v): &(&str, &str)| error(format!("metadata.annotations[{k}]"), Bad::Text((*v).into()));
        Violation {
            reason: "seccompProfile",
            detail: format!("forbidden {} {}", plural("annotation", bad.len()), shown.join(", ")),
            errors: bad.iter().map(forbidden).collect(),
        }
    })
}

/// Seccomp profiles are the runtime's or local ones.
pub fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let found = Setters::of(pod, "seccompProfile.type", |s| bad_type(s, "seccompProfile"));
    (!found.errors.is_empty()).then(|| Violation {
        reason: "seccompProfile",
        detail: format!(
            "{} must not set securityContext.seccompProfile.type to {}",
            found.text(),
            quoted(&sorted(texts(&found.errors)))
        ),
        errors: found.errors,
    })
}

/// As [`seccomp`], and each container has one, its own or the pod's.
pub fn seccomp_required(pod: &Pod<'_>) -> Option<Violation> {
    let explicit = seccomp(pod);
    let covered = || pod.security().and_then(|s| profile_type(s, "seccompProfile")).is_some_and(is_allowed);
    if explicit.is_some() || covered() {
        return explicit;
    }
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for c in pod.containers() {
        if c.security().and_then(|s| profile_type(s, "seccompProfile")).is_none() {
            names.push(c.name());
            errors.push(c.error("securityContext.seccompProfile.type", Bad::Missing));
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "seccompProfile",
        detail: format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            containers(&names)
        ),
        errors,
    })
}

/// SELinux types are those of containers; user and role are not set.
pub fn se_linux(pod: &Pod<'_>) -> Option<Violation> {
    se_linux_with(pod, &["", "container_t", "container_init_t", "container_kvm_t"])
}

/// As [`se_linux`] with the type of container engines.
pub fn se_linux_with_engine(pod: &Pod<'_>) -> Option<Violation> {
    se_linux_with(pod, &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])
}

fn se_linux_with(pod: &Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let is_bad = |key: &str, value: &str| match key {
        "type" => !allowed.contains(&value),
        _ => !value.is_empty(),
    };
    let bad_options = |security: Option<&Value>| {
        let options = security.and_then(|s| present(s, "seLinuxOptions"));
        let bad = |key: &&'static str| {
            let value = options.map(|o| o.text_at(&[key])).unwrap_or_default();
            is_bad(key, value).then(|| (*key, value.to_string()))
        };
        ["type", "user", "role"].iter().filter_map(bad).collect::<Vec<_>>()
    };
    let (mut by_pod, mut names, mut errors) = (false, Vec::new(), Vec::new());
    for (key, value) in bad_options(pod.security()) {
        by_pod = true;
        errors.push(error(format!("spec.securityContext.seLinuxOptions.{key}"), Bad::Text(value)));
    }
    for c in pod.containers() {
        let bad = bad_options(c.security());
        if !bad.is_empty() {
            names.push(c.name());
        }
        for (key, value) in bad {
            errors.push(c.error(&format!("securityContext.seLinuxOptions.{key}"), Bad::Text(value)));
        }
    }
    (!errors.is_empty()).then(|| {
        let of = |key: &str| -> Vec<FieldError> {
            errors.iter().filter(|e| e.field.ends_with(key)).cloned().collect()
        };
        let types = sorted(texts(&of(".type")));
        let mut what = Vec::new();
        if !types.is_empty() {
            what.push(format!("{} {}", plural("type", types.len()), quoted(&types)));
        }
        for (key, text) in [(".user", "user may not be set"), (".role", "role may not be set")] {
            if !of(key).is_empty() {
                what.push(text.into());
            }
        }
        Violation {
            reason: "seLinuxOptions",
            detail: format!(
                "{} set forbidden securityContext.seLinuxOptions: {}",
                setters(by_pod, &names, None),
                what.join("; ")
            ),
            errors,
        }
    })
}
