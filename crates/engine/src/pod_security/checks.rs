//! Runs the Pod Security controls: what a pod has that a control's row does not allow.
//!
//! In: a control in the form of a version (`ir::pod_security`), and a pod. Out: the finding, with
//! its texts. Semantics: `docs/semantics/validate.md`, "Bodies". A pod that passes costs no
//! allocation.

use std::borrow::Cow;

use ephor_ir::check::{FieldPart, PodSecurity, Whose};
use ephor_ir::pod_security::{Annotations, Field, FieldCondition, FieldRequirement, Found, Of, Placed};
use ephor_ir::pod_security::{present, texts, whole};
use ephor_value::Value;
use ephor_value::quote::quote;

use super::finding::{BadValue, FieldError, Finding, plural, quoted, sorted};
use super::pod::Pod;

/// Room for a path, or for what a sentence is filled in with.
const TEXT: usize = 64;

/// What a pod has that a control, or one field of it, does not allow.
pub fn run(placed: &Placed, pod: &Pod<'_>, only: Option<FieldPart>) -> Option<Finding> {
    let Placed { control, form, .. } = placed;
    if form.unless_windows && pod.is_windows() && only.is_none_or(|only| only.exempts) {
        return None;
    }
    let before = only.filter(|only| only.after).map_or(0, |only| only.requirement);
    if form.requirements.iter().take(before).any(|own| Violation::of(own, pod, None).is_some()) {
        return None;
    }
    let (mut sentences, mut errors, mut many) = (Vec::new(), Vec::new(), false);
    for (at, requirement) in form.requirements.iter().enumerate() {
        if only.is_some_and(|only| only.requirement != at) {
            continue;
        }
        let Some(mut refused) = Violation::of(requirement, pod, only) else { continue };
        many |= refused.sorted(None).len() != 1;
        sentences.push(refused.render(requirement.sentence, None));
        errors.append(&mut refused.errors);
        if form.joined.is_none() {
            break;
        }
    }
    let [one, several] = form.reason;
    (!sentences.is_empty()).then(|| Finding {
        id: control.id,
        control: control.name,
        reason: if many { several } else { one },
        detail: sentences.join(form.joined.unwrap_or_default()),
        errors,
    })
}

/// What the controls of a name find.
pub fn of_control(name: &str, pod: &Pod<'_>, check: &PodSecurity) -> Vec<Finding> {
    let controls = check.controls().into_iter().flatten();
    controls.filter(|p| p.control.name == name).filter_map(|p| run(&p, pod, check.field())).collect()
}

/// What does not meet a requirement.
struct Violation<'a> {
    requirement: &'static FieldRequirement,
    /// Whether fields of the pod itself do not.
    pod: bool,
    /// The containers, or the items of the pod's lists.
    names: Vec<&'a str>,
    /// The positions of fields with the bad values that they hold.
    values: Vec<(usize, Vec<Cow<'a, str>>)>,
    annotations: Vec<(&'a str, &'a str)>,
    errors: Vec<FieldError>,
}

