//! Schema tables of the parts that several rule bodies share: match blocks, selectors, conditions,
//! context entries, signature attestors. Semantics: sections 2.6 to 2.9 of the policy object
//! specification.

use super::shape::Kind::{self, *};
use super::shape::{Field, Object, Rule, Shape, atomic, atomic_texts, field, object, ruled, text, texts};

/// Operators of the conditions that have a schema.
const OPERATORS: [&str; 16] = [
    "Equals",
    "NotEquals",
    "In",
    "AnyIn",
    "AllIn",
    "NotIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThanOrEquals",
    "GreaterThan",
    "LessThanOrEquals",
    "LessThan",
    "DurationGreaterThanOrEquals",
    "DurationGreaterThan",
    "DurationLessThanOrEquals",
    "DurationLessThan",
];

/// Operators of the later versions, without `In` and `NotIn`.
const LATER_OPERATORS: [&str; 14] = [
    "Equals",
    "NotEquals",
    "AnyIn",
    "AllIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThanOrEquals",
    "GreaterThan",
    "LessThanOrEquals",
    "LessThan",
    "DurationGreaterThanOrEquals",
    "DurationGreaterThan",
    "DurationLessThanOrEquals",
    "DurationLessThan",
];

/// A condition on values.
pub static CONDITION: Object =
    object(&[field("key", Any), field("operator", Choice(&OPERATORS)), field("value", Any), text("message")]);

static LATER_CONDITION: Object = object(&[
    field("key", Any),
    field("operator", Choice(&LATER_OPERATORS)),
    field("value", Any),
    text("message"),
]);

/// A list of conditions.
pub const CONDITIONS_LIST: Kind = List(&Object(&CONDITION));

const CONDITION_FIELDS: [Field; 2] = [field("any", CONDITIONS_LIST), field("all", CONDITIONS_LIST)];

/// `{any, all}` of foreach preconditions; the schema itself lets unknown fields pass.
pub static ANY_ALL: Object = ruled(&CONDITION_FIELDS, Rule::LateUnknown);

/// `{any, all}` of attestation conditions.
pub static ANY_ALL_STRICT: Object = object(&CONDITION_FIELDS);

/// `{any, all}` of the later versions.
pub static LATER_ANY_ALL: Object =
    object(&[field("any", List(&Object(&LATER_CONDITION))), field("all", List(&Object(&LATER_CONDITION)))]);

/// A label selector.
pub static SELECTOR: Object = atomic(&[
    field("matchLabels", TextMap),
    field("matchExpressions", Atomic(&Object(&SELECTOR_EXPRESSION))),
]);

static SELECTOR_EXPRESSION: Object =
    object(&[text("key").required(), text("operator").required(), atomic_texts("values")]);

const OPERATIONS: Kind = Choice(&["CREATE", "CONNECT", "UPDATE", "DELETE"]);

/// `resources` of a filter.
pub static RESOURCES: Object = ruled(
    &[
        texts("kinds"),
        text("name"),
        texts("names"),
        texts("namespaces"),
        field("annotations", TextMap),
        field("selector", Object(&SELECTOR)),
        field("namespaceSelector", Object(&SELECTOR)),
        field("operations", List(&OPERATIONS)),
    ],
    Rule::NotBoth("name", "names"),
);

static SUBJECT: Object =
    atomic(&[text("kind").required(), text("apiGroup"), text("name").required(), text("namespace")]);

/// One filter of `any` or `all`.
pub static FILTER: Object = object(&[
    texts("roles"),
    texts("clusterRoles"),
    field("subjects", List(&Object(&SUBJECT))),
    field("resources", Object(&RESOURCES)).always(),
]);

/// `match` and `exclude` with the legacy block.
pub static MATCH: Object = ruled(
    &[
        field("any", List(&Object(&FILTER))),
        field("all", List(&Object(&FILTER))),
        texts("roles"),
        texts("clusterRoles"),
        field("subjects", List(&Object(&SUBJECT))),
        field("resources", Object(&RESOURCES)).always(),
    ],
    Rule::NotBoth("any", "all"),
);

/// `match` and `exclude` of the later versions.
pub static LATER_MATCH: Object = ruled(
    &[field("any", List(&Object(&FILTER))), field("all", List(&Object(&FILTER)))],
    Rule::NotBoth("any", "all"),
);

/// A list of context entries.
pub const CONTEXT: Kind = List(&Object(&CONTEXT_ENTRY));

static CONTEXT_ENTRY: Object = ruled(
    &[
        text("name").required(),
        field("configMap", Object(&CONFIG_MAP)),
        field("apiCall", Object(&API_CALL)),
        field("imageRegistry", Object(&IMAGE_REGISTRY)),
        field("variable", Object(&VARIABLE)),
        field("globalReference", Object(&GLOBAL_REFERENCE)),
    ],
    Rule::OneOf(&["configMap", "apiCall", "imageRegistry", "variable", "globalReference"]),
);

