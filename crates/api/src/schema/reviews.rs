//! Schema tables of group `policies.kyverno.io`: Kyverno's CEL policies and exceptions from them.
//! Semantics: section 2 of the CEL policy specification.

use super::common::{NAMED_VARIABLE, SELECTOR, STATUS_CONDITION};
use super::shape::Kind::{self, *};
use super::shape::{Field, Literal, Object, Rule, atomic, atomic_texts, field, object, ruled, text, texts};

/// A version of a kind and its table.
type ReviewVersion = (&'static str, &'static Object);

static RESOURCE_RULE: Object = atomic(&[
    atomic_texts("apiGroups"),
    atomic_texts("apiVersions"),
    atomic_texts("resources"),
    atomic_texts("operations"),
    atomic_texts("resourceNames"),
    text("scope"),
]);

const RESOURCE_RULES: Kind = Atomic(&Object(&RESOURCE_RULE));

const MATCH_FIELDS: [Field; 5] = [
    field("resourceRules", RESOURCE_RULES),
    field("excludeResourceRules", RESOURCE_RULES),
    field("namespaceSelector", Object(&SELECTOR)),
    field("objectSelector", Object(&SELECTOR)),
    text("matchPolicy"),
];

static MATCH: Object = atomic(&MATCH_FIELDS);

static TARGETS: Object = atomic(&[
    MATCH_FIELDS[0],
    MATCH_FIELDS[1],
    MATCH_FIELDS[2],
    MATCH_FIELDS[3],
    MATCH_FIELDS[4],
    text("expression"),
]);

static NAMED: Object = object(&[text("name").required(), text("expression").required()]);

static VALIDATION: Object =
    object(&[text("expression").required(), text("message"), text("messageExpression"), text("reason")]);

static ANNOTATION: Object = object(&[text("key").required(), text("valueExpression").required()]);

static WEBHOOK: Object = object(&[field("timeoutSeconds", Int32)]);

static ENABLED: Object = object(&[field("enabled", Switch)]);

static ON: Object = object(&[field("enabled", Switch).stored_default(Literal::Bool(true))]);

static OFF: Object = object(&[field("enabled", Switch).stored_default(Literal::Bool(false))]);

static CONTROLLERS: Object = object(&[texts("controllers")]);

const MATCHING: Field = field("matchConstraints", Object(&MATCH));
const NAMED_LIST: Kind = Named(&Object(&NAMED));
/// Some kinds let names come twice.
const LOOSE_LIST: Kind = List(&Object(&NAMED));
const LOOSE_CONDITIONS: Field = field("matchConditions", LOOSE_LIST);
const VARIABLE_LIST: Kind = Named(&Object(&NAMED_VARIABLE));
const LOOSE_VARIABLE_LIST: Kind = List(&Object(&NAMED_VARIABLE));
const VALIDATION_LIST: Kind = Atomic(&Object(&VALIDATION));
const ANNOTATION_LIST: Kind = Atomic(&Object(&ANNOTATION));
const CONDITIONS: Field = field("matchConditions", NAMED_LIST);
const VARIABLES: Field = field("variables", VARIABLE_LIST);
const VALIDATIONS: Field = field("validations", VALIDATION_LIST);
const ANNOTATIONS: Field = field("auditAnnotations", ANNOTATION_LIST);
const LOOSE_ANNOTATION_LIST: Kind = List(&Object(&ANNOTATION));
/// Of kinds that validate nothing.
const LOOSE_ANNOTATIONS: Field = field("auditAnnotations", LOOSE_ANNOTATION_LIST);
const FAILURE: Field = field("failurePolicy", Choice(&["Ignore", "Fail"]));
const ACTIONS: Field = field("validationActions", Set(&Choice(&["Deny", "Audit", "Warn"])));
const WEBHOOKS: Field = field("webhookConfiguration", Object(&WEBHOOK));

