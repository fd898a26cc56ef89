//! Schema tables of ClusterPolicy and Policy. Semantics: section 2 of the policy object
//! specification.

use super::common::*;
use super::shape::Kind::{self, *};
use super::shape::{Object, atomic, field, object, text, texts};

/// A rule of version v1.
pub static RULE: Object = object(&[
    field("name", Short(63)).required(),
    field("context", CONTEXT),
    field("reportProperties", TextMap),
    field("match", Object(&MATCH)).required(),
    field("exclude", Object(&MATCH)),
    field("imageExtractors", MapOf(&List(&Object(&IMAGE_EXTRACTOR)))),
    field("preconditions", Conditions),
    field("celPreconditions", List(&Object(&NAMED_EXPRESSION))),
    field("mutate", Object(&MUTATE)),
    field("validate", Object(&VALIDATE)),
    field("generate", Object(&GENERATE)),
    field("verifyImages", List(&Object(&VERIFY_IMAGES))),
    field("skipBackgroundRequests", Switch).default(true),
]);

/// A rule of version v2beta1.
static LATER_RULE: Object = object(&[
    field("name", Short(63)).required(),
    field("context", CONTEXT),
    field("reportProperties", TextMap),
    field("match", Object(&LATER_MATCH)).required(),
    field("exclude", Object(&LATER_MATCH)),
    field("imageExtractors", MapOf(&List(&Object(&IMAGE_EXTRACTOR)))),
    field("preconditions", Object(&LATER_ANY_ALL)),
    field("celPreconditions", List(&Object(&NAMED_EXPRESSION))),
    field("mutate", Object(&MUTATE)),
    field("validate", Object(&LATER_VALIDATE)),
    field("generate", Object(&GENERATE)),
    field("verifyImages", List(&Object(&LATER_VERIFY_IMAGES))),
    field("skipBackgroundRequests", Switch).default(true),
]);

/// `spec` of both kinds, version v1.
pub static SPEC: Object = object(&spec(List(&Object(&RULE))));

/// `spec` of both kinds, version v2beta1.
pub static LATER_SPEC: Object = object(&spec(List(&Object(&LATER_RULE))));

const OVERRIDES: Kind = List(&Object(&OVERRIDE));

const ACTION: Kind = Choice(&["audit", "enforce", "Audit", "Enforce"]);

const FAILURE_POLICY: Kind = Choice(&["Ignore", "Fail"]);

const fn spec(rules: Kind) -> [super::shape::Field; 15] {
    [
        field("rules", rules),
        field("applyRules", Choice(&["All", "One"])),
        field("failurePolicy", FAILURE_POLICY),
        field("validationFailureAction", ACTION).default_text("Audit"),
        field("validationFailureActionOverrides", OVERRIDES),
        field("emitWarning", Switch).default(false),
        field("admission", Switch).default(true),
        field("background", Switch).default(true),
        field("schemaValidation", Switch),
        field("webhookTimeoutSeconds", Int32),
        field("mutateExistingOnPolicyUpdate", Flag),
        field("generateExistingOnPolicyUpdate", Switch),
        field("generateExisting", Flag),
        field("useServerSideApply", Flag),
        field("webhookConfiguration", Object(&WEBHOOK)),
    ]
}

static WEBHOOK: Object = object(&[
    field("failurePolicy", FAILURE_POLICY),
    field("timeoutSeconds", Int32),
    field("matchConditions", List(&Object(&NAMED_EXPRESSION))),
]);

static OVERRIDE: Object =
    object(&[field("action", ACTION), texts("namespaces"), field("namespaceSelector", Object(&SELECTOR))]);

static IMAGE_EXTRACTOR: Object =
    object(&[text("path").required(), text("value"), text("name"), text("key"), text("jmesPath")]);

