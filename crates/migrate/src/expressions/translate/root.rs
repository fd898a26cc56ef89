//! What expressions of rules read, under the names that CEL has for it.
//!
//! In: a path from the root of a rule's data: `request`, `element`, names of the context. Out: the
//! value. Semantics: `docs/semantics/variables.md`, "Data of a rule".

use ephor_ir::condition::Prepared;
use ephor_ir::{Operator, operator};
use ephor_value::{Str, Value};

use crate::cel::build::{
    boolean, call, choose, equals, getter, is_name, method, name, not, select, text, texts,
};
use crate::expressions::context::Target;
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Loop, Path, PathStep, Test, Val};
use crate::expressions::translate::template::{INNER, INNER_KEY};
use crate::expressions::translate::{bindings, values};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// The value of a path from the root.
pub fn root(keys: &[Str], scope: &mut Scope<'_>) -> Result<Val> {
    let Some((first, rest)) = keys.split_first() else {
        return Err(scope.refuse("the whole of the data", "name what is read"));
    };
    let (start, rest) = match &**first {
        "request" => request(rest, scope)?,
        "serviceAccountName" | "serviceAccountNamespace" => {
            scope.needs_kyverno("the name of the service account")?;
            let user = select(select(name("request"), "userInfo"), "username");
            let account = call("parseServiceAccount", vec![user]);
            let field = if **first == *"serviceAccountName" { "Name" } else { "Namespace" };
            (Val::Node { node: select(account, field), ty: Ty::Text, faults: Faults::new() }, rest)
        }
        "images" if !scope.names.contains_key("images") => {
            if let Some(found) = image_of_element(rest, scope)? {
                return Ok(found);
            }
            if let Some(found) = images_of_list(keys, scope)? {
                return Ok(found);
            }
            return Err(scope
                .refuse("the parsed images of an object (`images`)", "read the images of the containers"));
        }
        "target" if scope.cx.trigger.is_some() => (Val::Path(object(scope)), rest),
        key => match values::inner_of(key, INNER, scope) {
            Some(inner) => (inner.clone(), rest),
            None => (bindings::named(key, scope)?, rest),
        },
    };
    rest.iter().try_fold(start, |val, key| values::member(&val, key, scope))
}

/// `images.containers."{{element.name}}".tag`: a part of the image of the element that a loop is
/// about.
fn image_of_element(keys: &[Str], scope: &Scope<'_>) -> Result<Option<Val>> {
    let [_, key, part] = keys else { return Ok(None) };
    let Some(Val::Path(path)) =
        values::inner_of(key, INNER_KEY, scope).or_else(|| values::inner_of(key, INNER, scope))
    else {
        return Ok(None);
    };
    let is_element = path.steps.len() == 1
        && path.last() == Some("name")
        && path
            .base
            .as_ident()
            .is_some_and(|base| scope.names.get("element").is_some_and(|e| is_var(e, base)));
    if !is_element {
        return Ok(None);
    }
    scope.needs_kyverno("the parsed image of a container")?;
    let node = part_of_image(&select(path.base.clone(), "image"), part, true);
    Ok(node.map(|node| Val::Node { node, ty: Ty::Text, faults: Faults::new() }))
}

/// A part of an image as the old rule sees it; `is_one`: of one image, not of all in a list.
fn part_of_image(image: &Node, part: &str, is_one: bool) -> Option<Node> {
    let parsed = |part: &str| getter(call("parseImageReference", vec![image.clone()]), part);
    let replaced = |node: Node, from: &str, to: &str| method(node, "replace", vec![text(from), text(to)]);
    // A name need not have one; the old rule fails then.
    let required = |node: Node| {
        let found = method(name("optional"), "ofNonZeroValue", vec![node]);
        getter(found, "value")
    };
    Some(match part {
        "tag" if is_one => required(parsed("tag")),
        "digest" if is_one => required(parsed("digest")),
        "tag" => parsed("tag"),
        "digest" => parsed("digest"),
        "registry" => replaced(parsed("registry"), "index.docker.io", "docker.io"),
        // There Docker Hub's images of its own have no folder.
        "path" => choose(
            method(image.clone(), "contains", vec![text("library/")]),
            parsed("repository"),
            replaced(parsed("repository"), "library/", ""),
        ),
        _ => return None,
    })
}