impl<'a> Violation<'a> {
    fn of(
        requirement: &'static FieldRequirement,
        pod: &Pod<'a>,
        only: Option<FieldPart>,
    ) -> Option<Violation<'a>> {
        let fields = || {
            let all = requirement.fields.iter().enumerate();
            all.filter(|(n, _)| only.is_none_or(|only| only.field == *n))
        };
        let (names, values, errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Violation { requirement, pod: false, names, values, annotations: Vec::new(), errors };
        if requirement.of != Of::Containers && only.is_none_or(|only| only.of == Whose::Pod) {
            for (n, field) in fields() {
                field.each(pod.spec, &mut |item, found| {
                    let Some((bad, tail)) = all.refuse(n, field, item, found) else { return };
                    match item {
                        Some((_, item)) => all.names.push(item.text_at(&["name"])),
                        None => all.pod = true,
                    }
                    all.errors.push(FieldError { field: format!("spec.{tail}"), container: None, bad });
                });
            }
        }
        let is_met = || only.is_none_or(|only| only.exempts) && all.is_met_by(pod);
        if requirement.of != Of::Pod && !is_met() {
            for container in pod.containers() {
                if only.is_some_and(|only| !only.of.has_list(container.list())) {
                    continue;
                }
                let before = all.values.len();
                for (n, field) in fields() {
                    field.each(container.value(), &mut |item, found| {
                        let Some((bad, tail)) = all.refuse(n, field, item, found) else { return };
                        if requirement.shows_fields {
                            all.errors.push(container.error(&tail, bad));
                        }
                    });
                }
                if all.values.len() > before {
                    all.names.push(container.name());
                }
            }
        }
        if let Some(annotations) =
            requirement.annotations.filter(|_| only.is_none_or(|only| only.of == Whose::Annotations))
        {
            all.annotations = bad_annotations(annotations, pod);
            for (key, value) in &all.annotations {
                all.values.push((usize::MAX, vec![format!("{key}={}", quote(value)).into()]));
                let field = format!("metadata.annotations[{key}]");
                all.errors.push(FieldError { field, container: None, bad: BadValue::Text((*value).into()) });
            }
        }
        (!all.values.is_empty()).then_some(all)
    }

    /// Whether the pod's own field makes up for what containers do not have.
    fn is_met_by(&self, pod: &Pod<'_>) -> bool {
        let mut met = false;
        if let Some(condition) = self.requirement.unless_pod {
            let fields = self.requirement.fields.iter();
            fields.for_each(|f| f.each(pod.spec, &mut |_, found| met |= condition.admits(found)));
        }
        met
    }

    /// What is wrong with a value, and its path below the pod or container; `None` when nothing is.
    fn refuse(
        &mut self,
        n: usize,
        field: &Field,
        item: Option<(usize, &'a Value)>,
        found: Found<'a>,
    ) -> Option<(BadValue, String)> {
        if field.condition.admits(found) {
            return None;
        }
        let value = found.value();
        let text = value.and_then(Value::as_str).unwrap_or_default();
        let (bad, values): (BadValue, Vec<Cow<'a, str>>) = match field.condition {
            FieldCondition::Not(b) => (BadValue::Flag(b), Vec::new()),
            FieldCondition::Is(wanted) => match found {
                Found::NoParent => (BadValue::Missing, Vec::new()),
                Found::Missing => (BadValue::Text("nil".into()), Vec::new()),
                Found::Value(_) => (BadValue::Flag(!wanted), Vec::new()),
            },
            FieldCondition::Present | FieldCondition::Parent => (BadValue::Missing, Vec::new()),
            FieldCondition::Unset => {
                (BadValue::Text(value.map(|v| v.text_at(&["path"])).unwrap_or_default().into()), Vec::new())
            }
            FieldCondition::Number(_) | FieldCondition::NotNumber(_) => {
                let number = value.and_then(whole).unwrap_or_default();
                (BadValue::Number(number), vec![number.to_string().into()])
            }
            FieldCondition::Texts(..) => (BadValue::Text(text.into()), vec![text.into()]),
            FieldCondition::Items(allowed) => {
                let bad = sorted(texts(value).filter(|text| !allowed.contains(text)));
                (BadValue::Texts(bad.clone()), bad.into_iter().map(Cow::from).collect())
            }
            FieldCondition::Holds(_) => {
                let held = sorted(texts(value));
                (if held.is_empty() { BadValue::Missing } else { BadValue::Texts(held) }, Vec::new())
            }
            FieldCondition::FirstKey(_, others) => {
                let has = |key: &&&str| value.is_some_and(|v| present(v, key).is_some());
                (BadValue::Present, vec![others.iter().find(has).copied().unwrap_or("unknown").into()])
            }
        };
        let mut path = String::with_capacity(TEXT);
        for key in field.path {
            match item {
                Some((i, _)) if *key == "*" => path.push_str(&format!("[{i}]")),
                _ if path.is_empty() => path.push_str(key),
                _ => path.extend([".", key]),
            }
        }
        if let (FieldCondition::FirstKey(..), [kind]) = (field.condition, &values[..]) {
            path.extend([".", kind]);
        }
        self.values.push((n, values));
        Some((bad, path))
    }

    /// The bad values of a field or of all.
    fn found(&self, of: Option<usize>) -> impl Iterator<Item = &str> {
        let its = self.values.iter().filter(move |(n, _)| of.is_none_or(|of| of == *n));
        its.flat_map(|(_, values)| values.iter().map(|v| &**v))
    }

    fn sorted(&self, of: Option<usize>) -> Vec<String> {
        sorted(self.found(of))
    }

    /// A sentence with its parts filled in; those of a field's tail are about the field.
    fn render(&mut self, sentence: &str, of: Option<usize>) -> String {
        let (mut out, mut rest) = (String::with_capacity(sentence.len() + TEXT), sentence);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let (part, more) = after.split_once('}').unwrap_or((after, ""));
            out.push_str(&self.part(part, of));
            rest = more;
        }
        out.push_str(rest);
        out
    }

