//! What a test file may hold.

use crate::inputs::strict::{API_VERSION, Field, KIND, METADATA, Object, Shape, field};
use crate::inputs::values;

const TEXTS: Shape = Shape::List(&Shape::Text);

const fn base(name: &'static str, shape: Shape) -> Field {
    field(name, shape).part_of("TestResultBase")
}

/// A selector of objects.
const SPEC: Object = Object {
    name: "TestResourceSpec",
    fields: &[
        field("group", Shape::Text),
        field("version", Shape::Text),
        field("kind", Shape::Text),
        field("namespace", Shape::Text),
        field("subresource", Shape::Text),
        field("name", Shape::Text),
    ],
};

/// An expected result.
const RESULT: Object = Object {
    name: "TestResult",
    fields: &[
        base("policy", Shape::Text),
        base("rule", Shape::Text),
        base("result", Shape::Word("v1alpha1.Result")),
        base("kind", Shape::Text),
        base("operation", Shape::Text),
        base("patchedResources", Shape::Text),
        base("generatedResource", Shape::Text),
        base("generatedResources", TEXTS),
        base("cloneSourceResource", Shape::Text),
        base("failOnMissingResources", Shape::Flag),
        base("isValidatingAdmissionPolicy", Shape::Flag),
        base("isMutatingAdmissionPolicy", Shape::Flag),
        base("isValidatingPolicy", Shape::Flag),
        base("isMutatingPolicy", Shape::Flag),
        base("isImageValidatingPolicy", Shape::Flag),
        base("isGeneratingPolicy", Shape::Flag),
        base("isDeletingPolicy", Shape::Flag),
        field("resources", TEXTS).part_of("TestResultData"),
        field("resourceSpecs", Shape::List(&Shape::Object(&SPEC))).part_of("TestResultData"),
        // Not known to Kyverno.
        field("failureAction", Shape::Text),
    ],
};

const RESPONSE: Object = Object {
    name: "APICallMockResponse",
    fields: &[field("statusCode", Shape::Whole), field("body", Shape::Any)],
};

const API_CALL: Object = Object {
    name: "APICallResponse",
    fields: &[
        field("url", Shape::Text),
        field("urlPath", Shape::Text),
        field("method", Shape::Text),
        field("response", Shape::Object(&RESPONSE)),
    ],
};

const PROJECTION: Object = Object {
    name: "GlobalContextProjection",
    fields: &[field("name", Shape::Text), field("path", Shape::Text)],
};

const GLOBAL_ENTRY: Object = Object {
    name: "GlobalContextEntry",
    fields: &[
        field("name", Shape::Text),
        field("data", Shape::Any),
        field("resources", Shape::List(&Shape::Any)),
        field("resourceFiles", TEXTS),
        field("fieldPath", Shape::Text),
        field("projections", Shape::List(&Shape::Object(&PROJECTION))),
    ],
};

/// A test.
pub const TEST: Object = Object {
    name: "Test",
    fields: &[
        API_VERSION,
        KIND,
        field("metadata", METADATA),
        field("name", Shape::Text),
        field("policies", TEXTS),
        field("resources", TEXTS),
        field("jsonPayload", Shape::Text),
        field("jsonPayloads", TEXTS),
        field("httpPayloads", TEXTS),
        field("envoyPayloads", TEXTS),
        field("targetResources", TEXTS),
        field("paramResources", TEXTS),
        field("variables", Shape::Text),
        field("userinfo", Shape::Text),
        field("exceptions", TEXTS),
        field("context", Shape::Text),
        field("clusterResources", TEXTS),
        // Not known to Kyverno.
        field("kubernetes", Shape::Text),
        field("apiCallResponses", Shape::List(&Shape::Object(&API_CALL))),
        field("globalContextEntries", Shape::List(&Shape::Object(&GLOBAL_ENTRY))),
        field("values", Shape::Object(&values::SPEC)),
        field("results", Shape::List(&Shape::Object(&RESULT))),
    ],
};

/// A file with objects of a cluster.
pub const CLUSTER: Object = Object {
    name: "ClusterResource",
    fields: &[
        API_VERSION,
        KIND,
        field("metadata", METADATA),
        field(
            "spec",
            Shape::Object(&Object {
                name: "ClusterResourceSpec",
                fields: &[field("crds", TEXTS), field("resources", Shape::List(&Shape::Map))],
            }),
        ),
    ],
};
