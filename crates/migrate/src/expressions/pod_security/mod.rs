//! Pod Security Standards → a validation for each control.
//!
//! In: a level, a version and exclusions. Out: what each control requires of a pod, from the rows
//! that the engine runs (`ir::pod_security`). Exclusions of a control for all images leave it out,
//! those for some images leave out the containers with such an image, those for values of a field
//! let these pass. Semantics: `docs/semantics/validate.md`, "Bodies".
//!
//! - `exclusions`: exclusions from Pod Security controls

pub(crate) mod exclusions;

use ephor_ir::check::PodSecurity;
use ephor_ir::pod_security::{
    Absent, Annotations, ControlVersion, Field, FieldCondition, FieldRequirement, LISTS, Of, Placed,
    annotations_path, pod_spec_path,
};
use ephor_kubernetes::Types;
use ephor_value::wildcard::matches;
use exclusions::{Allowed, Exempt, exclusions};

use super::rule::Checked;
use super::scope::Scope;
use super::term::{Path, Test};
use super::types::Ty;
use crate::cel::build::{
    all_safe as all, any_safe as any, binary, boolean, call, choose, empty_list, empty_object, equals,
    flatten, has, index, int, list, method, name, not, or_value, over, select, select_optional, size, text,
    texts as list_of,
};
use crate::cel::is_same;
use crate::expressions::refusal::Result;
use crate::expressions::translate::{root, texts};
use ephor_cel::ast::Node;

/// The controls of a rule.
///
/// # Errors
/// The version is none, or an exclusion is about single values.
pub fn controls(own: &PodSecurity, scope: &mut Scope<'_>) -> Result<Vec<Checked>> {
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
        let exempt = Exempt::of(one.control.name, &exclusions);
        let test = form(one.form, &spec, &exempt, scope)?;
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

/// The list of the containers that every pod has.
const CONTAINERS: &str = "containers";

/// The kind whose annotations are read elsewhere than those of other pod controllers.
const CRON_JOB: &str = "CronJob";

/// The kind whose pods a rule is about; all of its kinds have them at the same path.
fn kind_of<'c>(scope: &Scope<'c>) -> Result<&'c str> {
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

fn form(form: &ControlVersion, spec: &Path, exempt: &Exempt<'_>, scope: &mut Scope<'_>) -> Result<Node> {
    let whole = match form.joined {
        Some(_) => of_requirements(form, form.requirements, spec, exempt, scope)?,
        // What the first requirement finds that is not met is all that is found.
        None => {
            let (mut parts, mut unmet) = (Vec::new(), Vec::new());
            for one in form.requirements.chunks(1) {
                let own = of_requirements(form, one, spec, exempt, scope)?;
                let without = of_requirements(form, one, spec, &Exempt::default(), scope)?;
                let exempts = !is_same(&own, &without);
                parts.push(any(unmet.iter().cloned().chain([own]).collect()));
                unmet.extend(exempts.then(|| not(without)));
            }
            all(parts)
        }
    };
    if !form.unless_windows {
        return Ok(whole);
    }
    let types = scope.cx.types.clone();
    let os = spec.key("os", &types).key("name", &types);
    Ok(any(vec![equals(os.or(text("")), text("windows")), whole]))
}

/// Requirements of a form whose violations are found together.
fn of_requirements(
    form: &ControlVersion,
    all_of: &[FieldRequirement],
    spec: &Path,
    exempt: &Exempt<'_>,
    scope: &mut Scope<'_>,
) -> Result<Node> {
    let (mut parts, mut of_containers) = (Vec::new(), Vec::new());
    for own in all_of {
        if !exempt.pod {
            parts.extend(of_pod(own, spec, exempt, scope)?);
        }
        if own.of != Of::Pod && !exempt.has_all_containers() {
            of_containers.push(of_lists(own, spec, exempt, scope)?);
        }
    }
    if !of_containers.is_empty() {
        let mut either = vec![all(of_containers)];
        if exempt.pod {
            either.extend(spared(form, all_of, spec, exempt, scope)?);
        }
        parts.push(any(either));
    }
    // Those of the containers are no part of the pod.
    let annotations = all_of.iter().filter_map(|own| own.annotations);
    for own in annotations.filter(|own| !exempt.pod || own.of_containers) {
        let own = Annotations { pod: own.pod.filter(|_| !exempt.pod), ..*own };
        parts.push(of_annotations(&own, spec, scope)?);
    }
    Ok(all(parts))
}