static VALIDATING_AUTOGEN: Object = object(&[
    field("podControllers", Object(&CONTROLLERS)),
    field("validatingAdmissionPolicy", Object(&ENABLED)),
]);

static IMAGE_AUTOGEN: Object = object(&[field("podControllers", Object(&CONTROLLERS))]);

static VALIDATING_EVALUATION: Object =
    object(&[text("mode"), field("admission", Object(&ON)), field("background", Object(&ON))]);

static VALIDATING: Object = object(&[
    MATCHING,
    CONDITIONS,
    VARIABLES,
    VALIDATIONS,
    ANNOTATIONS,
    FAILURE,
    ACTIONS,
    field("autogen", Object(&VALIDATING_AUTOGEN)),
    WEBHOOKS,
    field("evaluation", Object(&VALIDATING_EVALUATION)),
]);

static EXPRESSION: Object = object(&[text("expression")]);

static MUTATION: Object = object(&[
    text("patchType").required(),
    field("applyConfiguration", Object(&EXPRESSION)),
    field("jsonPatch", Object(&EXPRESSION)),
]);

static MUTATING_AUTOGEN: Object = object(&[
    field("podControllers", Object(&CONTROLLERS)),
    field("mutatingAdmissionPolicy", Object(&ENABLED)),
]);

static MUTATING_EVALUATION: Object = object(&[
    text("mode"),
    field("admission", Object(&ON)),
    field("background", Object(&ON)),
    field("mutateExisting", Object(&OFF)),
    field("skipBackgroundRequests", Switch).stored_default(Literal::Bool(true)),
    field("useServerSideApply", Switch),
]);

static MUTATING: Object = object(&[
    MATCHING,
    CONDITIONS,
    VARIABLES,
    field("mutations", Atomic(&Object(&MUTATION))),
    LOOSE_ANNOTATIONS,
    FAILURE,
    field("targetMatchConstraints", Object(&TARGETS)),
    field("targetMatchConditions", NAMED_LIST),
    text("reinvocationPolicy"),
    field("autogen", Object(&MUTATING_AUTOGEN)),
    WEBHOOKS,
    field("evaluation", Object(&MUTATING_EVALUATION)),
]);

static TEMPLATE: Object = object(&[
    text("value").required().filled(),
    field("interpolate", Choice(&["none", "cel"])).stored_default(Literal::Text("none")),
]);

static GENERATION: Object = ruled(
    &[text("expression"), field("template", Object(&TEMPLATE))],
    Rule::OneOf(&["expression", "template"]),
);

static GENERATING_EVALUATION: Object = object(&[
    field("admission", Object(&ON)),
    field("generateExisting", Object(&OFF)),
    field("synchronize", Object(&OFF)),
    field("orphanDownstreamOnPolicyDelete", Object(&OFF)),
    field("skipBackgroundRequests", Switch).stored_default(Literal::Bool(true)),
]);

static GENERATING: Object = object(&[
    MATCHING,
    CONDITIONS,
    VARIABLES,
    field("generate", List(&Object(&GENERATION))).required().filled(),
    LOOSE_ANNOTATIONS,
    field("useServerSideApply", Switch),
    WEBHOOKS,
    field("evaluation", Object(&GENERATING_EVALUATION)),
]);

static DELETING: Object = object(&[
    MATCHING,
    field("conditions", NAMED_LIST),
    VARIABLES,
    text("schedule").required(),
    field("deletionPropagationPolicy", Choice(&["Foreground", "Background", "Orphan"])),
]);

static IMAGE_REFERENCE: Object =
    ruled(&[text("glob"), text("expression")], Rule::OneOf(&["glob", "expression"]));

/// A text that is written or computed by an expression.
static GIVEN: Object = ruled(&[text("value"), text("expression")], Rule::OneOf(&["value", "expression"]));

static COSIGN_KEY: Object = object(&[text("data"), text("kms"), text("hashAlgorithm"), text("expression")]);

