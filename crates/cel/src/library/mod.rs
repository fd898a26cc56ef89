//! The environments: which libraries of functions, variables and messages each declares.
//!
//! In: which policy an expression belongs to. Out: its [`Env`]. The overloads are declared in
//! `functions::cel::overload`.
//!
//! - [`proxy`]: the environments of expressions on check requests of proxies

pub mod proxy;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::env::{Env, Functions, Message, Messages};
use super::syntax::Options;
use super::types::{self, Type};
use ephor_functions::CelLevel;
use ephor_functions::cel::overload::{self, Library};
use ephor_value::Str;

/// The functions of Kubernetes' environments; those of mutations have [`overload::MUTATION`] too.
static KUBERNETES: [&Library; 7] = [
    &overload::OPERATORS,
    &overload::STANDARD,
    &overload::EXTENSIONS,
    &overload::OPTIONAL,
    &overload::KUBERNETES,
    &overload::NETWORK,
    &overload::AUTHORIZER,
];

/// What lists have from Kubernetes 1.34 on.
const LISTS_1_34: [&str; 7] =
    ["distinct", "flatten", "lists.range", "reverse", "slice", "sort", "@sortByAssociatedKeys"];

fn functions(choice: Admission) -> Arc<Functions> {
    const KINDS: usize = CelLevel::ALL.len() * 4;
    static MADE: [OnceLock<Arc<Functions>>; KINDS] = [const { OnceLock::new() }; KINDS];
    let with_mutation = choice.mutation;
    let make = || {
        let mut all = Functions::new();
        KUBERNETES.iter().for_each(|library| library.declare(&mut all));
        if with_mutation {
            overload::MUTATION.declare(&mut all);
        }
        let rules = choice.level.rules();
        for (availability, library) in
            [(rules.includes, &overload::LISTS_1_37), (rules.masks, &overload::NETWORK_1_38)]
        {
            if availability.allows(choice.is_new) {
                library.declare(&mut all);
            }
        }
        if !rules.lists.allows(choice.is_new) {
            LISTS_1_34.iter().for_each(|name| drop(all.remove(*name)));
        }
        // Durations of numbers are gone there.
        if !rules.has_integer_durations
            && let Some(forms) = all.get_mut("duration")
        {
            forms.retain(|form| form.params != [Type::Int]);
        }
        Arc::new(all)
    };
    let level = CelLevel::ALL.iter().position(|level| *level == choice.level).unwrap_or(0);
    match MADE.get(level * 4 + 2 * usize::from(choice.is_new) + usize::from(with_mutation)) {
        Some(made) => made.get_or_init(make).clone(),
        None => make(),
    }
}

/// What an expression of an admission policy may see besides its object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Admission {
    /// `params`
    pub params: bool,
    /// `authorizer`
    pub authorizer: bool,
    /// `Object…` and `JSONPatch`
    pub mutation: bool,
    /// Names in backticks.
    pub backticks: bool,
    /// The expression is new to an API server, not one of a stored object.
    pub is_new: bool,
    /// The level of the runtime.
    pub level: CelLevel,
}

/// The environment of admission policies.
pub fn admission(choice: Admission) -> Env {
    let mut messages = request_messages();
    messages.objects = choice.mutation;
    let mut variables: HashMap<Str, Type> = HashMap::new();
    variables.insert("object".into(), Type::Dyn);
    variables.insert("oldObject".into(), Type::Dyn);
    variables.insert("request".into(), Type::Struct("kubernetes.AdmissionRequest".into()));
    variables.insert("namespaceObject".into(), Type::Struct("kubernetes.Namespace".into()));
    if choice.params {
        variables.insert("params".into(), Type::Dyn);
    }
    if choice.authorizer {
        let of = |name: &str| types::parse(&format!("kubernetes.authorization.{name}"));
        variables.insert("authorizer".into(), of("Authorizer"));
        variables.insert("authorizer.requestResource".into(), of("ResourceCheck"));
    }
    if choice.mutation {
        messages.insert("JSONPatch", message("op string, path string, from string, value dyn"));
    }
    Env {
        syntax: Options {
            optional: true,
            backticks: choice.backticks || choice.level.rules().has_backticks,
            two_variables: true,
            sort_by: choice.level.rules().lists.allows(choice.is_new),
            bind: false,
            untyped_or_value: false,
            #[cfg(feature = "test-macros")]
            block: false,
            math: false,
            proto: false,
        },
        functions: functions(choice),
        variables,
        messages,
        container: "".into(),
        strict_literals: true,
        strict_arguments: true,
        late_faults: false,
        late_strings: false,
        declared: Vec::new(),
        level: choice.level,
    }
}

