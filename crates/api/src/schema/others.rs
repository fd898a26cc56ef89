//! Schema tables of exceptions and cleanup policies, and which table serves which kind and version.
//! Semantics: sections 1, 9 and 10 of the policy object specification.

use super::common::*;
use super::policy::{LATER_SPEC, RULE, SPEC};
use super::reviews;
use super::shape::Kind::*;
use super::shape::{Object, field, object, text, texts};

static EXCEPTION_SPEC: Object = object(&[
    field("background", Switch),
    field("match", Object(&LATER_MATCH)).required(),
    field("conditions", Object(&LATER_ANY_ALL)),
    field("exceptions", List(&Object(&EXCEPTION))).required(),
    field("podSecurity", List(&Object(&POD_SECURITY_EXCLUDE))),
]);

static EXCEPTION: Object = object(&[text("policyName").required(), texts("ruleNames").required()]);

static CLEANUP_SPEC: Object = object(&[
    field("context", CONTEXT),
    field("match", Object(&LATER_MATCH)).required(),
    field("exclude", Object(&LATER_MATCH)),
    field("schedule", Text).required(),
    field("conditions", Object(&LATER_ANY_ALL)),
    field("deletionPropagationPolicy", Choice(&["Foreground", "Background", "Orphan"])),
]);

static POLICY: Object =
    object(&[field("spec", Object(&SPEC)).required(), field("status", Object(&POLICY_STATUS))]);

static LATER_POLICY: Object =
    object(&[field("spec", Object(&LATER_SPEC)).required(), field("status", Object(&POLICY_STATUS))]);

static EXCEPTION_OBJECT: Object = object(&[field("spec", Object(&EXCEPTION_SPEC)).required()]);

static CLEANUP_OBJECT: Object =
    object(&[field("spec", Object(&CLEANUP_SPEC)).required(), field("status", Object(&CLEANUP_STATUS))]);

static POLICY_STATUS: Object = object(&[
    field("autogen", Object(&AUTOGEN_STATUS)),
    field("conditions", List(&Object(&STATUS_CONDITION))),
    field("ready", Switch),
    field("rulecount", Object(&RULE_COUNT)),
    field("validatingadmissionpolicy", Object(&GENERATED_POLICY)),
]);

static RULE_COUNT: Object = object(&[
    field("validate", Whole(None)).required(),
    field("generate", Whole(None)).required(),
    field("mutate", Whole(None)).required(),
    field("verifyimages", Whole(None)).required(),
]);

static GENERATED_POLICY: Object =
    object(&[field("generated", Switch).required(), text("message").required()]);

static AUTOGEN_STATUS: Object = object(&[field("rules", List(&Object(&RULE)))]);

static CLEANUP_STATUS: Object =
    object(&[field("conditions", List(&Object(&STATUS_CONDITION))), field("lastExecutionTime", DateTime)]);

/// A kind of the group, with the table of each version and what its deprecation notice recommends.
pub struct Served {
    /// The group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The versions and their tables.
    pub versions: &'static [(&'static str, &'static Object)],
    /// What replaces the kind; empty for kinds that are not deprecated.
    pub replacement: &'static str,
}

/// The kinds that are read from files.
pub static SERVED: [Served; 16] = [
    Served {
        group: "kyverno.io",
        kind: "ClusterPolicy",
        versions: &[("v1", &POLICY), ("v2beta1", &LATER_POLICY)],
        replacement: "ValidatingPolicy, MutatingPolicy, GeneratingPolicy or ImageValidatingPolicy",
    },
    Served {
        group: "kyverno.io",
        kind: "Policy",
        versions: &[("v1", &POLICY), ("v2beta1", &LATER_POLICY)],
        replacement: "NamespacedValidatingPolicy and the other namespaced policy types",
    },
    Served {
        group: "kyverno.io",
        kind: "ClusterCleanupPolicy",
        versions: &[("v2", &CLEANUP_OBJECT), ("v2beta1", &CLEANUP_OBJECT)],
        replacement: "DeletingPolicy",
    },
    Served {
        group: "kyverno.io",
        kind: "CleanupPolicy",
        versions: &[("v2", &CLEANUP_OBJECT), ("v2beta1", &CLEANUP_OBJECT)],
        replacement: "NamespacedDeletingPolicy",
    },
    Served {
        group: "kyverno.io",
        kind: "PolicyException",
        versions: &[("v2", &EXCEPTION_OBJECT), ("v2beta1", &EXCEPTION_OBJECT)],
        replacement: "PolicyException",
    },
    review("ValidatingPolicy", &reviews::VALIDATING_VERSIONS),
    review("NamespacedValidatingPolicy", &reviews::NAMESPACED_VALIDATING),
    review("MutatingPolicy", &reviews::MUTATING_VERSIONS),
    review("NamespacedMutatingPolicy", &reviews::NAMESPACED_MUTATING),
    review("GeneratingPolicy", &reviews::GENERATING_VERSIONS),
    review("NamespacedGeneratingPolicy", &reviews::NAMESPACED_GENERATING),
    review("DeletingPolicy", &reviews::DELETING_VERSIONS),
    review("NamespacedDeletingPolicy", &reviews::NAMESPACED_DELETING),
    review("ImageValidatingPolicy", &reviews::IMAGE_VALIDATING_VERSIONS),
    review("NamespacedImageValidatingPolicy", &reviews::NAMESPACED_IMAGE_VALIDATING),
    review("PolicyException", &reviews::EXCEPTION_VERSIONS),
];

const fn review(kind: &'static str, versions: &'static [(&'static str, &'static Object)]) -> Served {
    Served { group: "policies.kyverno.io", kind, versions, replacement: "" }
}
