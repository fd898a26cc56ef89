//! CustomResourceDefinitions of the kinds that ephor reads and writes, from the schema tables.
//!
//! Out: objects for an API server. Names, versions, columns and schemas are those of Kyverno
//! 1.19.1, so that the definitions of a cluster with Kyverno and these are the same;
//! `conformance/kube/crds.py` compares them.

use super::others::SERVED;
use super::records;
use super::reports;
use super::shape::Object;
use super::{deprecation, openapi};
use ephor_kubernetes::groups::PolicyNames;
use ephor_value::{Map, Value};

/// A kind of objects in a cluster.
struct Definition {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    is_namespaced: bool,
    columns: Columns,
    /// Fields by which objects are selected.
    selectable: &'static [&'static str],
    status: Status,
    versions: &'static [DefinedVersion],
}

/// Whether `status` is written separately.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Separate,
    Absent,
}

/// A version of a kind.
#[derive(Clone, Copy)]
struct DefinedVersion {
    name: &'static str,
    is_served: bool,
    is_stored: bool,
    /// The table of a kind that is not read from files.
    table: Option<&'static Object>,
    /// Whether clients are warned, with the notice of the kind unless there is a text.
    deprecated: Option<&'static str>,
}

/// Columns of `kubectl get`: name, path, type, and whether they are in wide output alone.
type Columns = &'static [(&'static str, &'static str, &'static str, bool)];

const AGE: &str = ".metadata.creationTimestamp";

const POLICY_COLUMNS: Columns = &[
    ("ADMISSION", ".spec.admission", "boolean", false),
    ("BACKGROUND", ".spec.background", "boolean", false),
    ("READY", r#".status.conditions[?(@.type == "Ready")].status"#, "string", false),
    ("AGE", AGE, "date", false),
    ("FAILURE POLICY", ".spec.failurePolicy", "string", true),
    ("VALIDATE", ".status.rulecount.validate", "integer", true),
    ("MUTATE", ".status.rulecount.mutate", "integer", true),
    ("GENERATE", ".status.rulecount.generate", "integer", true),
    ("VERIFY IMAGES", ".status.rulecount.verifyimages", "integer", true),
    ("MESSAGE", r#".status.conditions[?(@.type == "Ready")].message"#, "string", false),
];

const CLEANUP_COLUMNS: Columns =
    &[("Schedule", ".spec.schedule", "string", false), ("Age", AGE, "date", false)];

const REVIEW_COLUMNS: Columns =
    &[("AGE", AGE, "date", false), ("READY", ".status.conditionStatus.ready", "string", false)];

const AGE_COLUMN: Columns = &[("AGE", AGE, "date", false)];

const ENTRY_COLUMNS: Columns = &[
    ("AGE", AGE, "date", false),
    ("REFRESH INTERVAL", ".spec.apiCall.refreshInterval", "string", false),
    ("LAST REFRESH", ".status.lastRefreshTime", "date", false),
];

const UPDATE_COLUMNS: Columns = &[
    ("Policy", ".spec.policy", "string", false),
    ("RuleType", ".spec.requestType", "string", false),
    ("ResourceKind", ".spec.resource.kind", "string", false),
    ("ResourceName", ".spec.resource.name", "string", false),
    ("ResourceNamespace", ".spec.resource.namespace", "string", false),
    ("status", ".status.state", "string", false),
    ("Age", AGE, "date", false),
];

const REPORT_COLUMNS: Columns = &[
    ("Kind", ".scope.kind", "string", false),
    ("Name", ".scope.name", "string", false),
    ("Pass", ".summary.pass", "integer", false),
    ("Fail", ".summary.fail", "integer", false),
    ("Warn", ".summary.warn", "integer", false),
    ("Error", ".summary.error", "integer", false),
    ("Skip", ".summary.skip", "integer", false),
    ("Age", AGE, "date", false),
];

/// A version whose table is that of the kind in files.
const fn version(name: &'static str) -> DefinedVersion {
    DefinedVersion { name, is_served: true, is_stored: false, table: None, deprecated: None }
}

/// A version with a table of its own.
const fn recorded(name: &'static str, table: &'static Object) -> DefinedVersion {
    DefinedVersion { table: Some(table), ..version(name) }
}

impl DefinedVersion {
    const fn stored(self) -> DefinedVersion {
        DefinedVersion { is_stored: true, ..self }
    }

    const fn deprecated(self, notice: &'static str) -> DefinedVersion {
        DefinedVersion { deprecated: Some(notice), ..self }
    }

    const fn not_served(self) -> DefinedVersion {
        DefinedVersion { is_served: false, ..self }
    }
}

const POLICY_VERSIONS: &[DefinedVersion] =
    &[version("v1").stored().deprecated(""), version("v2beta1").deprecated("")];
const LATER_VERSIONS: &[DefinedVersion] =
    &[version("v2").stored().deprecated(""), version("v2beta1").deprecated("")];
const REVIEW_VERSIONS: &[DefinedVersion] =
    &[version("v1"), version("v1alpha1").deprecated(""), version("v1beta1").stored()];
const NAMESPACED_VERSIONS: &[DefinedVersion] = &[version("v1"), version("v1beta1").stored()];

const MODE: &[&str] = &[".spec.evaluation.mode"];

const fn legacy(
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    is_namespaced: bool,
) -> Definition {
    Definition {
        group: "kyverno.io",
        kind,
        plural,
        short,
        is_namespaced,
        columns: POLICY_COLUMNS,
        selectable: &[],
        status: Status::Separate,
        versions: POLICY_VERSIONS,
    }
}

const fn review(kind: &'static str, plural: &'static str, short: &'static [&'static str]) -> Definition {
    Definition {
        group: "policies.kyverno.io",
        columns: REVIEW_COLUMNS,
        versions: REVIEW_VERSIONS,
        ..legacy(kind, plural, short, false)
    }
}

const fn namespaced(kind: &'static str, plural: &'static str, short: &'static [&'static str]) -> Definition {
    Definition { is_namespaced: true, versions: NAMESPACED_VERSIONS, ..review(kind, plural, short) }
}

