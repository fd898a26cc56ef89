//! Schema tables of reports: those of the policy working group, and their successors of
//! `openreports.io`.

use super::common::SELECTOR;
use super::shape::Kind::{self, *};
use super::shape::{Field, Object, atomic, field, object, text};

static OBJECT_REFERENCE: Object = atomic(&[
    text("apiVersion"),
    text("fieldPath"),
    text("kind"),
    text("name"),
    text("namespace"),
    text("resourceVersion"),
    text("uid"),
]);

static TIMESTAMP: Object = object(&[field("nanos", Int32).required(), field("seconds", Int64).required()]);

const RESULT: Kind = Choice(&["pass", "fail", "warn", "error", "skip"]);

static RESULTS: Object = object(&[
    text("category"),
    text("message"),
    text("policy").required(),
    field("properties", TextMap),
    field("resourceSelector", Object(&SELECTOR)),
    field("resources", List(&Object(&OBJECT_REFERENCE))),
    field("result", RESULT),
    text("rule"),
    field("scored", Switch),
    field("severity", Choice(&["critical", "high", "low", "medium", "info"])),
    text("source"),
    field("timestamp", Object(&TIMESTAMP)),
]);

static SUMMARY: Object = object(&[
    field("error", Whole(None)),
    field("fail", Whole(None)),
    field("pass", Whole(None)),
    field("skip", Whole(None)),
    field("warn", Whole(None)),
]);

const RESULT_LIST: Kind = List(&Object(&RESULTS));

const FIELDS: [Field; 4] = [
    field("results", RESULT_LIST),
    field("scope", Object(&OBJECT_REFERENCE)),
    field("scopeSelector", Object(&SELECTOR)),
    field("summary", Object(&SUMMARY)),
];

/// A PolicyReport or ClusterPolicyReport.
pub static POLICY_REPORT: Object = object(&FIELDS);

static LIMITS: Object = object(&[field("maxResults", Whole(None)), field("statusFilter", List(&RESULT))]);

static CONFIGURATION: Object = object(&[field("limits", Object(&LIMITS))]);

/// A Report or ClusterReport of `openreports.io`.
pub static OPEN_REPORT: Object = object(&[
    field("configuration", Object(&CONFIGURATION)),
    FIELDS[0],
    FIELDS[1],
    FIELDS[2],
    text("source").required(),
    FIELDS[3],
]);