/// The fields of the pod.
fn of_pod(
    own: &FieldRequirement,
    spec: &Path,
    exempt: &Exempt<'_>,
    scope: &mut Scope<'_>,
) -> Result<Vec<Node>> {
    let mut parts = Vec::new();
    for field in own.fields.iter().filter(|_| own.of != Of::Containers) {
        let its = exempt.values.iter().find(|a| a.list.is_none() && a.is_of(field));
        parts.push(match its {
            Some(its) => of_field_or(field, its, spec, scope),
            None => of_field(field, &field.condition, spec, scope),
        });
    }
    Ok(parts)
}

/// The fields of the containers.
fn of_lists(own: &FieldRequirement, spec: &Path, exempt: &Exempt<'_>, scope: &mut Scope<'_>) -> Result<Node> {
    let var = scope.item_name(Some("containers"));
    let apart = exempt.values.iter().any(|a| a.list.is_some() && own.fields.iter().any(|f| a.is_of(f)));
    let lists: Vec<(Node, Path, &str)> = match apart {
        false => vec![containers(spec, &var, scope)].into_iter().map(|(n, p)| (n, p, "")).collect(),
        // Values are excluded from one of the lists.
        true => LISTS.iter().map(|key| one_list(spec, key, &var, scope)).collect(),
    };
    let mut parts = Vec::new();
    for (source, item, key) in lists {
        let test = of_container(own, (&item, key), exempt, true, scope)?;
        parts.push(over(source, "all", &var, test));
    }
    Ok(match &own.unless_pod {
        Some(condition) => any(vec![meets(own, condition, spec, scope), all(parts)]),
        None => all(parts),
    })
}

/// Whether the pod's own fields satisfy a condition.
fn meets(own: &FieldRequirement, condition: &FieldCondition, spec: &Path, scope: &mut Scope<'_>) -> Node {
    any(own.fields.iter().map(|field| of_field(field, condition, spec, scope)).collect())
}

/// The containers of one list, and one of them.
fn one_list<'k>(spec: &Path, key: &'k str, var: &str, scope: &Scope<'_>) -> (Node, Path, &'k str) {
    let path = spec.key(key, &scope.cx.types);
    (path.or(empty_list()), Path::of(name(var), path.ty.item()), key)
}

/// A container of a list; `has_images`: those with some images are exempt.
fn of_container(
    own: &FieldRequirement,
    (item, key): (&Path, &str),
    exempt: &Exempt<'_>,
    has_images: bool,
    scope: &mut Scope<'_>,
) -> Result<Node> {
    let image = item.key("image", &scope.cx.types).or(text(""));
    scope.loops.extend(item.base.as_ident().cloned());
    let mut fields = Vec::new();
    for field in own.fields {
        let mut either = vec![of_field(field, &field.condition, item, scope)];
        for its in exempt.values.iter().filter(|a| a.is_of(field)) {
            let Some((_, images)) = its.list.as_ref().filter(|(list, _)| *list == key) else {
                continue;
            };
            let images: Vec<&str> = images.iter().map(String::as_str).collect();
            let is_meant = texts::matches_any(&image, &images, &[]);
            let others = without(of_field_or(field, its, item, scope), &either);
            either.push(all(vec![is_meant, others]));
        }
        fields.push(any(either));
    }
    scope.loops.pop();
    let test = all(fields);
    Ok(match exempt.images.is_empty() || !has_images {
        true => test,
        false => any(vec![texts::matches_any(&image, &exempt.images, &[]), test]),
    })
}

/// What is enough for a test, but for what is enough anyway.
fn without(test: Node, known: &[Node]) -> Node {
    let mut terms = flatten("_||_", test);
    let others: Vec<Node> = known.iter().flat_map(|node| flatten("_||_", node.clone())).collect();
    terms.retain(|node| !others.iter().any(|other| is_same(node, other)));
    any(terms)
}

