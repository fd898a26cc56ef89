//! Pod Security Standards → a validation for each control.
//!
//! In: a level, a version and exclusions. Out: what each control requires of a pod, from the rows that the engine runs
//! (`ir::pod_security`). Exclusions of a control for all images leave it out, those for some images leave out the containers with
//! such an image, those for values of a field let these pass. Semantics: `docs/validate.md`, "Bodies".

use crate::cel::build::{
    all_safe as all, any_safe as any, boolean, call, choose, equals, has, index, int, list, method, name,
    not, object, or_value, over, select, select_optional, text, texts as list_of,
};
use crate::cel_tree::Node;
use crate::ir::check::PodSecurity;
use crate::ir::pod_security::{
    Absent, Annotations, CONTROLS, Condition, Field, Form, LISTS, Of, Placed, Requirement, annotations_path,
    pod_spec_path,
};
use crate::kubernetes::Types;
use crate::value::Value;
use crate::value::wildcard::matches;

use super::rule::Checked;
use super::scope::Scope;
use super::term::{Path, Test};
use super::types::Ty;
use super::{Refusal, root, texts};

/// The controls of a rule.
///
/// # Errors
/// The version is none, or an exclusion is about single values.
pub fn controls(own: &PodSecurity, scope: &mut Scope<'_>) -> Result<Vec<Checked>, Refusal> {
    let exclusions = exclusions(&own.exclude, scope)?;
    let Some(placed) = own.controls() else {
        return Err(scope.refuse(
            format!("the version `{}` of the Pod Security Standards", own.version),
            "name a version",
        ));
    };
    let placed: Vec<Placed> = placed.collect();
    let spec = of_object(pod_spec_path(kind_of(scope)?).unwrap_or_default(), scope);
    let mut all_of = Vec::new();
    for one in placed {
        let exempt: Vec<&Exclusion> = exclusions.iter().filter(|e| e.control == one.control.name).collect();
        // The pod's own fields are exempt where no image is named, the containers where all are.
        let (valued, whole): (Vec<&Exclusion>, Vec<&Exclusion>) =
            exempt.into_iter().partition(|e| e.values.is_some());
        // There the first requirement says it all.
        if !valued.is_empty() && one.form.joined.is_none() {
            return Err(of_values(scope));
        }
        let pod = whole.iter().any(|e| e.images.is_none());
        let images: Vec<&str> =
            whole.iter().filter_map(|e| e.images.as_deref()).flatten().map(String::as_str).collect();
        let values: Vec<&Allowed> = valued.iter().filter_map(|e| e.values.as_ref()).collect();
        let test = form(one.form, &spec, &Exempt { pod, images, values }, scope)?;
        all_of.push(Checked {
            test: Test::safe(test),
            origin: scope.place.clone(),
            inside: None,
            message: Some(said(&one, own)),
            stated: None,
        });
    }
    Ok(all_of)
}

/// The message of a control.
fn said(one: &Placed, own: &PodSecurity) -> String {
    let version = if own.version.is_empty() { "latest" } else { &*own.version };
    format!("Pod Security Standards, level {}, version {version}: {}.", own.level, one.form.reason[0])
}

/// An exclusion from a control.
struct Exclusion {
    control: String,
    /// The images of the containers that are exempt; none: the pod.
    images: Option<Vec<String>>,
    /// The values that a field may have; none: the whole control.
    values: Option<Allowed>,
}

/// Values that a field may have.
struct Allowed {
    /// The list of the containers, of which those with the images are exempt; none: a field of the pod.
    list: Option<(&'static str, Vec<String>)>,
    /// The field below the pod's spec, or below the container.
    field: String,
    /// Wildcards for the values.
    values: Vec<String>,
}

/// What is exempt from a control.
struct Exempt<'e> {
    /// The pod's own fields.
    pod: bool,
    /// Containers with these images.
    images: Vec<&'e str>,
    /// Values of fields.
    values: Vec<&'e Allowed>,
}

/// The kind whose annotations are read elsewhere than those of other pod controllers.
const CRON_JOB: &str = "CronJob";

fn of_values(scope: &Scope<'_>) -> Refusal {
    scope.refuse(
        "an exclusion of values from a Pod Security control",
        "exclude the control, or write its check",
    )
}

/// A field as exclusions name it: `volumes[*].hostPath`.
fn written(field: &Field) -> String {
    field.path.join(".").replace(".*", "[*]")
}