/// `images.containers`: the parsed images of a list of containers.
fn images_of_list(keys: &[Str], scope: &mut Scope<'_>) -> Result<Option<Val>> {
    let [_, list] = keys else { return Ok(None) };
    if !matches!(&**list, "containers" | "initContainers" | "ephemeralContainers") {
        return Ok(None);
    }
    scope.needs_kyverno("the parsed images of containers")?;
    let spec = object(scope).key("spec", &scope.cx.types);
    let of_template = || spec.key("template", &scope.cx.types).key("spec", &scope.cx.types);
    let own = [spec.clone(), of_template()].into_iter().map(|spec| spec.key(list, &scope.cx.types));
    let Some(path) = own.into_iter().find(|path| matches!(path.ty, Ty::List(_))) else { return Ok(None) };
    let var = scope.item_name(Some(list));
    let image = select(name(&var), "image");
    let part = |part: &str| {
        let node = part_of_image(&image, part, false)?;
        Some((Str::from(part), Val::Node { node, ty: Ty::Text, faults: Faults::new() }))
    };
    let parts = ["registry", "path", "tag", "digest"].into_iter().filter_map(part).collect();
    let source = Val::Path(path).rescued();
    let body = Val::Record(parts);
    Ok(Some(Val::Loop(Box::new(Loop { source, var, keep: None, body, flat: false, values: false }))))
}

fn is_var(val: &Val, name: &Str) -> bool {
    matches!(val, Val::Path(path) if path.steps.is_empty() && path.base.as_ident() == Some(name))
}

/// Part of a request, and what is left of the path.
fn request<'k>(keys: &'k [Str], scope: &mut Scope<'_>) -> Result<(Val, &'k [Str])> {
    let Some((first, rest)) = keys.split_first() else {
        return Err(scope.refuse("the whole of the request", "name what is read"));
    };
    let of = |field: &str| select(name("request"), field);
    let plain = |node: Node| Val::Node { node, ty: Ty::Text, faults: Faults::new() };
    if let (Some(trigger), "object" | "oldObject") = (&scope.cx.trigger, &**first) {
        let is_deletion = scope.cx.operations.iter().all(|o| **o == *"DELETE");
        let field = if is_deletion { "oldObject" } else { first };
        let path = Path::of(of(field), Ty::of_kinds(&trigger.kinds, &scope.cx.types));
        return Ok((Val::Path(path), rest));
    }
    let found = match &**first {
        "object" => Val::Path(object(scope)),
        "oldObject" => {
            // Nothing is known to be there: on creations it is empty.
            let mut path = Path::of(name("oldObject"), scope.object.clone());
            if scope.cx.operations.iter().any(|o| **o != *"UPDATE" && **o != *"DELETE") {
                path.ty = optional_type(&path.ty);
            }
            Val::Path(path)
        }
        "operation" => plain(of("operation")),
        "name" => plain(of("name")),
        "namespace" => {
            let mut path = text_path("namespace");
            path.steps.iter_mut().for_each(|step| step.required = is_namespaced(scope));
            Val::Path(path)
        }
        "subResource" => Val::Path(text_path("subResource")),
        "userInfo" => match rest.split_first() {
            Some((key, rest)) => {
                let user = of("userInfo");
                let found = match &**key {
                    "username" => plain(select(user, "username")),
                    "uid" => plain(select(user, "uid")),
                    "groups" => {
                        let mut path = Path::of(user, Ty::Any).key("groups", &scope.cx.types);
                        path.ty = Ty::List(Box::new(Ty::Text));
                        Val::Path(path)
                    }
                    _ => return Err(scope.refuse("details of the user", "use the name or the groups")),
                };
                return Ok((found, rest));
            }
            None if scope.cx.target == Target::Kyverno => {
                let ty = Ty::Map(Box::new(Ty::Any));
                return Ok((Val::Node { node: of("userInfo"), ty, faults: Faults::new() }, rest));
            }
            None => return Err(scope.refuse("the whole of the user", "use the name or the groups")),
        },
        "kind" | "resource" | "requestKind" | "requestResource" => {
            let part = rest.first().map_or("kind", |key| &**key);
            return Ok((plain(select(of(first), part)), rest.get(1..).unwrap_or_default()));
        }
        "roles" | "clusterRoles" => {
            return Err(scope.refuse("roles of the user", "use groups, or a list of bindings"));
        }
        "dryRun" => Val::Node { node: of("dryRun"), ty: Ty::Bool, faults: Faults::new() },
        // No request has it: the old rule reads null there.
        own @ ("serviceAccountName" | "serviceAccountNamespace") => {
            return Err(scope.refuse(format!("`request.{own}`"), format!("write `{own}`")));
        }
        other => return Err(scope.refuse(format!("`request.{other}`"), "use another field of the request")),
    };
    Ok((found, rest))
}

