//! The function libraries: what each environment declares.
//!
//! The tables say which forms a function has; what the functions do is in `functions::cel`.

pub mod proxy;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::env::{Env, Functions, Message, Messages, declare};
use super::syntax::Options;
use super::types::{self, Type};
use crate::functions::CelLevel;
use crate::value::Str;

/// The functions of Kubernetes' environments; those of mutations have [`MUTATION`] too.
const KUBERNETES: [&str; 7] = [
    include_str!("operators.txt"),
    include_str!("standard.txt"),
    include_str!("extensions.txt"),
    include_str!("optional.txt"),
    include_str!("kubernetes.txt"),
    include_str!("network.txt"),
    include_str!("authorizer.txt"),
];

const MUTATION: &str = "jsonpatch.escapeKey:(string) string";

fn functions(choice: Admission) -> Arc<Functions> {
    static MADE: [OnceLock<Arc<Functions>>; 4] = [const { OnceLock::new() }; 4];
    let (with_mutation, is_new) = (choice.mutation, choice.level.is_new());
    let make = || {
        let mut all = Functions::new();
        KUBERNETES.iter().for_each(|table| declare(&mut all, table));
        if with_mutation {
            declare(&mut all, MUTATION);
        }
        // Durations of numbers are gone there.
        if is_new && let Some(forms) = all.get_mut("duration") {
            forms.retain(|form| form.params != [Type::Int]);
        }
        Arc::new(all)
    };
    let [plain, mutating, new, new_mutating] = &MADE;
    let made = match (is_new, with_mutation) {
        (false, false) => plain,
        (false, true) => mutating,
        (true, false) => new,
        (true, true) => new_mutating,
    };
    made.get_or_init(make).clone()
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
            backticks: choice.backticks,
            two_variables: true,
            sort_by: true,
            bind: false,
            lenient_or_value: false,
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

/// The language with the libraries of Kubernetes and the extensions that it does not have; without variables.
pub fn general(container: &str) -> Env {
    let choice = Admission { backticks: true, level: CelLevel::V30, ..Admission::default() };
    let mut env = admission(choice);
    let mut all = (*env.functions).clone();
    declare(&mut all, MATH);
    declare(&mut all, include_str!("general.txt"));
    env.syntax.math = true;
    env.functions = Arc::new(all);
    env.variables = HashMap::new();
    env.messages = Messages::default();
    env.container = container.into();
    env.strict_literals = false;
    env.strict_arguments = false;
    env.late_strings = true;
    env.syntax.bind = true;
    env.syntax.block = true;
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
    // These are not made from the environment of Kubernetes.
    let is_plain = matches!(kind, KyvernoKind::Generating | KyvernoKind::Deleting);
    if is_plain {
        without_rights(&mut all);
    }
    let user = !is_plain;
    let tables = [
        (true, MATH),
        (true, include_str!("regex.txt")),
        (true, SHARED),
        (true, KYVERNO),
        (user, include_str!("kyverno_user.txt")),
        (namespaced, include_str!("kyverno_namespaced.txt")),
        (!namespaced, include_str!("kyverno_cluster.txt")),
        (kind == KyvernoKind::Generating && namespaced, GENERATOR_NAMESPACED),
        (kind == KyvernoKind::Generating && !namespaced, GENERATOR),
        (images, include_str!("kyverno_images.txt")),
        (!images, "orValue(dyn, dyn) dyn"),
    ];
    tables.iter().filter(|(used, _)| *used).for_each(|(_, table)| declare(&mut all, table));
    if images {
        all.remove("x509.decode");
    }
    env.functions = Arc::new(all);
    env.syntax.lenient_or_value = !images;
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
        // Declared with a type that nobody knows: it cannot be read.
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

/// Nobody is asked for rights.
fn without_rights(all: &mut Functions) {
    let is_right = |ty: &Type| ty.to_string().starts_with("kubernetes.authorization.");
    all.values_mut().for_each(|forms| forms.retain(|form| !form.params.first().is_some_and(is_right)));
    all.retain(|_, forms| !forms.is_empty());
}

/// The extensions for numbers and encodings.
const MATH: &str = include_str!("math.txt");
/// What the environments of check requests have too.
const SHARED: &str = include_str!("kyverno_shared.txt");
const KYVERNO: &str = include_str!("kyverno.txt");
const GENERATOR: &str = "generator.Context.apply(string, list<map<string, any>>) bool\n\
                         generator.Context.Apply(string, list<map<string, any>>) bool";
const GENERATOR_NAMESPACED: &str = "generator.Context.apply(list<map<string, any>>) bool\n\
                                    generator.Context.Apply(list<map<string, any>>) bool";

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