/// The values that an exclusion names; it must be about a field of its control, of containers where it names images.
fn allowed(one: &Value, images: Option<&Vec<String>>, scope: &Scope<'_>) -> Result<Allowed, Refusal> {
    let field = one.text_at(&["restrictedField"]);
    let values = one.get("values").and_then(Value::as_list).unwrap_or_default();
    let values: Vec<String> = values.iter().filter_map(Value::as_str).map(String::from).collect();
    let Some(below) = field.strip_prefix("spec.") else { return Err(of_values(scope)) };
    let of_list =
        LISTS.iter().find_map(|list| Some((*list, below.strip_prefix(list)?.strip_prefix("[*].")?)));
    let (list, field) = match (of_list, images) {
        (Some((list, field)), Some(images)) => (Some((list, images.clone())), field),
        (None, None) => (None, below),
        _ => return Err(of_values(scope)),
    };
    let is_known = |requirement: &Requirement| requirement.fields.iter().any(|own| written(own) == field);
    let control = CONTROLS.iter().filter(|control| control.name == one.text_at(&["controlName"]));
    if !control.flat_map(|c| c.forms).flat_map(|form| form.requirements).any(is_known) {
        return Err(of_values(scope));
    }
    Ok(Allowed { list, field: field.into(), values })
}

fn exclusions(written: &Value, scope: &Scope<'_>) -> Result<Vec<Exclusion>, Refusal> {
    let mut found = Vec::new();
    for one in written.as_list().unwrap_or_default() {
        let images = one
            .get("images")
            .and_then(Value::as_list)
            .map(|items| items.iter().filter_map(Value::as_str).map(String::from).collect::<Vec<_>>());
        let images = images.filter(|images| !images.is_empty());
        let values = match one.text_at(&["restrictedField"]) {
            "" => None,
            _ => Some(allowed(one, images.as_ref(), scope)?),
        };
        found.push(Exclusion { control: one.text_at(&["controlName"]).into(), images, values });
    }
    Ok(found)
}

/// The kind whose pods a rule is about; all of its kinds have them at the same path.
fn kind_of<'c>(scope: &Scope<'c>) -> Result<&'c str, Refusal> {
    let kinds = || scope.cx.kinds.iter().map(|[_, _, kind]| &**kind);
    let Some(kind) = kinds().find(|kind| pod_spec_path(kind).is_some()) else {
        return Err(scope.refuse("Pod Security Standards for objects without pods", "match pods"));
    };
    if kinds().any(|other| pod_spec_path(other) != pod_spec_path(kind)) {
        return Err(scope.refuse(
            "Pod Security Standards for pods and their controllers in one rule",
            "write a rule for pods; controllers follow",
        ));
    }
    Ok(kind)
}

/// A field of the object.
fn of_object(keys: &[&str], scope: &Scope<'_>) -> Path {
    keys.iter().fold(root::object(scope), |path, key| path.key(key, &scope.cx.types))
}

fn form(form: &Form, spec: &Path, exempt: &Exempt<'_>, scope: &mut Scope<'_>) -> Result<Node, Refusal> {
    let mut parts = Vec::new();
    for requirement in form.requirements {
        parts.push(of_requirement(requirement, spec, exempt, scope)?);
    }
    let whole = all(parts);
    if !form.unless_windows {
        return Ok(whole);
    }
    let types = scope.cx.types.clone();
    let os = spec.key("os", &types).key("name", &types);
    Ok(any(vec![equals(os.or(text("")), text("windows")), whole]))
}

