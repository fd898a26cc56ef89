//! Kind selectors: what a `kinds` entry such as `apps/v1/Deployment` or `Pod/exec` stands for.
//!
//! In: the text of one entry. Out: four wildcard patterns for group, version, kind and subresource.
//! Semantics: `docs/semantics/policies.md`, "Kind selectors". The reading is by shape alone, so
//! some texts mean something else than they seem to (`v10/Pod` is kind `v10` with subresource
//! `Pod`); that is Kyverno's behaviour and policies rely on it.

use ephor_value::wildcard;

/// A `kinds` entry, taken apart. Every part is a wildcard pattern; an empty part matches only the
/// empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindSelector {
    /// API group, `*` when the entry names none.
    pub group: String,
    /// API version, `*` when the entry names none.
    pub version: String,
    /// Kind; for a subresource the kind of its parent.
    pub kind: String,
    /// Subresource, empty when the entry names none.
    pub subresource: String,
}

impl KindSelector {
    fn new(group: &str, version: &str, kind: &str, subresource: &str) -> Self {
        KindSelector {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            subresource: subresource.into(),
        }
    }

    /// Whether an object of this group, version, kind and subresource (`""` = none) is selected.
    pub fn matches(&self, group: &str, version: &str, kind: &str, subresource: &str) -> bool {
        wildcard::matches(&self.kind, kind)
            && wildcard::matches(&self.group, group)
            && wildcard::matches(&self.version, version)
            && wildcard::matches(&self.subresource, subresource)
    }
}

/// Reads one `kinds` entry. An entry with too many parts gives a selector that matches nothing.
pub fn parse(text: &str) -> KindSelector {
    let mut pieces: Vec<&str> = text.split('/').collect();
    let last = pieces.pop().unwrap_or("");
    pieces.extend(last.split('.'));
    match pieces.as_slice() {
        [kind] => KindSelector::new("*", "*", kind, ""),
        ["*", "*"] => KindSelector::new("*", "*", "*", "*"),
        ["*", sub] if is_lower_case(sub) => KindSelector::new("*", "*", "*", sub),
        [version, kind] if *version == "*" || is_version(version) => {
            KindSelector::new("*", version, kind, "")
        }
        [kind, sub] => KindSelector::new("*", "*", kind, sub),
        [version, kind, sub] if *version == "*" || is_version(version) => {
            KindSelector::new("*", version, kind, sub)
        }
        [group, version, kind] => KindSelector::new(group, version, kind, ""),
        [group, version, kind, sub] => KindSelector::new(group, version, kind, sub),
        _ => KindSelector::default(),
    }
}

/// Whether one of the entries selects the kind `Pod`, in whatever spelling.
pub fn any_is_pod<'a>(entries: impl IntoIterator<Item = &'a str>) -> bool {
    entries.into_iter().any(|entry| parse(entry).kind == "Pod")
}

fn is_lower_case(text: &str) -> bool {
    !text.chars().any(char::is_uppercase)
}

/// `v` and one digit, optionally `alpha` or `beta` and one digit.
fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let Some(rest) = rest.strip_prefix(|c: char| c.is_ascii_digit()) else { return false };
    if rest.is_empty() {
        return true;
    }
    let Some(number) = rest.strip_prefix("alpha").or_else(|| rest.strip_prefix("beta")) else {
        return false;
    };
    number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_by_its_shape() {
        for (text, parts) in [
            ("Pod", ["*", "*", "Pod", ""]),
            ("*", ["*", "*", "*", ""]),
            ("*/*", ["*", "*", "*", "*"]),
            ("*/status", ["*", "*", "*", "status"]),
            ("*/Pod", ["*", "*", "Pod", ""]),
            ("v1/Pod", ["*", "v1", "Pod", ""]),
            ("v1beta1/CronJob", ["*", "v1beta1", "CronJob", ""]),
            ("v10/Pod", ["*", "*", "v10", "Pod"]),
            ("v1beta12/Pod", ["*", "*", "v1beta12", "Pod"]),
            ("Pod/exec", ["*", "*", "Pod", "exec"]),
            ("Pod.status", ["*", "*", "Pod", "status"]),
            ("v1/Pod.status", ["*", "v1", "Pod", "status"]),
            ("*/v1/Pod", ["*", "*", "v1", "Pod"]),
            ("*/*/Pod", ["*", "*", "*", "Pod"]),
            ("apps/v1/Deployment", ["apps", "v1", "Deployment", ""]),
            ("apps/v1/Deployment/scale", ["apps", "v1", "Deployment", "scale"]),
            ("Deployment.v1.apps", ["Deployment", "v1", "apps", ""]),
            ("networking.k8s.io/Ingress", ["*", "*", "networking.k8s.io", "Ingress"]),
            ("a/b/c/d/e", ["", "", "", ""]),
        ] {
            let [g, v, k, s] = parts;
            assert_eq!(parse(text), KindSelector::new(g, v, k, s), "{text}");
        }
    }

    #[test]
    fn a_selector_without_subresource_takes_no_subresource_request() {
        for (text, pod, deployment, pod_status) in [
            ("Po?", true, false, false),
            ("*/Pod", true, false, false),
            ("apps/*/Deployment", false, true, false),
            ("*Set", false, false, false),
            ("*", true, true, false),
            ("*/*", true, true, true),
            ("*/status", false, false, true),
            ("pod", false, false, false),
            ("a/b/c/d/e", false, false, false),
        ] {
            let selector = parse(text);
            assert_eq!(selector.matches("", "v1", "Pod", ""), pod, "{text}");
            assert_eq!(selector.matches("apps", "v1", "Deployment", ""), deployment, "{text}");
            assert_eq!(selector.matches("", "v1", "Pod", "status"), pod_status, "{text}");
        }
    }
}