static COSIGN_IDENTITY: Object = object(&[
    text("issuer"),
    text("subject"),
    text("issuerRegExp"),
    text("subjectRegExp"),
    text("subjectExpression"),
]);

static COSIGN_KEYLESS: Object = object(&[
    field("identities", List(&Object(&COSIGN_IDENTITY))).required(),
    text("roots"),
    field("additionalExtensions", TextMap),
]);

static COSIGN_CERTIFICATE: Object =
    object(&[field("cert", Object(&GIVEN)), field("certChain", Object(&GIVEN))]);

static PULL_SECRET: Object = atomic(&[text("name").stored_default(Literal::Text(""))]);

static COSIGN_SOURCE: Object =
    object(&[text("repository"), field("PullSecrets", List(&Object(&PULL_SECRET))), text("tagPrefix")]);

static COSIGN_LOGS: Object = object(&[
    text("url"),
    text("rekorPubKey"),
    text("ctLogPubKey"),
    text("tsaCertChain"),
    field("insecureIgnoreTlog", Switch),
    field("insecureIgnoreSCT", Switch),
]);

static TUF_ROOT: Object = object(&[text("path"), text("data")]);

static TUF: Object = object(&[field("root", Object(&TUF_ROOT)), text("mirror")]);

static COSIGN: Object = object(&[
    field("key", Object(&COSIGN_KEY)),
    field("keyless", Object(&COSIGN_KEYLESS)),
    field("certificate", Object(&COSIGN_CERTIFICATE)),
    field("source", Object(&COSIGN_SOURCE)),
    field("ctlog", Object(&COSIGN_LOGS)),
    field("tuf", Object(&TUF)),
    field("annotations", TextMap),
    field("trustedRoot", Object(&GIVEN)),
]);

static NOTARY: Object = object(&[field("certs", Object(&GIVEN)), field("tsaCerts", Object(&GIVEN))]);

static ATTESTOR: Object = ruled(
    &[text("name").required(), field("cosign", Object(&COSIGN)), field("notary", Object(&NOTARY))],
    Rule::OneOf(&["cosign", "notary"]),
);

static TYPED: Object = object(&[text("type").required()]);

static ATTESTATION: Object =
    object(&[text("name").required(), field("intoto", Object(&TYPED)), field("referrer", Object(&TYPED))]);

static CREDENTIALS: Object = object(&[
    field("allowInsecureRegistry", Switch),
    field("providers", List(&Choice(&["default", "amazon", "azure", "google", "github"]))),
    texts("secrets"),
]);

static IMAGE_CONFIGURATION: Object = object(&[
    field("mutateDigest", Switch).stored_default(Literal::Bool(true)),
    field("verifyDigest", Switch).stored_default(Literal::Bool(true)),
    field("required", Switch).stored_default(Literal::Bool(true)),
]);

static IMAGE_VALIDATING: Object = object(&[
    MATCHING,
    LOOSE_CONDITIONS,
    field("variables", LOOSE_VARIABLE_LIST),
    VALIDATIONS.required(),
    ANNOTATIONS,
    FAILURE,
    ACTIONS,
    field("matchImageReferences", List(&Object(&IMAGE_REFERENCE))),
    field("images", LOOSE_LIST),
    field("attestors", List(&Object(&ATTESTOR))).required(),
    field("attestations", List(&Object(&ATTESTATION))),
    field("credentials", Object(&CREDENTIALS)),
    field("validationConfigurations", Object(&IMAGE_CONFIGURATION)).stored_default(Literal::Empty),
    field("autogen", Object(&IMAGE_AUTOGEN)),
    WEBHOOKS,
    field("evaluation", Object(&VALIDATING_EVALUATION)),
]);

static REFERENCE: Object = object(&[text("name").required(), text("kind").required()]);

