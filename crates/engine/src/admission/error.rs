//! Why native policies cannot be evaluated, and why message literals change nothing.
//!
//! Out: errors whose texts are those of kube-apiserver 1.36.3. Semantics:
//! `docs/semantics/admission.md`.

use thiserror::Error;

use ephor_value::Str;

/// What is wrong with a policy or one of its bindings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BindingError {
    /// The policy says of no objects that it is about them.
    #[error("policy contained no match constraints, a required field")]
    NoConstraints,
    /// The namespace of the request, whose labels decide, does not exist.
    #[error("namespaces \"{0}\" not found")]
    NoNamespace(Str),
    /// The kind of the parameters does not exist.
    #[error("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'")]
    UnknownParamKind {
        /// Its group.
        group: Str,
        /// Its version.
        version: Str,
        /// Its name.
        kind: Str,
    },
    /// The parameters have a namespace, the object of the request has none.
    #[error("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")]
    NamespacedForClusterScoped,
    /// The parameters have no namespace, but are looked up in one.
    #[error("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")]
    NamespaceOfClusterScoped,
    /// The parameters are named and selected.
    #[error("paramRef.name and paramRef.selector are mutually exclusive")]
    NameAndSelector,
    /// The parameters are neither named nor selected.
    #[error("one of name or selector must be provided")]
    NeitherNameNorSelector,
    /// There are no parameters, and there must be some.
    #[error("no params found for policy binding with `Deny` parameterNotFoundAction")]
    NoParams,
}

/// Why message literals do not change an object.
#[derive(Debug, Error)]
pub enum LiteralError {
    /// A field of the literal is a map whose keys are no texts.
    #[error("invalid return type: *dynamic.ObjectVal")]
    ReturnType,
    /// The expression gives something else than a literal, of this type.
    #[error("unsupported return type from ApplyConfiguration expression: {0}")]
    NoLiteral(Box<str>),
    /// The changed object is none of its kind.
    #[error("unable to convert unstructured object to {group_version}, Kind={kind}: {why}")]
    Conversion {
        /// Its group and version; `/v1` for those without group.
        group_version: Box<str>,
        /// Its kind.
        kind: Str,
        /// Why it is none.
        #[source]
        why: ephor_kubernetes::decode::Error,
    },
    /// Literals have other names than the paths at which they stand.
    #[error("type mismatch: {}", lines(.0))]
    Names(Vec<WrongName>),
    /// The literal does not fit the schema of the object.
    #[error("error applying patch: {0}")]
    Merge(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An operation cannot be applied.
    #[error("JSON Patch: {0}")]
    Operation(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An operation does not exist.
    #[error("JSON Patch: Unexpected kind: {0}")]
    UnknownOperation(Str),
    /// The value of an operation has no form in JSON.
    #[error(transparent)]
    Json(JsonError),
    /// The changed object has a number that is too large.
    #[error("invalid number {0}")]
    Number(Box<str>),
}

fn lines(names: &[WrongName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A literal whose name is not the path at which it stands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "unexpected type name \"{found}\", expected \"{path}\", which matches field name path from root Object type"
)]
pub struct WrongName {
    /// Its name.
    pub found: Str,
    /// The path.
    pub path: Box<str>,
}

/// Why a value has no form in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {0}")]
pub struct JsonError(#[source] pub NoJson);

/// What a value is that has no form in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoJson {
    /// A number that is infinite or none at all.
    #[error(
        "json: error calling MarshalJSON for type *structpb.Value: proto:\u{a0}google.protobuf.Value.number_value: invalid {0} value"
    )]
    Number(Box<str>),
    /// An optional without a value.
    #[error("optional.none() dereference")]
    Nothing,
    /// A type.
    #[error("type conversion not supported for 'type'")]
    Type,
    /// A map with booleans as keys.
    #[error("type conversion error from bool to 'string'")]
    BooleanKeys,
    /// A map with keys of this type.
    #[error("unsupported type conversion from '{0}' to string")]
    Keys(Box<str>),
    /// A list or map of a typed object.
    #[error("type conversion error from '{0}' to '*structpb.Value'")]
    View(&'static str),
    /// A structure of a typed object, by its Go type.
    #[error("type conversion error from struct type {0} to *structpb.Value")]
    Struct(Box<str>),
    /// A literal of an operation.
    #[error("cannot convert to native type: *structpb.Value")]
    Patch,
    /// A field of an `Object` literal that cannot be converted.
    #[error("{0}")]
    Field(Box<str>),
    /// A field of an `Object` literal that has this type in Go.
    #[error("proto:\u{a0}invalid type: {0}")]
    Native(Box<str>),
    /// A value of this type of a library.
    #[error("type conversion error from '{0}' to '*structpb.Value'")]
    Library(Box<str>),
}
