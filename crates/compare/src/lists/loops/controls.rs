//! What Pod Security controls read in lists, taken out of a rule.
//!
//! In: a control, and a field of it. Out: this field as a check of its own, and the check without
//! it. What a control reads is in the table of controls (`ir::pod_security`).

use ephor_analysis::reads::Step;
use ephor_ir::check::{Check, ControlPart, FieldPart, PodSecurity, Whose};
use ephor_ir::pod_security::{FieldCondition as Allowed, LISTS, Of, annotations_path, pod_spec_path};
use ephor_value::Value;

use crate::lists::iteration::List;
use crate::lists::loops::{CutPart, LoopCutter};

impl LoopCutter<'_> {
    /// Takes out a field of the items of a list, about which a Pod Security control says the same
    /// of each.
    pub(crate) fn control(&mut self, own: &PodSecurity) -> Option<Check> {
        let excluded = own.exclude.as_list().unwrap_or_default();
        // Whether a list in a container has what is wrong is the same for each image; which values
        // it has is not.
        let is_of_whole =
            |entry: &Value| entry.text_at(&["restrictedField"]).is_empty() && entry.get("values").is_none();
        let is_local = |part: &FieldPart| excluded.iter().all(is_of_whole) && !part.after;
        let part = own.field().filter(|part| !self.is_inner || is_local(part))?;
        // An exclusion without images and field may exempt one of several containers.
        let is_by_item = |entry: &Value| {
            entry.get("images").and_then(Value::as_list).is_some_and(|images| !images.is_empty())
                || !entry.text_at(&["restrictedField"]).is_empty()
                || part.of == Whose::Pod
        };
        if !excluded.iter().all(is_by_item) {
            return None;
        }
        let lists = match part.of {
            Whose::Annotations if self.is_inner => return None,
            Whose::Annotations => vec![annotations_path(self.kind).iter().map(|key| step(key)).collect()],
            Whose::Around => return None,
            Whose::Pod | Whose::Containers(_) => self.of_control(own, part)?,
        };
        let with = |part: FieldPart| {
            let only = own.only.clone().map(|only| ControlPart { field: Some(part), ..only });
            Check::PodSecurity(PodSecurity { only, ..own.clone() })
        };
        let check = match with(FieldPart { exempts: false, after: false, ..part }) {
            Check::PodSecurity(own) if self.is_inner => {
                Check::PodSecurity(PodSecurity { exclude: Value::Null, ..own })
            }
            check => check,
        };
        self.found.push(CutPart { check, lists, by_key: false });
        if part.after {
            self.met(own, part)?;
        }
        Some(with(FieldPart { of: Whose::Around, ..part }))
    }

    /// Takes out what the requirements of a control say of containers that must be met before one
    /// counts.
    fn met(&mut self, own: &PodSecurity, part: FieldPart) -> Option<()> {
        let form = own.controls()?.next()?.form;
        for (requirement, row) in form.requirements.iter().enumerate().take(part.requirement) {
            let lists = (0..LISTS.len()).filter(|_| row.of != Of::Pod);
            for (of, field) in lists.flat_map(|list| (0..row.fields.len()).map(move |f| (list, f))) {
                let of = Whose::Containers(of);
                let part = FieldPart { requirement, field, of, exempts: false, after: false };
                let only = own.only.clone().map(|only| ControlPart { field: Some(part), ..only });
                let lists = self.of_control(own, part)?;
                let check = Check::PodSecurity(PodSecurity { only, exclude: Value::Null, ..own.clone() });
                self.found.push(CutPart { check, lists, by_key: false });
            }
        }
        Some(())
    }

    /// The lists that lead to a field of a control.
    fn of_control(&self, own: &PodSecurity, part: FieldPart) -> Option<Vec<List>> {
        let placed = own.controls()?.next()?;
        let field = placed.form.requirements.get(part.requirement)?.fields.get(part.field)?;
        let mut path: List = pod_spec_path(self.kind)?.iter().map(|key| step(key)).collect();
        if let Whose::Containers(at) = part.of {
            path.extend([step(LISTS.get(at)?), Step::Items]);
        }
        path.extend(field.path.iter().map(|key| step(key)));
        if matches!(field.condition, Allowed::Items(_) | Allowed::Holds(_)) {
            path.push(Step::Items);
        }
        let mut lists = (0..path.len()).filter(|at| path.get(*at) == Some(&Step::Items));
        let outer = path.get(..lists.next()?)?.to_vec();
        Some(match self.is_inner {
            true => vec![path.get(..lists.next()?)?.to_vec(), outer],
            false => vec![outer],
        })
    }
}

fn step(key: &str) -> Step {
    if key == "*" { Step::Items } else { Step::Key(key.into()) }
}
