//! Why a part of a rule cannot be evaluated.
//!
//! A query has no value, so the template around it cannot be filled in, so the condition, patch or
//! context entry around that fails: each of these errors has its own words, Kyverno's, in front of
//! those of its cause. Semantics: `docs/semantics/variables.md`.

use thiserror::Error;

use ephor_value::{Fault, Str};

use super::images::ImageError;

/// Why a query has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QueryError {
    /// The text is no expression; the words are those of the parser.
    #[error("{0}")]
    Expression(Str),
    /// It mentions the images of an object whose images cannot be read.
    #[error(transparent)]
    Images(Box<ImageError>),
    /// It mentions a context entry that cannot be loaded.
    #[error(transparent)]
    Entry(Box<EntryError>),
    /// Its evaluation failed.
    #[error("JMESPath query failed: {0}")]
    Eval(#[source] Fault),
}

/// Why a template cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FillError {
    /// A variable has no value.
    #[error(transparent)]
    Variable(Box<UnresolvedVariable>),
    /// A key is no string once its variables have their values.
    #[error("expected string after substituting variables in key \"{0}\"")]
    Key(Str),
    /// It cannot be filled in at all, for this reason that lowering found.
    #[error("{0}")]
    Broken(Str),
}

/// A variable that has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("failed to resolve {expression} at path {path}: {cause}")]
pub struct UnresolvedVariable {
    /// Its expression.
    pub expression: Str,
    /// Where it stands in the rule.
    pub path: Box<str>,
    /// Why it has none.
    #[source]
    pub cause: VariableError,
}

/// Why a variable has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariableError {
    /// Its query has none.
    #[error(transparent)]
    Query(QueryError),
    /// Its evaluation costs too much.
    #[error(transparent)]
    Budget(Fault),
    /// Its value holds the variable.
    #[error("the variable expands to itself")]
    Itself,
    /// Its value holds variables that hold variables, without a sensible end.
    #[error("the variable expands to itself, or to more than can be filled in")]
    TooMuch,
    /// The text has too many variables at once.
    #[error("there are too many")]
    TooMany,
    /// The values of several variables hold one another.
    #[error("their values expand to themselves")]
    OneAnother,
    /// The text around it grows too large.
    #[error("{}", Fault::TOO_LARGE)]
    TooLarge,
}

/// Why conditions cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConditionError {
    /// The key of one cannot be filled in.
    #[error("failed to substitute variables in condition key: {0}")]
    Key(#[source] FillError),
    /// The value of one cannot be filled in.
    #[error("failed to substitute variables in condition value: {0}")]
    Value(#[source] FillError),
    /// One has an operator that does not exist.
    #[error("failed to create handler for condition operator: %!w(<nil>)")]
    UnknownOperator,
}

/// Why a context entry has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Too many entries read one another.
    #[error("context entries read one another in a chain of more than {0}")]
    Chain(usize),
    /// A part of it cannot be filled in.
    #[error("failed to substitute variables in context entry {entry} {written}: {cause}")]
    Fill {
        /// The entry.
        entry: Str,
        /// The part as written.
        written: Box<str>,
        /// Why.
        #[source]
        cause: FillError,
    },
    /// A field that names what is looked up cannot be filled in.
    #[error("failed to substitute variables in context {entry} {field} {written}: {cause}")]
    FillField {
        /// The entry.
        entry: Str,
        /// The field.
        field: &'static str,
        /// The field as written.
        written: Box<str>,
        /// Why.
        #[source]
        cause: FillError,
    },
    /// A field that names what is looked up is no string.
    #[error("{field} of context entry {entry} is no string")]
    NoString {
        /// The entry.
        entry: Str,
        /// The field.
        field: &'static str,
    },
    /// Its query is no string once it is filled in.
    #[error("jmespath value must be a string {entry} {written}: <nil>")]
    QueryNoString {
        /// The entry.
        entry: Str,
        /// The query as written.
        written: Box<str>,
    },
    /// The query of a variable has no value.
    #[error("failed to apply jmespath {query} to variable <nil>: {cause}")]
    VariableQuery {
        /// The query.
        query: Str,
        /// Why.
        #[source]
        cause: EntryQueryError,
    },
    /// A variable is null.
    #[error("failed to add context entry for variable {0} since it evaluated to nil")]
    Nil(Str),
    /// A variable is nowhere.
    #[error("context entry {0} has no value")]
    NoValue(Str),
    /// A ConfigMap cannot be looked up.
    #[error("failed to retrieve config map for context entry {entry}: {cause}")]
    ConfigMap {
        /// The entry.
        entry: Str,
        /// Why.
        #[source]
        cause: ConfigMapError,
    },
    /// A namespaced policy reads a ConfigMap of another namespace.
    #[error(
        "context entry {entry}: configMap namespace \"{namespace}\" is different from policy namespace \"{own}\""
    )]
    ForeignConfigMap {
        /// The entry.
        entry: Str,
        /// The namespace of the ConfigMap.
        namespace: Str,
        /// The namespace of the policy.
        own: Str,
    },
    /// A namespaced policy reads a global context entry.
    #[error("context entry {0}: globalReference is not allowed in namespaced policies")]
    GlobalInNamespaced(Str),
    /// A global context entry has no value.
    #[error("failed to marshal APICall data for context entry {entry}: {text}")]
    Global {
        /// The entry that refers to it.
        entry: Str,
        /// Why, in the words of the source of external data.
        text: Box<str>,
    },
    /// There are no global context entries.
    #[error(
        "failed to marshal APICall data for context entry {0}: there is no source of global context entries"
    )]
    NoGlobalEntries(Str),
    /// The query on a global context entry has no value.
    #[error("failed to apply JMESPath {query} for context entry {entry}: {cause}")]
    GlobalQuery {
        /// The entry that refers to it.
        entry: Str,
        /// The query.
        query: Str,
        /// Why.
        #[source]
        cause: EntryQueryError,
    },
    /// Facts about an image cannot be looked up.
    #[error("failed to fetch image descriptor: {reference}, error: {text}")]
    Image {
        /// The image.
        reference: Str,
        /// Why, in the words of the source of external data.
        text: Box<str>,
    },
    /// There is no registry.
    #[error("failed to fetch image descriptor for context entry {0}: registry access is not enabled")]
    NoRegistry(Str),
    /// The query on facts about an image has no value.
    #[error("failed to apply JMESPath ({query}) results to context entry {entry}, error: {cause}")]
    ImageQuery {
        /// The entry.
        entry: Str,
        /// The query.
        query: Str,
        /// Why.
        #[source]
        cause: EntryQueryError,
    },
    /// An API or a service cannot be called.
    #[error("failed to fetch data for APICall: {0}")]
    ApiCall(#[source] ApiCallError),
    /// The query on an answer of an API or a service has no value.
    #[error(
        "failed to store data for APICall: failed to apply JMESPath {query} for context entry {entry}: {cause}"
    )]
    ApiCallQuery {
        /// The entry.
        entry: Str,
        /// The query.
        query: Str,
        /// Why.
        #[source]
        cause: EntryQueryError,
    },
}