const fn report(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
) -> Definition {
    Definition {
        group,
        columns: REPORT_COLUMNS,
        status: Status::Absent,
        versions: &[],
        ..legacy(kind, plural, short, true)
    }
}

const POLICY_REPORTS: &[DefinedVersion] = &[recorded("v1alpha2", &reports::POLICY_REPORT).stored()];
const OPEN_REPORTS: &[DefinedVersion] = &[recorded("v1alpha1", &reports::OPEN_REPORT).stored()];

static DEFINITIONS: [Definition; 22] = [
    legacy("ClusterPolicy", "clusterpolicies", &["cpol"], false),
    legacy("Policy", "policies", &["pol"], true),
    Definition {
        columns: CLEANUP_COLUMNS,
        versions: LATER_VERSIONS,
        ..legacy("ClusterCleanupPolicy", "clustercleanuppolicies", &["ccleanpol"], false)
    },
    Definition {
        columns: CLEANUP_COLUMNS,
        versions: LATER_VERSIONS,
        ..legacy("CleanupPolicy", "cleanuppolicies", &["cleanpol"], true)
    },
    Definition {
        columns: &[],
        status: Status::Absent,
        versions: LATER_VERSIONS,
        ..legacy("PolicyException", "policyexceptions", &["polex"], true)
    },
    Definition {
        columns: ENTRY_COLUMNS,
        versions: &[
            recorded("v2", &records::GLOBAL_CONTEXT_ENTRY),
            recorded("v2alpha1", &records::EARLIER_GLOBAL_CONTEXT_ENTRY).deprecated(
                "kyverno.io/v2alpha1 GlobalContextEntry is deprecated; use kyverno.io/v2 GlobalContextEntry",
            ),
            recorded("v2beta1", &records::EARLIER_GLOBAL_CONTEXT_ENTRY).stored(),
        ],
        ..legacy("GlobalContextEntry", "globalcontextentries", &["gctxentry"], false)
    },
    Definition {
        columns: UPDATE_COLUMNS,
        versions: &[
            recorded("v1beta1", &records::EARLIER_UPDATE_REQUEST).not_served().deprecated(
                "kyverno.io/v1beta1 UpdateRequest is deprecated; use kyverno.io/v2 UpdateRequest",
            ),
            recorded("v2", &records::UPDATE_REQUEST).stored(),
        ],
        ..legacy("UpdateRequest", "updaterequests", &["ur"], true)
    },
    Definition { selectable: MODE, ..review("ValidatingPolicy", "validatingpolicies", &["vpol"]) },
    Definition {
        selectable: MODE,
        ..namespaced("NamespacedValidatingPolicy", "namespacedvalidatingpolicies", &["nvpol"])
    },
    Definition { selectable: MODE, ..review("MutatingPolicy", "mutatingpolicies", &["mpol"]) },
    Definition {
        selectable: MODE,
        ..namespaced("NamespacedMutatingPolicy", "namespacedmutatingpolicies", &["nmpol"])
    },
    Definition { columns: AGE_COLUMN, ..review("GeneratingPolicy", "generatingpolicies", &["gpol"]) },
    Definition {
        columns: AGE_COLUMN,
        ..namespaced("NamespacedGeneratingPolicy", "namespacedgeneratingpolicies", &["ngpol"])
    },
    review("DeletingPolicy", "deletingpolicies", &["dpol"]),
    namespaced("NamespacedDeletingPolicy", "namespaceddeletingpolicies", &["ndpol"]),
    review("ImageValidatingPolicy", "imagevalidatingpolicies", &["ivpol"]),
    namespaced("NamespacedImageValidatingPolicy", "namespacedimagevalidatingpolicies", &["nivpol"]),
    Definition {
        columns: &[],
        status: Status::Absent,
        is_namespaced: true,
        ..review("PolicyException", "policyexceptions", &[])
    },
    Definition {
        versions: POLICY_REPORTS,
        ..report("wgpolicyk8s.io", "PolicyReport", "policyreports", &["polr"])
    },
    Definition {
        versions: POLICY_REPORTS,
        is_namespaced: false,
        ..report("wgpolicyk8s.io", "ClusterPolicyReport", "clusterpolicyreports", &["cpolr"])
    },
    Definition { versions: OPEN_REPORTS, ..report("openreports.io", "Report", "reports", &["reps"]) },
    Definition {
        versions: OPEN_REPORTS,
        is_namespaced: false,
        ..report("openreports.io", "ClusterReport", "clusterreports", &["creps"])
    },
];