static CONFIG_MAP: Object = object(&[text("name").required(), text("namespace")]);

static API_CALL: Object = object(&[
    text("urlPath").always(),
    field("method", Choice(&["GET", "POST"])).default_text("GET"),
    field("data", API_DATA),
    field("service", SERVICE_CALL),
    field("default", Any),
    text("jmesPath"),
]);

/// What a call sends.
pub const API_DATA: Kind = List(&Object(&REQUEST_DATA));

/// A service that is called.
pub const SERVICE_CALL: Kind = Object(&SERVICE);

static REQUEST_DATA: Object = object(&[text("key").required(), field("value", Any).required()]);

static SERVICE: Object =
    object(&[text("url").required(), field("headers", List(&Object(&HEADER))), text("caBundle").always()]);

static HEADER: Object = object(&[text("key").required(), text("value").required()]);

static IMAGE_REGISTRY: Object = object(&[
    text("reference").required(),
    text("jmesPath"),
    field("imageRegistryCredentials", Object(&REGISTRY_CREDENTIALS)),
]);

static VARIABLE: Object = object(&[field("value", Any), text("jmesPath"), field("default", Any)]);

static GLOBAL_REFERENCE: Object = object(&[text("name").required(), text("jmesPath")]);

/// Access to image registries.
pub static REGISTRY_CREDENTIALS: Object = object(&[
    field("allowInsecureRegistry", Flag),
    field("providers", List(&Choice(&["default", "amazon", "azure", "google", "github"]))),
    texts("secrets"),
]);

/// Attestor sets.
pub const ATTESTORS: Kind = List(&Object(&ATTESTOR_SET));

static ATTESTOR_SET: Object =
    object(&[field("count", Whole(Some(1))), field("entries", List(&Object(&ATTESTOR)))]);

static ATTESTOR: Object = object(&[
    field("keys", Object(&STATIC_KEYS)),
    field("certificates", Object(&CERTIFICATES)),
    field("keyless", Object(&KEYLESS)),
    field("attestor", Any),
    field("annotations", TextMap),
    text("repository"),
    text("signatureAlgorithm").default_text("sha256"),
]);

static STATIC_KEYS: Object = object(&[
    text("publicKeys"),
    text("signatureAlgorithm").default_text("sha256"),
    text("kms"),
    field("secret", Object(&SECRET)),
    field("rekor", Object(&REKOR)),
    field("ctlog", Object(&CT_LOG)),
]);

static SECRET: Object = object(&[text("name").required(), text("namespace").required()]);

static CERTIFICATES: Object = object(&[
    text("cert"),
    text("certChain"),
    field("rekor", Object(&REKOR)),
    field("ctlog", Object(&CT_LOG)),
]);

static KEYLESS: Object = object(&[
    field("rekor", Object(&REKOR)),
    field("ctlog", Object(&CT_LOG)),
    text("issuer"),
    text("issuerRegExp"),
    text("subject"),
    text("subjectRegExp"),
    text("roots"),
    field("additionalExtensions", TextMap),
]);

static REKOR: Object = object(&[text("url").always(), text("pubkey"), field("ignoreTlog", Flag)]);

static CT_LOG: Object = object(&[field("ignoreSCT", Flag), text("pubkey"), text("tsaCertChain")]);

/// One exclusion of a pod security rule or exception.
pub static POD_SECURITY_EXCLUDE: Object = object(&[
    field("controlName", Choice(&CONTROLS)).required(),
    texts("images"),
    text("restrictedField"),
    texts("values"),
]);

const CONTROLS: [&str; 15] = [
    "HostProcess",
    "Host Namespaces",
    "Privileged Containers",
    "Capabilities",
    "HostPath Volumes",
    "Host Ports",
    "AppArmor",
    "SELinux",
    "/proc Mount Type",
    "Seccomp",
    "Sysctls",
    "Volume Types",
    "Privilege Escalation",
    "Running as Non-root",
    "Running as Non-root user",
];

/// `{name, expression}` of CEL conditions.
pub static NAMED_EXPRESSION: Object = object(&[text("name").required(), text("expression").required()]);

/// `{name, expression}` of CEL variables.
pub static NAMED_VARIABLE: Object = atomic(&[text("name").required(), text("expression").required()]);

/// A condition of a status, as Kubernetes has them.
pub static STATUS_CONDITION: Object = object(&[
    field("type", Shaped(&CONDITION_TYPE)).required(),
    field("status", Choice(&["True", "False", "Unknown"])).required(),
    field("observedGeneration", Count),
    field("lastTransitionTime", DateTime).required(),
    field("reason", Shaped(&CONDITION_REASON)).required(),
    field("message", Short(32768)).required(),
]);

static CONDITION_TYPE: Shape = Shape {
    filled: false,
    most: 316,
    pattern: r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
};

static CONDITION_REASON: Shape =
    Shape { filled: true, most: 1024, pattern: r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" };