fn of_requirement(
    own: &Requirement,
    spec: &Path,
    exempt: &Exempt<'_>,
    scope: &mut Scope<'_>,
) -> Result<Node, Refusal> {
    let Exempt { pod, images, values } = exempt;
    let mut parts = Vec::new();
    if own.of != Of::Containers && !pod {
        for field in own.fields {
            let its = values.iter().find(|a| a.list.is_none() && a.field == written(field));
            parts.push(match its {
                Some(its) => of_field_or(field, its, spec, scope)?,
                None => of_field(field, &field.condition, spec, scope),
            });
        }
    }
    if own.of != Of::Pod && !images.contains(&"*") {
        let var = scope.item_name(Some("containers"));
        let is_its = |a: &Allowed| own.fields.iter().any(|field| a.field == written(field));
        let apart = values.iter().any(|a| a.list.is_some() && is_its(a));
        let types = scope.cx.types.clone();
        let lists: Vec<(Node, Path, &str)> = match apart {
            false => vec![containers(spec, &var, scope)].into_iter().map(|(n, p)| (n, p, "")).collect(),
            // Values are excluded from one of the lists.
            true => LISTS
                .iter()
                .map(|key| {
                    let path = spec.key(key, &types);
                    (path.or(list(Vec::new())), Path::of(name(&var), path.ty.item()), *key)
                })
                .collect(),
        };
        let mut of_lists = Vec::new();
        for (source, item, key) in lists {
            scope.loops.push(var.clone());
            let image = item.key("image", &types).or(text(""));
            let mut fields = Vec::new();
            for field in own.fields {
                let mut either = vec![of_field(field, &field.condition, &item, scope)];
                for its in values.iter().filter(|a| a.field == written(field)) {
                    let Some((_, images)) = its.list.as_ref().filter(|(list, _)| *list == key) else {
                        continue;
                    };
                    let images: Vec<&str> = images.iter().map(String::as_str).collect();
                    let is_meant = texts::matches_any(&image, &images, &[]);
                    either.push(all(vec![is_meant, of_field_or(field, its, &item, scope)?]));
                }
                fields.push(any(either));
            }
            let mut test = all(fields);
            if !images.is_empty() {
                test = any(vec![texts::matches_any(&image, images, &[]), test]);
            }
            scope.loops.pop();
            of_lists.push(over(source, "all", &var, test));
        }
        let mut of_containers = all(of_lists);
        if let Some(condition) = &own.unless_pod {
            let met = own.fields.iter().map(|field| of_field(field, condition, spec, scope)).collect();
            of_containers = any(vec![any(met), of_containers]);
        }
        parts.push(of_containers);
    }
    if let Some(annotations) = own.annotations {
        parts.push(of_annotations(annotations, spec, scope)?);
    }
    Ok(all(parts))
}

/// All containers of a pod, and one of them.
fn containers(spec: &Path, var: &str, scope: &mut Scope<'_>) -> (Node, Path) {
    let types = scope.cx.types.clone();
    let paths = LISTS.map(|key| spec.key(key, &types));
    let (node, ty) = super::pattern::chained(&paths);
    let node = scope.share("allContainers", node, false);
    (node, Path::of(name(var), ty.item()))
}

fn of_field(field: &Field, condition: &Condition, base: &Path, scope: &mut Scope<'_>) -> Node {
    each(field, base, scope, &|path, _| of_condition(condition, path))
}

/// A field that may have other values, too.
fn of_field_or(field: &Field, its: &Allowed, base: &Path, scope: &mut Scope<'_>) -> Result<Node, Refusal> {
    if matches!(field.condition, Condition::FirstKey(..)) {
        return Err(of_values(scope));
    }
    let values: Vec<&str> = its.values.iter().map(String::as_str).collect();
    Ok(each(field, base, scope, &|path, types| or_values(&field.condition, path, &values, types)))
}

/// Whether what stands under a path is as it may be, or is one of some values. What is missing is no value, and passes.
fn or_values(condition: &Condition, path: &Path, values: &[&str], types: &Types) -> Node {
    let usual = of_condition(condition, path);
    let has = |value: &str| values.iter().any(|pattern| matches(pattern, value));
    let fits = |node: Node| texts::matches_any(&node, values, &[]);
    let of_items = |fits: Node| over(path.or(list(Vec::new())), "all", "item", fits);
    match condition {
        Condition::Not(b) if has(&b.to_string()) => boolean(true),
        Condition::NotNumber(n) if has(&n.to_string()) => boolean(true),
        Condition::Not(_) | Condition::NotNumber(_) | Condition::FirstKey(..) => usual,
        Condition::Present | Condition::Parent => boolean(true),
        Condition::Is(b) => {
            let mut parent = path.clone();
            parent.steps.pop();
            let mut either = vec![usual, not(parent.present())];
            either.extend(has("nil").then(|| not(path.present())));
            either.extend(has(&(!b).to_string()).then(|| path.present()));
            any(either)
        }
        Condition::Unset => any(vec![usual, fits(path.key("path", types).or(text("")))]),
        Condition::Number(n) => any(vec![usual, fits(call("string", vec![path.or(int(*n))]))]),
        Condition::Texts(..) => any(vec![usual, fits(path.or(text("")))]),
        Condition::Items(allowed) => of_items(texts::matches_any(&name("item"), values, allowed)),
        Condition::Holds(_) => any(vec![usual, of_items(fits(name("item")))]),
    }
}

/// What is said of a field, or of every item of the list that it walks.
fn each(field: &Field, base: &Path, scope: &mut Scope<'_>, say: &dyn Fn(&Path, &Types) -> Node) -> Node {
    let types = scope.cx.types.clone();
    let at = |path: &Path, keys: &[&str]| keys.iter().fold(path.clone(), |path, key| path.key(key, &types));
    let mut parts = field.path.split(|key| *key == "*");
    let first = parts.next().unwrap_or_default();
    let Some(rest) = parts.next() else { return say(&at(base, first), &types) };
    // Every item of a list.
    let source = at(base, first);
    let var = scope.item_name(source.last());
    let item = Path::of(name(&var), source.ty.item());
    let test = say(&at(&item, rest), &types);
    over(source.or(list(Vec::new())), "all", &var, test)
}