/// The groups of the definitions.
pub const GROUPS: [&str; 4] = ["kyverno.io", "policies.kyverno.io", "wgpolicyk8s.io", "openreports.io"];

/// All definitions.
pub fn definitions() -> Vec<Value> {
    DEFINITIONS.iter().map(object).collect()
}

/// The definitions of our own groups: the same kinds and schemas. Short names begin with `e`, since
/// those of Kyverno may be in the cluster too, and nothing is deprecated.
pub fn own_definitions() -> Vec<Value> {
    let own = DEFINITIONS.iter().filter_map(|d| Some((d, PolicyNames::Own.of_group(d.group)?)));
    own.map(|(definition, group)| {
        let of = object(definition);
        let texts_at = |path: &[&str]| of.at(path).and_then(Value::as_list).unwrap_or_default().to_vec();
        let short = texts_at(&["spec", "names", "shortNames"]);
        let short = short.iter().filter_map(Value::as_str).map(|name| format!("e{name}").into()).collect();
        let names = of.at(&["spec", "names"]).cloned().unwrap_or_default();
        let names = names.with("shortNames", Value::list(short)).with("categories", texts(&["ephor"]));
        let current = |version: &Value| {
            let mut members = version.as_map().cloned().unwrap_or_default();
            ["deprecated", "deprecationWarning"].iter().for_each(|key| drop(members.remove(key)));
            Value::Map(members)
        };
        let versions = texts_at(&["spec", "versions"]).iter().map(current).collect();
        let spec = of.get("spec").cloned().unwrap_or_default();
        let spec =
            spec.with("group", group.into()).with("names", names).with("versions", Value::list(versions));
        let name = format!("{}.{group}", definition.plural);
        of.with("metadata", Value::map([("name", Value::from(name))])).with("spec", spec)
    })
    .collect()
}