    fn part(&mut self, part: &str, of: Option<usize>) -> String {
        let count = self.names.len();
        match part {
            "who" => {
                let annotations = self.annotations.len();
                let parts = [
                    self.pod.then(|| "pod".into()),
                    (count > 0).then(|| self.containers()),
                    (annotations > 0).then(|| plural("annotation", annotations)),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
            }
            "containers" => self.containers(),
            "sorted containers" => {
                self.names.sort_unstable();
                self.names.dedup();
                self.containers()
            }
            "volumes" => format!("{} {}", plural("volume", count), quoted(&self.names)),
            "use" => (if count == 1 { "uses" } else { "use" }).into(),
            "values" => quoted(&self.sorted(of)),
            "list" => self.sorted(of).join(", "),
            "found" => self.found(of).collect::<Vec<_>>().join(", "),
            "s" => (if self.sorted(of).len() == 1 { "" } else { "s" }).into(),
            "annotations" => {
                let shown: Vec<String> =
                    self.annotations.iter().map(|(k, v)| format!("{k}=\"{v}\"")).collect();
                shown.join(", ")
            }
            tails => {
                let between = tails.strip_prefix("tails").unwrap_or_default();
                let fields = self.requirement.fields.iter().enumerate();
                let bad: Vec<_> = fields.filter(|(n, _)| self.values.iter().any(|(of, _)| of == n)).collect();
                bad.iter().map(|(n, f)| self.render(f.tail, Some(*n))).collect::<Vec<_>>().join(between)
            }
        }
    }

    /// `container "a"` or `containers "a", "b"`.
    fn containers(&self) -> String {
        format!("{} {}", plural("container", self.names.len()), quoted(&self.names))
    }
}

/// Annotations whose profile is not allowed, sorted by key.
fn bad_annotations<'a>(meant: &Annotations, pod: &Pod<'a>) -> Vec<(&'a str, &'a str)> {
    let Some(annotations) = pod.annotations else { return Vec::new() };
    let is_meant = |key: &str| {
        let rest = key.strip_prefix(meant.prefix);
        let fits = |name| !meant.of_containers || pod.containers().any(|c| c.name() == name);
        meant.pod == Some(key) || rest.is_some_and(fits)
    };
    let mut found: Vec<(&str, &str)> = annotations
        .iter()
        .filter(|(k, _)| is_meant(k))
        .map(|(k, v)| (&**k, v.as_str().unwrap_or_default()))
        .filter(|(_, v)| !meant.allowed.contains(v) && !v.starts_with("localhost/"))
        .collect();
    found.sort_unstable();
    found
}