/// Whether what stands under a path is as it may be.
fn of_condition(condition: &Condition, path: &Path) -> Node {
    let truth = |absent: bool| path.or(boolean(absent));
    let parent = || {
        let mut parent = path.clone();
        parent.steps.pop();
        parent.present()
    };
    match condition {
        Condition::Not(b) => equals(truth(!b), boolean(!b)),
        Condition::Is(b) => equals(truth(!b), boolean(*b)),
        Condition::Present => path.present(),
        Condition::Parent => parent(),
        Condition::Unset => not(path.present()),
        Condition::Number(n) => equals(path.or(int(*n)), int(*n)),
        Condition::NotNumber(n) => not(equals(path.or(int(n + 1)), int(*n))),
        Condition::Texts(allowed, absent) => {
            let is_one = |value: Node| match allowed {
                [one] => equals(value, text(one)),
                allowed => call("@in", vec![value, list_of(allowed.iter().copied())]),
            };
            let first = allowed.iter().find(|t| !t.is_empty()).copied().unwrap_or_default();
            match absent {
                Absent::Allowed => is_one(path.or(text(first))),
                Absent::Forbidden => is_one(path.or(text(if allowed.contains(&"") { "none" } else { "" }))),
                // The empty text where what it is a field of is there.
                Absent::Empty if allowed.contains(&"") => is_one(path.or(text(first))),
                Absent::Empty => any(vec![not(parent()), is_one(path.or(text("")))]),
            }
        }
        Condition::Items(allowed) => {
            let test = match allowed {
                [one] => equals(name("item"), text(one)),
                allowed => call("@in", vec![name("item"), list_of(allowed.iter().copied())]),
            };
            over(path.or(list(Vec::new())), "all", "item", test)
        }
        Condition::Holds(wanted) => call("@in", vec![text(wanted), path.or(list(Vec::new()))]),
        Condition::FirstKey(allowed, _) => any(allowed.iter().map(|key| has(path.strict(), key)).collect()),
    }
}

/// Annotations with profiles: those for the pod, and those for its containers.
fn of_annotations(own: &Annotations, spec: &Path, scope: &mut Scope<'_>) -> Result<Node, Refusal> {
    let (source, read) = annotations(kind_of(scope)?, scope);
    let key = scope.unused("key");
    let (list, _) = containers(spec, "container", scope);
    let begins = method(name(&key), "startsWith", vec![text(own.prefix)]);
    let is_meant = match own.of_containers {
        true => {
            let container = scope.item_name(Some("containers"));
            let named = call("_+_", vec![text(own.prefix), select(name(&container), "name")]);
            over(list, "exists", &container, equals(name(&key), named))
        }
        false => begins,
    };
    let is_meant = match own.pod {
        Some(pod) => any(vec![equals(name(&key), text(pod)), is_meant]),
        None => is_meant,
    };
    let value = index(read, name(&key));
    let allowed = any(vec![
        call("@in", vec![value.clone(), list_of(own.allowed.iter().copied())]),
        method(value, "startsWith", vec![text("localhost/")]),
    ]);
    Ok(over(source, "all", &key, any(vec![not(is_meant), allowed])))
}

/// The annotations of the pod, none where there are none, and how one of them is read.
fn annotations(kind: &str, scope: &mut Scope<'_>) -> (Node, Node) {
    let of_kind = |kind: &str, scope: &Scope<'_>| {
        let path = of_object(annotations_path(kind), scope);
        match path.ty {
            Ty::Map(_) => path,
            _ => Path { ty: Ty::Map(Box::new(Ty::Text)), ..path },
        }
    };
    let own = of_kind(kind, scope);
    let source = own.or(object(Vec::new()));
    if !scope.cx.generates_cron_jobs {
        return (source, own.strict());
    }
    // The generation of rules would read the template of a CronJob's pods. It replaces `object.spec`, and leaves `object.?spec` as it is.
    let base = root::object(scope).base;
    let its = annotations_path(CRON_JOB).iter().fold(base.clone(), |node, key| select_optional(node, key));
    let is_cron_job = equals(select(base, "kind"), text(CRON_JOB));
    let either = choose(is_cron_job, or_value(its, object(Vec::new())), source);
    let shared = scope.share("podAnnotations", either, true);
    (shared.clone(), shared)
}