fn object(definition: &Definition) -> Value {
    let name = format!("{}.{}", definition.plural, definition.group);
    let mut names = vec![
        ("kind".into(), definition.kind.into()),
        ("listKind".into(), Value::from(format!("{}List", definition.kind))),
        ("plural".into(), definition.plural.into()),
        ("singular".into(), Value::from(definition.kind.to_lowercase())),
    ];
    if !definition.short.is_empty() {
        names.push(("shortNames".into(), texts(definition.short)));
    }
    // Reports and the exceptions of policies.kyverno.io are not listed by `kubectl get kyverno`.
    let has_category = definition.group == "kyverno.io"
        || (definition.group == "policies.kyverno.io" && !definition.short.is_empty());
    if has_category {
        names.push(("categories".into(), texts(&["kyverno"])));
    }
    let versions = definition.versions.iter().filter_map(|version| version_of(definition, version));
    Value::map([
        ("apiVersion", "apiextensions.k8s.io/v1".into()),
        ("kind", "CustomResourceDefinition".into()),
        ("metadata", Value::map([("name", Value::from(name))])),
        (
            "spec",
            Value::map([
                ("group", definition.group.into()),
                ("names", Value::Map(Map::from_unique(names))),
                ("scope", if definition.is_namespaced { "Namespaced" } else { "Cluster" }.into()),
                ("versions", Value::list(versions.collect())),
            ]),
        ),
    ])
}

fn version_of(definition: &Definition, version: &DefinedVersion) -> Option<Value> {
    let table = version.table.or_else(|| read(definition, version.name))?;
    let mut out = Value::map([
        ("name", version.name.into()),
        ("served", Value::Bool(version.is_served)),
        ("storage", Value::Bool(version.is_stored)),
    ]);
    if let Some(notice) = version.deprecated {
        out = out.with("deprecated", Value::Bool(true));
        let of_kind = || deprecation(&format!("{}/{}", definition.group, version.name), definition.kind);
        let notice = if notice.is_empty() { of_kind() } else { Some(notice.to_owned()) };
        if let Some(notice) = notice {
            out = out.with("deprecationWarning", Value::from(notice));
        }
    }
    if !definition.columns.is_empty() {
        out = out.with("additionalPrinterColumns", columns(definition.columns));
    }
    if !definition.selectable.is_empty() {
        let field = |path: &&str| Value::map([("jsonPath", (*path).into())]);
        out = out.with("selectableFields", Value::list(definition.selectable.iter().map(field).collect()));
    }
    out = out.with("schema", Value::map([("openAPIV3Schema", openapi::of_kind(table))]));
    if definition.status == Status::Separate {
        out = out.with("subresources", Value::map([("status", Value::map([]))]));
    }
    Some(out)
}

/// The table of a kind that is read from files.
fn read(definition: &Definition, version: &str) -> Option<&'static Object> {
    let served = SERVED.iter().find(|s| s.group == definition.group && s.kind == definition.kind)?;
    served.versions.iter().find(|(name, _)| *name == version).map(|(_, table)| *table)
}

fn columns(columns: Columns) -> Value {
    let column = |(name, path, kind, is_wide): &(&str, &str, &str, bool)| {
        let column =
            Value::map([("name", (*name).into()), ("jsonPath", (*path).into()), ("type", (*kind).into())]);
        if *is_wide { column.with("priority", Value::Int(1)) } else { column }
    };
    Value::list(columns.iter().map(column).collect())
}

fn texts(texts: &[&str]) -> Value {
    Value::list(texts.iter().map(|text| Value::from(*text)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn our_own_groups_have_kyvernos_kinds_with_its_schemas_and_nothing_deprecated() {
        let (all, own) = (definitions(), own_definitions());
        let of_policies = all.iter().filter(|d| d.text_at(&["spec", "group"]).ends_with("kyverno.io"));
        assert_eq!(of_policies.clone().count(), own.len());
        for (kyverno, own) in of_policies.zip(&own) {
            let at = |d: &Value, path: &[&str]| d.text_at(path).to_string();
            let name = at(kyverno, &["metadata", "name"]).replace("kyverno.io", "ephor.dev");
            assert_eq!(at(own, &["metadata", "name"]), name);
            assert_eq!(at(own, &["spec", "names", "kind"]), at(kyverno, &["spec", "names", "kind"]));
            let versions = |d: &Value| d.at(&["spec", "versions"]).unwrap().as_list().unwrap().to_vec();
            for (kyverno, own) in versions(kyverno).iter().zip(&versions(own)) {
                assert_eq!(own.get("schema"), kyverno.get("schema"), "{name}");
                assert_eq!(own.get("deprecated"), None, "{name}");
            }
        }
    }
}