static MUTATE: Object = object(&[
    field("mutateExistingOnPolicyUpdate", Switch),
    field("targets", List(&Object(&TARGET))),
    field("patchStrategicMerge", Any),
    text("patchesJson6902"),
    field("foreach", List(&Object(&MUTATE_FOREACH))),
]);

static TARGET: Object = object(&[
    text("apiVersion"),
    text("kind"),
    text("namespace"),
    text("name"),
    text("uid"),
    field("selector", Object(&SELECTOR)),
    field("context", CONTEXT),
    field("preconditions", Conditions),
]);

/// A mutate loop; nested ones have the same fields.
pub static MUTATE_FOREACH: Object = object(&[
    text("list"),
    field("order", Choice(&["Ascending", "Descending"])),
    field("context", CONTEXT),
    field("preconditions", Object(&ANY_ALL)),
    field("patchStrategicMerge", Any),
    text("patchesJson6902"),
    field("foreach", MutateLoops),
]);

static VALIDATE: Object = object(&[
    field("failureAction", Choice(&["Audit", "Enforce"])),
    field("failureActionOverrides", OVERRIDES),
    field("allowExistingViolations", Switch).default(true),
    text("message"),
    field("manifests", Object(&MANIFESTS)),
    field("foreach", List(&Object(&VALIDATE_FOREACH))),
    field("pattern", Any),
    field("anyPattern", Any),
    field("deny", Object(&DENY)),
    field("podSecurity", Object(&POD_SECURITY)),
    field("cel", Object(&CEL)),
    field("assert", Any),
]);

static LATER_VALIDATE: Object = object(&[
    field("failureAction", Choice(&["Audit", "Enforce"])),
    field("failureActionOverrides", OVERRIDES),
    text("message"),
    field("manifests", Object(&MANIFESTS)),
    field("foreach", List(&Object(&VALIDATE_FOREACH))),
    field("pattern", Any),
    field("anyPattern", Any),
    field("deny", Object(&LATER_DENY)),
    field("podSecurity", Object(&POD_SECURITY)),
    field("cel", Object(&CEL)),
    field("assert", Any),
]);

static DENY: Object = object(&[field("conditions", Conditions)]);

static LATER_DENY: Object = object(&[field("conditions", Object(&LATER_ANY_ALL))]);

/// A validate loop; nested ones have the same fields.
pub static VALIDATE_FOREACH: Object = object(&[
    text("list"),
    field("elementScope", Switch),
    field("context", CONTEXT),
    field("preconditions", Object(&ANY_ALL)),
    field("pattern", Any),
    field("anyPattern", Any),
    field("deny", Object(&DENY)),
    field("foreach", ValidateLoops),
]);

const VERSIONS: [&str; 15] = [
    "v1.19", "v1.20", "v1.21", "v1.22", "v1.23", "v1.24", "v1.25", "v1.26", "v1.27", "v1.28", "v1.29",
    "v1.30", "v1.31", "v1.32", "latest",
];

static POD_SECURITY: Object = object(&[
    field("level", Choice(&["privileged", "baseline", "restricted"])),
    field("version", Choice(&VERSIONS)),
    field("exclude", List(&Object(&POD_SECURITY_EXCLUDE))),
]);

static CEL: Object = object(&[
    field("generate", Switch).default(false),
    field("expressions", List(&Object(&VALIDATION))),
    field("paramKind", Object(&PARAM_KIND)),
    field("paramRef", Object(&PARAM_REF)),
    field("auditAnnotations", List(&Object(&AUDIT_ANNOTATION))),
    field("variables", List(&Object(&NAMED_VARIABLE))),
]);

static VALIDATION: Object =
    object(&[text("expression").required(), text("message"), text("reason"), text("messageExpression")]);

static PARAM_KIND: Object = atomic(&[text("apiVersion"), text("kind")]);

static PARAM_REF: Object = atomic(&[
    text("name"),
    text("namespace"),
    field("selector", Object(&SELECTOR)),
    text("parameterNotFoundAction"),
]);

