//! Schema tables of what a cluster holds besides policies: work for the background and data that
//! policies share. Semantics: the cluster specification, "Update requests" and "Global context
//! entries".

use super::common::{API_DATA, SERVICE_CALL, STATUS_CONDITION};
use super::shape::Kind::{self, *};
use super::shape::{Field, Literal, Object, Rule, atomic_texts, field, object, ruled, text, texts};

static RESOURCE: Object =
    object(&[text("group"), text("namespace"), text("resource").required(), text("version").required()]);

static CALL: Object = object(&[
    field("data", API_DATA),
    field("method", Choice(&["GET", "POST"])).default_text("GET"),
    field("refreshInterval", Duration).default_text("10m"),
    field("retryLimit", Whole(Some(1))).stored_default(Literal::Int(3)),
    field("service", SERVICE_CALL),
    text("urlPath"),
]);

static PROJECTION: Object = object(&[text("name").required(), text("jmesPath").required()]);

static ENTRY: Object = ruled(
    &[
        field("kubernetesResource", Object(&RESOURCE)),
        field("apiCall", Object(&CALL)),
        field("projections", List(&Object(&PROJECTION))),
    ],
    Rule::OneOf(&["kubernetesResource", "apiCall"]),
);

const STATUS_CONDITIONS: Kind = List(&Object(&STATUS_CONDITION));
const ENTRY_CONDITIONS: Field = field("conditions", STATUS_CONDITIONS);

static ENTRY_STATUS: Object = object(&[ENTRY_CONDITIONS, field("lastRefreshTime", DateTime)]);

static EARLIER_ENTRY_STATUS: Object =
    object(&[ENTRY_CONDITIONS, field("lastRefreshTime", DateTime), field("ready", Switch)]);

/// A GlobalContextEntry.
pub static GLOBAL_CONTEXT_ENTRY: Object =
    object(&[field("spec", Object(&ENTRY)).required(), field("status", Object(&ENTRY_STATUS))]);

/// A GlobalContextEntry of the versions before v2.
pub static EARLIER_GLOBAL_CONTEXT_ENTRY: Object =
    object(&[field("spec", Object(&ENTRY)).required(), field("status", Object(&EARLIER_ENTRY_STATUS))]);

static NAMED_KIND: Object =
    object(&[text("group").required(), text("version").required(), text("kind").required()]);

static NAMED_RESOURCE: Object =
    object(&[text("group").required(), text("version").required(), text("resource").required()]);

static USER: Object =
    object(&[field("extra", MapOf(&List(&Text))), atomic_texts("groups"), text("uid"), text("username")]);

static REQUEST: Object = object(&[
    field("dryRun", Switch),
    field("kind", Object(&NAMED_KIND)),
    text("name"),
    text("namespace"),
    field("object", Open),
    field("oldObject", Open),
    text("operation"),
    field("options", Open),
    field("requestKind", Object(&NAMED_KIND)),
    field("requestResource", Object(&NAMED_RESOURCE)),
    text("requestSubResource"),
    field("resource", Object(&NAMED_RESOURCE)),
    text("subResource"),
    text("uid"),
    field("userInfo", Object(&USER)),
]);

static REQUEST_INFO: Object = object(&[field("admissionRequest", Object(&REQUEST)), text("operation")]);

const ROLES: Field = texts("roles").nullable();
const CLUSTER_ROLES: Field = texts("clusterRoles").nullable();

static USER_INFO: Object =
    object(&[CLUSTER_ROLES, ROLES, field("synchronize", Switch), field("userInfo", Object(&USER))]);

static EARLIER_USER_INFO: Object = object(&[CLUSTER_ROLES, ROLES, field("userInfo", Object(&USER))]);

static CONTEXT: Object =
    object(&[field("admissionRequestInfo", Object(&REQUEST_INFO)), field("userInfo", Object(&USER_INFO))]);

static EARLIER_CONTEXT: Object = object(&[
    field("admissionRequestInfo", Object(&REQUEST_INFO)),
    field("userInfo", Object(&EARLIER_USER_INFO)),
]);

static REFERENCE: Object =
    object(&[text("apiVersion"), text("kind"), text("name"), text("namespace"), text("uid")]);

const REFERENCES: Kind = List(&Object(&REFERENCE));

static RULE_CONTEXT: Object = object(&[
    field("cacheRestore", Switch),
    field("deleteDownstream", Switch).required(),
    text("rule").required(),
    field("synchronize", Switch),
    field("trigger", Object(&REFERENCE)).required(),
]);

static UPDATE: Object = object(&[
    field("context", Object(&CONTEXT)).required(),
    field("deleteDownstream", Switch).required(),
    text("policy").required(),
    field("requestType", Choice(&["mutate", "generate", "cel-generate", "cel-mutate"])),
    field("resource", Object(&REFERENCE)).required(),
    text("rule").required(),
    field("ruleContext", List(&Object(&RULE_CONTEXT))),
    field("synchronize", Switch),
]);

static EARLIER_UPDATE: Object = object(&[
    field("context", Object(&EARLIER_CONTEXT)).required(),
    field("deleteDownstream", Switch).required(),
    text("policy").required(),
    field("requestType", Choice(&["mutate", "generate"])),
    field("resource", Object(&REFERENCE)).required(),
    text("rule").required(),
    field("synchronize", Switch),
]);

static UPDATE_STATUS: Object = object(&[
    field("generatedResources", REFERENCES),
    text("message"),
    field("retryCount", Whole(None)),
    text("state").required(),
]);

static EARLIER_UPDATE_STATUS: Object = object(&[
    field("generatedResources", REFERENCES),
    text("handler"),
    text("message"),
    field("retryCount", Whole(None)),
    text("state").required(),
]);

/// An UpdateRequest.
pub static UPDATE_REQUEST: Object =
    object(&[field("spec", Object(&UPDATE)), field("status", Object(&UPDATE_STATUS))]);

/// An UpdateRequest of version v1beta1, which is no longer served.
pub static EARLIER_UPDATE_REQUEST: Object =
    object(&[field("spec", Object(&EARLIER_UPDATE)), field("status", Object(&EARLIER_UPDATE_STATUS))]);