/// The language with the libraries of Kubernetes and the extensions that it does not have; without
/// variables.
pub fn general(container: &str) -> Env {
    let choice = Admission { backticks: true, level: CelLevel::V30, ..Admission::default() };
    let mut env = admission(choice);
    let mut all = (*env.functions).clone();
    overload::MATH.declare(&mut all);
    overload::GENERAL.declare(&mut all);
    env.syntax.math = true;
    env.functions = Arc::new(all);
    env.variables = HashMap::new();
    env.messages = Messages::default();
    env.container = container.into();
    env.strict_literals = false;
    env.strict_arguments = false;
    env.late_strings = true;
    env.syntax.bind = true;
    #[cfg(feature = "test-macros")]
    {
        env.syntax.block = true;
    }
    env
}

/// Which of Kyverno's policies an expression belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KyvernoKind {
    /// ValidatingPolicy
    Validating,
    /// MutatingPolicy
    Mutating,
    /// GeneratingPolicy
    Generating,
    /// DeletingPolicy
    Deleting,
    /// ImageValidatingPolicy
    Images,
}

/// The environment of Kyverno's policies.
pub fn kyverno(kind: KyvernoKind, namespaced: bool) -> Env {
    let choice = Admission { mutation: kind == KyvernoKind::Mutating, backticks: true, ..Default::default() };
    let mut env = admission(choice);
    let mut all = (*env.functions).clone();
    let images = kind == KyvernoKind::Images;
    if !images {
        all.remove("orValue");
    }
    // Kyverno does not derive these from the environment of Kubernetes.
    let is_plain = matches!(kind, KyvernoKind::Generating | KyvernoKind::Deleting);
    if is_plain {
        without_rights(&mut all);
    }
    let user = !is_plain;
    let libraries = [
        (true, &overload::MATH),
        (true, &overload::REGEX),
        (true, &overload::SHARED),
        (true, &overload::KYVERNO),
        (user, &overload::USER),
        (namespaced, &overload::NAMESPACED),
        (!namespaced, &overload::CLUSTER),
        (kind == KyvernoKind::Generating && namespaced, &overload::GENERATOR_NAMESPACED),
        (kind == KyvernoKind::Generating && !namespaced, &overload::GENERATOR),
        (images, &overload::IMAGES),
        (!images, &overload::UNTYPED_OR_VALUE),
    ];
    libraries.iter().filter(|(used, _)| *used).for_each(|(_, library)| library.declare(&mut all));
    if images {
        all.remove("x509.decode");
    }
    env.functions = Arc::new(all);
    env.syntax.untyped_or_value = !images;
    env.syntax.bind = true;
    env.syntax.math = true;
    env.syntax.proto = true;
    let of = |name: &str| types::parse(name);
    for (name, ty) in [
        ("resource", of("resource.Context")),
        ("http", of("http.Context")),
        ("globalContext", of("globalcontext.Context")),
        ("image", of("imagedata.Context")),
        ("json", of("json.Json")),
        ("yaml", of("yaml.Yaml")),
        ("mylib_version", Type::String),
        ("exceptions", Type::Struct("libs.Exception".into())),
    ] {
        env.variables.insert(name.into(), ty);
    }
    if images {
        env.variables.remove("exceptions");
        for (name, ty) in [
            ("images", of("map<string, list<string>>")),
            ("attestors", of("map<string, dyn>")),
            ("attestations", of("map<string, string>")),
        ] {
            env.variables.insert(name.into(), ty);
        }
    }
    if kind == KyvernoKind::Deleting {
        // Declared with an unknown type: it cannot be read.
        env.variables.insert("exceptions".into(), Type::Struct("compiler.Exception".into()));
    }
    if is_plain {
        env.syntax.two_variables = false;
        env.strict_arguments = false;
        env.late_faults = true;
    }
    if kind == KyvernoKind::Generating {
        env.variables.insert("generator".into(), of("generator.Context"));
        env.strict_literals = false;
    }
    env.messages.insert("user.ServiceAccount", message("Name string, Namespace string"));
    env.messages.insert("libs.Exception", message("allowedImages list<string>, allowedValues list<string>"));
    let mut request = env.messages.get("kubernetes.AdmissionRequest").unwrap_or_default();
    request.fields.extend([("object".into(), Type::Dyn), ("oldObject".into(), Type::Dyn)]);
    env.messages.insert("kubernetes.AdmissionRequest", request);
    env
}