/// The object of the request; the former one where the rule is about deletions alone.
pub fn object(scope: &Scope<'_>) -> Path {
    let is_deletion = |o: &Str| **o == *"DELETE";
    let base = match scope.cx.operations.iter().filter(|o| is_deletion(o)).count() {
        _ if scope.cx.trigger.is_some() => name("object"),
        0 => name("object"),
        n if n == scope.cx.operations.len() => name("oldObject"),
        _ => {
            let deletes = equals(select(name("request"), "operation"), text("DELETE"));
            choose(deletes, name("oldObject"), name("object"))
        }
    };
    let is_template = scope.cx.generated.any && is_name(&base, "object");
    Path { is_template, ..Path::of(base, scope.object.clone()) }
}

/// Whether requests for all kinds of the rule have a namespace.
fn is_namespaced(scope: &Scope<'_>) -> bool {
    let kinds = scope.cx.trigger.as_ref().map_or(&scope.cx.kinds, |trigger| &trigger.kinds);
    let known = ephor_kubernetes::Kinds::built_in();
    let is = |[group, version, kind]: &[Str; 3]| {
        known.kind(group, version, kind).is_some_and(|found| found.namespaced)
    };
    !kinds.is_empty() && kinds.iter().all(is)
}

fn text_path(field: &str) -> Path {
    let mut path = Path::of(name("request"), Ty::Any);
    path.steps.push(PathStep { key: field.into(), required: false, nullable: false, wild: false });
    path.ty = Ty::Text;
    path
}

/// The same fields, none of which is known to be there at the first level.
fn optional_type(ty: &Ty) -> Ty {
    match ty {
        Ty::Object(all) => Ty::Object(all.iter().map(|(def, _)| (def.clone(), None)).collect()),
        other => other.clone(),
    }
}

/// Whether an expression is the operation of the request.
pub fn is_operation(node: &Node) -> bool {
    match &node.kind {
        Kind::Select { operand, field, test: false } => {
            **field == *"operation" && is_name(operand, "request")
        }
        _ => false,
    }
}

/// What a condition on the operation says of those that the policy is for.
pub fn operation(op: Operator, right: &Value, scope: &Scope<'_>) -> Test {
    let prepared = Prepared::new(op, right.clone());
    let all = &scope.cx.operations;
    let fit = |o: &&Str| operator::holds(op, &Value::Str((**o).clone()), &prepared);
    let (yes, no): (Vec<&Str>, Vec<&Str>) = all.iter().partition(|o| fit(o));
    let own = select(name("request"), "operation");
    Test::safe(match (&yes[..], &no[..]) {
        ([], _) => boolean(false),
        (_, []) => boolean(true),
        ([one], _) => equals(own, text(one)),
        (_, [other]) => not(equals(own, text(other))),
        (yes, _) => call("@in", vec![own, texts(yes.iter().map(|o| &***o))]),
    })
}
