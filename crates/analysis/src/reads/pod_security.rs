//! What Pod Security controls read and test.
//!
//! In: a check, the kind of the objects. Out: the fields that the rows of its controls name
//! (`ir::pod_security`), and what these may hold. Objects are of their type: whether one decodes
//! depends on all of it, which is not counted here.

use ephor_functions::registry::Operation;
use ephor_ir::check::{PodSecurity, Whose};
use ephor_ir::pod_security::{
    Field, FieldCondition, FieldRequirement, LISTS, Of, annotations_path, pod_spec_path,
};
use ephor_value::Value;

use crate::reads::comparisons::By;
use crate::reads::footprint::Step;
use crate::reads::reader::Reader;

type ControlPlace = Vec<Step>;

fn place(path: &[&str]) -> ControlPlace {
    let step = |key: &&str| if *key == "*" { Step::Items } else { Step::Key((*key).into()) };
    path.iter().map(step).collect()
}

fn below(base: &[Step], path: &[&str]) -> ControlPlace {
    base.iter().cloned().chain(place(path)).collect()
}

impl Reader {
    /// The fields of the controls of a check.
    pub(crate) fn pod_security(&mut self, check: &PodSecurity, kind: &str) {
        let Some(spec) = pod_spec_path(kind) else { return };
        let spec = place(spec);
        let only = check.field();
        let has = |whose: Whose| only.is_none_or(|only| only.of == whose);
        let spares = only.is_none_or(|only| only.exempts);
        let containers: Vec<ControlPlace> = LISTS
            .iter()
            .enumerate()
            .filter(|(at, _)| has(Whose::Containers(*at)))
            .map(|(_, list)| below(&spec, &[list, "*"]))
            .collect();
        // A control that is excluded for some images, fields or values.
        let excluded = check.exclude.as_list().unwrap_or_default();
        for placed in check.controls().into_iter().flatten() {
            if placed.form.unless_windows && spares {
                self.control_field(&below(&spec, &["os", "name"]), &[Value::from("windows")]);
            }
            for (at, requirement) in placed.form.requirements.iter().enumerate() {
                if let Some(only) = only.filter(|only| only.requirement != at) {
                    if only.after && at < only.requirement {
                        self.met(requirement, &spec, only.of);
                    }
                    continue;
                }
                let fields: Vec<&Field> = match only {
                    Some(only) => requirement.fields.get(only.field).into_iter().collect(),
                    None => requirement.fields.iter().collect(),
                };
                let of_pod = requirement.of != Of::Containers && has(Whose::Pod);
                let in_place = requirement.unless_pod.is_some() && !has(Whose::Pod) && spares;
                if of_pod || in_place || (requirement.unless_pod.is_some() && only.is_none()) {
                    self.fields(&fields, requirement.unless_pod, &spec);
                }
                if requirement.of != Of::Pod {
                    containers.iter().for_each(|base| self.fields(&fields, None, base));
                }
                if let Some(annotations) = requirement.annotations.filter(|_| has(Whose::Annotations)) {
                    let of_pod = place(annotations_path(kind));
                    let items = below(&of_pod, &["*"]);
                    let mut known: Vec<Value> =
                        annotations.allowed.iter().map(|text| (*text).into()).collect();
                    known.extend(annotations.pod.map(Value::from));
                    // Containers whose names nothing tests are called so.
                    known.push(format!("{}a", annotations.prefix).into());
                    self.control_field(&items, &known);
                    for start in [annotations.prefix, "localhost/"] {
                        self.tested_at(&items, By::Function(Operation::StartsWith), &start.into());
                    }
                    self.reads.object.add(&of_pod, true);
                }
            }
            let by_name =
                excluded.iter().filter(|entry| entry.text_at(&["controlName"]) == placed.control.name);
            for image in by_name.flat_map(|entry| entry.get("images").and_then(Value::as_list)).flatten() {
                for base in &containers {
                    let place = below(base, &["image"]);
                    self.reads.object.add(&place, false);
                    self.tested_at(&place, By::Pattern, image);
                }
            }
        }
    }

    /// The fields of a requirement that must be met for another one to count.
    fn met(&mut self, requirement: &FieldRequirement, spec: &[Step], of: Whose) {
        let fields: Vec<&Field> = requirement.fields.iter().collect();
        if requirement.of != Of::Containers {
            self.fields(&fields, None, spec);
        }
        if requirement.of != Of::Pod && of != Whose::Around {
            LISTS.iter().for_each(|list| self.fields(&fields, None, &below(spec, &[list, "*"])));
        }
    }

    /// The fields of a requirement; `instead`: what they may hold in place of that.
    fn fields(&mut self, fields: &[&Field], instead: Option<FieldCondition>, base: &[Step]) {
        for field in fields {
            let at = below(base, field.path);
            let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
            match instead.unwrap_or(field.condition) {
                FieldCondition::Not(_)
                | FieldCondition::Is(_)
                | FieldCondition::Present
                | FieldCondition::Parent
                | FieldCondition::Unset => self.control_field(&at, &[]),
                FieldCondition::Number(number) | FieldCondition::NotNumber(number) => {
                    self.control_field(&at, &[Value::Int(number)]);
                }
                FieldCondition::Texts(allowed, _) => self.control_field(&at, &texts(allowed)),
                FieldCondition::Items(allowed) => self.control_field(&below(&at, &["*"]), &texts(allowed)),
                FieldCondition::Holds(text) => self.control_field(&below(&at, &["*"]), &texts(&[text])),
                // What else is there only names what is wrong.
                FieldCondition::FirstKey(allowed, others) => {
                    let one = others.first().copied();
                    for key in allowed.iter().copied().chain(one) {
                        self.control_field(&below(&at, &[key]), &[]);
                    }
                }
            }
        }
    }

    /// A field that a control reads, with the values that it knows.
    fn control_field(&mut self, at: &[Step], known: &[Value]) {
        self.reads.object.add(at, false);
        known.iter().for_each(|value| self.tested_at(at, By::Function(Operation::Equal), value));
    }

    fn tested_at(&mut self, at: &[Step], by: By, with: &Value) {
        self.tests.iter_mut().for_each(|tests| tests.at(at, by, with));
    }
}