static EXCEPTION: Object = object(&[
    field("policyRefs", List(&Object(&REFERENCE))).required(),
    LOOSE_CONDITIONS,
    texts("images"),
    texts("allowedValues"),
    field("reportResult", Choice(&["skip", "pass"])).stored_default(Literal::Text("skip")),
    field("expiresAt", DateTime),
    field("properties", TextMap),
    text("evaluationMode"),
]);

static CONDITION_STATUS: Object =
    object(&[field("ready", Switch), field("conditions", List(&Object(&STATUS_CONDITION))), text("message")]);

const CONDITION: Field = field("conditionStatus", Object(&CONDITION_STATUS));

static TARGET: Object = object(&[
    text("group"),
    text("version").required(),
    text("resource").required(),
    text("kind").required(),
]);

/// Of a kind with generated policies for controllers of pods.
macro_rules! autogen_status {
    ($status:ident, $configuration:ident, $configurations:ident, $spec:expr $(, $more:expr)?) => {
        static $configuration: Object = object(&[
            field("targets", List(&Object(&TARGET))).required(),
            field("spec", Object($spec)).required(),
        ]);
        static $configurations: Object = object(&[field("configs", MapOf(&Object(&$configuration)))]);
        static $status: Object =
            object(&[CONDITION, field("autogen", Object(&$configurations)) $(, $more)?]);
    };
}

autogen_status!(
    VALIDATING_STATUS,
    VALIDATING_CONFIG,
    VALIDATING_CONFIGS,
    &VALIDATING,
    field("generated", Switch)
);
autogen_status!(MUTATING_STATUS, MUTATING_CONFIG, MUTATING_CONFIGS, &MUTATING, field("generated", Switch));
autogen_status!(IMAGE_STATUS, IMAGE_CONFIG, IMAGE_CONFIGS, &IMAGE_VALIDATING);

static GENERATING_STATUS: Object = object(&[CONDITION]);

static DELETING_STATUS: Object = object(&[CONDITION, field("lastExecutionTime", DateTime)]);

macro_rules! kind {
    ($object:ident, $versions:ident, $namespaced:ident, $spec:expr, $status:expr) => {
        static $object: Object =
            object(&[field("spec", Object($spec)).required(), field("status", Object($status))]);
        /// The versions of the cluster-wide kind.
        pub static $versions: [ReviewVersion; 3] =
            [("v1alpha1", &$object), ("v1beta1", &$object), ("v1", &$object)];
        /// The versions of the namespaced kind.
        pub static $namespaced: [ReviewVersion; 2] = [("v1beta1", &$object), ("v1", &$object)];
    };
}

kind!(VALIDATING_OBJECT, VALIDATING_VERSIONS, NAMESPACED_VALIDATING, &VALIDATING, &VALIDATING_STATUS);
kind!(MUTATING_OBJECT, MUTATING_VERSIONS, NAMESPACED_MUTATING, &MUTATING, &MUTATING_STATUS);
kind!(GENERATING_OBJECT, GENERATING_VERSIONS, NAMESPACED_GENERATING, &GENERATING, &GENERATING_STATUS);
kind!(DELETING_OBJECT, DELETING_VERSIONS, NAMESPACED_DELETING, &DELETING, &DELETING_STATUS);
kind!(
    IMAGE_VALIDATING_OBJECT,
    IMAGE_VALIDATING_VERSIONS,
    NAMESPACED_IMAGE_VALIDATING,
    &IMAGE_VALIDATING,
    &IMAGE_STATUS
);

static EXCEPTION_OBJECT: Object = object(&[field("spec", Object(&EXCEPTION)).required()]);

/// The versions of exceptions.
pub static EXCEPTION_VERSIONS: [ReviewVersion; 3] =
    [("v1alpha1", &EXCEPTION_OBJECT), ("v1beta1", &EXCEPTION_OBJECT), ("v1", &EXCEPTION_OBJECT)];