/// Why the query of a context entry has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EntryQueryError {
    /// The text is no expression; the words are those of the parser.
    #[error("{0}")]
    Expression(Str),
    /// Its evaluation on a value of its own failed.
    #[error(transparent)]
    Eval(Fault),
    /// It has no value on the data of the rule.
    #[error(transparent)]
    Data(QueryError),
}

/// Why a ConfigMap cannot be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigMapError {
    /// Its name or namespace is unknown.
    #[error(transparent)]
    Field(Box<EntryError>),
    /// The lookup failed.
    #[error("failed to get configmap {namespace}/{name} : {text}")]
    Lookup {
        /// Its namespace.
        namespace: Str,
        /// Its name.
        name: Str,
        /// Why, in the words of the source of external data.
        text: Box<str>,
    },
    /// There are none.
    #[error("there is no source of ConfigMaps")]
    NoSource,
}

/// Why an API or a service cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApiCallError {
    /// The call cannot be filled in.
    #[error("failed to substitute variables in context entry {entry} {path}: {cause}")]
    Fill {
        /// The entry.
        entry: Str,
        /// The path as written.
        path: Box<str>,
        /// Why.
        #[source]
        cause: FillError,
    },
    /// The path of a namespaced policy has no namespace.
    #[error("path {0} does not contain a namespace segment, which is required for namespaced policies")]
    NoNamespace(Box<str>),
    /// The path of a namespaced policy leads to another namespace.
    #[error(
        "path {path} refers to namespace {namespace}, which is different from the policy namespace {own}"
    )]
    ForeignNamespace {
        /// The path.
        path: Box<str>,
        /// The namespace in the path.
        namespace: Box<str>,
        /// The namespace of the policy.
        own: Box<str>,
    },
    /// There is neither a path nor a service.
    #[error("missing service for APICall {0}")]
    NoService(Str),
    /// The method does not exist.
    #[error("invalid request type {method} for APICall {entry}")]
    Method {
        /// The entry.
        entry: Str,
        /// The method.
        method: Box<str>,
    },
    /// The call failed; the words are those of the API server or service.
    #[error("{0}")]
    Call(Box<str>),
    /// There is no cluster.
    #[error("context entry {0}: there is no cluster to call")]
    NoCluster(Str),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every query and every template returns them.
    #[test]
    fn errors_are_no_larger_than_a_text_and_its_kind() {
        let most = size_of::<String>() + size_of::<usize>();
        assert!(size_of::<QueryError>() <= most);
        assert!(size_of::<FillError>() <= size_of::<String>());
        assert!(size_of::<ConditionError>() <= most);
    }

    #[test]
    fn the_cause_of_an_error_can_be_followed_to_the_fault() {
        let query = QueryError::Eval(Fault::NotFound("a".into()));
        let (expression, path) = ("a".into(), "/b".into());
        let cause = VariableError::Query(query);
        let variable = UnresolvedVariable { expression, path, cause };
        let error = ConditionError::Key(FillError::Variable(Box::new(variable)));
        assert_eq!(
            error.to_string(),
            "failed to substitute variables in condition key: failed to resolve a at path /b: \
             JMESPath query failed: Unknown key \"a\" in path"
        );
        let mut last: &dyn std::error::Error = &error;
        while let Some(source) = last.source() {
            last = source;
        }
        assert_eq!(last.downcast_ref(), Some(&Fault::NotFound("a".into())));
    }
}