static AUDIT_ANNOTATION: Object = object(&[text("key").required(), text("valueExpression").required()]);

static MANIFESTS: Object = object(&[
    field("attestors", ATTESTORS),
    text("annotationDomain"),
    field("ignoreFields", List(&Object(&IGNORED))),
    field("dryRun", Object(&DRY_RUN)),
    text("repository"),
]);

static IGNORED: Object = object(&[texts("fields"), field("objects", List(&Object(&OBJECT_REFERENCE)))]);

static OBJECT_REFERENCE: Object =
    object(&[text("group"), text("version"), text("kind"), text("name"), text("namespace")]);

static DRY_RUN: Object = object(&[field("enable", Flag), text("namespace")]);

static GENERATE: Object = object(&[
    field("generateExisting", Switch),
    field("synchronize", Flag),
    field("orphanDownstreamOnPolicyDelete", Flag),
    text("apiVersion"),
    text("kind"),
    text("namespace"),
    text("name"),
    text("uid"),
    field("data", Any),
    field("clone", Object(&CLONE)).always(),
    field("cloneList", Object(&CLONE_LIST)).always(),
    field("foreach", List(&Object(&GENERATE_FOREACH))),
]);

static GENERATE_FOREACH: Object = object(&[
    text("list"),
    field("context", CONTEXT),
    field("preconditions", Object(&ANY_ALL)),
    text("apiVersion"),
    text("kind"),
    text("namespace"),
    text("name"),
    text("uid"),
    field("data", Any),
    field("clone", Object(&CLONE)).always(),
    field("cloneList", Object(&CLONE_LIST)).always(),
]);

static CLONE: Object = object(&[text("namespace"), text("name")]);

static CLONE_LIST: Object =
    object(&[text("namespace"), texts("kinds"), field("selector", Object(&SELECTOR))]);

static VERIFY_IMAGES: Object = object(&[
    field("failureAction", Choice(&["Audit", "Enforce"])),
    field("type", IMAGE_SIGNATURES),
    text("image"),
    texts("imageReferences"),
    texts("skipImageReferences"),
    text("key"),
    text("roots"),
    text("subject"),
    text("issuer"),
    field("additionalExtensions", TextMap),
    field("attestors", ATTESTORS),
    field("attestations", List(&Object(&ATTESTATION))),
    field("annotations", TextMap),
    text("repository"),
    field("cosignOCI11", Flag),
    field("mutateDigest", Switch).default(true),
    field("verifyDigest", Switch).default(true),
    field("validate", Object(&IMAGE_VALIDATION)).always(),
    field("required", Switch).default(true),
    field("imageRegistryCredentials", Object(&REGISTRY_CREDENTIALS)),
    field("useCache", Switch).default(true),
]);

static LATER_VERIFY_IMAGES: Object = object(&[
    field("failureAction", Choice(&["Audit", "Enforce"])),
    field("type", IMAGE_SIGNATURES),
    texts("imageReferences"),
    texts("skipImageReferences"),
    field("attestors", ATTESTORS),
    field("attestations", List(&Object(&ATTESTATION))),
    text("repository"),
    field("mutateDigest", Switch).default(true),
    field("verifyDigest", Switch).default(true),
    field("validate", Object(&IMAGE_VALIDATION)).always(),
    field("required", Switch).default(true),
    field("imageRegistryCredentials", Object(&REGISTRY_CREDENTIALS)),
    field("useCache", Switch).default(true),
]);

const IMAGE_SIGNATURES: Kind = Choice(&["Cosign", "SigstoreBundle", "Notary"]);

static IMAGE_VALIDATION: Object = object(&[text("message"), field("deny", Object(&DENY))]);

static ATTESTATION: Object = object(&[
    text("name"),
    text("predicateType").always(),
    text("type").always(),
    field("attestors", ATTESTORS).always(),
    field("conditions", List(&Object(&ANY_ALL_STRICT))),
]);