/// An exclusion without images is checked on the pod with one empty container. Where this lacks
/// what it needs, one container is exempt that lacks it, too (Kyverno's behaviour).
fn spared(
    form: &ControlVersion,
    all_of: &[FieldRequirement],
    spec: &Path,
    exempt: &Exempt<'_>,
    scope: &mut Scope<'_>,
) -> Result<Option<Node>> {
    let mut of_form = form.requirements.iter();
    let Some((lacking, condition)) = of_form.find_map(|own| Some((own, own.unless_pod.as_ref()?))) else {
        return Ok(None);
    };
    let mut parts = vec![not(meets(lacking, condition, spec, scope))];
    if form.joined.is_none() {
        let earlier = form.requirements.iter().take_while(|own| own.unless_pod.is_none());
        for own in earlier {
            parts.extend(of_pod(own, spec, &Exempt::default(), scope)?);
        }
    }
    let var = scope.item_name(Some("containers"));
    let fine = |list: (&Path, &str), exempt: &Exempt<'_>, has_images, scope: &mut Scope<'_>| {
        let each = all_of.iter().map(|own| of_container(own, list, exempt, has_images, scope));
        each.collect::<Result<Vec<Node>>>().map(all)
    };
    for key in LISTS.iter().filter(|key| **key != CONTAINERS) {
        let (source, item, _) = one_list(spec, key, &var, scope);
        parts.push(over(source, "all", &var, fine((&item, key), exempt, true, scope)?));
    }
    let (source, item, _) = one_list(spec, CONTAINERS, &var, scope);
    let lacks = not(fine((&item, CONTAINERS), exempt, true, scope)?);
    let those = over(source.clone(), "filter", &var, lacks);
    parts.push(equals(size(those), int(1)));
    if exempt.is_pod_first {
        if form.joined.is_some() {
            // Which one that is depends on how violations are removed from those of the pod.
            return Err(scope.refuse(
                "an exclusion of a Pod Security control without images before one with images",
                "write the exclusion with images first",
            ));
        }
        // What is found first is exempt, which must not be a container that its image exempts.
        let lacks = not(fine((&item, CONTAINERS), exempt, false, scope)?);
        let first = Path { base: index(over(source, "filter", &var, lacks), int(0)), ..item };
        let image = first.key("image", &scope.cx.types).or(text(""));
        parts.push(not(texts::matches_any(&image, &exempt.images, &[])));
    }
    Ok(Some(all(parts)))
}

/// All containers of a pod, and one of them.
fn containers(spec: &Path, var: &str, scope: &mut Scope<'_>) -> (Node, Path) {
    let types = scope.cx.types.clone();
    let paths = LISTS.map(|key| spec.key(key, &types));
    let (node, ty) = super::pattern::chained(&paths);
    let node = scope.share("allContainers", node, false);
    (node, Path::of(name(var), ty.item()))
}

fn of_field(field: &Field, condition: &FieldCondition, base: &Path, scope: &mut Scope<'_>) -> Node {
    each(field, base, scope, &|path, _| of_condition(condition, path))
}

/// A field that may have other values, too.
fn of_field_or(field: &Field, its: &Allowed, base: &Path, scope: &mut Scope<'_>) -> Node {
    let source = its.source_of(field);
    let values: Vec<&str> = its.values.iter().map(String::as_str).collect();
    each(field, base, scope, &|path, types| match source {
        Some(key) => any(vec![of_condition(&field.condition, path), has(path.strict(), key)]),
        None => or_values(&field.condition, path, &values, types),
    })
}

