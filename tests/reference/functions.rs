//! The page of CEL's functions, from the libraries and the environments that declare them.

use std::fmt::Write;

use ephor_cel::env::Env;
use ephor_cel::library::{Admission, KyvernoKind, admission, general, kyverno, proxy::proxy};
use ephor_cel::syntax::MACROS;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_functions::cel::overload::{Documented, LIBRARIES, Library, Overload};
use ephor_functions::registry::{Dependency, Language, find};
use ephor_ir::expressions::Proxy;
use ephor_value::release::Release;

use super::cell;

/// The environments by the policies whose expressions they are for.
fn environments() -> Vec<(&'static str, Env)> {
    // Stored policies on the newest release, which have all functions.
    let level = CelLevel::of_server(Release::V1_38);
    let kubernetes = Admission { params: true, authorizer: true, level, ..Admission::default() };
    let mut all = vec![
        ("ValidatingAdmissionPolicy", admission(kubernetes)),
        ("MutatingAdmissionPolicy", admission(Admission { mutation: true, ..kubernetes })),
    ];
    let kinds = [
        ("ValidatingPolicy", "NamespacedValidatingPolicy", KyvernoKind::Validating),
        ("MutatingPolicy", "NamespacedMutatingPolicy", KyvernoKind::Mutating),
        ("GeneratingPolicy", "NamespacedGeneratingPolicy", KyvernoKind::Generating),
        ("DeletingPolicy", "NamespacedDeletingPolicy", KyvernoKind::Deleting),
        ("ImageValidatingPolicy", "NamespacedImageValidatingPolicy", KyvernoKind::Images),
    ];
    for (cluster, namespaced, kind) in kinds {
        all.push((cluster, kyverno(kind, false)));
        all.push((namespaced, kyverno(kind, true)));
    }
    all.push(("check requests over HTTP", proxy(Proxy::Http)));
    all.push(("check requests of Envoy", proxy(Proxy::Envoy)));
    all.push(("expressions without a policy", general("")));
    all
}

fn has(env: &Env, name: &str, overloads: &[Overload]) -> bool {
    let declared = env.functions.get(name).map(Vec::as_slice).unwrap_or_default();
    overloads.iter().any(|overload| declared.contains(overload))
}

/// The environments that have something of a library, and those that do not.
fn in_words(have: &[&str], all: &[&str]) -> String {
    let missing: Vec<&str> = all.iter().copied().filter(|name| !have.contains(name)).collect();
    match (have, missing.len()) {
        (_, 0) => "In all environments.".into(),
        ([], _) => "In no environment.".into(),
        (_, few) if few < have.len() => format!("In all environments but: {}.", missing.join(", ")),
        _ => format!("In: {}.", have.join(", ")),
    }
}

/// An overload as it is written in an expression: `string.split(string) list<string>`, `int + int`.
fn form(name: &str, overload: &Overload) -> String {
    let shown = |t: &Type| t.to_string().replace("optional_type(", "optional(");
    let types: Vec<String> = overload.params.iter().map(shown).collect();
    let result = shown(&overload.result);
    match (name, &types[..]) {
        ("_?_:_", [when, then, other]) => format!("{when} ? {then} : {other}"),
        ("_[_]", [of, at]) => format!("{of}[{at}] {result}"),
        ("_[?_]", [of, at]) => format!("{of}[?{at}] {result}"),
        ("@in", [item, of]) => format!("{item} in {of}"),
        ("!_" | "-_", [of]) => format!("{}{of}", name.trim_end_matches('_')),
        (operator, [left, right]) if operator.starts_with('_') && operator.ends_with('_') => {
            format!("{left} {} {right}", operator.trim_matches('_'))
        }
        (_, [receiver, rest @ ..]) if overload.member => {
            format!("{receiver}.{name}({}) {result}", rest.join(", "))
        }
        _ => format!("{name}({}) {result}", types.join(", ")),
    }
}

/// A code in a cell of a table.
fn in_code(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The names by which expressions call functions that only macros are expanded to.
fn called(name: &str) -> Option<&str> {
    match name {
        "math.@max" => Some("math.greatest"),
        "math.@min" => Some("math.least"),
        "@in" => Some(name),
        name if name.contains('@') => None,
        name => Some(name),
    }
}

fn depends_on(name: &str) -> Option<&'static str> {
    Some(match find(Language::Cel, name)?.dependency? {
        Dependency::Clock => "the clock",
        Dependency::Chance => "chance",
        Dependency::Settings => "settings",
        Dependency::Cluster => "the cluster",
        Dependency::Services => "services",
        Dependency::Registry => "registries of images",
        Dependency::Receiver => "what its receiver looks up",
    })
}

fn row(function: &Documented, missing: &[&str]) -> Option<String> {
    let name = called(function.name)?;
    let forms: Vec<String> =
        function.overloads.iter().map(|overload| format!("`{}`", in_code(&form(name, overload)))).collect();
    let mut says = cell(function.note);
    if let Some(what) = depends_on(function.name) {
        says.push_str(&format!(" *(depends on {what})*"));
    }
    if !missing.is_empty() {
        says.push_str(&format!("; not in: {}", missing.join(", ")));
    }
    Some(format!("| {} | {says} |\n", forms.join("<br>")))
}

fn section(library: &Library, environments: &[(&str, Env)]) -> String {
    let functions = library.functions();
    let having = |functions: &[Documented]| -> Vec<&str> {
        let is_one = |(_, env): &&(&str, Env)| functions.iter().any(|f| has(env, f.name, &f.overloads));
        environments.iter().filter(is_one).map(|(name, _)| *name).collect()
    };
    let names: Vec<&str> = environments.iter().map(|(name, _)| *name).collect();
    let have = having(&functions);
    let mut text =
        format!("\n## {}\n\n{}\n\n| form | says |\n|---|---|\n", library.title(), in_words(&have, &names));
    for function in &functions {
        let has_it = having(std::slice::from_ref(function));
        let missing: Vec<&str> = have.iter().copied().filter(|name| !has_it.contains(name)).collect();
        text.extend(row(function, &missing));
    }
    text
}

pub fn page() -> String {
    let environments = environments();
    let mut text = String::from(
        "# Functions of CEL\n\n\
         The functions of CEL by library, and the policies whose expressions have them. This page is generated from the libraries\n\
         (`crates/functions/src/cel/library`) and the environments (`crates/cel/src/library`); [CEL](cel.md) says how expressions are\n\
         evaluated, and [Functions of JMESPath](functions.md) has those of the other language. A capital letter stands for any type. A result that *depends on* more\n\
         than the arguments is never computed when a policy is loaded.\n\n\
         ## Macros\n\n\
         The parser expands them; which ones an environment has is at [CEL](cel.md#environments).\n\n\
         | form | says |\n|---|---|\n",
    );
    for (form, note) in MACROS {
        writeln!(text, "| `{}` | {} |", in_code(form), cell(note)).unwrap();
    }
    LIBRARIES.iter().for_each(|library| text.push_str(&section(library, &environments)));
    text
}

#[test]
fn every_function_of_the_libraries_says_what_it_does() {
    for library in LIBRARIES {
        assert!(!library.title().is_empty(), "a library without a title");
        for function in library.functions() {
            assert!(!function.note.is_empty(), "{}: {} has no note", library.title(), function.name);
        }
    }
}