/// Removes the functions of the authorizer.
fn without_rights(all: &mut Functions) {
    let is_right = |ty: &Type| ty.to_string().starts_with("kubernetes.authorization.");
    all.values_mut().for_each(|forms| forms.retain(|form| !form.params.first().is_some_and(is_right)));
    all.retain(|_, forms| !forms.is_empty());
}

fn message(fields: &str) -> Message {
    let field = |text: &str| {
        let (name, ty) = text.trim().split_once(' ')?;
        let ty = match ty.strip_prefix('$') {
            Some(name) => Type::Struct(name.into()),
            None => match ty.strip_prefix("list$") {
                Some(name) => Type::list(Type::Struct(name.into())),
                None => types::parse(ty),
            },
        };
        Some((Str::from(name), ty))
    };
    Message { fields: types::split(fields).into_iter().filter_map(field).collect(), open: false }
}

fn request_messages() -> Messages {
    let mut all = Messages::default();
    let gvk = "$kubernetes.GroupVersionKind";
    let gvr = "$kubernetes.GroupVersionResource";
    all.insert("kubernetes.GroupVersionKind", message("group string, version string, kind string"));
    all.insert("kubernetes.GroupVersionResource", message("group string, version string, resource string"));
    all.insert(
        "kubernetes.UserInfo",
        message("username string, uid string, groups list<string>, extra map<string, list<string>>"),
    );
    all.insert(
        "kubernetes.AdmissionRequest",
        message(&format!(
            "kind {gvk}, resource {gvr}, subResource string, requestKind {gvk}, requestResource {gvr}, \
             requestSubResource string, name string, namespace string, operation string, \
             userInfo $kubernetes.UserInfo, dryRun bool, options dyn"
        )),
    );
    all.insert(
        "kubernetes.Namespace",
        message(
            "metadata $kubernetes.NamespaceMetadata, spec $kubernetes.NamespaceSpec, status $kubernetes.NamespaceStatus",
        ),
    );
    all.insert(
        "kubernetes.NamespaceMetadata",
        message(
            "name string, generateName string, namespace string, labels map<string, string>, \
             annotations map<string, string>, UID string, creationTimestamp timestamp, \
             deletionGracePeriodSeconds int, deletionTimestamp timestamp, generation int, \
             resourceVersion string, finalizers list<string>",
        ),
    );
    all.insert("kubernetes.NamespaceSpec", message("finalizers list<string>"));
    all.insert(
        "kubernetes.NamespaceStatus",
        message("conditions list$kubernetes.NamespaceCondition, phase string"),
    );
    all.insert(
        "kubernetes.NamespaceCondition",
        message("status string, type string, lastTransitionTime timestamp, message string, reason string"),
    );
    all
}