/// Whether what stands under a path is as it may be, or is one of some values. What is missing or
/// empty is no value, and passes.
fn or_values(condition: &FieldCondition, path: &Path, values: &[&str], types: &Types) -> Node {
    let usual = of_condition(condition, path);
    let has_value = |value: &str| values.iter().any(|pattern| matches(pattern, value));
    let fits = |node: Node| texts::matches_any(&node, values, &[""]);
    let of_items = |fits: Node| over(path.or(empty_list()), "all", "item", fits);
    match condition {
        FieldCondition::Not(b) if has_value(&b.to_string()) => boolean(true),
        FieldCondition::NotNumber(n) if has_value(&n.to_string()) => boolean(true),
        FieldCondition::Not(_) | FieldCondition::NotNumber(_) | FieldCondition::FirstKey(..) => usual,
        FieldCondition::Present | FieldCondition::Parent => boolean(true),
        FieldCondition::Is(b) => {
            let mut either = vec![usual, not(path.above().present())];
            either.extend(has_value("nil").then(|| not(path.present())));
            either.extend(has_value(&(!b).to_string()).then(|| path.present()));
            any(either)
        }
        FieldCondition::Unset => any(vec![usual, fits(path.key("path", types).or(text("")))]),
        FieldCondition::Number(n) => {
            let numbers: Option<Vec<i64>> = values.iter().map(|value| value.parse().ok()).collect();
            let own = path.or(int(*n));
            match numbers {
                Some(numbers) => {
                    binary("in", own, list(std::iter::once(*n).chain(numbers).map(int).collect()))
                }
                // Wildcards are about texts.
                None => any(vec![usual, fits(call("string", vec![own]))]),
            }
        }
        FieldCondition::Texts(..) => any(vec![usual, fits(path.or(text("")))]),
        FieldCondition::Items(allowed) => of_items(texts::matches_any(&name("item"), values, allowed)),
        FieldCondition::Holds(_) => {
            any(vec![usual, of_items(texts::matches_any(&name("item"), values, &[]))])
        }
    }
}

/// What is required of a field, or of every item of the list that it walks.
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
    over(source.or(empty_list()), "all", &var, test)
}

/// Whether what stands under a path is as it may be.
fn of_condition(condition: &FieldCondition, path: &Path) -> Node {
    let truth = |absent: bool| path.or(boolean(absent));
    let parent = || path.above().present();
    match condition {
        FieldCondition::Not(b) => equals(truth(!b), boolean(!b)),
        FieldCondition::Is(b) => equals(truth(!b), boolean(*b)),
        FieldCondition::Present => path.present(),
        FieldCondition::Parent => parent(),
        FieldCondition::Unset => not(path.present()),
        FieldCondition::Number(n) => equals(path.or(int(*n)), int(*n)),
        FieldCondition::NotNumber(n) => not(equals(path.or(int(n + 1)), int(*n))),
        FieldCondition::Texts(allowed, absent) => {
            let is_one = |value: Node| is_one_of(value, allowed);
            let first = allowed.iter().find(|t| !t.is_empty()).copied().unwrap_or_default();
            match absent {
                Absent::Allowed => is_one(path.or(text(first))),
                Absent::Forbidden => is_one(path.or(text(if allowed.contains(&"") { "none" } else { "" }))),
                // The empty text where what it is a field of is there.
                Absent::Empty if allowed.contains(&"") => is_one(path.or(text(first))),
                Absent::Empty => any(vec![not(parent()), is_one(path.or(text("")))]),
            }
        }
        FieldCondition::Items(allowed) => {
            over(path.or(empty_list()), "all", "item", is_one_of(name("item"), allowed))
        }
        FieldCondition::Holds(wanted) => binary("in", text(wanted), path.or(empty_list())),
        FieldCondition::FirstKey(allowed, _) => {
            any(allowed.iter().map(|key| has(path.strict(), key)).collect())
        }
    }
}

fn is_one_of(value: Node, allowed: &[&str]) -> Node {
    match allowed {
        [one] => equals(value, text(one)),
        allowed => binary("in", value, list_of(allowed.iter().copied())),
    }
}

/// Annotations with profiles: those for the pod, and those for its containers.
fn of_annotations(own: &Annotations, spec: &Path, scope: &mut Scope<'_>) -> Result<Node> {
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
        binary("in", value.clone(), list_of(own.allowed.iter().copied())),
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
    let source = own.or(empty_object());
    if !scope.cx.generated.cron_jobs {
        return (source, own.strict());
    }
    // The generation of rules would read the template of a CronJob's pods. It replaces
    // `object.spec`, and leaves `object.?spec` as it is.
    let base = root::object(scope).base;
    let its = annotations_path(CRON_JOB).iter().fold(base.clone(), |node, key| select_optional(node, key));
    let is_cron_job = equals(select(base, "kind"), text(CRON_JOB));
    let either = choose(is_cron_job, or_value(its, empty_object()), source);
    let shared = scope.share("podAnnotations", either, true);
    (shared.clone(), shared)
}
