//! Checks of the user that containers run as.

use crate::value::Value;

use super::super::finding::Bad;
use super::super::pod::{Pod, error, whole};
use super::container::containers;
use super::{FieldError, Violation};

/// Who set a field wrongly: the pod, containers, or both.
pub struct Setters<'a> {
    /// The pod did.
    pub pod: bool,
    /// Containers that did.
    pub names: Vec<&'a str>,
    /// The fields.
    pub errors: Vec<FieldError>,
}

impl<'a> Setters<'a> {
    /// Those whose security context `is_bad`; `tail` is the field below it.
    pub fn of(pod: &Pod<'a>, tail: &str, is_bad: impl Fn(&'a Value) -> Option<Bad>) -> Setters<'a> {
        let mut found = Setters { pod: false, names: Vec::new(), errors: Vec::new() };
        if let Some(bad) = pod.security().and_then(&is_bad) {
            found.pod = true;
            found.errors.push(error(format!("spec.securityContext.{tail}"), bad));
        }
        for c in pod.containers() {
            if let Some(bad) = c.security().and_then(&is_bad) {
                found.names.push(c.name());
                found.errors.push(c.error(&format!("securityContext.{tail}"), bad));
            }
        }
        found
    }

    /// `pod and containers "a", "b"`.
    pub fn text(&self) -> String {
        setters(self.pod, &self.names, None)
    }
}

/// `pod and containers "a", "b" and annotations`.
pub fn setters(pod: bool, names: &[&str], annotations: Option<String>) -> String {
    let parts = [pod.then(|| "pod".into()), (!names.is_empty()).then(|| containers(names)), annotations];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

fn flag(security: Option<&Value>, key: &str) -> Option<bool> {
    security.and_then(|s| s.get(key)).and_then(Value::as_bool)
}

/// The pod or each container says `runAsNonRoot: true`, and none says false.
pub fn non_root(pod: &Pod<'_>) -> Option<Violation> {
    let Setters { pod: by_pod, names, mut errors } = Setters::of(pod, "runAsNonRoot", |s| {
        (flag(Some(s), "runAsNonRoot") == Some(false)).then_some(Bad::Flag(false))
    });
    let mut details = Vec::new();
    if !errors.is_empty() {
        let who = setters(by_pod, &names, None);
        details.push(format!("{who} must not set securityContext.runAsNonRoot=false"));
    }
    if flag(pod.security(), "runAsNonRoot") != Some(true) {
        let mut unset = Vec::new();
        for c in pod.containers().filter(|c| flag(c.security(), "runAsNonRoot").is_none()) {
            unset.push(c.name());
            errors.push(c.error("securityContext.runAsNonRoot", Bad::Missing));
        }
        if !unset.is_empty() {
            let who = containers(&unset);
            details.push(format!("pod or {who} must set securityContext.runAsNonRoot=true"));
        }
    }
    (!errors.is_empty()).then(|| Violation {
        reason: "runAsNonRoot != true",
        detail: details.join("\n"),
        errors,
    })
}

/// Nobody asks for user 0.
pub fn not_zero(pod: &Pod<'_>) -> Option<Violation> {
    let found = Setters::of(pod, "runAsUser", |s| {
        (s.get("runAsUser").and_then(whole) == Some(0)).then_some(Bad::Number(0))
    });
    (!found.errors.is_empty()).then(|| Violation {
        reason: "runAsUser=0",
        detail: format!("{} must not set runAsUser=0", found.text()),
        errors: found.errors,
    })
}

/// Nobody asks for a process of the Windows host.
pub fn host_process(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "windowsOptions.hostProcess";
    let found = Setters::of(pod, FIELD, |s| {
        let asked = s.at(&["windowsOptions", "hostProcess"]).and_then(Value::as_bool);
        (asked == Some(true)).then_some(Bad::Flag(true))
    });
    (!found.errors.is_empty()).then(|| Violation {
        reason: "hostProcess",
        detail: format!("{} must not set securityContext.{FIELD}=true", found.text()),
        errors: found.errors,
    })
}
